"""Reading a book from a file, by its suffix."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from deepvoice.book.markup import read_page
from deepvoice.book.model import Book, split_at
from deepvoice.book.plain import read_markdown, read_plain
from deepvoice.errors import TextError

SUFFIXES = (".epub", ".html", ".htm", ".xhtml", ".md", ".markdown", ".txt", ".pdf")
_MOST_BYTES = 256 << 20
MARKED = (".md", ".markdown", ".txt")  # files in which marks such as *this* mean emphasis


def read_book(path: Path, decode: Callable[[bytes, str], str]) -> Book:
    """Read a book; raises TextError, which says what is wrong, for a file that is none.

    decode: turns bytes into text, given them and the name of the file for its error
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise TextError(f"{str(path)!r} is no book that can be read; expected a name ending in {' '.join(SUFFIXES)}")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TextError(
                f"{path} has {path.stat().st_size >> 20} MB; expected a book of at most {_MOST_BYTES >> 20}"
            )
        if suffix == ".epub":
            from deepvoice.book.epub import read_epub

            book = read_epub(path)
        elif suffix == ".pdf":
            from deepvoice.book.pdf import read_pdf

            book = read_pdf(path)
        else:
            book = _read_text(decode(path.read_bytes(), str(path)), path, suffix)
    except OSError as error:
        raise TextError(f"cannot read {path}: {error.strerror or error}; check the path") from None
    chapters = tuple(chapter for chapter in book.chapters if any(c.isalnum() for b in chapter.blocks for c in b.text))
    if not chapters:
        raise TextError(f"{path} has no text that can be spoken")
    return replace(book, chapters=chapters)


def _read_text(text: str, path: Path, suffix: str) -> Book:
    if suffix in (".md", ".markdown"):
        return read_markdown(text, path)
    if suffix == ".txt":
        return read_plain(text, path)
    page = read_page(text)
    levels = [level for level in page.levels if level]
    level = min((level for level in set(levels) if levels.count(level) > 1), default=min(levels, default=0))
    starts = [i for i, own in enumerate(page.levels) if own and own <= level]
    title = page.title or next((page.blocks[i].text for i in starts), "") or path.stem
    return Book(title=title, author=page.author, language=page.language, chapters=split_at(page.blocks, starts, title))
