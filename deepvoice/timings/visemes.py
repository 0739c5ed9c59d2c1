"""Mouth shapes: which of 15 visemes each phone shows.

The set is the one that most talking heads have blend shapes for (sil PP FF TH DD kk CH SS nn RR aa E ih oh ou). A
diphthong shows two, half of its time each; /h/ has no shape of its own and shows that of the phone after it. Neighbours
of one shape are one viseme, and visemes cover every sample.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepvoice.speech import Phone
from deepvoice.text.phones import base, is_silence

VISEMES: dict[str, tuple[str, ...]] = {  # phone without stress -> shapes
    "P": ("PP",), "B": ("PP",), "M": ("PP",),
    "F": ("FF",), "V": ("FF",),
    "TH": ("TH",), "DH": ("TH",),
    "T": ("DD",), "D": ("DD",),
    "K": ("kk",), "G": ("kk",), "NG": ("kk",),
    "CH": ("CH",), "JH": ("CH",), "SH": ("CH",), "ZH": ("CH",),
    "S": ("SS",), "Z": ("SS",),
    "N": ("nn",), "L": ("nn",),
    "R": ("RR",), "ER": ("RR",),
    "AA": ("aa",), "AH": ("aa",), "AE": ("aa",),
    "EH": ("E",),
    "IH": ("ih",), "IY": ("ih",), "Y": ("ih",),
    "AO": ("oh",),
    "UH": ("ou",), "UW": ("ou",), "W": ("ou",),
    "AY": ("aa", "ih"), "EY": ("E", "ih"), "OY": ("oh", "ih"), "AW": ("aa", "ou"), "OW": ("oh", "ou"),
    "HH": (),
}  # fmt: skip
SILENCE = "sil"
SHAPES = (SILENCE, "PP", "FF", "TH", "DD", "kk", "CH", "SS", "nn", "RR", "aa", "E", "ih", "oh", "ou")


class Viseme(NamedTuple):
    """A mouth shape, one of SHAPES, from sample `start` to sample `end`."""

    shape: str
    start: int
    end: int


def visemes(phones: Sequence[Phone]) -> list[Viseme]:
    """Return the mouth shapes of phones that follow one another."""
    merged: list[Viseme] = []
    for viseme in _shapes(phones):
        if viseme.start == viseme.end:
            continue
        if merged and merged[-1].shape == viseme.shape:
            merged[-1] = merged[-1]._replace(end=viseme.end)
        else:
            merged.append(viseme)
    return merged


def _shapes(phones: Sequence[Phone]) -> Iterator[Viseme]:
    after = SILENCE  # what the phone after shows first
    shown: list[tuple[str, ...]] = []
    for phone in reversed(phones):
        shapes = (SILENCE,) if is_silence(phone.symbol) else VISEMES[base(phone.symbol)] or (after,)
        shown.append(shapes)
        after = shapes[0]
    for phone, shapes in zip(phones, reversed(shown), strict=True):
        start, end = phone.samples
        middle = (start + end) // 2 if len(shapes) == 2 else end
        yield Viseme(shapes[0], start, middle)
        yield Viseme(shapes[-1], middle, end)
