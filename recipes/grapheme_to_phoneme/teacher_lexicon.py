"""More words to learn spelling from: the lexicon inside the teacher's package hibari-tts (Apache-2.0).

It lists some 130,000 pronunciations of words that CMUdict lacks, in the notation of misaki. They join the training
words only; CMUdict alone decides what is held out, and words related to held-out ones are dropped.
"""

import gzip
import importlib.util
import json
import re
from collections.abc import Mapping
from pathlib import Path

from deepvoice.errors import ConfigError
from deepvoice.recipes.grapheme_to_phoneme.lexicon import Pronunciation, Split, word_families

FILES = ("lexicon_us_gold.json.gz", "lexicon_us_silver.json.gz")

_WORD = re.compile(r"[A-Za-z][a-z']*\Z")  # words in capitals are abbreviations, often said letter by letter
_CONSONANTS = {
    "b": "B", "ʧ": "CH", "d": "D", "ð": "DH", "f": "F", "ɡ": "G", "h": "HH", "ʤ": "JH", "k": "K", "l": "L", "m": "M",
    "n": "N", "ŋ": "NG", "p": "P", "ɹ": "R", "s": "S", "ʃ": "SH", "t": "T", "ɾ": "T", "ʔ": "T", "θ": "TH", "v": "V",
    "w": "W", "j": "Y", "z": "Z", "ʒ": "ZH",
}  # fmt: skip
_VOWELS = {
    "ɑ": "AA", "æ": "AE", "ʌ": "AH", "ə": "AH", "ᵊ": "AH", "ɔ": "AO", "W": "AW", "I": "AY", "ɛ": "EH", "A": "EY",
    "ɪ": "IH", "ᵻ": "IH", "i": "IY", "O": "OW", "Y": "OY", "ʊ": "UH", "u": "UW",
}  # fmt: skip
_STRESS = {"ˈ": "1", "ˌ": "2"}
_BEFORE_SYLLABIC = "ʔn"  # "kitten" is written with a glottal stop and a bare n


def from_misaki(text: str) -> Pronunciation | None:
    """Return a word in ARPAbet, or None where it has a sound that our set lacks.

    text: misaki notation, American, stress marks before vowels
    """
    text = re.sub(f"{_BEFORE_SYLLABIC}(?![{''.join(_VOWELS)}ɜˈˌ])", "tᵊn", text)
    phones: list[str] = []
    digit, position = "0", 0
    while position < len(text):
        sign = text[position]
        position += 1
        if sign in _STRESS:
            digit = _STRESS[sign]
            continue
        if sign in "əɜ" and text[position : position + 1] == "ɹ":
            phones.append("ER" + digit)
            position += 1
        elif sign in _VOWELS:
            phones.append(_VOWELS[sign] + digit)
        elif sign in _CONSONANTS and digit == "0":  # a stress mark before a consonant is not this notation
            phones.append(_CONSONANTS[sign])
        else:
            return None
        digit = "0"
    return tuple(phones) or None


def find_files() -> list[Path]:
    """Return the lexicon files of the installed hibari-tts, without importing it; raises ConfigError when absent."""
    spec = importlib.util.find_spec("hibari")
    folders = (spec.submodule_search_locations or []) if spec else []
    found = [Path(folder) / "assets" / name for folder in folders for name in FILES]
    if not found or not all(path.is_file() for path in found):
        raise ConfigError("the lexicon of hibari-tts is not installed; run `pip install hibari-tts` or leave it out")
    return found


def read_words(path: Path) -> dict[str, Pronunciation]:
    """Return lower-case word -> pronunciation, for words of letters and apostrophes with one pronunciation."""
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        table: Mapping[str, object] = json.load(handle)
    words: dict[str, Pronunciation] = {}
    for word, text in table.items():
        said = from_misaki(text) if isinstance(text, str) and _WORD.match(word) else None
        if said:
            words.setdefault(word.lower(), said)
    return words


def unrelated(extra: Mapping[str, Pronunciation], splits: Mapping[str, Split]) -> dict[str, Pronunciation]:
    """Return the extra words that the dictionary lacks and that no held-out word is a relative of.

    splits: the dictionary's words and their splits
    """
    families = word_families({*extra, *splits})
    held_out = {families[word] for word, split in splits.items() if split != "train"}
    return {word: said for word, said in extra.items() if word not in splits and families[word] not in held_out}
