"""Words to phones: the lexicon first, then regular endings of lexicon words, then the grapheme-to-phoneme model."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from deepvoice.errors import VoiceError
from deepvoice.text import accents
from deepvoice.text.hygiene import fold
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.phones import NUM_SILENCES, SYMBOL_IDS, VOICELESS, is_vowel

Phones = tuple[str, ...]
GraphemeToPhoneme = Callable[[Sequence[str]], list[Phones]]

LETTERS: dict[str, Phones] = {
    letter: tuple(phones.split())
    for letter, phones in zip(
        "abcdefghijklmnopqrstuvwxyz",
        (
            "EY1|B IY1|S IY1|D IY1|IY1|EH1 F|JH IY1|EY1 CH|AY1|JH EY1|K EY1|EH1 L|EH1 M|EH1 N|OW1|P IY1|K Y UW1|AA1 R|"
            "EH1 S|T IY1|Y UW1|V IY1|D AH1 B AH0 L Y UW0|EH1 K S|W AY1|Z IY1"
        ).split("|"),
        strict=True,
    )
}
_SIBILANTS = frozenset("S Z SH ZH CH JH".split())
_CONTRACTIONS: dict[str, Phones] = {"'ll": ("AH0", "L"), "'re": ("ER0",), "'m": ("AH0", "M"), "n't": ("AH0", "N", "T")}
_SUFFIXES: dict[str, Phones] = {"ness": ("N", "AH0", "S"), "less": ("L", "AH0", "S"), "ly": ("L", "IY0")}
_NO_PREFIX = frozenset("until unless".split())
_SPOKEN = frozenset("aeiouy")  # a word without one of these is spelled
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")  # "soooo", "yesss"
_CRIES = frozenset("boo woo moo eek".split())
_SILENT_E = re.compile("(?:(?<![aeiou])[aeiouy][bdfgklmnprstvz]|[cgvzsu])ing$")  # the stem most likely ends in e
_CACHE_LIMIT = 20_000  # words the model was asked for


class Pronunciation(NamedTuple):
    """Phones of a word and where they come from."""

    phones: Phones
    source: str  # lexicon, supplement, letters or g2p


def _join(phones: Phones, ending: Phones) -> Phones:
    """Append an ending; two equal consonants in a row are said once ("really")."""
    return (*phones[:-1], *ending) if phones[-1] == ending[0] else (*phones, *ending)


def with_s(phones: Phones) -> Phones:
    """Add the plural, third person or possessive ending."""
    if phones[-1] in _SIBILANTS:
        return (*phones, "IH0", "Z")
    return (*phones, "S" if phones[-1] in VOICELESS else "Z")


def with_ed(phones: Phones) -> Phones:
    """Add the past ending."""
    if phones[-1] in ("T", "D"):
        return (*phones, "IH0", "D")
    return (*phones, "T" if phones[-1] in VOICELESS else "D")


@lru_cache(maxsize=4096)
def spell(letters: str) -> Phones:
    """Say letters by their names ("f b i", "c e o's"): the last one carries the main stress."""
    text, plural = (letters[:-2], True) if letters.endswith("'s") else (letters, False)
    names = [LETTERS[c] for c in fold(text) if c in LETTERS]
    phones: list[str] = []
    for i, name in enumerate(names):
        phones += name if i == len(names) - 1 else [p.replace("1", "2") for p in name]
    return with_s(tuple(phones)) if plural and phones else tuple(phones)


class Pronouncer:
    """Looks words up, and asks the model for the rest in one batch. Safe to share between threads."""

    def __init__(self, lexicon: Lexicon, g2p: GraphemeToPhoneme) -> None:
        self.lexicon = lexicon
        self._g2p = g2p
        self._known: dict[str, Pronunciation | None] = {}
        self._guessed: dict[str, Pronunciation] = {}

    def known(self, word: str) -> Pronunciation | None:
        """Return the pronunciation of a lower-case word from the lexicon or its rules, None when neither has it."""
        try:
            return self._known[word]
        except KeyError:
            pass
        key = fold(word)
        found = self._look_up(key) or self._shortened(key)
        if key != word and (phones := accents.heard(word, found.phones if found else ())):
            found = Pronunciation(phones, found.source if found else "supplement")
        if len(self._known) >= _CACHE_LIMIT:
            self._known.clear()
        self._known[word] = found
        return found

    def guess(self, words: Iterable[str]) -> dict[str, Pronunciation]:
        """Return pronunciations of unknown words from the model, all in one call for those not seen before."""
        wanted = list(dict.fromkeys(words))
        found = {word: self._guessed[word] for word in wanted if word in self._guessed}
        missing = [word for word in wanted if word not in found]
        if missing:
            keys = [fold(word) for word in missing]
            spelled = {key for key in keys if _SPOKEN.isdisjoint(key.removesuffix("'s")) and spell(key)}
            asked = [key for key in dict.fromkeys(keys) if key not in spelled]
            answers = self._g2p(asked) if asked else []
            if len(answers) != len(asked):
                raise VoiceError(
                    f"the grapheme-to-phoneme model answered {len(answers)} words of {len(asked)}; repack the voice"
                )
            read = {key: Pronunciation(spell(key), "letters") for key in spelled}
            read |= {key: _checked(key, phones) for key, phones in zip(asked, answers, strict=True)}
            if len(self._guessed) >= _CACHE_LIMIT:
                self._guessed.clear()
            for word, key in zip(missing, keys, strict=True):
                phones, source = read[key]
                found[word] = self._guessed[word] = Pronunciation(accents.heard(word, phones), source)
        return found

    def _look_up(self, key: str, depth: int = 0) -> Pronunciation | None:
        entry = self.lexicon.lookup(key)
        if entry:
            if entry.supplement:
                return Pronunciation(entry.pronunciations[0], "supplement")
            return Pronunciation(self._prefixed(key, entry.pronunciations[0]), "lexicon")
        if depth < 2 and len(key) >= 3:
            return self._derive(key, depth + 1)
        return None

    def _prefixed(self, key: str, phones: Phones) -> Phones:
        """Say the prefix un- with the light stress that sets it off; with none, as listed, it is heard as "in"."""
        if (
            phones[:2] == ("AH0", "N")
            and key.startswith("un")
            and key not in _NO_PREFIX
            and self.lexicon.lookup(key[2:])
        ):
            return ("AH2", *phones[1:])
        return phones

    def _shortened(self, key: str) -> Pronunciation | None:
        """Look up a word whose letters are drawn out ("sooo", "goood", "yesss") as it is usually written."""
        if not _DRAWN_OUT.search(key):
            return None
        for keep in (2, 1):
            plain = _DRAWN_OUT.sub(lambda run, keep=keep: run[1] * keep, key)  # type: ignore[misc]
            # "soo" and "noo" are names in the lexicon; nobody means them. "brr" and "hmm" are what they seem.
            usual = keep == 1 or len(plain) > 3 or plain.endswith("ee") or _SPOKEN.isdisjoint(plain) or plain in _CRIES
            found = self._look_up(plain) if usual else None
            if found:
                return found
        return None

    def _derive(self, key: str, depth: int) -> Pronunciation | None:
        """Form a regular ending, prefix or compound from words of the lexicon."""
        if "'" in key:
            return self._contraction(key, depth)
        if len(key) < 5:
            return self._plural(key, depth)
        return (
            self._plural(key, depth)
            or self._past(key, depth)
            or self._participle(key, depth)
            or self._suffixed(key, depth)
        )

    def _contraction(self, key: str, depth: int) -> Pronunciation | None:
        for ending, phones in _CONTRACTIONS.items():
            if key.endswith(ending):
                return self._append(key[: -len(ending)], partial(_join, ending=phones), depth)
        if key.endswith("'s"):
            return self._append(key[:-2], with_s, depth)
        if key.endswith("'ve"):
            return self._append(key[:-3], lambda p: (*p, "V") if is_vowel(p[-1]) else (*p, "AH0", "V"), depth)
        if key.endswith("'d"):
            return self._append(key[:-2], lambda p: (*p, "AH0", "D") if p[-1] in ("T", "D") else (*p, "D"), depth)
        if key.strip("'") != key:
            return self._look_up(key.strip("'"), depth)
        return None

    def _append(self, stem: str, change: Callable[[Phones], Phones], depth: int) -> Pronunciation | None:
        found = self._look_up(stem, depth) if len(stem) >= 1 else None
        return Pronunciation(change(found.phones), found.source) if found else None

    def _plural(self, key: str, depth: int) -> Pronunciation | None:
        if key[-1] != "s" or key[-2] in "su":
            return None
        found = self._append(key[:-1], with_s, depth) if len(key) >= 4 else None
        if not found and key.endswith("ies") and len(key) >= 5:
            found = self._append(key[:-3] + "y", with_s, depth)
        if not found and key.endswith("es") and key[-3] in "sxzh":
            found = self._append(key[:-2], with_s, depth)
        return found

    def _past(self, key: str, depth: int) -> Pronunciation | None:
        if not key.endswith("ed"):
            return None
        stems = [key[:-1], key[:-2]]
        if key.endswith("ied"):
            stems = [key[:-3] + "y"]
        elif key[-3] == key[-4]:
            stems = _undoubled(key[:-2])
        return self._first(stems, with_ed, depth)

    def _participle(self, key: str, depth: int) -> Pronunciation | None:
        if not key.endswith("ing") or len(key) < 6:
            return None
        stems = [key[:-3], key[:-3] + "e"]
        if key[-4] == key[-5]:
            stems = _undoubled(key[:-3])
        elif _SILENT_E.search(key):
            stems.reverse()  # "piling" from "pile", although "pil" is in the lexicon too
        return self._first(stems, lambda p: (*p, "IH0", "NG"), depth)

    def _first(self, stems: Sequence[str], change: Callable[[Phones], Phones], depth: int) -> Pronunciation | None:
        for stem in stems:
            found = self._append(stem, change, depth) if len(stem) >= 3 else None
            if found:
                return found
        return None

    def _suffixed(self, key: str, depth: int) -> Pronunciation | None:
        if key.endswith("ically") and len(key) >= 9:
            return self._append(key[:-4], lambda p: (*p, "L", "IY0"), depth)
        for ending, phones in _SUFFIXES.items():
            if key.endswith(ending) and len(key) - len(ending) >= 4:
                stem = key[: -len(ending)]
                stems = [stem, stem[:-1] + "y"] if stem.endswith("i") else [stem]
                return self._first(stems, partial(_suffix, stem=stem, ending=phones), depth)
        if key.startswith("un") and len(key) >= 7:
            return self._append(key[2:], lambda p: ("AH2", "N", *p), depth)
        return None


def _undoubled(stem: str) -> list[str]:
    """Return what a stem with a double consonant may come from: "toll", "plan(n)"; a long one in ll first without."""
    vowels = sum(letter in "aeiouy" for letter in stem)
    return [stem[:-1], stem] if stem.endswith("ll") and vowels > 1 else [stem, stem[:-1]]


def _suffix(phones: Phones, stem: str, ending: Phones) -> Phones:
    """Append -ness, -less or -ly: "allegedly" has a vowel that "alleged" lacks, "happily" another one than "happy"."""
    if stem.endswith("ed") and not is_vowel(phones[-2]):
        phones = (*phones[:-1], "AH0", "D")
    elif stem.endswith("i") and phones[-1] == "IY0" and ending[0] == "L":
        phones = (*phones[:-1], "AH0")
    return _join(phones, ending)


def _checked(word: str, phones: Phones) -> Pronunciation:
    """Hold the model to the closed phone set; a word that it leaves empty is spelled."""
    outside = [p for p in phones if SYMBOL_IDS.get(p, -1) < NUM_SILENCES]
    if outside:
        raise VoiceError(
            f"the grapheme-to-phoneme model read {word!r} with {outside[0]!r}, which is no phone; repack the voice"
        )
    if phones:
        return Pronunciation(tuple(phones), "g2p")
    return Pronunciation(spell(word), "letters")
