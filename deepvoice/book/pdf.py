"""PDF to chapters: the words of each page without what repeats on every page, cut at the bookmarks."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deepvoice.book.model import Block, Book, Chapter
from deepvoice.book.plain import read_plain
from deepvoice.errors import TextError

_MOST_PAGES = 20_000
_NUMBER = re.compile(r"\d+")
_REPEATED = 0.3  # of the pages: a first or last line on more of them is a running head
_HYPHEN = re.compile(r"(\w)[-\u00ad]\n(?=[a-z])")
_ENDS = re.compile(r"[.!?:\"'”’)\]]\s*$")


def read_pdf(path: Path) -> Book:
    """Read a PDF with pypdf (extra `book`); raises TextError for one that is damaged, protected or without text."""
    try:
        import pypdf
    except ImportError:
        raise TextError("PDF needs the package pypdf; install it with: pip install 'deepvoice[book]'") from None
    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise TextError(f"{path} is protected by a password; save a copy without one")
        if len(reader.pages) > _MOST_PAGES:
            raise TextError(f"{path} has {len(reader.pages)} pages; expected at most {_MOST_PAGES}")
        pages = [page.extract_text() or "" for page in reader.pages]
        facts = reader.metadata
        marks = sorted(_bookmarks(reader, reader.outline))
    except TextError:
        raise
    except Exception as error:  # noqa: BLE001 - pypdf raises whatever a damaged file makes happen
        raise TextError(f"{path} cannot be read as PDF ({type(error).__name__}: {error}); it is damaged") from None
    if not any(page.strip() for page in pages):
        raise TextError(f"{path} has no text, only pictures of it; recognise it first (OCR), for example with ocrmypdf")
    pages = _without_running_lines(pages)
    title = str((facts and facts.title) or path.stem)
    author = str((facts and facts.author) or "")
    if not marks:
        book = read_plain(_joined(pages), path)
        return Book(title=title, author=author, chapters=book.chapters)
    return Book(title=title, author=author, chapters=tuple(_chapters(pages, marks, title)))


def _bookmarks(reader: Any, outline: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Yield page and title of the bookmarks of the highest level."""
    for entry in outline:
        if not isinstance(entry, list):
            page = reader.get_destination_page_number(entry)
            if page is not None and page >= 0 and entry.title:
                yield page, " ".join(str(entry.title).split())


def _chapters(pages: list[str], marks: list[tuple[int, str]], title: str) -> Iterator[Chapter]:
    """Cut where the title of a bookmark stands on its page, or where the page begins."""
    starts = [(0, 0, title), *((page, *_find(pages[page], name)) for page, name in marks)]
    for number, (page, place, name) in enumerate(starts):
        end_page, end_place, _ = (
            starts[number + 1] if number + 1 < len(starts) else (len(pages) - 1, len(pages[-1]), "")
        )
        if (end_page, end_place) <= (page, place):
            continue
        texts = list(pages[page : end_page + 1])
        texts[-1] = texts[-1][:end_place]
        texts[0] = texts[0][place:]
        text = _joined(texts).strip()
        head = re.match(_pattern(name), text)
        blocks = [Block("heading", name)] if number else []
        body = text[head.end() :] if head and number else text
        blocks += [Block("paragraph", part.strip()) for part in re.split(r"\n\s*\n", body) if part.strip()]
        if len(blocks) > (1 if number else 0):
            yield Chapter(title=name, blocks=tuple(blocks))


def _find(page: str, title: str) -> tuple[int, str]:
    match = re.search(_pattern(title), page)
    return (match.start() if match else 0), title


def _pattern(title: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(re.escape(word) for word in title.split()), re.IGNORECASE)


def _without_running_lines(pages: list[str]) -> list[str]:
    """Leave out page numbers, and first and last lines that are the same, but for a number, on many pages."""
    split = [[line.strip() for line in page.split("\n")] for page in pages]
    split = [[line for line in lines if line] or [""] for lines in split]
    edges = Counter(_NUMBER.sub("#", line) for lines in split for line in {lines[0], lines[-1]})
    often = {
        line for line, count in edges.items() if line == "#" or (len(pages) > 4 and count > _REPEATED * len(pages))
    }
    kept = []
    for page in pages:
        lines = page.split("\n")
        for place in (0, -1):
            while lines and (not lines[place].strip() or _NUMBER.sub("#", lines[place].strip()) in often):
                lines.pop(place)
        kept.append("\n".join(lines))
    return kept


def _joined(pages: Sequence[str]) -> str:
    """Put pages together: words cut at the end of a line are whole again, a sentence goes on over the page."""
    text = ""
    for page in pages:
        gap = "\n\n" if not text or _ENDS.search(text) else "\n"
        text = f"{text}{gap}{page}"
    return _HYPHEN.sub(r"\1", text)
