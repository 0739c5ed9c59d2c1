"""From spoken words and their phones to the sentences that the networks read: weak forms, pauses, marks, length."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deepvoice.text.phones import PAUSES, START
from deepvoice.text.pronounce import LETTERS, Phones, Pronunciation
from deepvoice.text.scanner import Token
from deepvoice.text.sequence import PhoneSequence
from deepvoice.text.weak_forms import weak_form

MAX_PHONES = 300  # phones and pauses of one sentence; longer ones are split, never cut short
_SILENT = ("pause", "break")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One spoken word: what is said (lower case), the original characters it reads, its phones and their source.

    reading: of a word of one spelling and several pronunciations, the one chosen ("read_past"); otherwise None
    """

    text: str
    start: int
    end: int
    phones: Phones
    source: str  # lexicon, supplement, weak, letters, g2p, user (a user's lexicon) or given (in the text itself)
    reading: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence for the networks, with the span of the original text it speaks.

    breaks: silences that the caller wants: index of the pause (or final mark) in sequence.symbols, seconds
    marks: names, each with the index of the symbol before which it lies (the final mark's for a mark after all words)
    gap: seconds of silence before the sentence; None is the voice's usual gap
    """

    words: tuple[Word, ...]
    sequence: PhoneSequence
    start: int
    end: int
    breaks: tuple[tuple[int, float], ...] = ()
    marks: tuple[tuple[int, str], ...] = ()
    gap: float | None = None


class Item(NamedTuple):
    """A token with its phones; besides the normaliser's tokens there are "break" (text: seconds) and "mark" (name)."""

    token: Token
    phones: Phones = ()
    source: str = ""
    reading: str | None = None

    @property
    def spoken(self) -> bool:
        """Whether the item has phones."""
        return bool(self.phones)


def with_pronunciation(token: Token, pronunciation: Pronunciation, reading: str | None = None) -> Item:
    """Return the item of a spoken token."""
    return Item(token, pronunciation.phones, pronunciation.source, reading)


def pieces(items: list[Item]) -> Iterator[list[Item]]:
    """Split a long sentence at its last pause before the limit, or between two words when it has none."""
    piece: list[Item] = []
    length = 0
    pause = 0  # items of the piece up to its last pause
    for item in items:
        size = len(item.phones) or 1
        if length + size > MAX_PHONES and piece:
            cut = pause if pause * 3 >= len(piece) else len(piece)
            yield piece[:cut]
            piece = piece[cut:]
            length = sum(len(item.phones) or 1 for item in piece)
            pause = 0
        piece.append(item)
        length += size
        if item.token.kind == "pause":
            pause = len(piece)
    if piece:
        yield piece


def _ends(piece: list[Item]) -> tuple[int, int]:
    """Return the first spoken item and the one past the last."""
    spoken = [i for i, item in enumerate(piece) if item.spoken]
    return spoken[0], spoken[-1] + 1


class _Builder:
    """Puts symbols in sequence."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.symbols, self.word_of = [START], [-1]
        self.breaks: dict[int, float] = {}
        self.marks: list[tuple[int, str]] = []

    def pause(self, mark: str) -> None:
        """Pause; beside another pause the stronger mark stays."""
        if self.symbols[-1] not in PAUSES:
            self.symbols.append(mark)
            self.word_of.append(-1)
        elif PAUSES.index(mark) > PAUSES.index(self.symbols[-1]):
            self.symbols[-1] = mark

    def silence(self, seconds: float) -> None:
        """Pause for so long; 0 takes a pause away."""
        at = len(self.symbols) - 1
        if seconds > 0:
            self.pause(",")
            at = len(self.symbols) - 1
            self.breaks[at] = self.breaks.get(at, 0.0) + seconds
        elif self.symbols[-1] in PAUSES and at not in self.breaks:
            del self.symbols[-1], self.word_of[-1]

    def word(self, item: Item, phones: Phones, source: str) -> None:
        """Say a word."""
        self.word_of += [len(self.words)] * len(phones)
        self.symbols += phones
        token = item.token
        self.words.append(
            Word(text=token.text, start=token.start, end=token.end, phones=phones, source=source, reading=item.reading)
        )


def sentence(piece: list[Item], mark: str, start: int, end: int, gap: float | None) -> Sentence | None:
    """Put the phones of a piece in sequence; None when nothing in it is spoken."""
    if not any(item.spoken for item in piece):
        return None
    first, last = _ends(piece)
    builder = _Builder()
    leading = [float(item.token.text) for item in piece[:first] if item.token.kind == "break"]
    trailing = [float(item.token.text) for item in piece[last:] if item.token.kind == "break"]
    around = _neighbours(piece)
    for i, item in enumerate(piece):
        kind = item.token.kind
        if kind == "mark":
            builder.marks.append((len(builder.symbols), item.token.text))
        elif item.spoken:
            builder.word(item, *_said(item, *around[i]))
        elif first < i < last and kind == "pause":
            builder.pause(item.token.text)
        elif first < i < last:
            builder.silence(float(item.token.text))
    if trailing:
        builder.breaks[len(builder.symbols)] = sum(trailing)
    sequence = PhoneSequence(symbols=(*builder.symbols, mark), word_of=(*builder.word_of, -1))
    return Sentence(
        words=tuple(builder.words),
        sequence=sequence,
        start=start,
        end=end,
        breaks=tuple(builder.breaks.items()),
        marks=tuple(builder.marks),
        gap=sum(leading) if leading else gap,
    )


def _neighbours(piece: list[Item]) -> dict[int, tuple[Phones, bool]]:
    """Return, for every spoken item, the phones of the word that follows at once, and whether it stands alone."""
    audible = [i for i, item in enumerate(piece) if item.token.kind != "mark"]
    around = {}
    for place, i in enumerate(audible):
        before = piece[audible[place - 1]] if place else None
        after = piece[audible[place + 1]] if place + 1 < len(audible) else None
        follows = after.phones if after else ()
        around[i] = (follows, not follows and (before is None or before.token.kind in _SILENT))
    return around


def _said(item: Item, follows: Phones, alone: bool) -> tuple[Phones, str]:
    """Return the phones of a word in its place: weak where it is unstressed."""
    phones, source, text = item.phones, item.source, item.token.text
    if item.token.given:
        return phones, source
    if item.token.kind == "word" and not alone:
        weak = weak_form(text, follows, not follows)
        if weak:
            return weak, "weak"
    return (LETTERS["a"], "letters") if text == "a" else (phones, source)
