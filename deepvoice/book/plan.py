"""A book as pieces of a few minutes, each with a key that says whether it has been spoken before."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deepvoice.book.model import Block, Book, Chapter
from deepvoice.resume import content_key
from deepvoice.text.document import Break, Document
from deepvoice.text.options import TextOptions

if TYPE_CHECKING:
    from deepvoice.options import OptionValues

_PIECE = 3000  # characters: about three minutes, what a kill can cost
_LONGEST = 2 * _PIECE  # of a block; longer ones are cut where a sentence ends
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+")
_SPACE = re.compile(r"\s+")
# seconds of silence before a block
_PARAGRAPH, _HEADING, _AFTER_HEADING, _RULE = 0.6, 1.4, 1.0, 1.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a chapter that is spoken at once.

    key: hash of everything that its samples depend on; it is the name of its file
    text: paragraphs; breaks: seconds of silence before the character at a position
    """

    key: str
    chapter: int
    text: str
    breaks: tuple[tuple[int, float], ...]

    def document(self) -> Document:
        """Return what the voice is given."""
        return Document(text=self.text, breaks=tuple(Break(position=at, seconds=s) for at, s in self.breaks))


def plan_book(book: Book, voice: str | None, options: "OptionValues", marked: bool) -> tuple[Piece, ...]:
    """Cut a book into pieces, in order.

    marked: whether signs such as *this* are marks of emphasis; in books from HTML they are signs
    """
    own = piece_options(options, marked)
    return tuple(
        Piece(key=content_key(voice, own, text, breaks), chapter=number, text=text, breaks=breaks)
        for number, chapter in enumerate(book.chapters)
        for text, breaks in _pieces(chapter)
    )


def piece_options(options: "OptionValues", marked: bool) -> "OptionValues":
    """Return the options that pieces are spoken with: loudness is a matter of the whole chapter."""
    text_options = options.get("options") or TextOptions()
    return {
        **options,
        "options": replace(text_options, markdown=marked and text_options.markdown),
        "loudness": None,
        "ssml": False,
        "lead_in": 0.0,
    }


def _pieces(chapter: Chapter) -> Iterator[tuple[str, tuple[tuple[int, float], ...]]]:
    """Yield text and breaks of the pieces of a chapter."""
    text = ""
    breaks: list[tuple[int, float]] = []
    for block, gap in _with_gaps(chapter.blocks):
        if text and len(text) + len(block) > _PIECE:
            yield text, tuple(breaks)
            text, breaks = "", []
        text += "\n\n" if text else ""
        if gap:
            breaks.append((len(text), gap))
        text += block
    if text:
        yield text, tuple(breaks)


def _with_gaps(blocks: Sequence[Block]) -> Iterator[tuple[str, float]]:
    """Yield the text of each block that has words, and the seconds of silence before it."""
    before: Block | None = None
    ruled = False
    for block in blocks:
        if not any(character.isalnum() for character in block.text):
            ruled = ruled or block.kind == "rule"
            continue
        gap = 0.0
        if before is not None:
            gap = _HEADING if block.kind == "heading" else _PARAGRAPH
            if before.kind == "heading":
                gap = _AFTER_HEADING
            if ruled:
                gap = _RULE
        for number, part in enumerate(_parts(block.text)):
            yield part, gap if number == 0 else 0.0
        before, ruled = block, False


def _parts(text: str) -> Iterator[str]:
    """Cut a block that is too long for a piece: at the end of a sentence, or else at a space."""
    while len(text) > _LONGEST:
        ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, _PIECE)]
        ends = ends or [match.end() for match in _SPACE.finditer(text, 0, _LONGEST)]
        cut = ends[-1] if ends and ends[-1] > 0 else _LONGEST
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text
