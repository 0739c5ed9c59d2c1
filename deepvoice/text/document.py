"""A text with instructions: what SSML, inline pronunciations and server requests become before the front end reads it.

All positions are characters of `Document.text`, which is plain text without any markup. `Document.origin` leads back to
the characters that the caller wrote, so that timings and reports point into the original, tags and all.
"""

from dataclasses import dataclass
from itertools import pairwise

from deepvoice.errors import TextError
from deepvoice.text.phones import PHONES

_PHONES = frozenset(PHONES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the characters [start, end), at least one, are to be read; one of phones, spoken and say_as is given.

    phones: ARPAbet with stress, one tuple per spoken word
    spoken: text that is read in place of the written one
    say_as: a class of `deepvoice.text.say_as`, such as "characters", "cardinal", "date"; detail: its format ("mdy")
    Raises TextError for phones outside the set and for none or several of the three.
    """

    start: int
    end: int
    phones: tuple[tuple[str, ...], ...] = ()
    spoken: str | None = None
    say_as: str | None = None
    detail: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise TextError(f"a reading is for the characters {self.start} to {self.end}; expected at least one")
        if bool(self.phones) + (self.spoken is not None) + (self.say_as is not None) != 1:
            raise TextError("a reading needs exactly one of phones, spoken text and say-as")
        for word in self.phones:
            unknown = [phone for phone in word if phone not in _PHONES]
            if unknown or not word:
                raise TextError(
                    f"{' '.join(word)!r} is no pronunciation ({unknown[0] if unknown else 'empty'}); "
                    "expected ARPAbet with stress, such as K AE1 T"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A pause before the character at `position`: so many seconds, or None for a sentence break of usual length."""

    position: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A named place before the character at `position`, whose time is reported."""

    position: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How the characters [start, end) sound; styles that overlap are combined (rates and gains multiply, pitches add).

    rate: 2 is twice as fast; pitch: semitones; volume: linear gain; emphasis: -1 reduced, 0, 1 moderate, 2 strong
    """

    start: int
    end: int
    rate: float = 1.0
    pitch: float = 0.0
    volume: float = 1.0
    emphasis: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Plain text and what is to be done with it.

    readings: in the order of the text, without overlap (TextError otherwise)
    breaks, marks: in the order of the text
    origin: for every character of `text`, and one past the last, its position in what the caller wrote, never falling;
        empty when `text` is what the caller wrote
    """

    text: str
    readings: tuple[Reading, ...] = ()
    breaks: tuple[Break, ...] = ()
    marks: tuple[Mark, ...] = ()
    styles: tuple[Style, ...] = ()
    origin: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for before, after in pairwise(self.readings):
            if after.start < before.end:
                raise TextError(f"the readings at {before.start} and {after.start} overlap; give one for each place")
        if self.readings and self.readings[-1].end > len(self.text):
            raise TextError(f"a reading ends at {self.readings[-1].end}, but the text has {len(self.text)} characters")
        if self.origin and len(self.origin) != len(self.text) + 1:
            raise TextError(f"origin has {len(self.origin)} positions; expected {len(self.text) + 1}, one a character")

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters [start, end), at least one, stand in what the caller wrote."""
        return (self.origin[start], self.origin[end - 1] + 1) if self.origin else (start, end)
