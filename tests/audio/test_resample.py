"""The resampler against sines that are known at any rate, and in pieces against the whole."""

import numpy as np
import pytest

from deepvoice.audio.resample import Resampler, resample
from deepvoice.errors import AudioError

PAIRS = [(24000, 8000), (24000, 11025), (24000, 16000), (24000, 22050), (24000, 44100), (24000, 48000), (22050, 24000)]


def sine(frequency: float, rate: int, count: int) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * np.arange(count) / rate + 0.3)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_sine_becomes_the_same_sine(source, target, share):
    frequency = share * min(source, target) / 2
    ours = resample(sine(frequency, source, source).astype(np.float32), source, target)
    assert len(ours) == target
    edge = target // 20  # where silence adjoins
    assert np.abs(ours - sine(frequency, target, target))[edge:-edge].max() < 2e-5


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[1] < pair[0]])
def test_what_the_lower_rate_cannot_hold_is_gone(source, target):
    for frequency in np.linspace(target / 2, source / 2, 5, endpoint=False) + 1:
        ours = resample(sine(frequency, source, source).astype(np.float32), source, target)
        edge = target // 20
        assert np.abs(ours[edge:-edge]).max() < 3e-5  # -90 dB, less than a step of 16 bits


@pytest.mark.parametrize(("source", "target"), [*PAIRS, (24000, 24000), (24000, 47999), (7, 13)])
def test_pieces_give_the_bits_of_the_whole(source, target):
    random = np.random.default_rng(3)
    for count in (0, 1, 2, 777, 5000):
        samples = random.uniform(-1, 1, count).astype(np.float32)
        whole = resample(samples, source, target)
        assert len(whole) == Resampler(source, target).count(count) == -(-count * target // source)
        resampler, pieces, start = Resampler(source, target), [], 0
        while start < count:
            size = int(random.integers(0, 900))
            pieces.append(resampler.write(samples[start : start + size]))
            start += size
        pieces.append(resampler.finish())
        assert np.array_equal(np.concatenate(pieces), whole)


def test_outputs_come_early_and_a_constant_stays():
    resampler = Resampler(24000, 48000)
    early = resampler.write(np.full(2400, 0.5, np.float32))
    assert len(early) > 4800 - 200  # held back: half the filter
    assert np.abs(early[200:] - 0.5).max() < 1e-6


@pytest.mark.parametrize("rate", [0, -8000, 24000.0, None, True, 10**9])
def test_absurd_rates_are_refused(rate):
    with pytest.raises(AudioError, match="expected a whole number of Hz"):
        Resampler(24000, rate)
