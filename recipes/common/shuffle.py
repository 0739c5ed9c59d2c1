"""In which order a corpus in shards is read: random, but with few shards at a time, and a function of the step alone.

Each epoch draws an order of the shards and goes through them in windows; the utterances of one window are mixed
completely. Whoever asks for a step, in whichever process and after whatever restart, gets the same answer without
having read anything. Where all shards fit into one window this is a complete shuffle.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepvoice.recipes.common.faults import DataError

IntArray = NDArray[np.int64]
WINDOW = 16  # shards that are read at the same time


class WindowedShuffle:
    """Orders of items that lie in shards."""

    def __init__(
        self, shards: Sequence[int], weights: Sequence[float] | None = None, *, window: int = WINDOW, seed: int = 0
    ) -> None:
        """Prepare the orders.

        shards: the shard of each item; weights: how much of an epoch it takes, 1 by default
        """
        if not len(shards):
            raise DataError("no items to shuffle; expected at least one utterance")
        if window < 1:
            raise ValueError(f"window is {window}; expected at least one shard")
        self._seed, self._window = seed, window
        numbers = np.asarray(shards, np.int64)
        sorted_items = np.argsort(numbers, kind="stable")
        cuts = np.flatnonzero(np.diff(numbers[sorted_items])) + 1
        self._items: list[IntArray] = np.split(sorted_items, cuts)  # of each shard
        sizes = np.ones(len(numbers)) if weights is None else np.asarray(weights, np.float64)
        self._sizes = np.array([sizes[items].sum() for items in self._items])
        self._epoch, self._windows = -1, [np.empty(0, np.int64)]
        self._shares = np.ones(1)  # of the epoch that has passed at the end of each window

    @property
    def whole(self) -> bool:
        """Whether one window holds everything, so that nothing is gained by windows."""
        return len(self._items) <= self._window

    def windows(self, epoch: int) -> list[IntArray]:
        """Return the items of each window of an epoch, in the order of the epoch, every item once."""
        if epoch != self._epoch:
            order = np.random.default_rng([self._seed, epoch, 1]).permutation(len(self._items))
            parts = [order[start : start + self._window] for start in range(0, len(order), self._window)]
            self._windows = [
                np.random.default_rng([self._seed, epoch, 2, number]).permutation(
                    np.sort(np.concatenate([self._items[shard] for shard in part]))
                )
                for number, part in enumerate(parts)
            ]
            sizes = np.array([self._sizes[part].sum() for part in parts])
            self._epoch, self._shares = epoch, np.cumsum(sizes) / sizes.sum()
        return self._windows

    def candidates(self, epoch: int, share: float) -> IntArray:
        """Return the items of the window that is read when so much of an epoch has passed.

        share: from 0 to 1; a window lasts as long as its part of the weight
        """
        windows = self.windows(epoch)
        return windows[min(int(np.searchsorted(self._shares, share, side="right")), len(windows) - 1)]
