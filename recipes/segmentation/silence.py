"""Where an utterance is silent: frames far below its loud ones."""

import numpy as np
from numpy.typing import NDArray

_LOUD = 95  # percentile of the power of an utterance that counts as its loudness


def silent_frames(energy_F: NDArray[np.float32], depth: float) -> NDArray[np.bool_]:
    """Tell which frames are so many decibels below the loud ones; energy_F: float32 [F] log power."""
    level_F = energy_F * (10 / np.log(10))
    return np.asarray(level_F < np.percentile(level_F, _LOUD) - depth)


def longest_run(silent_F: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the longest run of True as [first, past the last)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], silent_F.astype(np.int8), [0]])))
    if not len(edges):
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    best = int(np.argmax(ends - starts))
    return int(starts[best]), int(ends[best])
