"""Which phone follows which two: a trigram of the training transcripts, and the free decoding that listens to it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray

WEIGHT = 1.3  # of the trigram's logarithms; all three weights were chosen on the development half
BONUS = 4.0  # added to every boundary, or the trigram would make the chain too short
FRAME_WEIGHT = 0.3  # of log p(phone) of each frame
_IMPOSSIBLE = -9.0  # log-probability of a boundary below which a step has none; saves most of the work


def trigram(sequences: Sequence[Sequence[int]], classes: int) -> FloatArray:
    """Return log P(c | a, b), float32 [classes, classes, classes], smoothed as Witten and Bell (1991) do.

    sequences: of classes; each begins as if its first class stood twice
    """
    counts_ABC = np.zeros((classes, classes, classes))
    for sequence in sequences:
        padded = np.array([sequence[0], *sequence])
        np.add.at(counts_ABC, (padded[:-2], padded[1:-1], padded[2:]), 1)
    counts_BC = counts_ABC.sum(axis=0)
    counts_C = counts_BC.sum(axis=0) + 0.5
    share_BC = _smoothed(counts_BC, (counts_C / counts_C.sum())[None])
    return np.log(_smoothed(counts_ABC, share_BC[None])).astype(np.float32)


def _smoothed(counts: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    total = counts.sum(axis=-1, keepdims=True)
    kinds = np.maximum((counts > 0).sum(axis=-1, keepdims=True), 1)
    return (counts + kinds * lower) / (total + kinds)


def decode(
    frame_TV: FloatArray, left_TV: FloatArray, right_TV: FloatArray, blank_T: FloatArray, spoken_T: FloatArray,
    log_ABC: FloatArray, weight: float = WEIGHT, bonus: float = BONUS,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the best chain of classes, int64 [P], from silence (class 0) to silence.

    frame_TV: weighted log-probabilities of staying in a class; left_TV, right_TV: of a boundary's two classes;
    blank_T, spoken_T: of no boundary and of one; log_ABC: as `trigram` returns it
    A state is a class and the one before it.
    """
    T, V = frame_TV.shape
    weighted_ABC = weight * log_ABC
    best_AB = np.full((V, V), -1e30, np.float32)
    best_AB[0, 0] = frame_TV[0, 0]
    entered, before = np.zeros((T, V, V), bool), np.zeros((T, V, V), np.int16)
    for t in range(1, T):
        stay_AB = best_AB + blank_T[t]
        if spoken_T[t] + bonus > _IMPOSSIBLE:
            leaving_ABC = (best_AB + left_TV[t])[:, :, None] + weighted_ABC
            before[t] = leaving_ABC.argmax(axis=0)
            enter_BC = leaving_ABC.max(axis=0) + right_TV[t] + (spoken_T[t] + bonus)
            entered[t] = enter_BC > stay_AB
            stay_AB = np.maximum(stay_AB, enter_BC)
        best_AB = stay_AB + frame_TV[t]
    first, second = int(best_AB[:, 0].argmax()), 0
    chain = [second]
    for t in range(T - 1, 0, -1):
        if entered[t, first, second]:
            chain.append(first)
            first, second = int(before[t, first, second]), first
    return np.array(chain[::-1])
