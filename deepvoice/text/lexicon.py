"""The pronunciation lexicon: CMUdict and a supplement, compiled into one memory-mapped file.

`recipes/lexicon/build.py` writes the file with `pack`; `Lexicon` reads it without loading it. Words are sorted and
cut into blocks of 16 that share prefixes; a lookup is a binary search over the blocks' first words and a walk
through one block. Layout, little endian:

    8 bytes magic · u32 version · u32 words · u32 blocks · u32 block size · 16 bytes phone-set hash · 16 bytes SHA-256
    of what follows · u32 offset of each block, from the start of the file
    entry: u8 characters shared with the word before · u8 length of the rest · the rest · u8 pronunciations (bit 7:
    from the supplement) · for each: u8 length and that many symbol ids of deepvoice.text.phones
"""

import hashlib
import mmap
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from deepvoice.errors import VoiceError
from deepvoice.text.phones import NUM_SILENCES, SYMBOL_IDS, SYMBOLS, phone_set_hash

MAGIC = b"DVLEXICO"
VERSION = 1
_BLOCK_SIZE = 16
_HEADER = struct.Struct("<8sIIII16s16s")
_SUPPLEMENT_BIT = 0x80
_CACHE_LIMIT = 50_000  # words, so that a long-running server stays bounded


class Entry(NamedTuple):
    """What the lexicon knows about one word, most usual pronunciation first."""

    pronunciations: tuple[tuple[str, ...], ...]
    supplement: bool


def _encode(words: list[str], entries: dict[str, Entry]) -> bytes:
    block = bytearray()
    before = ""
    for word in words:
        shared = 0
        while shared < min(len(word), len(before)) and word[shared] == before[shared]:
            shared += 1
        rest = word[shared:].encode("ascii")
        entry = entries[word]
        count = len(entry.pronunciations)
        block += bytes([shared, len(rest)]) + rest + bytes([count | (_SUPPLEMENT_BIT if entry.supplement else 0)])
        for phones in entry.pronunciations:
            block += bytes([len(phones), *(SYMBOL_IDS[p] for p in phones)])
        before = word
    return bytes(block)


def pack(entries: dict[str, Entry]) -> bytes:
    """Return the compiled file for lower-case ASCII words."""
    words = sorted(entries)
    blocks = [_encode(words[i : i + _BLOCK_SIZE], entries) for i in range(0, len(words), _BLOCK_SIZE)]
    offsets, position = [], _HEADER.size + 4 * len(blocks)
    for block in blocks:
        offsets.append(position)
        position += len(block)
    body = struct.pack(f"<{len(offsets)}I", *offsets) + b"".join(blocks)
    digest = hashlib.sha256(body).digest()[:16]
    sizes = (VERSION, len(words), len(blocks), _BLOCK_SIZE)
    return _HEADER.pack(MAGIC, *sizes, phone_set_hash().encode(), digest) + body


class Lexicon:
    """Read a compiled lexicon. Lookups are by lower-case word and safe from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Map and verify the file (default: the lexicon inside the package); raises VoiceError when it is damaged."""
        self.path = path or Path(__file__).resolve().parents[1] / "data" / "lexicon.bin"
        try:
            with self.path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
            raise VoiceError(f"cannot read the lexicon {self.path}: {error}; reinstall deepvoice") from error
        self._cache: dict[str, Entry | None] = {}
        self._offsets = self._verify()

    def _verify(self) -> tuple[int, ...]:
        data = self._data
        if len(data) < _HEADER.size:
            raise self._damaged(f"only {len(data)} bytes")
        magic, version, self._words, blocks, _, phone_set, digest = _HEADER.unpack_from(data)
        if magic != MAGIC:
            raise self._damaged(f"it starts with {magic!r}, expected {MAGIC!r}")
        if version != VERSION:
            raise VoiceError(
                f"the lexicon {self.path} has version {version}, this deepvoice reads version {VERSION}; "
                "rebuild it with python -m deepvoice.recipes.lexicon.build"
            )
        if phone_set != phone_set_hash().encode():
            raise VoiceError(
                f"the lexicon {self.path} was built for another phone set; "
                "rebuild it with python -m deepvoice.recipes.lexicon.build"
            )
        if hashlib.sha256(memoryview(data)[_HEADER.size :]).digest()[:16] != digest:
            raise self._damaged("its bytes do not match its hash")
        if not 0 < blocks <= (len(data) - _HEADER.size) // 4:
            raise self._damaged(f"it claims {blocks} blocks in {len(data)} bytes")
        offsets = struct.unpack_from(f"<{blocks}I", data, _HEADER.size)
        if any(b <= a for a, b in zip(offsets, (*offsets[1:], len(data)), strict=True)):
            raise self._damaged("its block offsets do not rise")
        return (*offsets, len(data))

    def _damaged(self, why: str) -> VoiceError:
        return VoiceError(f"the lexicon {self.path} is damaged: {why}; reinstall deepvoice")

    def _first_word(self, block: int) -> bytes:
        at = self._offsets[block]
        return self._data[at + 2 : at + 2 + self._data[at + 1]]

    def _read_block(self, block: int) -> Iterator[tuple[bytes, Entry]]:
        data = self._data[self._offsets[block] : self._offsets[block + 1]]
        at, word = 0, b""
        try:
            while at < len(data):
                shared, length = data[at], data[at + 1]
                at += 2
                word = word[:shared] + data[at : at + length]
                at += length
                head = data[at]
                at += 1
                spans = []
                for _ in range(head & ~_SUPPLEMENT_BIT):
                    spans.append((at + 1, at + 1 + data[at]))
                    at = spans[-1][1]
                if at > len(data) or any(b < NUM_SILENCES for start, end in spans for b in data[start:end]):
                    raise self._damaged(f"an entry of block {block} is cut short or no pronunciation")
                phones = tuple(tuple(SYMBOLS[b] for b in data[start:end]) for start, end in spans)
                yield word, Entry(phones, bool(head & _SUPPLEMENT_BIT))
        except IndexError:
            raise self._damaged(f"block {block} holds an unknown phone or ends early") from None

    def _search(self, key: bytes) -> Entry | None:
        low, high = 0, len(self._offsets) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._first_word(middle) <= key:
                low = middle
            else:
                high = middle
        for word, entry in self._read_block(low):
            if word == key:
                return entry
            if word > key:
                break
        return None

    def lookup(self, word: str) -> Entry | None:
        """Return the entry of a lower-case word, or None when the lexicon does not have it."""
        try:
            return self._cache[word]
        except KeyError:
            pass
        entry = self._search(word.encode("ascii")) if word.isascii() and word else None
        if len(self._cache) >= _CACHE_LIMIT:
            self._cache.clear()
        self._cache[word] = entry
        return entry

    def phones(self, word: str) -> tuple[str, ...] | None:
        """Return the most usual pronunciation of a lower-case word, or None."""
        entry = self.lookup(word)
        return entry.pronunciations[0] if entry else None

    def __contains__(self, word: str) -> bool:
        return self.lookup(word) is not None

    def __len__(self) -> int:
        return self._words

    def items(self) -> Iterable[tuple[str, Entry]]:
        """Yield every word with its entry, in order (to train the grapheme-to-phoneme model)."""
        for block in range(len(self._offsets) - 1):
            for word, entry in self._read_block(block):
                yield word.decode("ascii"), entry
