"""Where each phone stands in its phrase and sentence: what prosody needs beside the phones themselves.

A phrase is a run of phones between two silences (the start, a pause or the end).
"""

import numpy as np
from numpy.typing import NDArray

from deepvoice.text.sequence import PhoneSequence

CONTEXT_FEATURES = 12  # columns of context_features
TIMING_FEATURES = 4  # columns of timing_features
FRAME_FEATURES = 4  # columns of frame_features
_NEAR = 12.0  # phones; distances to the edges of the phrase saturate here
_EDGE_FRAMES = 5.0  # decay of closeness to the edge of a phone


def _phrases(sequence: PhoneSequence) -> list[tuple[int, int]]:
    """Return [first, last) index pairs of the phrases, in order."""
    phrases: list[tuple[int, int]] = []
    first = None
    for i, word in enumerate(sequence.word_of):
        if word >= 0 and first is None:
            first = i
        elif word < 0 and first is not None:
            phrases.append((first, i))
            first = None
    return phrases


def context_features(sequence: PhoneSequence) -> NDArray[np.float32]:
    """Describe the place of every symbol in its phrase and sentence.

    Returns float32 [P, 12], every value within [0, 1] or close to it:
      0, 1   word-initial, word-final flags
      2      position in the sentence, 0 to 1
      3      position in the phrase, 0 to 1
      4, 5   phones since the phrase began, phones until it ends, saturating
      6, 7   size of the phrase and of the sentence, logarithmic
      8, 9   the phrase is the first, the last of the sentence
      10, 11 the sentence ends with a question mark, with an exclamation mark
    Silences have zero in columns 0, 1, 3 to 6, 8 and 9.
    """
    P = len(sequence)
    features = np.zeros((P, CONTEXT_FEATURES), np.float32)
    features[:, :2] = sequence.flags_P2
    features[:, 2] = np.arange(P) / max(P - 1, 1)
    features[:, 7] = np.log1p(P) / 6.0
    features[:, 10] = sequence.symbols[-1] == "?"
    features[:, 11] = sequence.symbols[-1] == "!"
    phrases = _phrases(sequence)
    for n, (first, last) in enumerate(phrases):
        size = last - first
        place = np.arange(size)
        features[first:last, 3] = place / max(size - 1, 1)
        features[first:last, 4] = np.minimum(place / _NEAR, 1.0)
        features[first:last, 5] = np.minimum(place[::-1] / _NEAR, 1.0)
        features[first:last, 6] = np.log1p(size) / 5.0
        features[first:last, 8] = n == 0
        features[first:last, 9] = n == len(phrases) - 1
    return features


def timing_features(sequence: PhoneSequence, durations_P: NDArray[np.int64]) -> NDArray[np.float32]:
    """Describe how long every symbol lasts and when it comes in its phrase.

    durations_P: int64 [P] frames of 5 ms, all >= 0
    Returns float32 [P, 4], logarithms of frames scaled to about [0, 1]: the duration, the same for the time from the
    start of the phrase and the time to its end (both 0 in silences), and the time from the start of the sentence.
    """
    features = np.zeros((len(sequence), TIMING_FEATURES), np.float32)
    ends_P = np.cumsum(durations_P)
    features[:, 0] = np.log1p(durations_P) / 4.0
    features[:, 3] = np.log1p(ends_P - durations_P) / 8.0
    for first, last in _phrases(sequence):
        start = ends_P[first] - durations_P[first]
        features[first:last, 1] = np.log1p(ends_P[first:last] - durations_P[first:last] - start) / 7.0
        features[first:last, 2] = np.log1p(ends_P[last - 1] - ends_P[first:last]) / 7.0
    return features


def frame_features(durations_P: NDArray[np.int64], step: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Spread the phones over frames, in steps of `step` frames of 5 ms.

    durations_P: int64 [P] frames, all >= 0, at least one > 0; their sum is F
    Returns the phone at the start of every step, int64 [N] with N = ceil(F / step), and float32 [N, 4] for the middle
    of the step: its position in the phone from 0 to 1, its closeness to the phone's start and end (1 at the edge, 1/e
    after 25 ms), and the logarithm of the phone's duration scaled to about [0, 1]. A middle beyond the end of its phone
    has a position and a closeness above 1, which tells where in the step the phone ends.
    """
    ends_P = np.cumsum(durations_P)
    starts_N = np.arange(0, int(ends_P[-1]), step)
    phone_N = np.searchsorted(ends_P, starts_N, side="right")
    middles_N = starts_N + 0.5 * step
    after_N = middles_N - (ends_P - durations_P)[phone_N]
    before_N = ends_P[phone_N] - middles_N
    features = np.empty((len(starts_N), FRAME_FEATURES), np.float32)
    features[:, 0] = np.minimum(after_N / durations_P[phone_N], 2.0)
    features[:, 1] = np.exp(-after_N / _EDGE_FRAMES)
    features[:, 2] = np.exp(-before_N / _EDGE_FRAMES)
    features[:, 3] = np.log1p(durations_P[phone_N]) / 4.0
    return phone_N.astype(np.int64), features
