"""Respelling: pronunciations in ordinary letters, as dictionaries and newspapers write them ("uh-KRAHS").

Syllables are joined by hyphens and words separated by spaces. A syllable in capitals has the main stress, one with a
capital first letter a side stress ("Nik-uh-RAH-gwuh"); a single syllable is stressed however it is written.

    a hat · ah father · air fair · ar car · aw law · ay day · e, eh bed · ee see · eer near · er, ur, ir her · ew few
    i, ih sit · eye, igh, y (my) · o hot · oh go · oi, oy boy · oo food · uu, ou (look) book · or for · ow, ao now
    u, uh but · yoo cute · a, e, i, o, u at the end: ah, eh, ee, oh, oo · a vowel, a consonant and e: as in late
    b d f g h j k l m n p r s t v w z as usual · ch chin · dh then · hw which · kh loch · ng sing · sh she · th thin
    wh which · y yes · zh measure · c, ck, q are k · x is ks · ph is f · double consonants are single
"""

import re
from functools import cache

from deepvoice.errors import TextError
from deepvoice.text.phones import is_vowel

Phones = tuple[str, ...]

_SOUNDS = """
ah AA|aa AA|ar AA R|ahr AA R|air EH R|arr AE R|are EH R|aw AO|au AO|awr AO R|ay EY|ai EY|ei EY|ey EY|a AE|eh EH|e EH
ee IY|ea IY|ie IY|eer IH R|ear IH R|ier IH R|err EH R|ehr EH R|er ER|ur ER|ir ER|uhr ER|urr ER|ew Y UW|ih IH|i IH
eye AY|igh AY|y AY|ye AY|yre AY ER|ire AY ER|iyr AY ER|oh OW|oa OW|oe OW|ohr AO R|o AA|oi OY|oy OY|oo UW|ooh UW
ue UW|oor UH R|or AO R|orr AO R|ore AO R|ow AW|ao AW|owr AW ER|our AW ER|ou UH|uu UH|uh AH|u AH|b B|bb B|d D|dd D
f F|ff F|ph F|g G|gg G|gh G|h HH|j JH|k K|kk K|c K|cc K|ck K|kh K|q K|qu K W|l L|ll L|m M|mm M|n N|nn N|ng NG
nk NG K|p P|pp P|r R|rr R|s S|ss S|t T|tt T|v V|vv V|w W|wh W|hw W|x K S|z Z|zz Z|zh ZH|sh SH|ch CH|tch CH|th TH
dh DH|dj JH
"""
_OPEN = {"a": "AA", "e": "EH", "i": "IY", "o": "OW", "u": "UW"}
_MAGIC_E = {"a": "EY", "e": "IY", "i": "AY", "o": "OW", "u": "UW"}
_SILENT_E = re.compile(r"([aeiou])((?:[bdfgjklmnpstvz]|th|sh|ch|dh))e$")
_CONSONANT_Y = re.compile(r"y(?=[aeiou])")  # "yes", "yoo", but not in "my"


@cache
def _table() -> dict[str, Phones]:
    entries = (entry.split(" ", 1) for entry in _SOUNDS.strip().replace("\n", "|").split("|"))
    return {letters: tuple(phones.split()) for letters, phones in entries}


def from_respelling(text: str) -> tuple[Phones, ...]:
    """Return the ARPAbet of a respelling, one tuple per word.

    Raises TextError for characters other than letters and hyphens, and for a syllable without a vowel.
    """
    words = tuple(_word(word, text) for word in text.split())
    if not words:
        raise TextError("the respelling is empty; expected such as uh-KRAHS")
    return words


def _word(word: str, text: str) -> Phones:
    syllables = [syllable for syllable in word.split("-") if syllable]
    phones: list[str] = []
    for syllable in syllables:
        if not (syllable.isascii() and syllable.isalpha()):
            raise TextError(f"{syllable!r} in {text[:40]!r} is no syllable; expected letters, such as in uh-KRAHS")
        stress = 0
        if len(syllables) == 1 or (syllable.isupper() and len(syllable) > 1):
            stress = 1
        elif syllable[0].isupper():
            stress = 2 if len(syllable) > 1 else 1
        phones += _syllable(syllable.lower(), stress, text)
    return tuple(phones)


def _syllable(letters: str, stress: int, text: str) -> Phones:
    sounds = _sounds(letters)
    vowels = [i for i, sound in enumerate(sounds) if is_vowel(sound)]
    if not vowels and sounds and sounds[-1] in ("L", "M", "N", "R"):  # "TAY-bl"
        return (*sounds[:-1], f"ER{stress}") if sounds[-1] == "R" else (*sounds[:-1], f"AH{stress}", sounds[-1])
    if not vowels:
        raise TextError(f"the syllable {letters!r} in {text[:40]!r} has no vowel; see the letters in the documentation")
    return tuple(
        f"{sound}{stress if i == vowels[0] else 0}" if i in vowels else sound for i, sound in enumerate(sounds)
    )


def _sounds(letters: str) -> Phones:
    """Return the phones of one syllable, without stress."""
    if letters[-1] in _OPEN and letters[-2:-1] not in tuple("aeiouy"):  # an open vowel at the end
        return (*_scan(letters[:-1]), _OPEN[letters[-1]]) if not _SILENT_E.search(letters) else _silent(letters)
    return _scan(letters)


def _silent(letters: str) -> Phones:
    match = _SILENT_E.search(letters)
    assert match
    before = letters[: match.start()]
    if before[-1:] in tuple("aeiouy"):  # "BAYSE" has its vowel already
        return _scan(letters[:-1])
    return (*_scan(before), _MAGIC_E[match[1]], *_scan(match[2]))


def _scan(letters: str) -> Phones:
    phones: list[str] = []
    position = 0
    while position < len(letters):
        if _CONSONANT_Y.match(letters, position):
            phones.append("Y")
            position += 1
            continue
        length = next(n for n in (4, 3, 2, 1) if letters[position : position + n] in _table())
        sounds = _table()[letters[position : position + length]]
        phones += sounds if sounds[0] != "Y" or phones[-1:] not in (["CH"], ["JH"], ["SH"], ["R"]) else sounds[1:]
        position += length
    return tuple(phones)
