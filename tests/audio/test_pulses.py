"""The pitch phase: integration, harmonics, and its measurement from a recording."""

import numpy as np
import pytest

from deepvoice.audio.pulses import interpolate_unvoiced, phase_from_f0, pulse_features


def test_phase_is_the_integral_of_f0() -> None:
    phase = phase_from_f0(np.full(200, 100.0, np.float32), 120, 24000)
    assert len(phase) == 201
    assert phase[-1] == pytest.approx(100.0)


def test_features_turn_with_the_fundamental_and_vanish_unvoiced() -> None:
    f0 = np.full(10, 200.0, np.float32)
    voiced = np.arange(10) < 5
    features = pulse_features(phase_from_f0(f0, 120, 24000), voiced, 120, 6, 2)
    assert features.shape == (200, 4)
    time = (np.arange(100) * 6 + 3) / 24000
    np.testing.assert_allclose(features[:100, 0], np.cos(2 * np.pi * 200 * time), atol=1e-5)
    np.testing.assert_allclose(features[:100, 3], np.sin(2 * np.pi * 400 * time), atol=1e-5)
    assert not features[100:].any()


def test_unvoiced_frames_are_interpolated_in_log() -> None:
    filled = interpolate_unvoiced(np.array([0, 100, 0, 400, 0], np.float32))
    np.testing.assert_allclose(filled, [100, 100, 200, 400, 400], rtol=1e-5)
    np.testing.assert_allclose(interpolate_unvoiced(np.zeros(3, np.float32), 150.0), 150.0)


def test_phase_of_a_recording_is_found_whatever_its_start() -> None:
    from deepvoice.recipes.common.pitch import track_phase

    time = np.arange(24000) / 24000
    for offset in (0.0, 0.3, 0.8):
        cycles = 150 * time + 4 * time**2 + offset  # a slow glide
        samples = (np.cos(2 * np.pi * cycles) + 0.5 * np.cos(4 * np.pi * cycles + 1)).astype(np.float32)
        f0 = (150 + 8 * (np.arange(200) + 0.5) * 120 / 24000).astype(np.float32)
        phase = track_phase(samples, f0, 24000, 120)
        error = phase[10:-10] - (150 * np.arange(201) / 200 + 4 * (np.arange(201) / 200) ** 2 + offset)[10:-10]
        assert np.abs(error - np.rint(error)).max() < 0.01


def test_a_piece_of_the_features_equals_that_piece_of_the_whole() -> None:
    random = np.random.default_rng(3)
    f0, voiced = random.uniform(60, 400, 300).astype(np.float32), random.random(300) < 0.7
    phase = phase_from_f0(f0, 120, 24000)
    whole = pulse_features(phase, voiced, 120, 6, 8)
    for first, last in ((0, 1), (0, 8), (7, 40), (293, 300), (13, 14)):
        piece = pulse_features(phase[first : last + 1], voiced[first:last], 120, 6, 8)
        assert np.array_equal(piece, whole[first * 20 : last * 20])
