"""How sure an alignment is: goodness of pronunciation of phones, and from it the confidence of words and utterances.

The goodness of a phone is that of S. M. Witt and S. J. Young, "Phone-level pronunciation scoring and assessment for
interactive language learning" (Speech Communication 30, 2000): the mean over its frames of its log probability less
that of the likeliest sound.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.graph import GARBAGE_CLASS
from deepvoice.audio.mel import FloatArray
from deepvoice.config import from_dict, require_range

CONFIDENCE = "confidence"  # where a voice whose aligner was adapted keeps its rule, among what it says of its training
_WORST = -6.0  # a frame that fits worse says no more than this
_LEAST_WORD, _LEAST_PHONE = 5, 3  # frames (25 ms, 15 ms a phone): of 14,470 words that were read five were shorter


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceRule:
    """Logistic functions from goodness to probability, fitted by `recipes.segmentation.human`, and limits.

    word: weights of 1, the mean goodness of a word's frames, and that of its worst phone
    skipped: probability that a word was read that the path leaves out
    utterance: weights of 1, the mean goodness of the frames of words, the share of words that were not read, and the
        share of the recording that is speech of no word
    word_limit: a word less likely than this was not read
    utterance_limit: an utterance less likely than this does not say its text
    clear: mean log probability of the likeliest sound of each frame, below which what is heard is no speech, whatever
        its goodness: where all sounds are alike unlikely, any text fits. Speech has -0.8 and more, at 10 dB above white
        noise -1.2; noise alone has -1.9 and less
    """

    word: tuple[float, float, float] = (7.2, 0.6, 1.1)
    skipped: float = 0.19
    utterance: tuple[float, float, float, float] = (9.9, 4.9, -8.7, -13.2)
    word_limit: float = 0.25
    utterance_limit: float = 0.7
    clear: float = -1.5

    def __post_init__(self) -> None:
        for name, weights in (("word", self.word), ("utterance", self.utterance)):
            for weight in weights:
                require_range(f"confidence.{name}", weight, -1000.0, 1000.0)
        for name in ("skipped", "word_limit", "utterance_limit"):
            require_range(f"confidence.{name}", getattr(self, name), 0.0, 1.0)
        require_range("confidence.clear", self.clear, -100.0, 0.0)


def rule_of(training: Mapping[str, Any]) -> ConfidenceRule:
    """Return the rule that suits the aligner of a voice: its own, or that of the package's network.

    training: what the voice says of its training. Raises ConfigError for a rule that is damaged.
    """
    return from_dict(ConfidenceRule, training[CONFIDENCE], CONFIDENCE) if CONFIDENCE in training else ConfidenceRule()


class Fit(NamedTuple):
    """What an utterance's confidence follows from.

    mean: goodness of the frames of words; skipped: share of words that the path leaves out; extra: share of the
    recording that is speech of no word
    """

    mean: float
    skipped: float
    extra: float


def goodness(emission_FC: FloatArray, cut_N1: NDArray[np.int64], kind_N: NDArray[np.int32]) -> FloatArray:
    """Return the goodness of each segment, [N]."""
    best_F = emission_FC[:, :GARBAGE_CLASS].max(axis=1)
    kind_F = np.repeat(kind_N, np.diff(cut_N1))
    below_F = np.maximum(emission_FC[np.arange(len(best_F)), kind_F] - best_F, np.float32(_WORST))
    return np.asarray(np.add.reduceat(below_F, cut_N1[:-1]) / np.diff(cut_N1), np.float32)


def is_clear(emission_FC: FloatArray, inside_F: NDArray[np.bool_], rule: ConfidenceRule) -> bool:
    """Return whether the chosen frames sound like any phone more than like the others."""
    return float(emission_FC[inside_F, :GARBAGE_CLASS].max(axis=1).mean()) >= rule.clear


def word_fit(goodness_N: FloatArray, frames_N: NDArray[np.int64]) -> tuple[float, float]:
    """Return what a word's confidence follows from: the mean goodness of its frames, and that of its worst phone."""
    return float(goodness_N @ frames_N) / float(frames_N.sum()), float(goodness_N.min())


def is_brief(frames_N: NDArray[np.int64]) -> bool:
    """Return whether a word with phones of so many frames was squeezed in: it is in the text, but was not read."""
    return int(frames_N.sum()) < max(_LEAST_WORD, _LEAST_PHONE * len(frames_N))


def word_confidence(fit: tuple[float, float], rule: ConfidenceRule) -> float:
    """Return how likely a word was read."""
    return _logistic(rule.word, fit)


def utterance_confidence(fit: Fit, rule: ConfidenceRule) -> float:
    """Return how likely a recording says its text."""
    return _logistic(rule.utterance, fit)


def mean_goodness(goodness_N: FloatArray, frames_N: NDArray[np.int64], index: NDArray[np.int64]) -> float:
    """Return the mean over the frames of the chosen segments; the worst there is where there are none."""
    return float(goodness_N[index] @ frames_N[index]) / float(frames_N[index].sum()) if len(index) else _WORST


def _logistic(weights: Sequence[float], values: Sequence[float]) -> float:
    x = weights[0] + sum(weight * value for weight, value in zip(weights[1:], values, strict=True))
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, x))))
