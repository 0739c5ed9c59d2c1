"""The unit after a number: glued or spaced, squared, per another unit."""

import re
from functools import lru_cache

from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.rules import Context, Reading, is_attributive
from deepvoice.text.units import GLUED_UNITS, NOT_GLUED_UNITS, PER_UNITS, UNITS

_UNIT = re.compile(
    r"([ -]?)(?:(°)(?:\s?([CFK])(?![A-Za-z]))?"
    r"|([A-Za-zµΩ]{1,5})([²³]|(?<=m)[23])?(?![A-Za-z0-9µΩ'])(?!\.[A-Za-z])"
    r"|([€£$¢¥]))"
    r"(?:/([A-Za-z]{1,3}[²³]?)(?![A-Za-z0-9]))?"
)
_PHRASE = re.compile(r" ?(sq|cu|fl|deg)\.?\s(ft|in|mi|yd|m|km|cm|oz|C|F)(?![A-Za-z0-9])\.?")
_PHRASES = {"sq": "square ", "cu": "cubic ", "fl": "fluid ", "deg": "°"}
_COMPASS = re.compile(r" ?([NSEW])(?![A-Za-z0-9])")
_POWERS = {"²": "square ", "³": "cubic ", "2": "square ", "3": "cubic "}
_FEW = re.compile(r"(?:^|[^\d.,])\d{1,3}\s?$")  # numbers of basis points; more are bits
_INGREDIENT = re.compile(r"\s(?!and\b|or\b|is\b|was\b|in\b|at\b|for\b|on\b|to\b|of\b)[a-z]{3}")
_SMALL = re.compile(r"(?:^|[^\d.])(?:\d{1,2}|\d/\d)\s?$")
_RECIPE = re.compile(
    r"\b(?:cups?|tsps?|tbsps?|teaspoons?|tablespoons?|flour|sugar|butter|milk|salt|eggs?|rice|broth|stock|cream|cheese|oats?"
    r"|chopped|diced|sliced|stir|mix|whisk|recipe)\b",
    re.IGNORECASE,
)
_WEATHER = re.compile(
    r"\b(?:temp(?:erature)?s?|degrees?|fever|celsius|fahrenheit|weather|outside|hot|hotter|cold|colder|cool|warm|warmer|heat"
    r"|heated|oven|bake[sd]?|roast|preheat|boils?|boiling|freezes?|freezing|melts?|highs?|lows?|thermostat|thermometer|sunny)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(  # after a temperature
    r"[.,;:!?)\"/]|$|\s(?:and|or|to|in|at|on|for|by|with|outside|inside|today|tonight|tomorrow|yesterday|is|was|this|before"
    r"|after|until|when|while|during|from|but|here|there|now|all|every|or|than|as|oven)\b"
)
_FEET = re.compile(r"\d\s?(?:ft\.?|feet|foot|')\s?\d[\d./]*\s?$")
_SO_LONG = re.compile(r"\b(?:is|are|was|were|measure[sd]?|measuring|by|x|about|only|grew|grows)\s\d[\d,./]*\s?$")
_PLACES = frozenset("seat seats row gate platform apartment unit flat room page section chapter figure table".split())
DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}


def _is_abbreviation_stop(text: str, position: int) -> bool:
    """Tell whether the full stop after a unit is an abbreviation's: the sentence goes on in lower case."""
    return text[position : position + 2] == ". " and text[position + 2 : position + 3].islower()


def _is_length(text: str, position: int, end: int) -> bool:
    """Tell whether the "in" after a number is inches: after feet, or at the end of what is so long."""
    return _FEET.search(text, max(0, position - 24), position) is not None or (
        text[end : end + 2].rstrip("\"')") == "." and _SO_LONG.search(text, max(0, position - 32), position) is not None
    )


def read_unit(
    text: str, position: int, *, one: bool, options: TextOptions = DEFAULT_OPTIONS, context: Context | None = None
) -> Reading | None:
    """Read the unit that stands after a number, glued to it, after a space or after a hyphen; None when there is none.

    one: the number is one, or a fraction of it
    context: where the number stands, to say "a nine millimeter pistol" without the plural
    """
    if text[position : position + 1] == "%" or text[position : position + 2] == " %":
        return Reading("percent", text.index("%", position) + 1) if options.reads("percent") else None
    phrase = _PHRASE.match(text, position)
    if phrase and options.reads("unit"):
        return _phrase(phrase, one)
    match = _UNIT.match(text, position)
    if not match:
        return None
    letter = _cups_or_degrees(match, one, context) if match[4] in ("C", "c", "F") and not match[5] else None
    if letter:
        return letter
    gap, degree, scale, symbol, exponent, sign, per = match.groups()
    symbol = f"°{scale or ''}" if degree else symbol or sign
    if not options.reads("temperature" if degree else "money" if sign else "unit"):
        return None
    if symbol == "bps" and _FEW.search(text, max(0, position - 6), position):
        symbol = "bp"
    if symbol == "in" and (_is_abbreviation_stop(text, match.end()) or _is_length(text, position, match.end())):
        gap = ""
    if symbol not in UNITS or symbol in (GLUED_UNITS if gap else NOT_GLUED_UNITS) or (gap == "-" and len(symbol) < 2):
        return None
    end = match.end()
    if per not in PER_UNITS and per:
        end, per = match.start(7) - 1, None
    single = one or gap == "-" or (context is not None and is_attributive(context, end))
    spoken = _POWERS.get(exponent or "", "") + UNITS[symbol][0 if single else 1]
    if per:
        spoken += f" per {PER_UNITS[per]}"
    end += _is_abbreviation_stop(text, end)
    compass = _COMPASS.match(text, end) if symbol == "°" else None
    if compass:
        spoken += " " + DIRECTIONS[compass[1]]
        end = compass.end()
    return Reading(spoken, end)


@lru_cache(maxsize=16)
def _subjects(sentence: str) -> tuple[bool, bool]:
    """Tell whether a sentence speaks of cooking, and of heat."""
    return _RECIPE.search(sentence) is not None, _WEATHER.search(sentence) is not None


def _cups_or_degrees(match: re.Match[str], one: bool, context: Context | None) -> Reading | None:
    """Read the letter of "3/4 C sugar" and "20 C outside", by the words around; None when it is only a letter."""
    if context is None or match[7]:
        return None
    text, start, end, symbol = match.string, match.start(), match.end(), match[4]
    cooking, heat = _subjects(text)
    stop = end + (text[end : end + 1] == ".")
    measured = _INGREDIENT.match(text, stop)
    few = symbol != "F" and measured and match[1] != "-" and _SMALL.search(text, max(0, start - 8), start)
    if few and (text[max(0, start - 3) : start - 1].endswith("/") or cooking):
        return Reading("cup" if one else "cups", stop)
    if symbol == "c" or context.last in _PLACES or not heat or not _GOES_ON.match(text, end):
        return None
    return Reading(UNITS[f"°{symbol}"][0 if one else 1], end)


def _phrase(match: re.Match[str], one: bool) -> Reading | None:
    """Read "sq. ft.", "fl oz", "deg C"."""
    kind, symbol = _PHRASES[match[1]], match[2]
    if (kind == "°") != (symbol in "CF") or (kind == "fluid ") != (symbol == "oz"):
        return None
    spoken = UNITS[f"°{symbol}"] if kind == "°" else tuple(kind + name for name in UNITS[symbol])
    end = match.end()
    if match.group().endswith(".") and end == len(match.string):
        end -= 1  # the sentence's own
    return Reading(spoken[0 if one else 1], end)
