"""Batches of words of one length, as a function of the step alone."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from deepvoice.networks.grapheme_to_phoneme import LETTERS
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry


class Batch(NamedTuple):
    """letters_BG, units_BG: int64 [B, G], positions in LETTERS and in the list of units; extra_B: bool [B]."""

    letters_BG: torch.Tensor
    units_BG: torch.Tensor
    extra_B: torch.Tensor


class _Words(NamedTuple):
    """Training words of one length: letters [W, G], units [W, V, G] of up to V pronunciations, their shares [W, V]."""

    letters_WG: NDArray[np.int64]
    units_WVG: NDArray[np.int64]
    shares_WV: NDArray[np.float64]  # summed up to and including each pronunciation
    extra_W: NDArray[np.bool_]  # follows another lexicon's habits


class LengthPlan:
    """Which words make each batch: every word once an epoch, in batches of one length, a function of the step alone."""

    def __init__(self, words: Mapping[int, int], letters_per_batch: int, seed: int) -> None:
        """Plan for so many words of each length; letters_per_batch: words times letters, roughly."""
        self._words, self._letters_per_batch, self._seed = dict(words), letters_per_batch, seed
        self._epoch, self._batches = 0, self._shuffled(0)
        self.steps_per_epoch = len(self._batches)

    def _shuffled(self, epoch: int) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (length, word positions) of each batch of an epoch, shuffled."""
        random = np.random.default_rng((self._seed, epoch))
        batches: list[tuple[int, NDArray[np.int64]]] = []
        for length, words in self._words.items():
            order_W = random.permutation(words)
            pieces = max(1, round(words * length / self._letters_per_batch))
            batches.extend((length, piece) for piece in np.array_split(order_W, pieces))
        return [batches[i] for i in random.permutation(len(batches))]

    def at(self, step: int) -> tuple[int, NDArray[np.int64]]:
        """Return the length of the words of a step's batch, and their positions among those of this length."""
        epoch, position = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._shuffled(epoch)
        return self._batches[position]


class WordBatches:
    """Every training word once an epoch, in batches of one length, so that nothing is padded.

    A word with several pronunciations shows one of them, drawn anew each epoch by their weights.
    """

    def __init__(self, entries: Sequence[Entry], units: Sequence[str], letters_per_batch: int, seed: int = 0) -> None:
        """Gather the words.

        entries: words with aligned units; others are left out
        letters_per_batch: words times letters, roughly
        """
        if letters_per_batch < 1:
            raise ValueError(f"letters_per_batch is {letters_per_batch}; expected at least 1")
        ids = {unit: i for i, unit in enumerate(units)}
        by_length: dict[int, list[Entry]] = {}
        for entry in entries:
            if entry.units:
                by_length.setdefault(len(entry.word), []).append(entry)
        if not by_length:
            raise DataError("no aligned training words; run the prepare step on the whole dictionary")
        self._lengths = {length: _gather(members, ids) for length, members in sorted(by_length.items())}
        self._seed = seed
        counts = {length: len(words.extra_W) for length, words in self._lengths.items()}
        self._plan = LengthPlan(counts, letters_per_batch, seed)
        self.steps_per_epoch = self._plan.steps_per_epoch

    def batch(self, step: int) -> Batch:
        """Return the batch of a step."""
        length, chosen_B = self._plan.at(step)
        words = self._lengths[length]
        random = np.random.default_rng((self._seed, 1, step))
        variant_B = (random.random((len(chosen_B), 1)) >= words.shares_WV[chosen_B]).sum(1)
        return Batch(
            torch.from_numpy(words.letters_WG[chosen_B]),
            torch.from_numpy(words.units_WVG[chosen_B, variant_B]),
            torch.from_numpy(words.extra_W[chosen_B]),
        )


class PhasedBatches:
    """One source of batches up to a step, another from there on."""

    def __init__(self, first: WordBatches, second: WordBatches, switch: int) -> None:
        """Use `first` for steps below `switch`."""
        self._first, self._second, self._switch = first, second, switch

    def batch(self, step: int) -> Batch:
        """Return the batch of a step."""
        return self._first.batch(step) if step < self._switch else self._second.batch(step)


def _gather(members: Sequence[Entry], ids: dict[str, int]) -> _Words:
    variants = max(len(entry.units) for entry in members)
    letters = np.array([[LETTERS.index(letter) for letter in entry.word] for entry in members], np.int64)
    units = np.zeros((len(members), variants, letters.shape[1]), np.int64)
    for i, entry in enumerate(members):
        for j, pronunciation in enumerate(entry.units):
            units[i, j] = [ids[unit] for unit in pronunciation]
    shares = np.zeros((len(members), variants))
    for i, entry in enumerate(members):
        shares[i, : len(entry.units)] = entry.weights or 1.0
    shares_WV = np.cumsum(shares, 1) / shares.sum(1, keepdims=True)
    shares_WV[shares_WV > 1.0 - 1e-9] = 1.0  # so that no draw falls behind the last one
    return _Words(letters, units, shares_WV, np.array([entry.marked for entry in members]))
