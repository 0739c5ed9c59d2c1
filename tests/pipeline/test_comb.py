"""What repeats with every step of the vocoder is taken out of the samples."""

from itertools import pairwise

import numpy as np
import pytest

from deepvoice.rendering import _Comb

HOP, STEP = 120, 6


def test_a_pattern_of_the_steps_goes_and_the_rest_stays():
    time = np.arange(HOP * 200)
    tone = 0.3 * np.sin(2 * np.pi * 440 / 24000 * time)
    pattern = 0.01 * np.cos(2 * np.pi * 8000 / 24000 * time) + 0.005 * np.cos(np.pi * time)
    found = _Comb(STEP, HOP).apply((tone + pattern).astype(np.float32))
    inside = slice(3 * HOP, None)
    assert np.abs(found - tone)[inside].max() < 0.004  # of the tone, less than its hundredth part goes
    spectrum = np.abs(np.fft.rfft(found[inside][: HOP * 190] * np.hanning(HOP * 190)))
    assert spectrum[HOP * 190 // 3] < 1e-3 * spectrum.max()


def test_offsets_stay():
    assert _Comb(STEP, HOP).apply(np.full(HOP * 5, 0.25, np.float32)) == pytest.approx(0.25)


def test_pieces_are_the_whole():
    samples = np.random.default_rng(0).standard_normal(HOP * 50).astype(np.float32)
    whole, comb = _Comb(STEP, HOP).apply(samples), _Comb(STEP, HOP)
    edges = [0, 1, 2, 10, 42, 50]
    pieces = [comb.apply(samples[first * HOP : last * HOP]) for first, last in pairwise(edges)]
    assert np.array_equal(np.concatenate(pieces), whole)


def test_a_vocoder_that_draws_one_sample_at_a_time_has_no_steps():
    samples = np.random.default_rng(0).standard_normal(HOP).astype(np.float32)
    assert _Comb(1, HOP).apply(samples) is samples
