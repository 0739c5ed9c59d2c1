"""A text with instructions: what SSML, inline pronunciations and server requests become before the front end reads it.

All positions are characters of `Document.text`, which is plain text without any markup. `Document.origin` leads back to
the characters that the caller wrote, so that timings and reports point into the original, tags and all.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the characters [start, end) are to be read; exactly one of phones, spoken and say_as is given.

    phones: ARPAbet with stress, one tuple per spoken word
    spoken: text that is read in place of the written one
    say_as: a class of `deepvoice.text.say_as`, such as "characters", "cardinal", "date"; detail: its format ("mdy")
    """

    start: int
    end: int
    phones: tuple[tuple[str, ...], ...] = ()
    spoken: str | None = None
    say_as: str | None = None
    detail: str = ""


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

    origin: for every character of `text`, and one past the last, its position in what the caller wrote; empty when
        `text` is what the caller wrote
    """

    text: str
    readings: tuple[Reading, ...] = ()
    breaks: tuple[Break, ...] = ()
    marks: tuple[Mark, ...] = ()
    styles: tuple[Style, ...] = ()
    origin: tuple[int, ...] = ()
