"""The n-gram of phones, and the free decoding that listens to it."""

import itertools

import numpy as np
import pytest

from deepvoice.networks.segmentation import SegmentationScores
from deepvoice.recipes.segmentation.phonotactics import PhoneModel, Search, decode
from deepvoice.recipes.segmentation.recognise import _CLASSES, merged_silences, viterbi_phones
from deepvoice.text.phones import BASES

EVERYTHING = Search(model=0.0, bonus=0.0, frames=0.5, beam=1e9, most=10**9, near=1e9, impossible=-1e9)


def test_probabilities_sum_to_one_and_follow_the_counts():
    model = PhoneModel([[0, 1, 2, 0], [0, 1, 2, 0], [0, 1, 1, 0]], 3, order=3)
    for context in range(9):
        assert np.exp(model.log_row(context)).sum() == pytest.approx(1, abs=1e-6)
    after_01 = model.log_row(1)
    assert after_01[2] > after_01[1] > after_01[0]
    assert np.isfinite(after_01).all()


def test_shares_are_those_of_witten_and_bell():
    model = PhoneModel([[0, 1, 2, 0], [0, 1, 1, 0]], 3, order=2)
    singles = (np.array([2, 3, 1]) + 3 * (1 / 3)) / 9  # each phone but the first counts
    after_1 = (np.array([1, 1, 1]) + 3 * singles) / 6
    assert np.exp(model.log_row(1)) == pytest.approx(after_1, abs=1e-6)


def test_a_longer_context_decides_where_it_was_seen():
    model = PhoneModel([[0, 1, 3, 3, 1, 0], [0, 2, 3, 3, 2, 0]] * 9, 4, order=4)
    code = {phones: int("".join(map(str, phones)), 4) for phones in itertools.product(range(4), repeat=3)}
    assert model.log_row(code[1, 3, 3])[1] > model.log_row(code[1, 3, 3])[2] + 2
    assert model.log_row(code[2, 3, 3])[2] > model.log_row(code[2, 3, 3])[1] + 2


def test_an_n_gram_of_one_phone_is_refused():
    with pytest.raises(ValueError, match="expected 2 or more"):
        PhoneModel([[0, 1, 0]], 2, order=1)


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


def decoded(scores, model, rule):
    frames = merged_silences(scores.frame_FV).reshape(len(scores.left_TV), 2, -1).sum(axis=1)
    left, right = merged_silences(scores.left_TV), merged_silences(scores.right_TV)
    return _CLASSES[decode(frames, left, right, scores.boundary_T, model, rule)]


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_without_weight_it_is_the_plain_search(seed, order):
    scores = random_scores(seed, 60 if order == 2 else 12)
    model = PhoneModel([[0, 1, 0]], len(_CLASSES), order)
    assert decoded(scores, model, EVERYTHING).tolist() == viterbi_phones(scores, 2, 0.5).tolist()


def test_the_model_decides_between_equals():
    T, V = 9, 4
    frame = np.full((T, V), np.log(0.25), np.float32)
    frame[:3, 0] = frame[6:, 0] = 0.0  # silence, then either of 1 and 2, then silence
    frame[3:6, [0, 3]] = -20.0
    flat = np.full((T, V), np.log(0.25), np.float32)
    boundary = np.full(T, -5.0, np.float32)
    boundary[[3, 6]] = 2.2
    for liked in (1, 2):
        model = PhoneModel([[0, liked, 0]] * 20, V, order=3)
        assert decode(frame, flat, flat, boundary, model).tolist() == [0, liked, 0]
