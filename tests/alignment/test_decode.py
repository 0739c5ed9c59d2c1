"""Paths, boundaries between frames, edges of silences, and confidence, on scores that are made up."""

import numpy as np
import pytest

from deepvoice.alignment.confidence import ConfidenceRule, Fit, goodness, utterance_confidence, word_confidence
from deepvoice.alignment.decode import decode, place_boundaries
from deepvoice.alignment.edges import EdgeRule, settle_edges
from deepvoice.alignment.graph import GARBAGE_CLASS, NUM_CLASSES, PHONE, SKIPPED, TextWord, compose, line
from deepvoice.alignment.scores import ClassScores, class_scores
from deepvoice.networks.segmentation import SegmentationScores
from deepvoice.text.phones import BASE_IDS, BASES


def scores_of(sounds, stack=2, sure=4.0):
    """Return what a network would read in sounds of so many frames: [(symbol, frames)]."""
    class_F = np.concatenate([np.full(frames, BASE_IDS[symbol]) for symbol, frames in sounds])
    frame_FV = np.full((len(class_F) + -len(class_F) % stack, len(BASES)), -sure, np.float32)
    frame_FV[np.arange(len(class_F)), class_F] = -0.02
    steps = len(frame_FV) // stack
    pair_TV = np.full((steps, len(BASES)), np.float32(-2.0))
    found = SegmentationScores(
        left_TV=pair_TV, right_TV=pair_TV, boundary_T=np.zeros(steps, np.float32), frame_FV=frame_FV
    )
    return class_scores(found, len(class_F))


CAT = TextWord(text="cat", span=(0, 3), variants=(("K", "AE1", "T"),))
SAT = TextWord(text="sat", span=(4, 7), variants=(("S", "AE1", "T"),))


def test_the_path_follows_the_sounds():
    sounds = [("sil", 20), ("K", 9), ("AE", 21), ("T", 8), ("S", 15), ("AE", 18), ("T", 11), ("sil", 30)]
    scores, graph = scores_of(sounds), compose([CAT, SAT])
    (segments,) = decode([scores], [graph])
    assert np.diff(segments.cut_N1).tolist() == [frames for _, frames in sounds]
    assert graph.word_S[segments.state_N][graph.role_S[segments.state_N] == PHONE].tolist() == [0, 0, 0, 1, 1, 1]


def test_another_word_is_heard_as_one_that_was_not_read():
    other = [("sil", 20), ("M", 30), ("UW", 40), ("N", 30), ("S", 15), ("AE", 18), ("T", 11), ("sil", 30)]
    graph = compose([CAT, SAT])
    (segments,) = decode([scores_of(other, sure=8.0)], [graph])
    roles = graph.role_S[segments.state_N]
    assert np.count_nonzero(roles == SKIPPED) == 1
    assert graph.word_S[segments.state_N][roles == SKIPPED].tolist() == [0]
    assert graph.word_S[segments.state_N][roles == PHONE].tolist() == [1, 1, 1]


def test_a_recording_too_short_for_its_text_has_no_path():
    graph = compose([CAT] * 5)
    assert decode([scores_of([("K", 4)])], [graph]) == [None]


def test_a_batch_is_its_recordings_and_a_wide_band_changes_nothing():
    sounds = [("sil", 20), ("K", 9), ("AE", 21), ("T", 8), ("S", 15), ("AE", 18), ("T", 11), ("sil", 30)]
    scores, graph = [scores_of(sounds), scores_of(sounds[1:4])], [compose([CAT, SAT]), compose([CAT])]
    together = decode(scores, graph)
    for one in range(2):
        alone, banded = decode([scores[one]], [graph[one]])[0], decode([scores[one]], [graph[one]], band=12)[0]
        for other in (alone, banded):
            assert np.array_equal(other.cut_N1, together[one].cut_N1)


def test_a_boundary_lies_between_frames_when_its_frame_is_half_of_each():
    scores = scores_of([("AE", 30), ("S", 30)], stack=1)
    graph = line([BASE_IDS["AE"], BASE_IDS["S"]], [False, False])
    (segments,) = decode([scores], [graph])
    energy_F = np.zeros(60, np.float32)
    sharp = place_boundaries(segments, graph, scores, energy_F)
    assert sharp.place_M[0] == pytest.approx(30, abs=0.1)
    assert sharp.confidence_M[0] > 0.95
    emission_FC = scores.emission_FC.copy()
    emission_FC[30, [BASE_IDS["AE"], BASE_IDS["S"]]] = -1.0  # the frame after 30 is as much one as the other
    halved = place_boundaries(segments, graph, scores._replace(emission_FC=emission_FC), energy_F)
    assert halved.place_M[0] == pytest.approx(30.5, abs=0.15)
    emission_FC[20:40, [BASE_IDS["AE"], BASE_IDS["S"]]] = -1.0  # nothing says where it is
    blurred = place_boundaries(segments, graph, scores._replace(emission_FC=emission_FC), energy_F)
    assert blurred.confidence_M[0] < 0.6


def test_boundaries_keep_their_order_and_every_sound_a_frame():
    random = np.random.default_rng(0)
    emission_FC = random.normal(size=(300, NUM_CLASSES)).astype(np.float32)
    pair_TC = random.normal(size=(150, NUM_CLASSES)).astype(np.float32)
    scores = ClassScores(emission_FC, pair_TC, pair_TC)
    graph = line(random.integers(8, len(BASES), 100).tolist(), [False] * 100)
    (segments,) = decode([scores], [graph])
    place_M = place_boundaries(segments, graph, scores, random.normal(size=300).astype(np.float32)).place_M
    assert len(place_M) == 99
    assert (np.diff(np.concatenate([[0], place_M, [300]])) > 0.4).all()


def test_edges_of_silence_follow_the_power():
    durations, silent = np.array([20, 30, 20]), np.array([True, False, True])
    energy_F = np.full(70, -10.0, np.float32)
    energy_F[24:46] = 0.0
    assert settle_edges(durations, silent, energy_F, EdgeRule()).tolist() == [24, 22, 24]
    assert settle_edges(durations, silent, energy_F, EdgeRule(reach=2)).tolist() == [22, 26, 22]


def test_goodness_is_zero_where_the_likeliest_sound_is_the_one_that_is_meant():
    emission_FC = np.full((10, NUM_CLASSES), -5.0, np.float32)
    emission_FC[:, 20] = -0.1
    emission_FC[:, GARBAGE_CLASS] = 3.0  # a score, no sound of its own
    found = goodness(emission_FC, np.array([0, 4, 10]), np.array([20, 21], np.int32))
    assert found.tolist() == pytest.approx([0.0, -4.9], abs=1e-4)


def test_confidence_falls_with_what_does_not_fit():
    rule = ConfidenceRule()
    assert word_confidence((-0.05, -0.2), rule) > 0.8 > word_confidence((-3.0, -5.0), rule)
    good = utterance_confidence(Fit(-0.05, 0.0, 0.0), rule)
    assert good > 0.9
    for worse in (Fit(-3.0, 0.0, 0.0), Fit(-1.8, 0.9, 0.0), Fit(-0.9, 0.5, 0.5)):
        assert utterance_confidence(worse, rule) < 0.5 < good
