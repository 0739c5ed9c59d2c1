"""ID3v2.4 tags in front of mp3 audio: title, author, cover and chapters (the chapter frame addendum of 2005)."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

_UTF8 = b"\x03"
_TOP_LEVEL, _ORDERED = 2, 1  # flags of a table of contents
_NO_OFFSET = 0xFFFFFFFF  # of a chapter in bytes: its times count


class ChapterTime(NamedTuple):
    """A chapter: its title and where it lies, in seconds."""

    title: str
    start: float
    end: float


def make_tag(
    texts: dict[str, str],
    cover: tuple[str, bytes] | None = None,
    chapters: Sequence[ChapterTime] = (),
) -> bytes:
    """Return the bytes of a tag.

    texts: frames of text, such as {"TIT2": "The title", "TPE1": "The author"}; empty ones are left out
    cover: media type and bytes of a picture
    """
    frames = b"".join(_frame(name, _UTF8 + text.encode("utf-8", "replace")) for name, text in texts.items() if text)
    if chapters:
        names = [b"chp%d" % number for number in range(len(chapters))]
        # a table of contents counts its entries in one byte; players read the chapters beyond it too
        listed = names[:255]
        frames += _frame(
            "CTOC", b"toc\0" + bytes([_TOP_LEVEL | _ORDERED, len(listed)]) + b"".join(name + b"\0" for name in listed)
        )
        for name, chapter in zip(names, chapters, strict=True):
            times = struct.pack(">IIII", round(1000 * chapter.start), round(1000 * chapter.end), _NO_OFFSET, _NO_OFFSET)
            title = _frame("TIT2", _UTF8 + chapter.title.encode("utf-8", "replace"))
            frames += _frame("CHAP", name + b"\0" + times + title)
    if cover is not None:
        media_type, data = cover
        frames += _frame("APIC", _UTF8 + media_type.encode("ascii") + b"\0\x03\0" + data)  # 3: the front cover
    return b"ID3\x04\0\0" + _size(len(frames)) + frames


def _frame(name: str, content: bytes) -> bytes:
    return name.encode("ascii") + _size(len(content)) + b"\0\0" + content


def _size(size: int) -> bytes:
    """Write a number in 28 bits, 7 a byte, so that no byte looks like the beginning of audio."""
    return bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
