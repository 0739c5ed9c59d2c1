"""Amounts of money: signs and codes before or after, country prefixes, scale words, ranges, cents."""

import re

from deepvoice.text import numbers as say
from deepvoice.text.rules import NUMBER, Context, Reading, amount, compiled, is_attributive, plain
from deepvoice.text.vocabulary import CURRENCIES, CURRENCY_CODES, CURRENCY_PREFIXES, CURRENCY_SIGNS, MAGNITUDES

_SCALE = r"(?:[ -]?([A-Za-z]{1,11})(?![A-Za-z]))?"
_PREFIX = rf"(?:({'|'.join(p.replace('.', '[.]') for p in CURRENCY_PREFIXES)})(?:(?<=[A-Z.]{{2}}) )?(?=[^ A-Z]))?"
_MONEY = (
    rf"{_PREFIX}([{CURRENCY_SIGNS}]) ?([-−])?({NUMBER})?(?:\.(\d++))?(?<=\d)"
    rf"(?:(?:[-–]| – )({NUMBER})(?:\.(\d++))?(?![\d%]|-\d|/\d))?{_SCALE}"
)
_CODED = rf"({'|'.join(CURRENCY_CODES)})[.]?()\s?([-−])?({NUMBER})(?:\.(\d++))?()(){_SCALE}"
_EUROPEAN = rf"{_PREFIX}([€]) ?(\d{{1,3}}(?:\.\d{{3}})+|\d++),(\d{{2}})(?![\d,])"


def read_money(position: int, context: Context) -> Reading | None:
    """Read an amount of money that starts at a sign, a country prefix or a code; None when there is none."""
    if "money" in context.options.off:
        return None
    text = context.text
    european = compiled(_EUROPEAN).match(text, position) if "€" in text[position : position + 3] else None
    if european:
        _, sign, whole, fraction = european.groups()
        return Reading(_in_words(CURRENCIES[sign], "", whole.replace(".", ""), fraction, False), european.end())
    match = compiled(_MONEY).match(text, position)
    if match:
        prefix = CURRENCY_PREFIXES.get(match[1] or "", "")
        if prefix.startswith("="):  # a currency of its own: R$
            return _amount(match, prefix[1:], "", context)
        return _amount(match, match[2], prefix, context)
    match = compiled(_CODED).match(text, position)
    return _amount(match, CURRENCY_CODES[match[1]], "", context) if match else None


def _amount(match: re.Match[str], currency: str, where: str, context: Context) -> Reading | None:
    _, _, minus, whole, fraction, top, top_fraction, scale = match.groups()
    names = CURRENCIES[currency]
    where = f"{where} " if where else ""
    end = match.end()
    glued = scale and context.text[match.start(8) - 1].isdigit()
    magnitude = MAGNITUDES.get(scale.lower(), "") if scale and (glued or len(scale) > 1) else ""
    if scale and not magnitude:
        end = match.start(8)
        while context.text[end - 1] in " -":
            end -= 1
    if scale == "s" and glued and not (top or fraction or minus) and whole:
        bills = "hundred" if whole == "100" else say.cardinal(plain(whole))
        return Reading(say.plural_number(bills), match.end())  # "two $20s"
    lead = "minus " if minus else ""
    single = is_attributive(context, end)
    one, many = names[0], names[0] if single else names[1]
    if top or magnitude:
        spoken = lead + amount(whole or "", fraction)
        if top:
            spoken += f" to {amount(top, top_fraction)}"
        return Reading(f"{spoken} {magnitude + ' ' if magnitude else ''}{where}{many}", end)
    if whole is None:
        whole = "0"
    return Reading(lead + _in_words((one, many, *names[2:]), where, plain(whole), fraction, single), end)


def _in_words(names: tuple[str, ...], where: str, whole: str, fraction: str | None, single: bool) -> str:
    """Say a plain amount: whole units and hundredths."""
    one, many, cent, cents = names
    if fraction is None or fraction == "00" or not cent:
        number = amount(whole, fraction) if fraction and not cent else say.cardinal(whole)
        return f"{number} {where}{one if whole.lstrip('0') == '1' and not (fraction and not cent) else many}"
    if len(fraction) != 2:
        return f"{amount(whole, fraction)} {where}{many}"
    small = f"{say.cardinal(fraction)} {cent if fraction == '01' or single else cents}"
    if whole.strip("0") == "":
        return small
    return f"{say.cardinal(whole)} {where}{one if whole == '1' else many} and {small}"
