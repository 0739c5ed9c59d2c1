"""Dates, years, decades and clock times."""

import math
import re

from deepvoice.text import numbers as say
from deepvoice.text.rules import MONTH, Context, Reading, Rule, counts, following_word
from deepvoice.text.vocabulary import (
    BEGIN_WORDS,
    DATE_CUES,
    DECADE_CUES,
    DECADE_NOUNS,
    MONTH_ABBREVIATIONS,
    MONTHS,
    NUMBER_WORDS,
    QUANTITY_WORDS,
    SECONDS_CUES,
    SECONDS_NOUNS,
    YEAR_PREPOSITIONS,
    YEAR_WORDS,
)

HALF = r"([ap]\.m\.|[AP]\.M\.|[ap]\.?m|[AP]\.?M)(?![A-Za-z])"


def month_name(written: str) -> str:
    """Return the full lower-case name of a month that may be abbreviated, "" for what is none."""
    lower = written.lower().rstrip(".")
    return lower if lower in MONTHS else MONTH_ABBREVIATIONS.get(lower, "")


# --- dates ----------------------------------------------------------------------------------------------------------


def spoken_date(month: int, day: int, year: str) -> str:
    """Say a date the American way; "" when there is no such day."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return ""
    spoken = f"{MONTHS[month - 1]} {say.ordinal(str(day))}"
    return f"{spoken} , {say.year(year) if len(year) == 4 else say.pair(year)}" if year else spoken


def in_order(first: str, second: str, order: str) -> tuple[int, int]:
    """Return (month, day) of two numbers; a number above 12 can only be the day, whatever the order."""
    a, b = int(first), int(second)
    if (order == "dmy" and b <= 12) or (a > 12 >= b):
        a, b = b, a
    return a, b


def _reading(spoken: str, end: int) -> Reading | None:
    return Reading(spoken, end) if spoken else None


def _iso_date(match: re.Match[str], context: Context) -> Reading | None:
    year, month, day, hour, minute, second, zone = match.groups()
    spoken = spoken_date(int(month), int(day), year)
    if not spoken or not hour:
        return _reading(spoken, match.end())
    seconds = None if second == "00" else second
    spoken += f" , {clock(hour, minute, seconds, None, o_clock=False)}"
    if zone == "Z":
        spoken += " UTC"
    elif zone:
        sign = "plus" if zone[0] == "+" else "minus"
        spoken += f" UTC {sign} {say.cardinal(zone[1:3])}"
        spoken += f" {say.cardinal(zone[-2:])}" if zone[-2:] != "00" else ""
    return Reading(spoken, match.end())


def _year_month(match: re.Match[str], context: Context) -> Reading | None:
    year, month = match.groups()
    if not "1500" <= year <= "2100" or int(month) > int(year[2:]) > 0:
        return None  # "2010-11" is a range
    return Reading(f"{MONTHS[int(month) - 1]} {say.year(year)}", match.end())


def _year_first(match: re.Match[str], context: Context) -> Reading | None:
    year, month, day = match.groups()
    return _reading(spoken_date(int(month), int(day), year), match.end())


def _numeric_date(match: re.Match[str], context: Context) -> Reading | None:
    month, day = in_order(match[1], match[2], context.options.dates)
    return _reading(spoken_date(month, day, match[3]), match.end())


def _day_in_year(match: re.Match[str], context: Context) -> Reading | None:
    """Read "due 5/8" and "3/14": a month and a day that a word announces, or that are no usual fraction."""
    following = following_word(context.text, match.end())
    if following == "of" or counts(following) or "=" in context.text:
        return None
    month, day = in_order(match[1], match[2], context.options.dates)
    lowest = math.gcd(int(match[1]), int(match[2])) == 1
    usual = day <= 12 or (lowest and day in (16, 20, 24))  # denominators
    begins = context.last in BEGIN_WORDS and following in ("", "and", "at", "with", "through", "to", "until", "in")
    sums = context.last in ("and", "plus", "minus", "times", "equals")
    if context.last not in DATE_CUES and not begins and (usual or sums):
        return None
    return _reading(spoken_date(month, day, ""), match.end())


def _day_month(match: re.Match[str], context: Context) -> Reading | None:
    day, month = match.groups()
    if not 1 <= int(day) <= 31:
        return None
    article = "" if context.last == "the" else "the "
    return Reading(f"{article}{say.ordinal(day)} of {month_name(month)}", match.end())


def _day_dash_month(match: re.Match[str], context: Context) -> Reading | None:
    day, month, year = match.groups()
    return _reading(spoken_date(MONTHS.index(month_name(month)) + 1, int(day), year), match.end())


# --- years and decades ----------------------------------------------------------------------------------------------


def is_year(digits: str, end: int, context: Context) -> bool:
    """Tell whether four digits are a year, by the words around them."""
    if len(digits) != 4 or digits[0] == "0" or "year" in context.options.off:
        return False
    following = following_word(context.text, end)
    before = context.last
    if before in YEAR_PREPOSITIONS and "1900" <= digits <= "2099":
        return True
    if context.after_date or before in YEAR_WORDS or has_era(context.text, end):
        return digits < "3000" and not (before in ("in", "until") and digits > "2100" and counts(following))
    if not "1100" <= digits <= "2099":
        return False
    return not counts(following) and before not in QUANTITY_WORDS


_ERA = re.compile(r"\s(?:AD|BC|BCE|CE|A\.D\.|B\.C\.|B\.C\.E\.|C\.E\.)(?![A-Za-z])")


def has_era(text: str, end: int) -> bool:
    """Tell whether an era such as BC stands at `end`."""
    return bool(_ERA.match(text, end))


def _decade(match: re.Match[str], context: Context) -> Reading | None:
    digits = match[1]
    if len(digits) == 4:
        return Reading(say.decade(digits), match.end()) if "1100" <= digits <= "2100" else None
    if match.group().endswith("'s"):
        return Reading(say.decade(digits), match.end())
    following = following_word(context.text, match.end())
    before = context.last
    seconds = before in SECONDS_CUES or following in SECONDS_NOUNS or (before == "a" and following not in DECADE_NOUNS)
    if digits < "20" or seconds:
        return None
    if before in DECADE_CUES or following in DECADE_NOUNS or _in_a_list(context):
        return Reading(say.decade(digits), match.end())
    return None


def _in_a_list(context: Context) -> bool:
    """Tell whether decades go on: "in his 20s and 30s"."""
    recent = context.before[-3:]
    return bool(recent[1:]) and recent[-1] in ("and", "or", "to") and recent[-2][-4:] == "ties"


def _team(match: re.Match[str], context: Context) -> Reading | None:
    """Read "49ers" as forty niners."""
    words = say.cardinal(match[1])
    return Reading(words + ("rs" if words.endswith("e") else "ers"), match.end())


def _plural(match: re.Match[str], context: Context) -> Reading | None:
    """Read "747s" and "two 4s"; a number of seconds ("wait 30s") is left to the units."""
    digits = match[1]
    compound = context.text[match.start() - 1 : match.start()] == "-"  # "under-18s"
    seconds = context.last in SECONDS_CUES or following_word(context.text, match.end()) in SECONDS_NOUNS
    counted = context.last in NUMBER_WORDS or context.last in ("of", "several", "many", "no", "any", "straight")
    if not compound and (seconds or (len(digits) < 3 and not counted)):
        return None
    if len(digits) == 3 and digits[1:] != "00":
        words = f"{say.cardinal(digits[0])} {say.pair(digits[1:])}"
    else:
        words = say.cardinal(digits)
    return Reading(say.plural_number(words), match.end())


# --- times ----------------------------------------------------------------------------------------------------------


def clock(hour: str, minute: str, second: str | None, half: str | None, *, o_clock: bool = True) -> str:
    """Say a time of day; `half` is am or pm in any writing."""
    if minute == "00" and not second:
        spoken = say.cardinal(hour)
        if not half and o_clock:
            spoken = f"{spoken} o'clock" if 1 <= int(hour) <= 12 else f"{spoken} hundred"
    else:
        spoken = f"{say.cardinal(hour)} {say.pair(minute) if minute != '00' or second else 'hundred'}"
        if second:
            spoken += f" {say.pair(second)}"
    return f"{spoken} {half[0].upper()}M" if half else spoken


def _time(match: re.Match[str], context: Context) -> Reading | None:
    hour, minute, second, half = match.groups()
    if int(minute) > 59 or int(hour) > 24:
        return None
    text, end = context.text, match.end()
    ranged = re.match(r"\s?[-–]\s?\d", text[end : end + 4])
    goes_on = ranged or following_word(text, end) in ("noon", "midnight", "sharp")
    return Reading(clock(hour, minute, second, half, o_clock=not goes_on), end)


def _hour(match: re.Match[str], context: Context) -> Reading | None:
    hour, half = match.groups()
    return Reading(f"{say.cardinal(hour)} {half[0].upper()}M", match.end()) if int(hour) <= 24 else None


def _military(match: re.Match[str], context: Context) -> Reading | None:
    hour, minute = match.groups()
    return Reading(f"{say.pair(hour)} {'hundred' if minute == '00' else say.pair(minute)}", match.end())


def _duration(match: re.Match[str], context: Context) -> Reading | None:
    """Read "2h 30m", "1h30", "5m 30s": the m is minutes beside hours or seconds."""
    spoken = []
    for digits, unit in zip(match.groups(), ("hour", "minute", "second"), strict=True):
        if digits:
            spoken.append(f"{say.cardinal(digits)} {unit}{'' if int(digits) == 1 else 's'}")
    return Reading(" ".join(spoken), match.end()) if len(spoken) > 1 else None


ISO = Rule(
    "date",
    r"(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?(?![\d-])",
    _iso_date,
)
YEAR_MONTH = Rule("date", r"(\d{4})-(0[1-9]|1[0-2])(?![\d-])", _year_month)
SLASHED = Rule("date", r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\d/])", _numeric_date)
YEAR_SLASHED = Rule("date", r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})(?![\d/]|\.\d)", _year_first)
MONTH_SLASH_DAY = Rule("date", r"(\d{1,2})/(\d{1,2})(?![\d/]|\.\d)", _day_in_year)
POINTED = Rule("date", r"(\d{1,2})\.(\d{1,2})\.((?:19|20)\d{2})(?!\d|\.\d)", _numeric_date)
DASHED = Rule("date", r"(\d{1,2})-(\d{1,2})-((?:19|20)\d{2})(?![\d-])", _numeric_date)
DAY_DASH_MONTH = Rule("date", rf"(\d{{1,2}})-({MONTH})-(\d{{4}}|\d{{2}})(?![\d-])", _day_dash_month)
DAY_MONTH = Rule(
    "date", rf"(\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?({MONTH})(?![A-Za-z])\.?(?=[\s,.;:!?)]|$)", _day_month
)
DECADE = Rule("decade", r"(\d{3}0|\d0)'?s(?![A-Za-z])", _decade)
TEAM = Rule("decade", r"(\d{2})ers(?![A-Za-z])", _team)
PLURAL = Rule("decade", r"(\d{1,3})s(?![A-Za-z])", _plural)
CLOCK = Rule("time", rf"(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?(?![\d:])(?:\s?{HALF})?", _time)
HOUR = Rule("time", rf"(\d{{1,2}})\s?{HALF}", _hour)
MILITARY = Rule("time", r"(0\d)([0-5]\d)(?=\s(?:hrs|hours)(?![a-z]))", _military)
_MINUTES = r"(\d{1,2})\s?m(?:ins?)?"
_SECONDS = r"(\d{1,2})\s?s(?:ecs?)?"
DURATIONS = (
    Rule("time", rf"(\d{{1,3}})\s?h(?:rs?)?\s?{_MINUTES}(?:\s?{_SECONDS})?(?![A-Za-z0-9])", _duration),
    Rule("time", r"(\d{1,2})h(\d{2})()(?![A-Za-z0-9])", _duration),
    Rule("time", rf"()(\d{{1,3}})\s?m(?:ins?)?\s?{_SECONDS}(?![A-Za-z0-9])", _duration),
)
