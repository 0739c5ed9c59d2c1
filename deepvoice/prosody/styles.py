"""Styles of a document -> rate, pitch, gain and emphasis of every symbol of a sentence.

Styles are given for characters; a word takes the style of its first character, and a silence that of the word before
it (the first one that of the word after it).
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.text.document import Document, Style
from deepvoice.text.frontend import Sentence

FloatArray = NDArray[np.float64]

NEUTRAL = Style(start=0, end=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolStyles:
    """Style of every symbol of a sentence.

    rate_P: float64 [P], 2 is twice as fast; pitch_P: float64 [P] semitones; gain_P: float64 [P], linear
    emphasis_P: int64 [P], -1 reduced, 0 none, 1 moderate, 2 strong
    """

    rate_P: FloatArray
    pitch_P: FloatArray
    gain_P: FloatArray
    emphasis_P: NDArray[np.int64]


class StyleMap:
    """The styles of a document, for words whose spans point into what the caller wrote."""

    def __init__(self, document: Document | None = None) -> None:
        """Combine styles that overlap: rates and gains multiply, pitches add, the strongest emphasis counts."""
        self._starts: list[int] = []
        self._styles: list[Style] = []
        if document is not None and document.styles:
            for start, style in _runs(document.styles):
                self._starts.append(document.origin[start] if document.origin else start)
                self._styles.append(style)

    def of(self, sentence: Sentence) -> SymbolStyles | None:
        """Return the styles of a sentence, or None when it is spoken as it comes."""
        if not self._starts:
            return None
        words = [self._at(word.start) for word in sentence.words]
        if all(word == NEUTRAL for word in words):
            return None
        word_of = sentence.sequence.word_of
        places = _places(word_of)
        return SymbolStyles(
            rate_P=np.array([words[place].rate for place in places]),
            pitch_P=np.array([words[place].pitch for place in places]),
            gain_P=np.array([words[place].volume for place in places]),
            emphasis_P=np.array(
                [words[place].emphasis if place == word else 0 for place, word in zip(places, word_of, strict=True)]
            ),
        )

    def _at(self, position: int) -> Style:
        index = bisect_right(self._starts, position) - 1
        return self._styles[index] if index >= 0 else NEUTRAL


def _places(word_of: tuple[int, ...]) -> list[int]:
    """Return the word whose style each symbol takes."""
    first = next(word for word in word_of if word >= 0)
    places: list[int] = []
    for word in word_of:
        places.append(word if word >= 0 else places[-1] if places else first)
    return places


def _runs(styles: Iterable[Style]) -> list[tuple[int, Style]]:
    """Flatten styles into (start, combined style) pairs in the order of the text; each holds until the next."""
    edges: dict[int, tuple[list[int], list[int]]] = {}
    styles = [style for style in styles if style.end > style.start]
    for index, style in enumerate(styles):
        edges.setdefault(style.start, ([], []))[0].append(index)
        edges.setdefault(style.end, ([], []))[1].append(index)
    active: set[int] = set()
    runs = []
    for position in sorted(edges):
        begins, ends = edges[position]
        active = (active | set(begins)) - set(ends)
        runs.append((position, _combined([styles[index] for index in sorted(active)])))
    return runs


def _combined(styles: list[Style]) -> Style:
    rate, pitch, volume, emphasis = 1.0, 0.0, 1.0, 0
    for style in styles:
        rate, pitch, volume = rate * style.rate, pitch + style.pitch, volume * style.volume
        emphasis = max(emphasis, style.emphasis, key=abs)
    return Style(start=0, end=0, rate=rate, pitch=pitch, volume=volume, emphasis=emphasis)
