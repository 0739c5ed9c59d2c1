"""Capital letters: initialisms that are spelled, acronyms that are words, emphasis, and Roman numerals."""

import re
from collections.abc import Callable, Sequence

from deepvoice.text import numbers as say
from deepvoice.text.vocabulary import ACRONYMS, EMPHATIC, INITIALISMS, REGNAL_NAMES, ROMAN_NOUNS

_CAPITALS = re.compile(r"([A-Z]{2,})('s|s')?|([A-Z]{2,})s")
_ROMAN = re.compile(r"[IVXLC]{2,8}|[VX]")


def is_shouted(sentence: str) -> bool:
    """Tell whether a sentence is all in capitals, so that capitals say nothing about its words."""
    return sentence.isupper() and len(re.findall(r"[A-Z]{2,}", sentence[:200])) >= 3


def read_capitals(word: str, *, shouted: bool, known: Callable[[str], bool]) -> tuple[str, str] | None:
    """Return the letters to spell and the suffix ("'s" or ""), or None for a word that is said as a word.

    known: tells whether a lower-case word is in the lexicon
    """
    match = _CAPITALS.fullmatch(word)
    if not match:
        return None
    base = match[1] or match[3]
    suffix = "'s" if match[2] or match[3] else ""
    lower = base.lower()
    if base in ACRONYMS or (shouted and (lower in EMPHATIC or lower == "us")):
        return None
    if base in INITIALISMS:
        return base, suffix
    if lower in EMPHATIC:
        return None
    if len(base) <= 3 and not (shouted and known(lower)):
        return base, suffix
    if known(lower):
        return None
    vowels = sum(c in "AEIOUY" for c in base)
    return (base, suffix) if vowels == 0 or len(base) <= 4 else None


def read_roman(word: str, before: Sequence[str], text: str, end: int) -> str | None:
    """Read a Roman numeral after a noun it numbers ("World War II") or a ruler's name ("Henry VIII"); else None."""
    numeral, possessive = (word[:-2], "'s") if word.endswith("'s") else (word, "")
    value = str(say.roman(numeral)) if _ROMAN.fullmatch(numeral) and before else "0"
    if value == "0" or text[end : end + 1].isdigit():
        return None
    if before[-1] in REGNAL_NAMES and len(value) <= 2:
        return f"the {say.ordinal(value)}{possessive}"
    return say.cardinal(value) + possessive if before[-1] in ROMAN_NOUNS else None
