"""Loudness against the values that ITU-R BS.1770 and EBU Tech 3341 give for known signals (here in one channel)."""

import math

import numpy as np
import pytest

from deepvoice.audio.loudness import Meter, gain, loudness
from deepvoice.errors import AudioError


def sine(hz, level, seconds, rate):
    """A sine whose peak is at `level` dBFS."""
    t = np.arange(round(seconds * rate)) / rate
    return (10 ** (level / 20) * np.sin(2 * np.pi * hz * t)).astype(np.float32)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 24000, 44100, 48000])
def test_full_scale_sine(rate):
    """0 dBFS at 997 Hz in one channel is -3.01 LUFS; below 1 kHz the rate of the filter makes no difference."""
    assert loudness(sine(997, 0, 5, rate), rate) == pytest.approx(-3.01, abs=0.05)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(-23, 20)], -23),
        ([(-33, 20)], -33),
        ([(-36, 10), (-23, 60), (-36, 10)], -23),
        ([(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23),
        ([(-26, 20), (-20, 20.1), (-26, 20)], -23),
    ],
)
def test_ebu_signals(parts, expected):
    """EBU Tech 3341, cases 1 to 5: two channels, so 3 dB more than one."""
    samples = np.concatenate([sine(1000, level, seconds, 24000) for level, seconds in parts])
    assert loudness(samples, 24000) + 10 * math.log10(2) == pytest.approx(expected, abs=0.1)


def test_the_response_rises_with_frequency():
    low, middle, high = (loudness(sine(hz, -20, 3, 48000), 48000) for hz in (40, 1000, 8000))
    assert low < middle - 5 and high == pytest.approx(middle + 3.3, abs=0.2)


def test_pieces_equal_the_whole():
    samples = np.random.default_rng(3).normal(0, 0.1, 300_000).astype(np.float32)
    meter = Meter(24000)
    for start in range(0, len(samples), 7001):
        meter.write(samples[start : start + 7001])
    assert meter.integrated() == pytest.approx(loudness(samples, 24000), abs=1e-9)
    assert meter.peak == pytest.approx(float(np.abs(samples).max()))
    meter.write(samples)
    assert meter.integrated() == pytest.approx(loudness(np.concatenate([samples, samples]), 24000), abs=1e-9)


def test_silence_and_very_short_speech():
    assert loudness(np.zeros(24000, np.float32), 24000) == -math.inf
    assert loudness(np.zeros(0, np.float32), 24000) == -math.inf
    assert loudness(sine(997, 0, 0.2, 24000), 24000) == pytest.approx(-6.02, abs=0.1)  # half of a block


def test_gain_reaches_the_target_unless_it_would_clip():
    meter = Meter(24000)
    meter.write(sine(997, -20, 3, 24000))
    assert gain(meter, -16.0) == pytest.approx(10 ** (7.01 / 20), rel=0.01)
    assert gain(meter, 0.0) * meter.peak == pytest.approx(10 ** (-1 / 20))
    assert gain(Meter(24000), -16.0) == 1.0


@pytest.mark.parametrize("rate", [0, 100, 10**7])
def test_absurd_rates(rate):
    with pytest.raises(AudioError, match="sample rate"):
        Meter(rate)
