"""Everything that starts with a digit: which rules are tried, in which order, and plain numbers.

`read` is tried at one position of a sentence and returns what to say and where the reading ends. Rules see at most one
sentence, which the splitter bounds, and no pattern can backtrack over more than it consumes.
"""

import re

from deepvoice.text import codes, dates
from deepvoice.text import numbers as say
from deepvoice.text.measures import DIRECTIONS, read_unit
from deepvoice.text.rules import (
    NUMBER,
    Context,
    Reading,
    Rule,
    amount,
    closes_quote,
    compiled,
    counts,
    first_reading,
    following_word,
    is_attributive,
    plain,
)
from deepvoice.text.vocabulary import MAGNITUDES

# --- fractions and ordinals -----------------------------------------------------------------------------------------


def _fraction(match: re.Match[str], context: Context) -> Reading | None:
    whole, top, bottom = match.groups()
    if (top, bottom) in (("24", "7"), ("9", "11")) and not whole:
        return Reading(f"{say.cardinal(top)} {say.cardinal(bottom)}", match.end())
    if not whole and top == bottom and top != "1":
        joint = " " if top in ("50", "20") else " out of "  # fifty-fifty, ten out of ten
        return Reading(f"{say.cardinal(top)}{joint}{say.cardinal(bottom)}", match.end())
    if context.text[match.start() - 1 : match.start()] == "/":
        return None
    if len(top) == 3 and int(bottom) >= 40 and not whole:
        pressure = f"{say.cardinal(top)} over {say.cardinal(bottom)}"
        unit = _measure(match.end(), context, one=False)
        return Reading(f"{pressure} {unit.spoken}", unit.end) if unit else Reading(pressure, match.end())
    if len(top) == 4 or (whole and not 0 < int(top) < int(bottom)):
        return None
    spoken = say.fraction(top, bottom)
    if whole:
        if top == "1" and spoken.startswith("one "):
            spoken = f"a {spoken[4:]}"
        spoken = f"{say.cardinal(plain(whole))} and {spoken}"
    one = not whole and int(top) <= int(bottom)
    unit = _measure(match.end(), context, one=one)
    return Reading(f"{spoken} {unit.spoken}", unit.end) if unit else Reading(spoken, match.end())


def _ordinal(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(say.ordinal(plain(match[1])) + ("s" if match[3] else ""), match.end())


# --- measures -------------------------------------------------------------------------------------------------------


def _measure(end: int, context: Context, *, one: bool) -> Reading | None:
    """Read the unit after a number, or the mark of inches."""
    text = context.text
    if text[end : end + 1] == '"' and context.options.reads("quote") and not closes_quote(text, end):
        return Reading("inch" if one or is_attributive(context, end + 1) else "inches", end + 1)
    return read_unit(text, end, one=one, options=context.options, context=context)


def _feet_inches(match: re.Match[str], context: Context) -> Reading | None:
    feet, inches = match.groups()
    if context.text[match.start() - 2 : match.start()].strip().endswith("°"):
        return None
    spoken = f"{say.cardinal(feet)} {'foot' if feet == '1' else 'feet'}"
    if not inches:
        quoted = context.text.count(" '", 0, match.start()) + context.text.startswith("'")
        return Reading(spoken, match.end()) if not quoted else None
    return Reading(f"{spoken} {say.cardinal(inches)} {'inch' if inches == '1' else 'inches'}", match.end())


def _arc_minutes(match: re.Match[str], context: Context) -> Reading | None:
    """Read the minutes and seconds of an angle: 40° 26' N."""
    minutes, seconds, compass = match.groups()
    if not context.text[max(0, match.start() - 2) : match.start()].strip().endswith("°"):
        return None
    spoken = f"{say.cardinal(minutes)} minutes"
    if seconds:
        spoken += f" {say.cardinal(seconds)} seconds"
    return Reading(spoken + (f" {DIRECTIONS[compass]}" if compass else ""), match.end())


def _dimensions(match: re.Match[str], context: Context) -> Reading | None:
    """Read the "by" of "4x4" and "8.5 x 11"; a spaced multiplication sign is "times" unless a unit follows."""
    if compiled(rf"\s?(?:10\^|(?:{NUMBER})(?:\.\d++)?\s?(?:=|is\s\d))").match(context.text, match.end()):
        return Reading(f"{amount(match[1], match[2])} times", match.end())
    spaced_sign = "×" in match.group() and " " in match.group()
    if spaced_sign:
        following = compiled(rf"\s?(?:{NUMBER})(?:\.\d++)?").match(context.text, match.end())
        if following and not read_unit(context.text, following.end(), one=False, options=context.options):
            return None
    whole, fraction = match[1], match[2]
    if not fraction and len(whole) == 4 and not spaced_sign and whole[2:] != "00" and whole[0] != "0":
        return Reading(f"{say.year(whole)} by", match.end())
    return Reading(f"{amount(whole, fraction)} by", match.end())


def _feet_by(match: re.Match[str], context: Context) -> Reading | None:
    """Read the first side of "2'x4'"."""
    return Reading(f"{say.cardinal(match[1])} {'foot' if match[1] == '1' else 'feet'} by", match.end())


def _stoppage(match: re.Match[str], context: Context) -> Reading | None:
    """Read "90+4'", the minute of a match."""
    minutes = "minute" if is_attributive(context, match.end()) else "minutes"
    return Reading(f"{say.cardinal(match[1])} plus {say.cardinal(match[2])} {minutes}", match.end())


def _after_by(match: re.Match[str], context: Context) -> Reading | None:
    """Read the second number of a screen: 1920 by ten eighty."""
    if context.last != "by" or context.text[match.start() - 1] not in "x×":
        return None
    return Reading(say.year(match[1]), match.end()) if match[1][2:] != "00" and match[1][0] != "0" else None


def _times(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(f"{amount(match[1], match[2])} times", match.end())


def _scan_lines(match: re.Match[str], context: Context) -> Reading | None:
    digits = match[1]
    words = say.year(digits) if len(digits) == 4 else say.cardinal(digits)
    if len(digits) == 3:
        words = f"{say.cardinal(digits[0])} {say.pair(digits[1:])}"
    return Reading(f"{words} {match[2].upper()}", match.end())


def _scaled(match: re.Match[str], context: Context) -> Reading | None:
    """Read "20K followers": the letter is a scale word when something is counted."""
    if not counts(following_word(context.text, match.end())):
        return None
    return Reading(f"{amount(match[1], match[2])} {MAGNITUDES[match[3].lower()]}", match.end())


def _exponent(match: re.Match[str], context: Context) -> Reading | None:
    whole, fraction, sign, power = match.groups()
    spoken = f"minus {say.cardinal(power)}" if sign == "-" else say.ordinal(power)
    spoken = f"{amount(whole, fraction)} times ten to the {spoken}"
    unit = _measure(match.end(), context, one=False)
    if not unit and context.text[match.end() : match.end() + 1].isalnum():
        return None  # a code such as 3e8f
    return Reading(f"{spoken} {unit.spoken}", unit.end) if unit else Reading(spoken, match.end())


# --- plain numbers --------------------------------------------------------------------------------------------------


def _grouped(match: re.Match[str], context: Context) -> Reading | None:
    """Read "15 000" and "1 234 567", whose groups are set apart by spaces."""
    digits = match.group().replace(" ", "")
    unit = _measure(match.end(), context, one=False)
    if unit:
        return Reading(f"{say.cardinal(digits)} {unit.spoken}", unit.end)
    return Reading(say.cardinal(digits), match.end())


def _rating(match: re.Match[str], context: Context) -> Reading | None:
    return Reading(f"{amount(match[1], match[2])} out of {say.cardinal(match[3])}", match.end())


def _number(match: re.Match[str], context: Context) -> Reading | None:
    whole, fraction = match.groups()
    digits, end = plain(whole), match.end()
    off = context.options.off
    if fraction and "decimal" in off:
        fraction, end = None, match.end(1)
    unit = _measure(end, context, one=digits == "1" and not fraction)
    if unit:
        return Reading(f"{amount(whole, fraction)} {unit.spoken}", unit.end)
    if fraction:
        return Reading(amount(whole, fraction), end)
    if "," not in whole:
        special = _special(digits, end, context)
        if special:
            return Reading(special, end)
    return Reading(say.spell_digits(digits) if "cardinal" in off else say.cardinal(digits), end)


def _special(digits: str, end: int, context: Context) -> str:
    """Read an integer that is a code, a room or a year; "" for an ordinary one."""
    if "code" not in context.options.off:
        spoken = codes.special_integer(digits, end, context)
        if spoken:
            return spoken
    if context.after_year and len(digits) == 2:
        return say.pair(digits)
    if dates.is_year(digits, end, context):
        return say.year(digits)
    return say.spell_digits(digits) if len(digits) > 15 and not digits.endswith("000") else ""


_ENDING = r"(?:(?:rd|th)s?(?![A-Za-z]))?"
MIXED = Rule("fraction", rf"({NUMBER})[\s-](\d{{1,3}})/(\d{{1,3}}){_ENDING}(?![\d/])", _fraction)
SIMPLE = Rule("fraction", rf"()(\d{{1,4}})/(\d{{1,4}}){_ENDING}(?![\d/])", _fraction)
ORDINAL = Rule("ordinal", rf"({NUMBER})(st|nd|rd|th|ST|ND|RD|TH)(s?)(?![A-Za-z])", _ordinal)
ARC = Rule("temperature", r"(\d{1,2})'(?:\s?(\d{1,2}(?:\.\d+)?)\")?(?:\s?([NSEW])(?![A-Za-z]))?", _arc_minutes)
FEET = Rule("quote", r"(\d{1,2})'(?:[ -]?(\d{1,2})(?:\"|(?!\d)))?(?![A-Za-z'])", _feet_inches)
BY = Rule("unit", rf"({NUMBER})(?:\.(\d++))?\"?\s?[x×](?=\s?\d)", _dimensions)
FEET_BY = Rule("unit", r"(\d{1,3})'\s?[x×]\s?(?=\d)", _feet_by)
STOPPAGE = Rule("time", r"(\d{2,3})\+(\d{1,2})'(?![A-Za-z\d])", _stoppage)
AFTER_BY = Rule("unit", r"(\d{4})(?![\d.,])", _after_by)
TIMES = Rule("unit", rf"({NUMBER})(?:\.(\d++))?x(?![A-Za-z0-9])", _times)
LINES = Rule("unit", r"(480|576|720|1080|1440|2160|4320)([pi])(?![A-Za-z0-9])", _scan_lines)
SCALED = Rule("cardinal", rf"({NUMBER})(?:\.(\d++))?([KkMB]|bn)(?=\s[a-z])", _scaled)
EXPONENT = Rule("math", rf"({NUMBER})(?:\.(\d++))?[eE]([+-]?)(\d{{1,3}})(?!\d|\.\w)", _exponent)
RATING = Rule("fraction", r"(\d{1,2})\.(\d)/(5|10|100)(?![\d/.])", _rating)
BOOK = Rule(
    "ordinal",
    r"([123])(?=\s(?:Sam|Samuel|Kings|Chron|Chronicles|Cor|Corinthians|Thess|Thessalonians|Tim|Timothy|Pet|Peter|John)"
    r"\.?\s\d)",
    lambda match, context: Reading(say.ordinal(match[1]), match.end()),
)
GROUPED = Rule("cardinal", r"\d{1,3}(?:(?: \d{3}){2,}| 000)(?![\d,.]\d|\d)", _grouped)
PLAIN = Rule("plain", rf"({NUMBER})(?:\.(\d++))?", _number)  # never off: digits are always read

# The rules to try, in order, by the character after the first run of digits.
RULES: dict[str, list[Rule]] = {
    "-": [
        dates.ISO, dates.YEAR_MONTH, dates.DASHED, dates.DAY_DASH_MONTH, codes.VANITY, codes.AIRCRAFT, codes.PHONE,
        codes.SHORT_PHONE,
        codes.GROUPS, codes.PAIR, codes.TOGETHER, MIXED, PLAIN,
    ],
    "/": [codes.ALWAYS, codes.CHANNEL, dates.SLASHED, dates.YEAR_SLASHED, dates.MONTH_SLASH_DAY, SIMPLE, PLAIN],
    ":": [codes.VERSE, dates.CLOCK, codes.RATIO, PLAIN],
    ".": [
        codes.WIRELESS, codes.PHONE, dates.POINTED, dates.YEAR_SLASHED, codes.DOTTED, codes.VERSION, RATING, BY, TIMES,
        SCALED, EXPONENT, PLAIN,
    ],
    ",": [MIXED, ORDINAL, BY, SCALED, PLAIN],
    " ": [
        BOOK, dates.HOUR, dates.MILITARY, codes.PHONE, codes.LOCAL_PHONE, codes.CARD, MIXED, dates.DAY_MONTH,
        *dates.DURATIONS, BY, GROUPED, codes.RATIO, PLAIN,
    ],
    "'": [ARC, dates.DECADE, FEET_BY, FEET, PLAIN],
    "+": [STOPPAGE, PLAIN],
    '"': [BY, PLAIN],
    "×": [BY, PLAIN],
    "letter": [
        codes.CHAT,
        dates.HOUR, dates.DAY_MONTH, ORDINAL, dates.DECADE, codes.HEXADECIMAL, dates.TEAM, BY, dates.PLURAL,
        *dates.DURATIONS,
        TIMES, LINES, SCALED, EXPONENT, PLAIN,
    ],
    "other": [AFTER_BY, PLAIN],
}  # fmt: skip
RULES = {key: [*rules[:-1], AFTER_BY, PLAIN] if key != "other" else rules for key, rules in RULES.items()}
_DIGITS = re.compile(r"\d++")


def read(position: int, context: Context) -> Reading | None:
    """Read the number that starts at a digit; None when no rule applies."""
    if position and context.text[position - 1].isalpha() and context.last != "by":
        return codes.read_after_letters(position, context)
    digits = _DIGITS.match(context.text, position)
    if not digits:
        return None
    following = context.text[digits.end() : digits.end() + 1]
    key = "letter" if following.isalpha() else following if following in RULES else "other"
    return first_reading(RULES[key], position, context)


def read_decimal(position: int, context: Context) -> Reading | None:
    """Read ".5" as "point five"."""
    match = compiled(r"\.(\d++)(?![\d.]*\.\d)").match(context.text, position)
    if not match or "decimal" in context.options.off:
        return None
    unit = _measure(match.end(), context, one=False)
    spoken = say.decimal("", match[1])
    return Reading(f"{spoken} {unit.spoken}", unit.end) if unit else Reading(spoken, match.end())
