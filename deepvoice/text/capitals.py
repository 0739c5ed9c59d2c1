"""Capital letters: initialisms that are spelled, acronyms that are words, emphasis, and Roman numerals."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from deepvoice.text import numbers as say
from deepvoice.text.names import (
    ACRONYMS,
    EMPHATIC,
    FIRST_NAMES,
    INITIALISMS,
    REGNAL_NAMES,
    ROMAN_NOUNS,
    ROYAL_TITLES,
)

if TYPE_CHECKING:
    from deepvoice.text.scanner import Scanner

_CAPITALS = re.compile(r"([A-Z]{2,})('s|s'|s)?|([A-Z]{2,})S'?")
_ROMAN = re.compile(r"[IVXLCDM]{1,12}|[ivxl]{2,6}")
_SURE = re.compile(r"(?:X{1,3})?(?:VI{1,3}|I{2,3}|XI{1,3}|IX|IV)|XX?")
_BEFORE = re.compile(r"(?:([A-Z][a-z]+)\s)?([A-Za-z]+)[.,]?\s(?:[A-Z]\.\s)?$")
_REIGN = re.compile(
    r"\s(?:was|ruled|reigned|became|died|had|succeeded|married|of|and|or|in|who|is)\b|['.,;:!?)]|$|\s?[-–—]"
)
_ALWAYS = frozenset("II III VII VIII XII XIII XIV XVI XVII XVIII XIX XXI XXII XXIII".split())  # never letters
_CENTURY = re.compile(r"(?:st|nd|rd|th)?\s(?:[Cc]entur(?:y|ies))\b")
_ORDINAL_ENDING = re.compile(r"([IVXL]{1,8})(?:st|nd|rd|th)")
_SHOUTED_AFTER = re.compile(r"[,;:!?]?\s+([A-Z]{2,})(?![a-z\d])")
_SHOUTED_BEFORE = re.compile(r"(?<![A-Za-z\d])([A-Z]{2,})[,;:!?]?\s+$")


def is_shouted(sentence: str) -> bool:
    """Tell whether a sentence is all in capitals, so that capitals say nothing about its words."""
    return sentence.isupper() and len(re.findall(r"[A-Z]{2,}", sentence[:200])) >= 3


def read_capitals(
    word: str, *, shouted: bool, known: Callable[[str], bool], off: frozenset[str]
) -> tuple[str, str] | None:
    """Return the letters to spell and the suffix ("'s" or ""), or None for a word that is said as a word.

    shouted: the words around it are in capitals too
    known: tells whether a lower-case word is in the lexicon
    """
    match = _CAPITALS.fullmatch(word)
    if not match or "initialism" in off:
        return None
    base, suffix = match[1] or match[3], "'s" if match[2] or match[3] else ""
    plural = base[-1] == "S" and base[:-1] in INITIALISMS and base not in INITIALISMS
    if plural and match[1] and not match[2] and (shouted or len(base) > 3):  # CEOS; PRS is three letters, PRs two
        base, suffix = base[:-1], "'s"
    lower = base.lower()
    if base in ACRONYMS:
        return None if "acronym" not in off else (base, suffix)
    if shouted and "shout" not in off and (lower in EMPHATIC or lower in ("us", "it", "am", "id", "pm")):
        return (base, suffix) if lower in ("id", "pm") else None
    if base in INITIALISMS:
        return base, suffix
    if lower in EMPHATIC or (shouted and "shout" not in off and known(lower) and any(c in "aeiouy" for c in lower)):
        return None
    if len(base) <= 3:
        return base, suffix
    if known(lower):
        return None
    vowels = sum(c in "AEIOUY" for c in base)
    return (base, suffix) if vowels == 0 or len(base) <= 4 else None


def among_capitals(text: str, start: int, end: int, known: Callable[[str], bool]) -> bool:
    """Tell whether a word next to the one at [start, end) is an ordinary word in capitals ("READ THE STORY")."""
    after = _SHOUTED_AFTER.match(text, end)
    before = _SHOUTED_BEFORE.search(text, max(0, start - 24), start)
    return any(m is not None and _is_shouted_word(m[1], known) for m in (after, before))


def _is_shouted_word(word: str, known: Callable[[str], bool]) -> bool:
    if word in INITIALISMS or word in ACRONYMS:
        return False
    lower = word.lower()
    return (len(word) >= 4 and known(lower)) or (len(word) >= 2 and lower in EMPHATIC)


# --- Roman numerals -------------------------------------------------------------------------------------------------


def read_roman(scanner: "Scanner", word: str, end: int) -> str | None:
    """Read a Roman numeral after a noun it numbers, a ruler's name, or before "century"; else None."""
    text = scanner.text
    numeral, possessive = (word[:-2], "'s") if word.endswith("'s") else (word, "")
    century = _ORDINAL_ENDING.fullmatch(word)
    if century:
        numeral = century[1]
    if not _ROMAN.fullmatch(numeral) or text[end : end + 1].isdigit() or not scanner.options.reads("roman"):
        return None
    value = str(say.roman(numeral.upper()))
    if value == "0":
        return None
    if century or _CENTURY.match(text, end):
        return say.ordinal(value)
    before = _BEFORE.search(text, max(0, scanner.position - 40), scanner.position)
    if before is None:
        return _read_alone(scanner, numeral, value, end)
    spoken = _read_after(scanner, numeral, value, before, end)
    return spoken + possessive if spoken else None


def _read_after(scanner: "Scanner", numeral: str, value: str, before: re.Match[str], end: int) -> str | None:
    """Read a numeral after a word, by that word and the one before it."""
    name, last = (before[1] or "").lower(), before[2]
    noun, capital = last.lower(), last[0].isupper()
    numbers = noun in ROMAN_NOUNS or (scanner.words[-1:] and scanner.words[-1] in ROMAN_NOUNS)  # "Ch." is said in full
    if numeral.islower():
        return say.cardinal(value) if numbers else None
    if noun in REGNAL_NAMES and capital and len(value) <= 2:
        if numeral == "I" and not (name in ROYAL_TITLES or _follows_ruler(scanner, before, end)):
            return None
        return f"the {say.ordinal(value)}"
    if numbers and (len(numeral) > 1 or capital or scanner.shouted):
        return say.cardinal(value)
    if numeral in _ALWAYS and not capital:
        return say.cardinal(value)
    if noun in ("and", "or", "to", "through") and scanner.after_roman and len(numeral) > 1:
        return say.cardinal(value)
    if capital and len(numeral) > 1 and _SURE.fullmatch(numeral) and numeral not in ("IV", "XX"):
        return f"the {say.ordinal(value)}" if name in FIRST_NAMES else say.cardinal(value)
    return None


def _follows_ruler(scanner: "Scanner", before: re.Match[str], end: int) -> bool:
    """Tell "Elizabeth I" and "Charles I was king" from "Elizabeth I think"."""
    follows = _REIGN.match(scanner.text, end)
    if not follows:
        return False
    return follows.group().strip() not in ("was", "had", "is", "and") or before.start() == 0


def _read_alone(scanner: "Scanner", numeral: str, value: str, end: int) -> str | None:
    """Read a numeral that heads a line ("III. The Return") or stands in brackets ("(ii)"), or a year ("MMXXIV")."""
    text, start = scanner.text, scanner.position
    if len(numeral) >= 5 and len(value) == 4 and numeral.isupper() and value < "2100":
        return say.year(value)
    bracketed = scanner.before == "(" and text[end : end + 1] == ")"
    if len(numeral) > 1 and bracketed and set(numeral.upper()) <= set("IVX"):
        return say.cardinal(value)
    if numeral in _ALWAYS:
        return say.cardinal(value)
    heads = start == 0 and len(numeral) > 1 and _SURE.fullmatch(numeral) and text[end : end + 1] in ("", ".", ")", ":")
    return say.cardinal(value) if heads else None
