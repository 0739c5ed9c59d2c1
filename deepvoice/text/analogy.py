"""Analogy with known words: how likely is a reading of an unknown word, going by the words of the dictionary?

The grapheme-to-phoneme network abstracts; it has no memory of single words. Two memories weigh its readings here:

- how often the training words say the same letters the same way: an n-gram model of *graphones* (a letter and the
  phones that it stands for, stress ignored), counted and pruned by `recipes/grapheme_to_phoneme/graphones.py`;
- compounds: a reading that joins those of two words of the lexicon (`back` + `rest`) gets a bonus.

The file, little endian: 8 bytes magic · u32 version · u32 order · u32 number of grams · u32 bytes of the tokens ·
f32 weight · f32 step · 16 bytes SHA-256 of what follows · compressed by zlib: tokens, JSON · how many hashes have
each upper half, 65,536 u8 · for the grams, sorted by their 32-bit hashes (`gram_hashes`): u16 lower halves · u8 log
probabilities · u8 log backoff weights (`Codes`).
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.errors import VoiceError
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.phones import VOICELESS, base

MAGIC = b"DVGRAPHO"
VERSION = 1
MAX_ORDER = 8
PAD, BEGIN, END, FIRST_TOKEN = 0, 1, 2, 3  # numbers of tokens; graphones follow
UNKNOWN_LOG = -12.0  # log probability of a graphone never seen
MIN_PART = 4  # letters of each half of a compound
COMPOUND_LOG = 2.0  # bonus of a reading that is one; chosen on the dev words

_UPPER = 1 << 16  # upper halves of 32-bit hashes
_HEADER = struct.Struct("<8sIIIIff16s")
_MULTIPLIER, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_SIBILANTS = frozenset("S Z SH ZH CH JH".split())

Tokens = NDArray[np.int64]
Bases = tuple[str, ...]  # phones without stress


class Codes(NamedTuple):
    """How log values are kept in one byte: value = -step * (code - zero)."""

    step: float
    zero: int

    def encode(self, values: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Return the nearest codes."""
        return np.clip(np.rint(-values / self.step) + self.zero, 0, 255).astype(np.uint8)

    def table(self) -> NDArray[np.float64]:
        """Return the value of each code, [256]."""
        values: NDArray[np.float64] = -self.step * (np.arange(256, dtype=np.float64) - self.zero)
        return values


def probability_codes(step: float) -> Codes:
    """Return the code of log probabilities, which are never above 0."""
    return Codes(step, 0)


def backoff_codes(step: float) -> Codes:
    """Return the code of log backoff weights, which may be a little above 0."""
    return Codes(step, 64)


def gram_hashes(tokens_CN: Tokens, order: int) -> NDArray[np.uint32]:
    """Return the hashes of all grams that end at each token, [order, C, N]: those of one token first.

    tokens_CN: numbers of tokens; what lies before the first one counts as PAD
    """
    rows, length = tokens_CN.shape
    padded = np.full((rows, order - 1 + length), PAD, np.uint64)
    padded[:, order - 1 :] = tokens_CN
    sums: NDArray[np.uint64] = np.zeros((rows, length), np.uint64)
    hashes = np.empty((order, rows, length), np.uint64)
    factor, lengths = np.ones(1, np.uint64), np.arange(order, dtype=np.uint64) * _MIX
    for size in range(1, order + 1):
        sums += padded[:, order - size : order - size + length] * factor
        hashes[size - 1] = sums + lengths[size - 1 : size]  # so that padding does not make a longer gram a shorter one
        factor = factor * _MULTIPLIER
    hashes ^= hashes >> np.uint64(32)
    hashes *= _MIX
    return (hashes >> np.uint64(32)).astype(np.uint32)


def pack(
    order: int,
    tokens: Sequence[tuple[str, str]],
    grams: Mapping[tuple[int, ...], tuple[float, float]],
    *,
    weight: float,
    step: float = 0.05,
) -> bytes:
    """Return the compiled file.

    tokens: letter and unit of each graphone, in the order of their numbers from FIRST_TOKEN on
    grams: token numbers -> log probability of the last one after the others, log backoff weight
    weight: of the log probability beside the network's
    step: of the one-byte codes
    Where two grams have the same hash the longer one is left out.
    """
    rows: dict[int, tuple[float, float]] = {}
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for gram in sorted(grams):
        by_size.setdefault(len(gram), []).append(gram)
    for size, members in sorted(by_size.items()):
        hashes = gram_hashes(np.array(members, np.int64), size)[size - 1, :, -1]
        for gram, key in zip(members, hashes.tolist(), strict=True):
            rows.setdefault(key, grams[gram])
    keys = np.array(sorted(rows), np.uint32)
    values = np.array([rows[key] for key in keys.tolist()])
    names = json.dumps([f"{letter} {unit}" for letter, unit in tokens]).encode()
    body = names + np.bincount(keys >> 16, minlength=_UPPER).astype(np.uint8).tobytes()
    body += (keys & (_UPPER - 1)).astype("<u2").tobytes()
    body += probability_codes(step).encode(values[:, 0]).tobytes() + backoff_codes(step).encode(values[:, 1]).tobytes()
    body = zlib.compress(body, 9)
    digest = hashlib.sha256(body).digest()[:16]
    return _HEADER.pack(MAGIC, VERSION, order, len(keys), len(names), weight, step, digest) + body


def default_path() -> Path:
    """Return the file inside the package."""
    return Path(__file__).resolve().parents[1] / "data" / "graphones.bin"


class Graphones:
    """A compiled graphone model, 2 MB in memory. Safe from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Read and verify the file (default: the one inside the package); raises VoiceError when it is damaged."""
        self.path = path or default_path()
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise VoiceError(f"cannot read the graphones {self.path}: {error}; reinstall deepvoice") from error
        if len(data) < _HEADER.size:
            raise self._damaged(f"only {len(data)} bytes")
        magic, version, self.order, count, size, self.weight, step, digest = _HEADER.unpack_from(data)
        if magic != MAGIC or version != VERSION:
            raise self._damaged(f"it starts with {magic!r} and version {version}, expected {MAGIC!r} and {VERSION}")
        if hashlib.sha256(memoryview(data)[_HEADER.size :]).digest()[:16] != digest:
            raise self._damaged("its bytes do not match its hash")
        length = size + _UPPER + 4 * count
        body = zlib.decompressobj().decompress(memoryview(data)[_HEADER.size :], length + 1)
        if not 1 <= self.order <= MAX_ORDER or len(body) != length or not count:
            raise self._damaged(f"{len(body)} bytes for {count} grams of up to {self.order}")
        self._tokens = {tuple(n.split(" ", 1)): i for i, n in enumerate(json.loads(body[:size]), FIRST_TOKEN)}
        often = np.frombuffer(body, np.uint8, _UPPER, size)
        start = size + _UPPER
        if int(often.sum(dtype=np.int64)) != count:
            raise self._damaged(f"hashes for other than {count} grams")
        upper = np.repeat(np.arange(_UPPER, dtype=np.uint32), often)
        self._keys = upper << np.uint32(16) | np.frombuffer(body, "<u2", count, start)
        self._log = np.frombuffer(body, np.uint8, count, start + 2 * count)
        self._backoff = np.frombuffer(body, np.uint8, count, start + 3 * count)
        self._log_of, self._backoff_of = probability_codes(step).table(), backoff_codes(step).table()

    def _damaged(self, why: str) -> VoiceError:
        return VoiceError(f"the graphones {self.path} are damaged: {why}; reinstall deepvoice")

    def log_probabilities(self, letters: str, readings: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return log P of every reading of a word together with its letters.

        readings: for every letter the phones that it stands for, without stress, joined by spaces
        """
        tokens_CN = np.array(
            [
                [BEGIN, *(self._tokens.get(pair, PAD) for pair in zip(letters, reading, strict=True)), END]
                for reading in readings
            ]
        )
        hashes = gram_hashes(tokens_CN, self.order)
        at = np.minimum(np.searchsorted(self._keys, hashes), len(self._keys) - 1)
        found = self._keys[at] == hashes
        logs, backoffs = self._log_of[self._log[at]], np.where(found, self._backoff_of[self._backoff[at]], 0.0)
        value = np.where(found[0], logs[0], UNKNOWN_LOG)
        for size in range(1, self.order):
            value[:, 1:] = np.where(found[size, :, 1:], logs[size, :, 1:], value[:, 1:] + backoffs[size - 1, :, :-1])
        total: NDArray[np.float64] = value[:, 1:].sum(1)
        return total


class Analogy:
    """Weighs readings of unknown words by the words that are known."""

    def __init__(self, lexicon: Lexicon, graphones: Graphones | None = None) -> None:
        """Use a lexicon and a graphone model (default: the one inside the package)."""
        self._lexicon, self._graphones = lexicon, graphones or Graphones()

    def __call__(self, letters: str, readings: Sequence[Sequence[str]]) -> list[float]:
        """Return what to add to the log probability of each reading.

        letters: a word of a-z and apostrophes
        readings: for every letter the phones that it stands for, without stress, joined by spaces
        """
        bonus = self._graphones.weight * self._graphones.log_probabilities(letters, readings)
        compounds = set(self.compounds(letters))
        if compounds:
            for i, reading in enumerate(readings):
                if tuple(" ".join(reading).split()) in compounds:
                    bonus[i] += COMPOUND_LOG
        values: list[float] = bonus.tolist()
        return values

    def compounds(self, letters: str) -> Iterator[Bases]:
        """Yield, without stress, the ways of saying a word or its possessive as two words of the lexicon."""
        stem = letters.removesuffix("'s")
        for cut in range(MIN_PART, len(stem) - MIN_PART + 1):
            for first in self._plain(stem[:cut]):
                for second in self._plain(stem[cut:]):
                    wholes = [first + second]
                    if first[-1] == second[0]:  # "bookkeeper": two equal consonants may be said once
                        wholes.append(first[:-1] + second)
                    for whole in wholes:
                        yield whole if stem == letters else whole + _possessive(whole)

    def _plain(self, word: str) -> set[Bases]:
        entry = self._lexicon.lookup(word)
        return {tuple(map(base, phones)) for phones in entry.pronunciations[:2]} if entry else set()


def _possessive(phones: Bases) -> Bases:
    if phones[-1] in _SIBILANTS:
        return ("IH", "Z")
    return ("S",) if phones[-1] in VOICELESS else ("Z",)
