"""From spoken words and their phones to the sentences that the networks read: weak forms, pauses, marks, length."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deepvoice.text.heteronyms import Homographs, Spoken, heteronym, words_of_rules
from deepvoice.text.phones import PAUSES, START
from deepvoice.text.pronounce import LETTERS, Phones
from deepvoice.text.scanner import Token
from deepvoice.text.sequence import PhoneSequence
from deepvoice.text.weak_forms import WEAK, weak_form

MAX_PHONES = 300  # phones and pauses of one sentence; longer ones are split, never cut short
_SILENT = ("pause", "break")


class Word(NamedTuple):
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


def with_heteronyms(items: list[Item], text: str, homographs: Homographs | None) -> list[Item]:
    """Choose between the readings of words like "record" by the words around them.

    text: what the places of the items are in
    """
    of_rules = words_of_rules()
    if not any([(word := item.token.text) in of_rules or (homographs and word in homographs) for item in items]):
        return items
    places = [i for i, item in enumerate(items) if item.token.kind in ("word", "letters", "pause")]
    words = [Spoken(t.text, text[t.start : t.start + 1].isupper(), t.start) for t in (items[i].token for i in places)]
    plain = [item.token.text for item in items if item.spoken]
    said = 0  # words before the place
    chosen = list(items)
    for index, place in enumerate(places):
        item = items[place]
        if item.token.kind == "word" and not item.token.given:
            known = homographs is not None and item.token.text in homographs
            found = homographs(words, index) if homographs and known else heteronym(plain, said)
            if found:
                chosen[place] = item._replace(phones=found.phones, reading=found.reading)
        said += item.spoken
    return chosen


def pieces(items: list[Item]) -> Iterator[list[Item]]:
    """Split a long sentence at its last pause before the limit, or between two words when it has none."""
    sizes = [len(item.phones) or 1 for item in items]
    if sum(sizes) <= MAX_PHONES:
        if items:
            yield items
        return
    begin, length, pause = 0, 0, 0  # of the piece: its first item, its phones so far, one past its last pause
    for i, size in enumerate(sizes):
        if length + size > MAX_PHONES and i > begin:
            cut = pause if (pause - begin) * 3 >= i - begin else i
            yield items[begin:cut]
            begin, length = cut, sum(sizes[cut:i])
        length += size
        if not items[i].phones and items[i].token.kind == "pause":
            pause = i + 1
    yield items[begin:]


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


def sentence(piece: list[Item], mark: str, start: int, end: int, gap: float | None) -> Sentence | None:
    """Put the phones of a piece in sequence; None when nothing in it is spoken."""
    spoken = [i for i, item in enumerate(piece) if item.phones]
    if not spoken:
        return None
    first, last = spoken[0], spoken[-1]
    builder = _Builder()
    words, symbols, word_of = builder.words, builder.symbols, builder.word_of
    before = True  # a silence is
    for i, item in enumerate(piece):
        token, phones, source, reading = item
        kind = token.kind
        if phones:
            if token.text in WEAK and not token.given:
                phones, source = _said(item, _following(piece, i), before)
            word_of += [len(words)] * len(phones)
            symbols += phones
            words.append(Word(token.text, token.start, token.end, phones, source, reading))
            before = False
        elif kind == "mark":
            builder.marks.append((len(symbols), token.text))
        else:
            before = kind in _SILENT
            if first < i < last:
                builder.pause(token.text) if kind == "pause" else builder.silence(float(token.text))
    trailing = _silences(piece[last:])
    if trailing:
        builder.breaks[len(symbols)] = sum(trailing)
    leading = _silences(piece[:first])
    return Sentence(
        words=tuple(words),
        sequence=PhoneSequence(symbols=(*symbols, mark), word_of=(*word_of, -1)),
        start=start,
        end=end,
        breaks=tuple(builder.breaks.items()),
        marks=tuple(builder.marks),
        gap=sum(leading) if leading else gap,
    )


def _silences(items: list[Item]) -> list[float]:
    """Return the seconds of the breaks among items."""
    return [float(item.token.text) for item in items if item.token.kind == "break"]


def _following(piece: list[Item], index: int) -> Phones:
    """Return the phones of the word that follows piece[index] at once, none when a silence does; marks are nothing."""
    index += 1
    while index < len(piece) and piece[index].token.kind == "mark":
        index += 1
    return piece[index].phones if index < len(piece) else ()


def _said(item: Item, follows: Phones, after_silence: bool) -> tuple[Phones, str]:
    """Return the phones of an unstressed word in its place: weak, but in full when it stands alone."""
    text = item.token.text
    if item.token.kind == "word" and (follows or not after_silence):
        weak = weak_form(text, follows, not follows)
        if weak:
            return weak, "weak"
    return (LETTERS["a"], "letters") if text == "a" else (item.phones, item.source)
