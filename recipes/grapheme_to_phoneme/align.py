"""Alignment of letters with phones by expectation maximisation: which phones does each letter stand for?

Every letter stands for a *unit*: no phone, one, or two in a row (x for K S, u for Y UW). A table P(unit | letter),
stress ignored, is estimated by EM over all ways of cutting a pronunciation into one unit per letter; the best
way is then each word's training target. Words of one shape (G letters, P phones) are processed together as arrays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.text.phones import CONSONANTS, VOWELS, base

Pair = tuple[str, tuple[str, ...]]  # word, pronunciation
MAX_PHONES = 2  # phones that one letter may stand for

_BASES = {symbol: i for i, symbol in enumerate((*CONSONANTS, *VOWELS))}
_NUM = len(_BASES)
_LETTERS = "'abcdefghijklmnopqrstuvwxyz"
_NEVER = -1e30


@dataclass(frozen=True, slots=True)
class _Shape:
    """All pairs of G letters and P phones: positions in the input, letters [W, G], base phones [W, P]."""

    index_W: NDArray[np.int64]
    letters_WG: NDArray[np.int64]
    phones_WP: NDArray[np.int64]


def _shapes(pairs: Sequence[Pair]) -> list[_Shape]:
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (word, phones) in enumerate(pairs):
        if 0 < len(phones) <= MAX_PHONES * len(word):
            groups.setdefault((len(word), len(phones)), []).append(i)
    shapes = []
    for _, members in sorted(groups.items()):
        letters = np.array([[_LETTERS.index(letter) for letter in pairs[i][0]] for i in members], np.int64)
        phones = np.array([[_BASES[base(phone)] for phone in pairs[i][1]] for i in members], np.int64)
        shapes.append(_Shape(np.array(members, np.int64), letters, phones))
    return shapes


class UnitTable:
    """log P(unit | letter), one flat row per letter: [no phone, single phones, pairs of phones]."""

    def __init__(self) -> None:
        """Start from a table that prefers one phone per letter and knows nothing else."""
        row = np.concatenate([[0.2], np.full(_NUM, 0.7 / _NUM), np.full(_NUM * _NUM, 0.1 / _NUM**2)])
        self.log_LU = np.log(np.tile(row, (len(_LETTERS), 1)))

    def scores(self, shape: _Shape, g: int, p: int, size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return log P [W] and flat table index [W] of letter g standing for the `size` phones before position p."""
        if size == 0:
            unit_W = np.zeros(len(shape.index_W), np.int64)
        elif size == 1:
            unit_W = 1 + shape.phones_WP[:, p - 1]
        else:
            unit_W = 1 + _NUM + shape.phones_WP[:, p - 2] * _NUM + shape.phones_WP[:, p - 1]
        flat_W = shape.letters_WG[:, g] * self.log_LU.shape[1] + unit_W
        return self.log_LU.reshape(-1)[flat_W], flat_W

    def update(self, counts: NDArray[np.float64]) -> None:
        """Set the table from expected counts; a small floor keeps rare spellings possible."""
        counts_LU = counts.reshape(self.log_LU.shape) + 1e-3
        self.log_LU = np.log(counts_LU / counts_LU.sum(1, keepdims=True))


def _cells(letters: int, phones: int) -> Iterator[tuple[int, int, int]]:
    """Yield (g, p, size) for every way in which letter g can end at phone position p."""
    for g in range(letters):
        for p in range(phones + 1):
            left = letters - 1 - g
            if not phones - MAX_PHONES * left <= p <= MAX_PHONES * (g + 1):
                continue
            for size in range(min(MAX_PHONES, p) + 1):
                if p - size <= MAX_PHONES * g:
                    yield g, p, size


def _expected_counts(table: UnitTable, shape: _Shape, counts: NDArray[np.float64]) -> float:
    """Add the posterior counts of one shape to `counts`; returns the summed log likelihood."""
    words, letters = shape.letters_WG.shape
    phones = shape.phones_WP.shape[1]
    ahead = np.full((letters + 1, phones + 1, words), _NEVER)
    behind = np.full((letters + 1, phones + 1, words), _NEVER)
    ahead[0, 0] = behind[letters, phones] = 0.0
    cells = list(_cells(letters, phones))
    for g, p, size in cells:
        score_W, _ = table.scores(shape, g, p, size)
        ahead[g + 1, p] = np.logaddexp(ahead[g + 1, p], ahead[g, p - size] + score_W)
    for g, p, size in reversed(cells):
        score_W, _ = table.scores(shape, g, p, size)
        behind[g, p - size] = np.logaddexp(behind[g, p - size], behind[g + 1, p] + score_W)
    total_W = ahead[letters, phones]
    for g, p, size in cells:
        score_W, flat_W = table.scores(shape, g, p, size)
        posterior_W = np.exp(ahead[g, p - size] + score_W + behind[g + 1, p] - total_W)
        counts += np.bincount(flat_W, posterior_W, minlength=len(counts))
    return float(total_W.sum())


def _best_cuts(table: UnitTable, shape: _Shape) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of phones of each letter [W, G] in the best cut, and its log probability [W]."""
    words, letters = shape.letters_WG.shape
    phones = shape.phones_WP.shape[1]
    best = np.full((letters + 1, phones + 1, words), _NEVER)
    best[0, 0] = 0.0
    size_of = np.zeros((letters, phones + 1, words), np.int64)
    for g, p, size in _cells(letters, phones):
        score_W = best[g, p - size] + table.scores(shape, g, p, size)[0]
        # On a tie the smaller size stays, so the earlier letter of a double consonant carries the phone.
        better_W = score_W > best[g + 1, p] + 1e-9
        best[g + 1, p] = np.where(better_W, score_W, best[g + 1, p])
        size_of[g, p] = np.where(better_W, size, size_of[g, p])
    sizes_WG = np.zeros((words, letters), np.int64)
    position_W = np.full(words, phones)
    for g in reversed(range(letters)):
        sizes_WG[:, g] = size_of[g, position_W, np.arange(words)]
        position_W = position_W - sizes_WG[:, g]
    return sizes_WG, best[letters, phones]


def fit(pairs: Sequence[Pair], iterations: int = 8) -> UnitTable:
    """Estimate the table.

    pairs: words of a-z and apostrophe with their pronunciations in ARPAbet with stress
    """
    table, shapes = UnitTable(), _shapes(pairs)
    for _ in range(iterations):
        counts = np.zeros(table.log_LU.size)
        for shape in shapes:
            _expected_counts(table, shape, counts)
        table.update(counts)
    return table


def align(table: UnitTable, pairs: Sequence[Pair]) -> list[tuple[str, ...] | None]:
    """Return one unit per letter (phones joined by spaces, "" for none), or None where a word has too many phones.

    pairs: as for `fit`
    """
    shapes = _shapes(pairs)
    aligned: list[tuple[str, ...] | None] = [None] * len(pairs)
    for shape in shapes:
        sizes_WG, _ = _best_cuts(table, shape)
        for i, sizes_G in zip(shape.index_W.tolist(), sizes_WG.tolist(), strict=True):
            ends = np.cumsum(sizes_G).tolist()
            phones = pairs[i][1]
            aligned[i] = tuple(" ".join(phones[end - size : end]) for end, size in zip(ends, sizes_G, strict=True))
    return aligned
