"""Words whose accent is heard: "résumé" is not "resume", and the last letter of "flambé" is not silent.

The lexicon and the grapheme-to-phoneme network read letters without accents; this mends what the accent changes.
"""

import re
import unicodedata

Phones = tuple[str, ...]

# Without the accent these are other words, or are listed as English words.
_LISTED: dict[str, Phones] = {
    word: tuple(phones.split())
    for word, phones in {
        "résumé": "R EH1 Z AH0 M EY2",
        "resumé": "R EH1 Z AH0 M EY2",
        "exposé": "EH2 K S P OW0 Z EY1",
        "pâté": "P AA0 T EY1",
        "paté": "P AA0 T EY1",
        "lamé": "L AA0 M EY1",
        "maté": "M AA1 T EY2",
        "saké": "S AA1 K EY2",
        "rosé": "R OW0 Z EY1",
        "touché": "T UW0 SH EY1",
        "blasé": "B L AA0 Z EY1",
        "déjà": "D EY2 ZH AA1",
        "fiancée": "F IY2 AA0 N S EY1",
        "divorcée": "D IH0 V AO2 R S EY1",
        "née": "N EY1",
        "crème": "K R EH1 M",
        "mâché": "M AH0 SH EY1",
        "appliqué": "AE2 P L AH0 K EY1",
        "outré": "UW0 T R EY1",
        "são": "S AW1",
        "über": "UW1 B ER0",
        "à": "AA1",
        "élan": "EY2 L AA1 N",
    }.items()
}
_FINAL = re.compile(r"(?P<word>[^\W\d_]+ée?)(?P<ending>'?s|)\Z")
_WEAK = frozenset(("IY", "AH", "IH"))  # what a last e may have been read as


def heard(word: str, phones: Phones) -> Phones:
    """Return the phones of a lower-case word, going by those of its letters without accents ("" where unknown)."""
    word = unicodedata.normalize("NFC", word).replace("\u2019", "'")
    if word in _LISTED:
        return _LISTED[word]
    final = _FINAL.match(word)
    if not final or not phones:
        return phones
    stem = _without(phones, final["ending"])
    said = _LISTED.get(final["word"]) or _sounded(stem)
    return (*said, "Z") if final["ending"] else said


def _without(phones: Phones, ending: str) -> Phones:
    """Take the plural or possessive ending off."""
    if not ending or phones[-1] not in ("S", "Z") or len(phones) < 2:
        return phones
    return phones[:-2] if phones[-2] in ("IH0", "AH0") and len(phones) > 2 else phones[:-1]


def _sounded(phones: Phones) -> Phones:
    """Let the last letter sound as in "café"."""
    if phones[-1].startswith("EY"):
        return phones
    kept = phones[:-1] if phones[-1][:2] in _WEAK and len(phones) > 1 else phones
    return (*(phone.replace("1", "2") for phone in kept), "EY1")
