"""How sure an alignment is: goodness of pronunciation of phones, and from it the confidence of words and utterances.

The goodness of a phone is that of S. M. Witt and S. J. Young, "Phone-level pronunciation scoring and assessment for
interactive language learning" (Speech Communication 30, 2000): the mean over its frames of its log probability less
that of the likeliest sound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.graph import GARBAGE_CLASS
from deepvoice.audio.mel import FloatArray

_WORST = -6.0  # a frame that fits worse says no more than this


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceRule:
    """Logistic functions from goodness to probability, fitted by `recipes.segmentation.human`, and limits.

    word: weights of 1, the mean goodness of a word's frames, and that of its worst phone
    utterance: weights of 1, the mean goodness of the frames of words, and the share of words that were not read
    word_limit: a word less likely than this was not read
    utterance_limit: an utterance less likely than this does not say its text
    """

    word: tuple[float, float, float] = (4.0, 2.0, 0.4)
    utterance: tuple[float, float, float] = (5.0, 4.0, -8.0)
    word_limit: float = 0.2
    utterance_limit: float = 0.5


def goodness(emission_FC: FloatArray, cut_N1: NDArray[np.int64], kind_N: NDArray[np.int32]) -> FloatArray:
    """Return the goodness of each segment, [N]."""
    best_F = emission_FC[:, :GARBAGE_CLASS].max(axis=1)
    kind_F = np.repeat(kind_N, np.diff(cut_N1))
    below_F = np.maximum(emission_FC[np.arange(len(best_F)), kind_F] - best_F, np.float32(_WORST))
    return np.asarray(np.add.reduceat(below_F, cut_N1[:-1]) / np.diff(cut_N1), np.float32)


def word_confidence(goodness_N: FloatArray, frames_N: NDArray[np.int64], rule: ConfidenceRule) -> float:
    """Return how likely a word was read, from the goodness and the lengths of its phones."""
    mean = float(goodness_N @ frames_N) / float(frames_N.sum())
    bias, slope, worst = rule.word
    return _logistic(bias + slope * mean + worst * float(goodness_N.min()))


def utterance_confidence(mean: float, unread: float, rule: ConfidenceRule) -> float:
    """Return how likely a recording says its text, from the mean goodness of words and the share of unread ones."""
    bias, slope, missing = rule.utterance
    return _logistic(bias + slope * mean + missing * unread)


def mean_goodness(goodness_N: FloatArray, frames_N: NDArray[np.int64], chosen: Sequence[int]) -> float:
    """Return the mean over the frames of the chosen segments; the worst there is where there are none."""
    index = np.asarray(chosen, np.int64)
    return float(goodness_N[index] @ frames_N[index]) / float(frames_N[index].sum()) if len(index) else _WORST


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, x))))
