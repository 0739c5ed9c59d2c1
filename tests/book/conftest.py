"""A book of our own with three chapters, as an EPUB made here, and running the command on it."""

import os
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

CHAPTERS = {
    "The Lamp": (
        "The lamp on Gull Rock had burned for ninety years before Anna Verne came to keep it.",
        "She climbed the stairs at dusk, one hundred and twelve of them, and counted aloud. The wick was trimmed; the "
        "glass was clean. Far out, a single sail stood against the light.",
    ),
    "The Storm": (
        "In the night the wind turned to the west. By two o'clock the sea was over the landing.",
        "“Nobody sails in this,” said her brother, but somebody did: a lantern rose and fell beyond the reef.",
        "They took the boat.",
    ),
    "What the Sea Left": (
        "Morning came grey and quiet. On the sand lay a chest, three oars, and a cat, which was angry.",
        "Anna carried the cat up the stairs, one hundred and twelve of them, and that evening lit the lamp again.",
    ),
}
TITLE, AUTHOR = "The Keeper & the Cat", "E. Holm"
_CONTAINER = (
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def picture() -> bytes:
    """A small PNG."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes([20 * y, 90, 160]) * 16 for y in range(0, 12)) + b"\0" * 4 * 49
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def page(title: str, body: str) -> str:
    """An XHTML page of an EPUB."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>{title}</title><style>p {{ margin: 0 }}</style></head>'
        f"<body><section><h1>{title}</h1>{body}</section></body></html>"
    )


def write_epub(path: Path, files: dict[str, str | bytes]) -> Path:
    """Write an archive in the form of an EPUB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, content in {"META-INF/container.xml": _CONTAINER, **files}.items():
            archive.writestr(name, content)
    return path


def epub_files(chapters: dict[str, tuple[str, ...]]) -> dict[str, str | bytes]:
    """The files of an EPUB 3 with a page for each chapter, a table of contents and a cover."""
    names = [f"c{number}" for number in range(len(chapters))]
    manifest = "".join(f'<item id="{n}" href="text/{n}.xhtml" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    links = "".join(f'<li><a href="text/{n}.xhtml">{title}</a></li>' for n, title in zip(names, chapters, strict=True))
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">keeper</dc:identifier>'
        f"<dc:title>{TITLE.replace('&', '&amp;')}</dc:title><dc:creator>{AUTHOR}</dc:creator>"
        f"<dc:language>en</dc:language></metadata><manifest>{manifest}"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="art" href="art.png" media-type="image/png" properties="cover-image"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    nav = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
        f'<nav epub:type="toc"><ol>{links}</ol></nav></body></html>'
    )
    pages: dict[str, str | bytes] = {
        f"OEBPS/text/{name}.xhtml": page(title, "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs))
        for name, (title, paragraphs) in zip(names, chapters.items(), strict=True)
    }
    return {"OEBPS/book.opf": opf, "OEBPS/nav.xhtml": nav, "OEBPS/art.png": picture(), **pages}


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample book."""
    return write_epub(tmp_path_factory.mktemp("book") / "keeper.epub", epub_files(CHAPTERS))


@pytest.fixture
def make_epub(tmp_path: Path) -> Callable[[dict[str, str | bytes]], Path]:
    """Return a function that writes an EPUB of given files."""
    return lambda files: write_epub(tmp_path / "made.epub", files)


@pytest.fixture(scope="session")
def files_of() -> Callable[[dict[str, tuple[str, ...]]], dict[str, str | bytes]]:
    """Return the function that makes the files of an EPUB."""
    return epub_files


@pytest.fixture
def command(tiny_voice: Path) -> list[str]:
    """The beginning of a command that speaks a book with the miniature voice."""
    return [sys.executable, "-P", "-m", "deepvoice", "book", "--voice", str(tiny_voice)]


@pytest.fixture
def book(command: list[str], tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Return a function that runs the command in an empty folder."""

    def run(*arguments: object, **options: dict[str, str]) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, **options.pop("env", {})}
        if "--jobs" not in arguments:
            arguments += ("--jobs", 1)  # a process costs more than these chapters
        return subprocess.run(
            [*command, *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    return run
