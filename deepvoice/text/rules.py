"""What the number rules share: what they see, what they return, and patterns that are compiled on first use."""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from deepvoice.text import numbers as say
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.vocabulary import DETERMINERS, MONTH_ABBREVIATIONS, MONTHS, NOT_NOUNS, NOT_PLURALS, UNCOUNTED

NUMBER = r"\d{1,3}(?:,\d{3})++(?!\d)|\d++"
MONTH = "|".join(name.capitalize() for name in [*MONTHS, *MONTH_ABBREVIATIONS])  # "may" and "march" are verbs


class Reading(NamedTuple):
    """What a piece of text is read as, and where the piece ends."""

    spoken: str  # lower-case words, pauses, and pieces in capitals, which are spelled
    end: int


class Context(NamedTuple):
    """What a rule may look at around its match: the sentence, the words spoken so far, and open expressions."""

    text: str
    before: Sequence[str]  # lower-case spoken words, oldest first
    after_date: bool = False  # a month and day were just read, so that a year may follow
    after_year: bool = False  # a year and a dash were just read ("1914-18")
    options: TextOptions = DEFAULT_OPTIONS

    @property
    def last(self) -> str:
        """The word said last, "" at the start."""
        return self.before[-1] if self.before else ""


class Rule(NamedTuple):
    """One way to read a number: its class, the pattern that must match, and what reads the match (or declines)."""

    kind: str  # a key of options.CLASSES
    pattern: str
    read: Callable[[re.Match[str], Context], Reading | None]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use: most texts need few of the rules."""
    return re.compile(pattern)


def first_reading(rules: Sequence[Rule], position: int, context: Context) -> Reading | None:
    """Return what the first rule that fits reads at the position; None when none does."""
    for rule in rules:
        if rule.kind not in context.options.off:
            match = compiled(rule.pattern).match(context.text, position)
            if match:
                reading = rule.read(match, context)
                if reading:
                    return reading
    return None


def plain(number: str) -> str:
    """Return a number without its separators."""
    return number.replace(",", "")


def amount(whole: str, fraction: str | None) -> str:
    """Read a number with or without decimals; `whole` may have separators."""
    return say.decimal(plain(whole), fraction) if fraction else say.cardinal(plain(whole))


def following_word(text: str, position: int) -> str:
    """Return the word after one space, "" when something else follows."""
    match = compiled(r"\s([A-Za-z]+)").match(text, position)
    return match[1] if match else ""


def counts(word: str) -> bool:
    """Tell whether a word after a number looks like a thing that is counted."""
    if word in UNCOUNTED:
        return True
    return len(word) > 2 and word.islower() and word[-1] == "s" and word[-2] != "s" and word not in NOT_PLURALS


def is_attributive(context: Context, end: int) -> bool:
    """Tell whether a measure that ends at `end` stands before its noun: "a 9mm pistol", "the $5 bill"."""
    if context.last not in DETERMINERS:
        return False
    match = compiled(r"[ -]([a-z]{3,})(?![A-Za-z])").match(context.text, end)
    return bool(match) and match[1] not in NOT_NOUNS and not match[1].endswith("ly") if match else False


def closes_quote(text: str, position: int) -> bool:
    """Tell whether the double quote at the position closes one that was opened before it in the sentence."""
    return position in _closing_quotes(text)


@lru_cache(maxsize=16)
def _closing_quotes(sentence: str) -> frozenset[int]:
    """Return where quotes are closed; a quote after a digit that is not inside a quotation is the mark of inches."""
    closing, opened, at = set(), False, sentence.find('"')
    while at >= 0:
        if opened:
            closing.add(at)
        opened = not opened and not sentence[at - 1 : at].isdigit()
        at = sentence.find('"', at + 1)
    return frozenset(closing)


def split_pairs(digits: str) -> str:
    """Read a room, flight or model number: "237" two thirty seven, "1408" fourteen oh eight."""
    if len(digits) == 3:
        return f"{say.cardinal(digits[0])} {say.pair(digits[1:])}" if digits[1:] != "00" else say.cardinal(digits)
    return say.year(digits) if digits[0] != "0" else say.spell_digits(digits)
