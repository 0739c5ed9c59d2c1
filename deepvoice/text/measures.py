"""The unit after a number: glued or spaced, squared, per another unit."""

import re
from typing import NamedTuple

from deepvoice.text.vocabulary import GLUED_UNITS, NOT_GLUED_UNITS, PER_UNITS, UNITS

_UNIT = re.compile(
    r"([ -]?)((?:°\s?[CFK]?|[A-Za-zµΩ]{1,5}|[€£$¢¥])(?:[²³]|(?<=m)[23])?)(?![A-Za-z0-9µΩ'])"
    r"(?:/([A-Za-z]{1,3}[²³]?)(?![A-Za-z0-9]))?"
)
_COMPASS = re.compile(r" ?([NSEW])(?![A-Za-z0-9])")
_POWERS = {"²": "square ", "³": "cubic ", "2": "square ", "3": "cubic "}
_DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}


class Reading(NamedTuple):
    """What a piece of text is read as, and where the piece ends."""

    spoken: str
    end: int


def _is_abbreviation_stop(text: str, position: int) -> bool:
    """Tell whether the full stop after a unit is an abbreviation's: the sentence goes on in lower case."""
    return text[position : position + 2] == ". " and text[position + 2 : position + 3].islower()


def read_unit(text: str, position: int, *, one: bool) -> Reading | None:
    """Read the unit that stands after a number, glued to it, after a space or after a hyphen; None when there is none.

    one: the number is one, or a fraction of it
    """
    if text[position : position + 1] == "%" or text[position : position + 2] == " %":
        return Reading("percent", text.index("%", position) + 1)
    match = _UNIT.match(text, position)
    if not match:
        return None
    gap, symbol, per = match.groups()
    power = _POWERS.get(symbol[-1], "")
    symbol = symbol.rstrip("²³23").replace(" ", "")
    if symbol == "in" and _is_abbreviation_stop(text, match.end()):
        gap = ""
    if symbol not in UNITS or symbol in (GLUED_UNITS if gap else NOT_GLUED_UNITS) or (gap == "-" and len(symbol) < 2):
        return None
    spoken = power + UNITS[symbol][0 if one or gap == "-" else 1]
    end = match.end()
    if per and per in PER_UNITS:
        spoken += f" per {PER_UNITS[per]}"
    elif per:
        end = match.end(2)
    end += _is_abbreviation_stop(text, end)
    compass = _COMPASS.match(text, end) if symbol == "°" else None
    if compass:
        spoken += " " + _DIRECTIONS[compass[1]]
        end = compass.end()
    return Reading(spoken, end)
