"""Short silences between words that the text does not mark: half of each belongs to either word.

A manifest has a symbol for pauses with a mark, and none for the space between two words. Where a speaker is silent
there for a moment, the best path gives the whole silence to one of the two phones, as the training happened to teach
it. By the convention of this recipe a space between words is shared evenly, as in the truth that alignments are scored
with (`recipes.corpora.truth.merge_durations`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.recipes.segmentation.corpus import IntArray
from deepvoice.recipes.segmentation.silence import longest_run, silent_frames
from deepvoice.text.phones import NUM_SILENCES


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRule:
    """What counts as a silence between two words.

    frames: least length, 0 moves nothing; depth: decibels below the loud frames of the utterance
    """

    frames: int = 0
    depth: float = 35.0


def share_gaps(
    durations_P: IntArray, bases_P: IntArray, word_of: Sequence[int], energy_F: NDArray[np.float32], rule: GapRule
) -> IntArray:
    """Move the boundary between two words to the middle of the longest silence in their two phones, int64 [P].

    durations_P: frames of each symbol; word_of: word of each, or nothing where the manifest has none
    energy_F: float32 [F] log power, F the sum of the durations, which is kept; phones keep one frame at least
    """
    if not rule.frames or not len(word_of):
        return durations_P
    silent_F = silent_frames(energy_F, rule.depth)
    edges = np.concatenate([[0], np.cumsum(durations_P)])
    phone_P = bases_P >= NUM_SILENCES
    for i in range(len(bases_P) - 1):
        if phone_P[i] and phone_P[i + 1] and word_of[i] != word_of[i + 1]:
            first, last = longest_run(silent_F[edges[i] : edges[i + 2]])
            inside = first > 0 and last < edges[i + 2] - edges[i]  # or it lies between other phones
            if inside and last - first >= rule.frames:
                middle = edges[i] + (first + last) // 2
                edges[i + 1] = min(max(middle, edges[i] + 1), edges[i + 2] - 1)
    return np.diff(edges)
