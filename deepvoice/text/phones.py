"""The closed phone set: every symbol that any module of the system reads or writes.

Phones are ARPAbet as in CMUdict (39 phones, vowels with a stress digit) plus one silence symbol for the
start of a sentence and one pause symbol for each punctuation mark that the system voices as a pause.
The order of `SYMBOLS` is part of the voice format: ids are positions in it, and `phone_set_hash()` goes into
every checkpoint and voice so that modules trained on another set are refused.
"""

import hashlib
from collections.abc import Sequence

START = "sil"  # silence before the first phone of a sentence
PAUSES = (",", ";", ":", "-")  # pauses inside a sentence ("-" is a dash)
ENDS = (".", "?", "!")  # silence after the last phone; carries the sentence type
CONSONANTS = tuple("B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH".split())
VOWELS = tuple("AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split())
STRESSES = ("0", "1", "2")  # none, primary, secondary

SILENCES = (START, *PAUSES, *ENDS)
SYMBOLS = (*SILENCES, *CONSONANTS, *(v + s for v in VOWELS for s in STRESSES))
SYMBOL_IDS = {symbol: i for i, symbol in enumerate(SYMBOLS)}
NUM_SILENCES = len(SILENCES)  # ids below this are silences
PHONES = SYMBOLS[NUM_SILENCES:]

# The same set without stress, for models that ignore it (segmentation).
BASES = (*SILENCES, *CONSONANTS, *VOWELS)
BASE_IDS = {base: i for i, base in enumerate(BASES)}

_VOWELS = frozenset(VOWELS) | {vowel + mark for vowel in VOWELS for mark in STRESSES}
VOICELESS = frozenset("CH F HH K P S SH T TH".split())


def is_vowel(symbol: str) -> bool:
    """Tell whether a symbol is a vowel (with or without its stress digit)."""
    return symbol in _VOWELS


def is_silence(symbol: str) -> bool:
    """Tell whether a symbol is the start silence, a pause or an end."""
    return symbol in SILENCES


def base(symbol: str) -> str:
    """Return a symbol without its stress digit."""
    return symbol.rstrip("012")


def stress(symbol: str) -> int:
    """Return 0, 1 or 2; consonants and silences have 0."""
    return int(symbol[-1]) if symbol[-1] in STRESSES else 0


def encode(symbols: Sequence[str]) -> list[int]:
    """Return the ids of symbols; raises ValueError naming the first one outside the set."""
    try:
        return [SYMBOL_IDS[symbol] for symbol in symbols]
    except KeyError as error:
        raise ValueError(
            f"{error.args[0]!r} is not a phone; expected ARPAbet with stress digits (such as AH0, T) "
            f"or one of {' '.join(SILENCES)}"
        ) from None


def phone_set_hash() -> str:
    """Return a short hash of the set and its order."""
    return hashlib.sha256(" ".join(SYMBOLS).encode()).hexdigest()[:16]
