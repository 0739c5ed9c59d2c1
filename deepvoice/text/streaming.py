"""Text that arrives in pieces: handed on as soon as what follows cannot change how it is read.

    splitter = Splitter()
    for piece in source:
        for part in splitter.feed(piece):
            ...  # whole sentences
    for part in splitter.finish():
        ...

The parts joined are the text, and their sentences are those of the whole text. The work for each piece is bounded by
the part that is held back, which is at most `CHUNK_CHARS` long.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from deepvoice.text.hygiene import clean
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.sentences import CHUNK_CHARS, chunks, opens_paragraph, split

_END = re.compile(r"[.?!…。\n]")
_DECIDED = re.compile(r"[\s\"'“‘(\[*_]*[^\s\"'“‘(\[*_][A-Za-z'’]*[^A-Za-z'’]")
_RECENT = 80  # characters; an end further back has been decided
_LONGEST_LOOK = 400  # characters after a sentence end that may belong to markup which began before it


class Part(NamedTuple):
    """A part of the text that holds whole sentences, and what `sentences.split` must know of the text before it."""

    text: str
    opens: bool  # follows a blank line
    column: int  # characters of its first line that came before it


class Splitter:
    """Cuts text that arrives in pieces into parts that can be read one after the other."""

    def __init__(self, options: TextOptions = DEFAULT_OPTIONS) -> None:
        self._options = options
        self._held = ""
        self._opens = False
        self._column = 0
        self._next_try = 0

    def feed(self, piece: str) -> Iterator[Part]:
        """Take the next piece of the text and yield what can be read now."""
        self._held += piece
        long = len(self._held) > CHUNK_CHARS
        if len(self._held) >= self._next_try and (long or _END.search(self._held[-_RECENT - len(piece) :])):
            yield from self._ready()
            self._next_try = len(self._held) + len(self._held) // 64  # so that tries do not grow with its square

    def finish(self) -> Iterator[Part]:
        """Yield what is left; the splitter can then take another text."""
        while self._held:
            yield self._take(len(self._held))
        self._opens, self._column, self._next_try = False, 0, 0

    def _ready(self) -> Iterator[Part]:
        while True:
            cut = self._cut()
            if not cut:
                return
            yield self._take(cut)

    def _take(self, cut: int) -> Part:
        part = Part(self._held[:cut], self._opens, self._column)
        line = part.text.rfind("\n")
        self._opens = opens_paragraph(part.text, cut) if line >= 0 else False
        self._column = cut - line - 1 if line >= 0 else self._column + cut
        self._held = self._held[cut:]
        return part

    def _cut(self) -> int:
        """Return how many characters can be read whatever follows, 0 for none."""
        held = self._held
        first, last = next(chunks(held), (0, 0))
        if last < len(held) and (opens_paragraph(held, last) or len(held) > CHUNK_CHARS):
            return self._whole_blank(last)
        cleaned = clean(held[first:last], 0, self._options)
        spans = list(split(cleaned.text, self._options, opens=self._opens, column=self._column))
        for span, following in zip(spans[-2::-1], spans[:0:-1], strict=True):
            end, start = cleaned.ends[span.end - 1], cleaned.starts[following.start]
            if self._is_decided(end, start):
                return start
        return 0

    def _whole_blank(self, cut: int) -> int:
        """Take further blank lines along, so that the next part begins with text; wait while they may go on."""
        rest = self._held[cut:].lstrip()
        return len(self._held) - len(rest) if rest else 0

    def _is_decided(self, end: int, start: int) -> bool:
        """Tell whether a sentence that ends at `end` before the next at `start` stays one whatever follows."""
        held = self._held
        if "\n" in held[end:start] or held[end - 1] not in ".?!…\"'”’)]}*_":
            return False  # where a line ends, the length of the lines to come decides
        if not _DECIDED.match(held, start):
            return False
        part = held[:start]
        balanced = (
            part.count("[") == part.count("]") and part.count("<") == part.count(">") and part.count("`") % 2 == 0
        )
        return balanced or len(held) - start > _LONGEST_LOOK
