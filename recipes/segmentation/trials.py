"""Right and wrong texts of recordings, and the confidences that tell them apart.

Each recording is aligned three times: with its own text; with the text of another recording, of at least three words
and a similar length (as if transcripts had been swapped); with one word of its text replaced.
"""

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment import Aligner, Alignment
from deepvoice.alignment.confidence import ConfidenceRule
from deepvoice.alignment.scores import SPEC, Sound, analyse
from deepvoice.audio.reading import open_recording
from deepvoice.audio.resample import resample
from deepvoice.errors import AudioError, TextError
from deepvoice.recipes.common.progress import progress

LEAST_WORDS = 3  # of a text that is swapped
WRONG = 0.1  # share of wrong texts for which precision is reported
_SIMILAR = 0.5  # of the length, that the other recording's may differ by
_LEAST_LETTERS = 4  # of a word that is put in place of another
FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class Trials:
    """Alignments with the right text, a swapped one, and one with a wrong word (its index in the alignment)."""

    right: dict[str, Alignment] = field(default_factory=dict)
    swapped: dict[str, Alignment | None] = field(default_factory=dict)
    replaced: dict[str, tuple[Alignment, int]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def sound_of(path: Path) -> Sound:
    """Read a recording of a few minutes at most and compute its features."""
    with open_recording(path) as (rate, pieces):
        samples = np.concatenate(list(pieces))
    return analyse(resample(samples, rate, SPEC.sample_rate))


def run_trials(aligner: Aligner, rows: Sequence[dict[str, Any]], folder: Path, seed: int = 0) -> Trials:
    """Align every recording three times."""
    trials, chance = Trials(), random.Random(seed)
    vocabulary = sorted({word for row in rows for word in _plain(row["text"]) if len(word) >= _LEAST_LETTERS})
    for row in progress(rows, "trials"):
        sound = sound_of(folder / row["audio"])
        try:
            trials.right[row["id"]] = aligner.align_sound(sound, aligner.transcript(row["text"]))
        except (AudioError, TextError) as error:
            trials.failed[row["id"]] = str(error)
            continue
        others = [other["text"] for other in rows if _may_swap(row, other)]
        if others:
            trials.swapped[row["id"]] = _align(aligner, sound, chance.choice(others))
        changed = _replace_word(row["text"], vocabulary, chance)
        alignment = _align(aligner, sound, changed[0]) if changed else None
        if changed and alignment is not None:
            index = [w.text for w in alignment.words].index(changed[1]) if changed[1] in _texts(alignment) else -1
            if index >= 0:
                trials.replaced[row["id"]] = (alignment, index)
    return trials


def _align(aligner: Aligner, sound: Sound, text: str) -> Alignment | None:
    """Align, or return None where the recording is too short for the text: then it is found to be wrong."""
    try:
        return aligner.align_sound(sound, aligner.transcript(text))
    except AudioError:
        return None


def _texts(alignment: Alignment) -> list[str]:
    return [word.text for word in alignment.words]


def _plain(text: str) -> list[str]:
    return [word.strip(".,?!;:\"'").lower() for word in text.split()]


def _may_swap(row: dict[str, Any], other: dict[str, Any]) -> bool:
    similar = abs(other["seconds"] - row["seconds"]) <= _SIMILAR * row["seconds"]
    long = min(len(row["text"].split()), len(other["text"].split())) >= LEAST_WORDS
    return similar and long and _plain(row["text"]) != _plain(other["text"])


def _replace_word(text: str, vocabulary: Sequence[str], chance: random.Random) -> tuple[str, str] | None:
    """Replace one word of a text by one that is not in it; returns the text and the new word."""
    words = text.split()
    index, new = chance.randrange(len(words)), chance.choice(vocabulary)
    if new in _plain(text) or not new.isalpha():
        return None
    return " ".join([*words[:index], new, *words[index + 1 :]]), new


def logistic(features_NX: FloatArray, right_N: NDArray[np.bool_], prior: float = WRONG) -> FloatArray:
    """Fit a logistic regression with Newton's method and a little shrinkage; [1 + X] weights, the first of 1.

    prior: share of wrong ones that the weights shall mean, whatever it is in the data
    """
    x_NX = np.column_stack([np.ones(len(features_NX)), features_NX])
    weight_N = np.where(right_N, (1 - prior) / right_N.mean(), prior / (1 - right_N.mean()))
    w_X = np.zeros(x_NX.shape[1])
    for _ in range(50):
        p_N = 1 / (1 + np.exp(-np.clip(x_NX @ w_X, -30, 30)))
        gradient = x_NX.T @ (weight_N * (right_N - p_N)) - 1e-2 * w_X
        curvature = (x_NX * (weight_N * p_N * (1 - p_N))[:, None]).T @ x_NX + 1e-2 * np.eye(len(w_X))
        w_X = w_X + np.linalg.solve(curvature, gradient)
    return w_X


def fitted(trials: Trials, ids: Sequence[str], rule: ConfidenceRule) -> ConfidenceRule:
    """Return a rule with the weights that suit these recordings, and the limits of another."""
    right = [a.fit for name in ids if len((a := trials.right[name]).text.split()) >= LEAST_WORDS]
    wrong = [a.fit for name in ids if (a := trials.swapped.get(name))]
    both = np.array([*right, *wrong], np.float64)
    weights = logistic(both, np.arange(len(both)) < len(right))
    words = [w for name in ids for w in trials.right[name].words]
    replaced = [a.words[i] for name in ids if name in trials.replaced for a, i in [trials.replaced[name]]]
    skipped = [sum(w.phones[1] - w.phones[0] == 1 and not w.read for w in group) for group in (words, replaced)]
    share = (1 - WRONG) * skipped[0] / len(words)
    never_read = share / max(share + WRONG * skipped[1] / len(replaced), 1e-9)
    kept = [[w.fit for w in group if w.phones[1] - w.phones[0] > 1 or w.read] for group in (words, replaced)]
    both = np.array([*kept[0], *kept[1]], np.float64)
    word = logistic(both, np.arange(len(both)) < len(kept[0]))
    return dataclasses.replace(rule, word=_rounded(word), skipped=round(never_read, 3), utterance=_rounded(weights))


def _rounded(weights: FloatArray) -> tuple[Any, ...]:
    return tuple(round(float(weight), 2) for weight in weights)
