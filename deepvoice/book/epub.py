"""EPUB 2 and 3: metadata, cover, reading order, and chapters as its table of contents names them."""

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

from deepvoice.book.markup import Page, read_page
from deepvoice.book.model import Block, Book, Chapter, Cover, cover_of
from deepvoice.book.package import Element, Package, resolve
from deepvoice.errors import TextError

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_DECLARED = re.compile(rb"""encoding\s*=\s*["']([A-Za-z0-9._-]+)""")


class _Item(NamedTuple):
    """A file that the package document lists."""

    path: str
    media_type: str
    properties: frozenset[str]


class _Entry(NamedTuple):
    """A line of the table of contents: where it leads, and its title."""

    path: str
    place: str
    title: str


def read_epub(path: Path) -> Book:
    """Read an EPUB; raises TextError, which says what is wrong, for one that is damaged, protected or hostile."""
    with contextlib.closing(Package(path)) as package:
        opf_path = _package_document(package)
        opf = package.xml(opf_path)
        items = _manifest(opf, opf_path)
        spine = opf.child("spine")
        if spine is None:
            raise TextError(f"{path}: its package document has no reading order (spine); it is damaged")
        order = [items[ref.attributes.get("idref", "")] for ref in spine.all("itemref") if _is_read(ref, items)]
        notes: list[str] = []
        pages = {item.path: _page(package, item.path) for item in order if _is_page(item, notes)}
        metadata = opf.child("metadata") or Element("metadata", {})
        footnotes = sum(page.footnotes for page in pages.values())
        if footnotes:
            notes.append(f"{footnotes} notes at the foot or the end")
        try:
            contents = _contents(package, opf, items)
        except TextError as error:
            notes.append(f"the table of contents, which cannot be read: {error}")
            contents = []
        chapters = _chapters(pages, contents)
        return Book(
            title=_first(metadata, "title") or path.stem,
            author=", ".join(filter(None, (creator.words() for creator in metadata.all("creator")))),
            language=_first(metadata, "language"),
            cover=_cover(package, metadata, items),
            chapters=chapters,
            notes=tuple(notes),
        )


def _package_document(package: Package) -> str:
    for rootfile in package.xml(_CONTAINER).all("rootfile"):
        path, _ = resolve("", rootfile.attributes.get("full-path", ""))
        if path in package.names:
            return path
    raise TextError(f"its {_CONTAINER} names no package document that is there; the EPUB is damaged")


def _manifest(opf: Element, base: str) -> dict[str, _Item]:
    items = {}
    for item in opf.all("item"):
        given = item.attributes
        path, _ = resolve(base, given.get("href", ""))
        properties = frozenset(given.get("properties", "").split())
        items[given.get("id", "")] = _Item(path, given.get("media-type", ""), properties)
    return items


def _is_read(reference: Element, items: dict[str, _Item]) -> bool:
    """Whether an entry of the spine is part of the text: what is not linear is reached by links only."""
    known = items.get(reference.attributes.get("idref", ""))
    return known is not None and reference.attributes.get("linear") != "no" and "nav" not in known.properties


def _is_page(item: _Item, notes: list[str]) -> bool:
    if item.media_type in _PAGES:
        return True
    notes.append(f"{item.path} is {item.media_type or 'of unknown type'}, which is not spoken")
    return False


def _page(package: Package, path: str) -> Page:
    data = package.read(path)
    declared = _DECLARED.search(data[:200])
    encoding = declared[1].decode("ascii") if declared else "utf-8-sig"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        return read_page(data.decode(encoding, errors="replace"))
    except LookupError:
        return read_page(data.decode("utf-8", errors="replace"))


def _contents(package: Package, opf: Element, items: dict[str, _Item]) -> list[_Entry]:
    """Return the table of contents: that of EPUB 3, or else that of EPUB 2, or nothing."""
    for item in items.values():
        if "nav" in item.properties and item.path in package.names:
            tables = package.xml(item.path).all("nav")
            table = next((nav for nav in tables if "toc" in nav.attributes.get("type", "").split()), None)
            if table is not None:
                links = ((link.attributes.get("href", ""), link.words()) for link in table.all("a"))
                return [_Entry(*resolve(item.path, href), title) for href, title in links if href and title]
    spine = opf.child("spine")
    ncx = items.get(spine.attributes.get("toc", "") if spine else "") or next(
        (item for item in items.values() if item.media_type == "application/x-dtbncx+xml"), None
    )
    if ncx is None or ncx.path not in package.names:
        return []
    entries = []
    for point in package.xml(ncx.path).all("navPoint"):
        label, content = point.child("navLabel"), point.child("content")
        if label is not None and content is not None and label.words():
            entries.append(_Entry(*resolve(ncx.path, content.attributes.get("src", "")), label.words()))
    return entries


def _chapters(pages: dict[str, Page], contents: list[_Entry]) -> tuple[Chapter, ...]:
    """Cut the pages, in reading order, where the table of contents leads; without one each page is a chapter."""
    starts: dict[tuple[str, int], str] = {}
    for entry in contents:
        page = pages.get(entry.path)
        if page is not None:
            starts.setdefault((entry.path, page.anchors.get(entry.place, 0) if entry.place else 0), entry.title)
    chapters: list[tuple[str, list[Block]]] = []
    for path, page in pages.items():
        for index in range(len(page.blocks) + (not page.blocks)):
            title = starts.get((path, index))
            if title is None and not chapters:
                title = _heading(page) or page.title or "Beginning"
            elif title is None and index == 0 and not contents:
                title = _heading(page) or f"Part {len(chapters) + 1}"
            if title is not None:
                chapters.append((title, []))
            chapters[-1][1].extend(page.blocks[index : index + 1])
    return tuple(
        Chapter(title=title, blocks=tuple(blocks)) for title, blocks in chapters if any(block.text for block in blocks)
    )


def _heading(page: Page) -> str:
    return next((block.text for block in page.blocks if block.kind == "heading"), "")


def _cover(package: Package, metadata: Element, items: dict[str, _Item]) -> Cover | None:
    named = next((meta.attributes.get("content", "") for meta in metadata.all("meta") if _is_cover(meta)), "")
    candidates = [item for item in items.values() if "cover-image" in item.properties]
    candidates += [items[named]] if named in items else []
    candidates += [
        item for key, item in items.items() if "cover" in key.lower() and item.media_type.startswith("image/")
    ]
    for item in candidates:
        if item.path in package.names:
            cover = cover_of(package.read(item.path))
            if cover is not None:
                return cover
    return None


def _is_cover(meta: Element) -> bool:
    return meta.attributes.get("name") == "cover"


def _first(metadata: Element, name: str) -> str:
    found = metadata.all(name)
    return found[0].words() if found else ""
