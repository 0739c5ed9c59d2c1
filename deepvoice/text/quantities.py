"""Everything that starts with a digit or a currency sign: dates, times, money, measures, codes, years, numbers.

`read` is tried at one position of a sentence and returns what to say and where the reading ends. Spoken forms are
lower-case words, `,` for a pause, and capitals for what is spelled ("PM"). Rules see at most one sentence, which the
splitter bounds, and no pattern can backtrack over more than it consumes.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from deepvoice.text import numbers as say
from deepvoice.text.measures import Reading, read_unit
from deepvoice.text.vocabulary import (
    CODE_WORDS,
    CURRENCIES,
    CURRENCY_PREFIXES,
    MAGNITUDES,
    MONTH_ABBREVIATIONS,
    MONTHS,
    NOT_PLURALS,
    PLURALS_WITHOUT_S,
    QUANTITY_WORDS,
    ROOM_WORDS,
    YEAR_PREPOSITIONS,
    YEAR_WORDS,
)


class Context(NamedTuple):
    """What a rule may look at around its match: the sentence, the words spoken so far, and open expressions."""

    text: str
    before: Sequence[str]  # lower-case spoken words, oldest first
    after_date: bool  # a month and day were just read, so that a year may follow
    after_year: bool  # a year and a dash were just read ("1914-18")


Rule = Callable[[re.Match[str], Context], Reading | None]

_N = r"\d{1,3}(?:,\d{3})++(?!\d)|\d++"
_MONTH = "|".join(name.capitalize() for name in [*MONTHS, *MONTH_ABBREVIATIONS])  # "may" and "march" are verbs


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # on first use: most texts need few of the rules


def _plain(number: str) -> str:
    return number.replace(",", "")


def amount(whole: str, fraction: str | None) -> str:
    """Read a number with or without decimals; `whole` may have separators."""
    return say.decimal(_plain(whole), fraction) if fraction else say.cardinal(_plain(whole))


# --- dates and times ------------------------------------------------------------------------------------------------


def _date(month: int, day: int, year: str, end: int) -> Reading | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    spoken_year = say.year(year) if len(year) == 4 else say.pair(year)
    return Reading(f"{MONTHS[month - 1]} {say.ordinal(str(day))} , {spoken_year}", end)


def _iso_date(match: re.Match[str], context: Context) -> Reading | None:
    year, month, day = match.groups()
    return _date(int(month), int(day), year, match.end())


def _slash_date(match: re.Match[str], context: Context) -> Reading | None:
    month, day, year = match.groups()
    return _date(int(month), int(day), year, match.end())


def _day_month(match: re.Match[str], context: Context) -> Reading | None:
    day, month = match.groups()
    if not 1 <= int(day) <= 31:
        return None
    name = MONTH_ABBREVIATIONS.get(month[:3].lower(), month.lower())
    article = "" if context.before[-1:] == ["the"] else "the "
    return Reading(f"{article}{say.ordinal(day)} of {name}", match.end())


def _time(match: re.Match[str], context: Context) -> Reading | None:
    hour, minute, second, half = match.groups()
    if int(minute) > 59 or int(hour) > 24:
        return Reading(f"{say.cardinal(hour)} to {say.cardinal(minute)}", match.end()) if not second else None
    if minute == "00" and not second:
        spoken = say.cardinal(hour)
        if not half:
            spoken = f"{spoken} o'clock" if 1 <= int(hour) <= 12 else f"{spoken} hundred"
    else:
        spoken = f"{say.cardinal(hour)} {say.pair(minute) if minute != '00' else 'hundred'}"
        if second:
            spoken += f" {say.pair(second)}"
    return Reading(_with_half(spoken, half), match.end())


def _with_half(spoken: str, half: str | None) -> str:
    return f"{spoken} {half[0].upper()}M" if half else spoken


def _hour(match: re.Match[str], context: Context) -> Reading | None:
    hour, half = match.groups()
    return Reading(_with_half(say.cardinal(hour), half), match.end()) if int(hour) <= 24 else None


def _ratio(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(f"{say.cardinal(match[1])} to {say.cardinal(match[2])}", match.end())


# --- codes ----------------------------------------------------------------------------------------------------------


def _phone_number(match: re.Match[str], context: Context) -> Reading | None:
    groups = re.findall(r"\d+", match.group())
    lead = "plus " if match.group().startswith("+") else ""
    return Reading(lead + " , ".join(say.spell_digits(group) for group in groups), match.end())


def _short_phone_number(match: re.Match[str], context: Context) -> Reading | None:
    return _phone_number(match, context) if match[1][0] not in "01" else None


def _version(match: re.Match[str], context: Context) -> Reading | None:
    parts = match.group().split(".")
    if any(len(part) > 4 for part in parts):
        return Reading(" dot ".join(say.spell_digits(part) for part in parts), match.end())
    joint = " dot " if len(parts) == 4 else " point "
    return Reading(joint.join(say.cardinal(part) for part in parts), match.end())


def _dimensions(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(f"{amount(match[1], match[2])} by", match.end())


# --- fractions, ordinals, plurals -----------------------------------------------------------------------------------


def _fraction(match: re.Match[str], context: Context) -> Reading | None:
    whole, top, bottom = match.groups()
    if (top, bottom) in (("24", "7"), ("9", "11")) and not whole:
        return Reading(f"{say.cardinal(top)} {say.cardinal(bottom)}", match.end())
    if not whole and top == bottom and top != "1":
        return Reading(f"{say.cardinal(top)} {say.cardinal(bottom)}", match.end())  # fifty-fifty
    if len(top) == 4 or (whole and not 0 < int(top) < int(bottom)):
        return None
    spoken = say.fraction(top, bottom)
    if whole:
        if top == "1" and spoken.startswith("one "):
            spoken = f"a {spoken[4:]}"
        spoken = f"{say.cardinal(_plain(whole))} and {spoken}"
    unit = read_unit(context.text, match.end(), one=not whole and int(top) <= int(bottom))
    return Reading(f"{spoken} {unit.spoken}", unit.end) if unit else Reading(spoken, match.end())


def _ordinal(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(say.ordinal(_plain(match[1])) + ("s" if match[3] else ""), match.end())


def _decade(match: re.Match[str], context: Context) -> Reading | None:
    digits = match[1]
    if len(digits) == 4 and not "1100" <= digits <= "2100":
        return None
    return Reading(say.decade(digits), match.end())


def _plural(match: re.Match[str], context: Context) -> Reading | None:
    digits = _plain(match[1])
    words = _split_pairs(digits) if len(digits) == 3 and digits[1:] != "00" else say.cardinal(digits)
    return Reading(say.plural_number(words), match.end())


def _split_pairs(digits: str) -> str:
    """Read a room, flight or model number: "237" two thirty seven, "1408" fourteen oh eight."""
    if len(digits) == 3:
        return f"{say.cardinal(digits[0])} {say.pair(digits[1:])}" if digits[1:] != "00" else say.cardinal(digits)
    return say.year(digits) if digits[:2] != "00" and digits[2:] != "00" else say.spell_digits(digits)


# --- money and measures ---------------------------------------------------------------------------------------------


def _money(match: re.Match[str], context: Context) -> Reading | None:
    prefix, sign, whole, fraction, magnitude = match.groups()
    one, many, cent, cents = CURRENCIES[sign]
    plain, end = _plain(whole), match.end()
    where = CURRENCY_PREFIXES.get((prefix or "").lower(), "")
    where = f"{where} " if where else ""
    if magnitude and magnitude.lower() in MAGNITUDES:
        return Reading(f"{amount(whole, fraction)} {MAGNITUDES[magnitude.lower()]} {where}{many}", end)
    if magnitude:  # the letters after the number are no magnitude
        end = match.end(4 if fraction else 3)
    if fraction is None or fraction == "00" or not cent:
        single = plain.lstrip("0") == "1"
        return Reading(f"{say.cardinal(plain)} {where}{one if single else many}", end)
    if len(fraction) != 2:
        return Reading(f"{amount(whole, fraction)} {where}{many}", end)
    small = f"{say.cardinal(fraction)} {cent if fraction == '01' else cents}"
    if plain.strip("0") == "":
        return Reading(small, end)
    return Reading(f"{say.cardinal(plain)} {where}{one if plain == '1' else many} and {small}", end)


def _feet_inches(match: re.Match[str], context: Context) -> Reading | None:
    feet, inches = match.groups()
    spoken = f"{say.cardinal(feet)} {'foot' if feet == '1' else 'feet'}"
    return Reading(f"{spoken} {say.cardinal(inches)} {'inch' if inches == '1' else 'inches'}", match.end())


# --- plain numbers --------------------------------------------------------------------------------------------------


def _following_word(text: str, position: int) -> str:
    match = _compiled(r"\s([A-Za-z]+)").match(text, position)
    return match[1] if match else ""


def _counts(word: str) -> bool:
    """Tell whether a word after a number looks like a thing that is counted."""
    if word in PLURALS_WITHOUT_S:
        return True
    return len(word) > 2 and word.islower() and word[-1] == "s" and word[-2] != "s" and word not in NOT_PLURALS


def _is_year(digits: str, end: int, context: Context) -> bool:
    if len(digits) != 4 or digits[0] == "0":
        return False
    following = _following_word(context.text, end)
    before = context.before[-1] if context.before else ""
    if before in YEAR_PREPOSITIONS and "1900" <= digits <= "2099":
        return True
    if context.after_date or before in YEAR_WORDS or following in ("AD", "BC", "CE", "BCE"):
        return digits < "3000" and not (before in ("in", "until") and digits > "2100" and _counts(following))
    if not "1100" <= digits <= "2099":
        return False
    return not _counts(following) and before not in QUANTITY_WORDS


def _number(match: re.Match[str], context: Context) -> Reading | None:
    whole, fraction = match.groups()
    digits, end = _plain(whole), match.end()
    unit = read_unit(context.text, end, one=digits == "1" and not fraction)
    if unit:
        return Reading(f"{amount(whole, fraction)} {unit.spoken}", unit.end)
    if fraction:
        return Reading(amount(whole, fraction), end)
    if "," not in whole:
        special = _special_integer(digits, end, context)
        if special:
            return Reading(special, end)
    return Reading(say.cardinal(digits), end)


def _special_integer(digits: str, end: int, context: Context) -> str:
    """Read an integer that is a code, a room, a year or has a leading zero; "" for an ordinary one."""
    recent = context.before[-4:]
    if len(digits) >= 3 and any(word in CODE_WORDS for word in recent):
        return say.spell_digits(digits)
    if len(digits) >= 5 and ("number" in recent or "phone" in recent):
        return say.spell_digits(digits)
    if context.after_year and len(digits) == 2:
        return say.pair(digits)
    if len(digits) in (3, 4) and recent[-1:] and recent[-1] in ROOM_WORDS:
        return _split_pairs(digits)
    if digits[0] == "0" and len(digits) > 1:
        return say.spell_digits(digits)
    if _is_year(digits, end, context):
        return say.year(digits)
    return say.spell_digits(digits) if len(digits) > 15 else ""


def _after_letters(position: int, context: Context) -> Reading | None:
    """Read the digits of a name ("MP3s", "B2B", "A380", "v1.2"): no units, dates or years."""
    match = _compiled(r"(\d++)((?:\.\d++)*+)(s(?![A-Za-z]))?").match(context.text, position)
    if not match:
        return None
    digits, decimals, plural = match.groups()
    if (digits[0] == "0" and len(digits) > 1) or len(digits) > 4:
        spoken = say.spell_digits(digits)
    else:
        spoken = _split_pairs(digits) if len(digits) > 2 else say.cardinal(digits)
    spoken += "".join(f" point {say.cardinal(part)}" for part in decimals.split(".")[1:])
    return Reading(say.plural_number(spoken) if plural else spoken, match.end())


_HALF = r"([ap]\.m\.|[AP]\.M\.|[ap]\.?m|[AP]\.?M)(?![A-Za-z])"
_ISO = (r"(\d{4})-(\d{2})-(\d{2})(?![\d-])", _iso_date)
_SLASHED = (r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\d/])", _slash_date)
_CLOCK = (rf"(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?(?![\d:])(?:\s?{_HALF})?", _time)
_O_CLOCK = (rf"(\d{{1,2}})\s?{_HALF}", _hour)
_TO = (r"(\d{1,4}):(\d{1,4})(?![\d:])", _ratio)
_PHONE = (r"(?:\d{1,3}[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?![\d-])", _phone_number)
_SHORT_PHONE = (r"(\d{3})-\d{4}(?![\d-])", _short_phone_number)
_GROUPS = (r"\d++(?:-\d++){2,}+", _phone_number)
_DOTS = (r"\d++(?:\.\d++){2,}+", _version)
_MIXED = (rf"({_N})\s(\d{{1,3}})/(\d{{1,3}})(?![\d/])", _fraction)
_SIMPLE = (r"()(\d{1,4})/(\d{1,4})(?![\d/])", _fraction)
_NINETIES = (r"(\d{3}0|\d0)'?s(?![A-Za-z])", _decade)
_TH = (rf"({_N})(st|nd|rd|th|ST|ND|RD|TH)(s?)(?![A-Za-z])", _ordinal)
_DAY = (rf"(\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?({_MONTH})(?![A-Za-z])\.?(?=[\s,.;:!?)]|$)", _day_month)
_FEET = (r"(\d)'(\d{1,2})\"", _feet_inches)
_BY = (rf"({_N})(?:\.(\d++))?\s?[x×](?=\s?\d)", _dimensions)
_SEVENS = (r"(\d{2,3})s(?![A-Za-z])", _plural)
_NUMBER = (rf"({_N})(?:\.(\d++))?", _number)

# The rules to try, in order, by the character after the first run of digits.
_RULES: dict[str, list[tuple[str, Rule]]] = {
    "-": [_ISO, _PHONE, _SHORT_PHONE, _GROUPS, _NUMBER],
    "/": [_SLASHED, _SIMPLE, _NUMBER],
    ":": [_CLOCK, _TO, _NUMBER],
    ".": [_PHONE, _DOTS, _BY, _NUMBER],
    ",": [_MIXED, _TH, _BY, _NUMBER],
    " ": [_O_CLOCK, _PHONE, _MIXED, _DAY, _BY, _NUMBER],
    "'": [_NINETIES, _FEET, _NUMBER],
    "×": [_BY, _NUMBER],
    "letter": [_O_CLOCK, _DAY, _TH, _NINETIES, _BY, _SEVENS, _NUMBER],
    "other": [_NUMBER],
}
_DIGITS = re.compile(r"\d++")
_MONEY = rf"(?:(US|U\.S\.|CA|AU|NZ|HK|C|A) ?)?([$£€¥₹]) ?({_N})(?:\.(\d++))?(?:[ -]?([A-Za-z]{{1,11}})(?![A-Za-z]))?"


def read(position: int, context: Context) -> Reading | None:
    """Read the number that starts at a digit; None when no rule applies."""
    if position and context.text[position - 1].isalpha():
        return _after_letters(position, context)
    digits = _DIGITS.match(context.text, position)
    if not digits:
        return None
    following = context.text[digits.end() : digits.end() + 1]
    for pattern, rule in _RULES["letter" if following.isalpha() else following if following in _RULES else "other"]:
        match = _compiled(pattern).match(context.text, position)
        if match:
            reading = rule(match, context)
            if reading:
                return reading
    return None


def read_money(position: int, context: Context) -> Reading | None:
    """Read an amount of money that starts at a currency sign or its country prefix; None when there is none."""
    match = _compiled(_MONEY).match(context.text, position)
    return _money(match, context) if match else None


def read_phone_number(position: int, context: Context) -> Reading | None:
    """Read a phone number that starts with "(" or "+"."""
    match = _compiled(r"\+?\d{0,3}[-. ]?\(\d{3}\)[-. ]?\d{3}[-. ]\d{4}(?!\d)|\+\d{1,3}(?:[-. ]\d{2,5}){2,5}").match(
        context.text, position
    )
    return _phone_number(match, context) if match else None


def read_decimal(position: int, context: Context) -> Reading | None:
    """Read ".5" as "point five"."""
    match = _compiled(r"\.(\d++)(?![\d.]*\.\d)").match(context.text, position)
    if not match:
        return None
    unit = read_unit(context.text, match.end(), one=False)
    spoken = say.decimal("", match[1])
    return Reading(f"{spoken} {unit.spoken}", unit.end) if unit else Reading(spoken, match.end())
