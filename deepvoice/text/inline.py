"""Pronunciations in the text itself: `[word](/IPA/)` and `[[ ARPAbet ]]`.

An ordinary link of Markdown stays one: between the slashes there must be a sign that only IPA uses, so
`[guide](/docs/)` is a link and `[guide](/ɡaɪd/)` a pronunciation. Between double brackets there must be ARPAbet alone,
with a vowel.
"""

import re

from deepvoice.errors import TextError
from deepvoice.text.document import Document, Reading
from deepvoice.text.ipa import from_arpabet, from_ipa
from deepvoice.text.phones import PHONES, is_vowel

_INLINE = re.compile(r"\[\[([A-Z0-2| ]{1,400})\]\]|\[([^\[\]\n]{1,200})\]\(/([^()/\n]{1,200})/\)")
_ONLY_IPA = re.compile("[ˈˌːɪɛæɑɒɔʊʌəɐɜɝɚɹɡʃʒθðŋɾʔɫɨʉ]")
_SYMBOLS = frozenset((*PHONES, *(phone.rstrip("012") for phone in PHONES), "|"))


def parse_inline(text: str) -> Document:
    """Return a text with the pronunciations that it gives; what is none stays as it is written."""
    pieces: list[str] = []
    origin: list[int] = []
    readings: list[Reading] = []
    position = length = 0
    for match in _INLINE.finditer(text):
        phones = _phones(match)
        if not phones:
            continue
        written, where = (match[2], match.start(2)) if match[2] else (match[1].strip(), match.start(1))
        where = text.index(written, where)
        pieces += [text[position : match.start()], written]
        origin += [*range(position, match.start()), *range(where, where + len(written))]
        length = len(origin)
        readings.append(Reading(start=length - len(written), end=length, phones=phones))
        position = match.end()
    if not readings:
        return Document(text=text)
    origin += range(position, len(text) + 1)
    return Document(text="".join((*pieces, text[position:])), readings=tuple(readings), origin=tuple(origin))


def _phones(match: re.Match[str]) -> tuple[tuple[str, ...], ...]:
    """Return the pronunciation that a match gives, () when it is none."""
    try:
        if match[1]:
            symbols = match[1].split()
            arpabet = _SYMBOLS.issuperset(symbols) and any(is_vowel(symbol) for symbol in symbols)
            return from_arpabet(match[1]) if arpabet else ()
        return from_ipa(match[3]) if _ONLY_IPA.search(match[3]) and match[2].strip() else ()
    except TextError:
        return ()
