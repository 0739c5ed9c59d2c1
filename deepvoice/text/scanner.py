"""The normaliser's scanner: where it stands in a sentence, and what it has said so far."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from deepvoice.text import web
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.phones import PAUSES
from deepvoice.text.pronounce import Pronunciation, with_s
from deepvoice.text.rules import Context, Reading

_PAUSE_RANK = {mark: rank for rank, mark in enumerate((",", "-", ":", ";"), 1)}


class Token(NamedTuple):
    """A spoken word, a spelled group of letters, or a pause, with its span in the clean text."""

    kind: str  # "word", "letters" or "pause"
    text: str  # lower-case word; letters separated by spaces; the pause symbol
    start: int
    end: int
    given: Pronunciation | None = None  # of a word whose pronunciation the caller gives


class Change(NamedTuple):
    """A span of clean text that is not read as it is written, and how it is read."""

    start: int
    end: int
    spoken: str


class Unread(NamedTuple):
    """A span of clean text that is not spoken, and why."""

    start: int
    end: int
    reason: str


@lru_cache(maxsize=8192)
def _pieces(spoken: str) -> tuple[tuple[str, str], ...]:
    """Return the tokens, kind and text, of what `Scanner.say` is given."""
    return tuple((_kind(piece), " ".join(piece.lower()) if piece.isupper() else piece) for piece in spoken.split())


def _kind(piece: str) -> str:
    return "pause" if piece in PAUSES else "letters" if piece.isupper() else "word"


class Scanner:
    """Walks over one sentence. Rules look at `text` from `position` on, and consume text by saying what it is."""

    def __init__(
        self,
        text: str,
        offset: int,
        known: Callable[[str], bool],
        *,
        shouted: bool,
        options: TextOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Start at the beginning of a sentence.

        text: the sentence, without newlines
        offset: position of its first character in the clean text
        known: tells whether a lower-case word is in the lexicon
        shouted: the sentence is all in capitals
        options: date order, classes switched off
        """
        self.text = text
        self.offset = offset
        self.known = known
        self.shouted = shouted
        self.options = options
        self.position = 0
        self.tokens: list[Token] = []
        self.words: list[str] = []
        self.changes: list[Change] = []
        self.dropped: list[Unread] = []
        self.after_date = False  # a month and day were just read, so that a year may follow
        self.after_year = False  # a year and a dash were just read ("1914-18")
        self.after_roman = False  # a Roman numeral was read, so that "and III" goes on
        self._addresses = web.may_hold_address(text)
        self._context = Context(text, self.words, False, False, options)
        self.number_end = -1  # where the last number, amount or measure ended

    @property
    def before(self) -> str:
        """The character before the position, "" at the start."""
        return self.text[self.position - 1] if self.position else ""

    @property
    def after(self) -> str:
        """The character after the one at the position, "" at the end."""
        return self.text[self.position + 1 : self.position + 2]

    def say(self, spoken: str, end: int, *, changed: bool = True) -> None:
        """Say the text from the position to `end` as `spoken`, and move there.

        spoken: lower-case words, pauses, and pieces in capitals, which are spelled
        changed: list it as not read the way it is written
        """
        start, stop = self.offset + self.position, self.offset + end
        for kind, text in _pieces(spoken):
            if kind == "pause":
                self.pause(text)
            else:
                self.tokens.append(Token(kind, text, start, stop))
                self.words.append(text)
        if changed:
            self.record(end, spoken.lower().replace(" ,", ","))
        self.position = end

    def spell(self, letters: str, end: int, suffix: str = "", *, changed: bool = True) -> None:
        """Spell the text from the position to `end`; `suffix` is "'s" for a plural or possessive."""
        spelled = " ".join(letters.lower()) + suffix
        self.emit("letters", spelled, self.position, end)
        if changed:
            self.record(end, spelled)
        self.position = end

    def emit(self, kind: str, text: str, start: int, end: int) -> None:
        """Append one spoken token."""
        self.tokens.append(Token(kind, text, self.offset + start, self.offset + end))
        self.words.append(text)

    def give(self, tokens: Sequence[Token]) -> None:
        """Say the character at the position as the tokens that the caller wants, and move behind it and its "'s"."""
        self.tokens += tokens
        self.words += [token.text for token in tokens if token.kind != "pause"]
        self.position += 1
        after = self.text[self.position : self.position + 3]
        if after.startswith("'s") and not after[2:].isalnum() and tokens and tokens[-1].kind != "pause":
            last = tokens[-1]
            given = last.given and last.given._replace(phones=with_s(last.given.phones))
            self.tokens[-1] = last._replace(text=f"{last.text}'s", given=given)
            self.words[-1] = self.tokens[-1].text
            self.position += 2

    def record(self, end: int, spoken: str) -> None:
        """List the text from the position to `end` as read otherwise than written."""
        self.changes.append(Change(self.offset + self.position, self.offset + end, spoken))

    def drop(self, start: int, end: int, reason: str) -> None:
        """List text as not spoken, and move behind it."""
        self.dropped.append(Unread(self.offset + start, self.offset + end, reason))
        self.position = end

    def silent(self, end: int) -> None:
        """List the text from the position to `end` as seen but not said, such as marks of markup, and move there."""
        if end > self.position:
            self.record(end, "")
        self.position = end

    def pause(self, mark: str) -> None:
        """Pause; neighbouring pauses become the strongest of them, a leading one nothing."""
        if not self.tokens:
            return
        last = self.tokens[-1]
        if last.kind != "pause":
            self.tokens.append(Token("pause", mark, self.offset + self.position, self.offset + self.position + 1))
        elif _PAUSE_RANK[mark] > _PAUSE_RANK[last.text]:
            self.tokens[-1] = last._replace(text=mark)

    def context(self) -> Context:
        """Return what the number rules look at."""
        seen = self._context
        if seen.after_date is not self.after_date or seen.after_year is not self.after_year:
            seen = self._context = seen._replace(after_date=self.after_date, after_year=self.after_year)
        return seen

    def take(self, reading: Reading | None) -> bool:
        """Say what a number rule read; False when it read nothing."""
        if reading is None:
            return False
        start, end, spoken = self.position, reading.end, reading.spoken
        if self.text.startswith("'s", end) and not self.text[end + 2 : end + 3].isalnum() and spoken[-1].islower():
            spoken, end = f"{spoken}'s", end + 2
        self.say(spoken, end)
        year = end - start == 4 and self.text[start:end].isdigit() and "thousand" not in reading.spoken
        self.after_year = year and not self.after_year and self.text[end : end + 1] in ("-", "–")
        self.after_date = False
        named = start > 0 and self.text[start - 1].isalpha()  # "AB12": the dash after it is none of a range
        self.number_end = -1 if named else self.position
        return True

    def take_address(self) -> bool:
        """Say the e-mail address, web address or path at the position; False when there is none."""
        if not self._addresses:
            return False
        limit = self.position + web.LONGEST_ADDRESS + 1
        end = self.text.find(" ", self.position, limit)
        address = web.read(self.text[self.position : end if end >= 0 else limit], self.known, self.options)
        if not address:
            return False
        start = self.position
        self.say(address.spoken, start + address.end)
        if address.dropped:
            self.drop(start + address.dropped[0], start + address.dropped[1], "long query of an address")
        return True
