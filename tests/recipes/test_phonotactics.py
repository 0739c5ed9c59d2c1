"""The trigram of phones, and the free decoding that listens to it."""

import numpy as np
import pytest

from deepvoice.networks.segmentation import SegmentationScores
from deepvoice.recipes.segmentation.phonotactics import decode, trigram
from deepvoice.recipes.segmentation.recognise import _CLASSES, log_sigmoid, merged_silences, viterbi_phones
from deepvoice.text.phones import BASES


def test_probabilities_sum_to_one_and_follow_the_counts():
    log = trigram([[0, 1, 2, 0], [0, 1, 2, 0], [0, 1, 1, 0]], 3)
    assert np.exp(log).sum(axis=2) == pytest.approx(1, abs=1e-6)
    assert log[0, 1, 2] > log[0, 1, 1] > log[0, 1, 0]
    assert np.isfinite(log).all()


def random_scores(seed, frames=60):
    random = np.random.default_rng(seed)

    def logs(*shape):
        x = 3 * random.standard_normal(shape).astype(np.float32)
        return x - np.logaddexp.reduce(x, axis=-1, keepdims=True)

    V = len(BASES)
    boundary = 2 * random.standard_normal(frames).astype(np.float32)
    return SegmentationScores(
        left_TV=logs(frames, V), right_TV=logs(frames, V), boundary_T=boundary, frame_FV=logs(2 * frames, V)
    )


def decoded(scores, log, **how):
    frames = merged_silences(scores.frame_FV).reshape(len(scores.left_TV), 2, -1).sum(axis=1) * 0.5
    left, right = merged_silences(scores.left_TV), merged_silences(scores.right_TV)
    blank, boundary = log_sigmoid(-scores.boundary_T), log_sigmoid(scores.boundary_T)
    return _CLASSES[decode(frames, left, right, blank, boundary, log, **how)]


@pytest.mark.parametrize("seed", range(3))
def test_without_weight_it_is_the_plain_search(seed):
    scores = random_scores(seed)
    flat = np.zeros((len(_CLASSES),) * 3, np.float32)
    assert decoded(scores, flat, weight=0.0, bonus=0.0).tolist() == viterbi_phones(scores, 2, 0.5).tolist()


def test_the_trigram_decides_between_equals():
    T, V = 9, 4
    frame = np.full((T, V), np.log(0.25), np.float32)
    frame[:3, 0] = frame[6:, 0] = 0.0  # silence, then either of 1 and 2, then silence
    frame[3:6, [0, 3]] = -20.0
    flat = np.full((T, V), np.log(0.25), np.float32)
    spoken = np.full(T, -5.0, np.float32)
    spoken[[3, 6]] = np.log(0.9)
    blank = np.log1p(-np.exp(spoken))
    for liked in (1, 2):
        log = trigram([[0, liked, 0]] * 20, V)
        assert decode(frame, flat, flat, blank, spoken, log).tolist() == [0, liked, 0]
