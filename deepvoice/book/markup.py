"""HTML and XHTML to blocks of text, by the parser of the standard library: it never fails and expands no entities."""

import re
from html.parser import HTMLParser
from typing import NamedTuple

from deepvoice.book.model import Block, Kind

# What is not for the ear. A note in the margin is reached by a link, so links stay and superscript marks of notes go.
_SILENT = frozenset(
    "script style head nav template svg math audio video object iframe noscript rt rp button form".split()
)
_BLOCKS = frozenset(
    "p div section article aside header footer main blockquote li dt dd ul ol dl table tr caption figure figcaption "
    "pre address body html h1 h2 h3 h4 h5 h6 hr hgroup".split()
)
_CELLS = frozenset(("td", "th"))
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_NOTES = frozenset(("footnote", "endnote", "rearnote", "footnotes", "endnotes", "rearnotes"))
_SILENT_TYPES = _NOTES | {"pagebreak", "noteref", "toc", "index", "page-list", "landmarks"}
_SPACE = re.compile(r"[ \t\r\n\f]+")
_DEEPEST = 1000  # open elements; more are damage
_MOST = 50_000_000  # characters of one file


class Page(NamedTuple):
    """What a page of HTML holds.

    blocks: in order
    levels: of headings, 1 to 6; 0 for other blocks
    anchors: the `id` of an element -> the block that begins there
    title, language, author: of its head, perhaps empty
    footnotes: how many elements of notes were left out
    """

    blocks: list[Block]
    levels: list[int]
    anchors: dict[str, int]
    title: str
    language: str
    author: str
    footnotes: int = 0


def read_page(text: str) -> Page:
    """Return the blocks of an HTML page."""
    parser = _Parser()
    parser.feed(text[:_MOST])
    parser.close()
    parser.end_block()
    title = parser.title.strip()
    return Page(parser.blocks, parser.levels, parser.anchors, title, parser.language, parser.author, parser.footnotes)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self.levels: list[int] = []
        self.anchors: dict[str, int] = {}
        self.title = self.language = self.author = ""
        self.footnotes = 0
        self._open: list[tuple[str, bool]] = []  # elements, and whether each is for the ear
        self._pieces: list[str] = []
        self._level = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._head(tag, given)
        if tag in _BLOCKS:
            self.end_block()
        for name in ("id", "name") if tag == "a" else ("id",):
            if given.get(name):
                self.anchors.setdefault(given[name], len(self.blocks))
        if tag == "br":
            self._pieces.append("\n")
        elif tag in _CELLS and self._text():
            self._pieces.append(", ")
        elif tag == "hr":
            self._append("rule", "")
        elif tag == "img" and self._spoken() and given.get("alt", "").strip():
            self._pieces.append(f" {given['alt'].strip()} ")
        if tag not in _VOID:
            if tag in _HEADINGS:
                self._level = _HEADINGS[tag]
            if len(self._open) < _DEEPEST:
                self.footnotes += bool(self._spoken() and _types(given) & _NOTES)
                self._open.append((tag, self._spoken() and not _is_silent(tag, given)))

    def _head(self, tag: str, given: dict[str, str]) -> None:
        """Take what the head of the page says."""
        if tag == "html":
            self.language = given.get("lang") or given.get("xml:lang", "")
        if tag == "meta" and given.get("name", "").lower() == "author":
            self.author = given.get("content", "").strip()
        self._in_title = tag == "title"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in _BLOCKS:
            self.end_block()
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == tag:  # what is still open inside it ends with it
                del self._open[index:]
                break
        if tag in _HEADINGS:
            self._level = 0

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif self._spoken():
            self._pieces.append(_SPACE.sub(" ", data))

    def end_block(self) -> None:
        """Close the block that is being collected."""
        text = self._text()
        self._pieces.clear()
        if text:
            self._append("heading" if self._level else "paragraph", text)

    def _append(self, kind: Kind, text: str) -> None:
        self.blocks.append(Block(kind, text))
        self.levels.append(self._level if kind == "heading" else 0)

    def _text(self) -> str:
        lines = (_SPACE.sub(" ", line).strip() for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)

    def _spoken(self) -> bool:
        return not self._open or self._open[-1][1]


def _types(given: dict[str, str]) -> frozenset[str]:
    """Return what an element says it is, to readers of books and to those of screens."""
    roles = (role.removeprefix("doc-") for role in given.get("role", "").split())
    return frozenset((*given.get("epub:type", "").split(), *roles))


def _is_silent(tag: str, given: dict[str, str]) -> bool:
    return (
        tag in _SILENT
        or "hidden" in given
        or given.get("aria-hidden", "").lower() == "true"
        or bool(_types(given) & _SILENT_TYPES)
    )
