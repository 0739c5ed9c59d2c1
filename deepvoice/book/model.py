"""A book as text: chapters of blocks, whatever file it came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Kind = Literal["heading", "paragraph", "rule"]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, or a rule, which is a change of scene without words."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter: its title for tables of contents, and what is spoken, its heading included."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def characters(self) -> int:
        """Length of the text."""
        return sum(len(block.text) for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """The picture on the cover: a JPEG or PNG file."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book; `notes` say what was left out of it."""

    title: str
    author: str = ""
    language: str = ""
    cover: Cover | None = None
    chapters: tuple[Chapter, ...] = ()
    notes: tuple[str, ...] = ()


def split_at(blocks: Sequence[Block], starts: Sequence[int], first_title: str) -> tuple[Chapter, ...]:
    """Cut blocks into chapters that begin at the given blocks, which are headings; what comes before is one too."""
    edges = [*starts, len(blocks)]
    chapters = []
    if not starts or starts[0] > 0:
        before = tuple(blocks[: edges[0]])
        if any(block.text for block in before):
            chapters.append(Chapter(title=first_title, blocks=before))
    for start, end in pairwise(edges):
        chapters.append(Chapter(title=blocks[start].text, blocks=tuple(blocks[start:end])))
    return tuple(chapters)


def cover_of(data: bytes) -> Cover | None:
    """Return a picture as a cover when it is one that players show, by its first bytes."""
    if data.startswith(b"\xff\xd8\xff"):
        return Cover(data=data, media_type="image/jpeg")
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Cover(data=data, media_type="image/png")
    return None
