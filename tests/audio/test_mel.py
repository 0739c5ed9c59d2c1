"""The log-mel spectrum against librosa, and its alignment with the samples."""

import numpy as np
import pytest

from deepvoice.audio.mel import MelSpec, filterbank, hz_to_mel, log_mel, mel_power_density, mel_to_hz, num_frames

SPEC = MelSpec()


def test_filterbank_is_librosas() -> None:
    librosa = pytest.importorskip("librosa", reason="librosa is the cross-check of the [train] extra")
    expected = librosa.filters.mel(sr=SPEC.sample_rate, n_fft=SPEC.fft, n_mels=SPEC.bands, fmin=0.0, fmax=12000.0)
    np.testing.assert_allclose(filterbank(SPEC), expected, atol=2e-6)


def test_spectrum_is_librosas() -> None:
    librosa = pytest.importorskip("librosa", reason="librosa is the cross-check of the [train] extra")
    samples = np.random.default_rng(0).standard_normal(24000).astype(np.float32) * 0.1
    ours = log_mel(samples, SPEC)
    left = SPEC.window // 2 - SPEC.hop // 2
    padded = np.pad(samples, (left, SPEC.window))
    power = np.abs(librosa.stft(padded, n_fft=SPEC.fft, hop_length=SPEC.hop, win_length=SPEC.window, center=False)) ** 2
    # librosa centres a short window inside the FFT: its frame starts (fft - window) / 2 samples before ours.
    shift = (SPEC.fft - SPEC.window) // 2
    padded = np.pad(samples, (left + shift, SPEC.fft))
    power = np.abs(librosa.stft(padded, n_fft=SPEC.fft, hop_length=SPEC.hop, win_length=SPEC.window, center=False)) ** 2
    window = np.hanning(SPEC.window + 1)[:-1]
    mel = librosa.filters.mel(sr=SPEC.sample_rate, n_fft=SPEC.fft, n_mels=SPEC.bands) @ power
    expected = np.log(mel / np.sum(window**2) * SPEC.sample_rate / 2 + SPEC.floor)[:, : len(ours)].T
    np.testing.assert_allclose(ours, expected, atol=1e-3)


def test_frames_describe_their_own_samples() -> None:
    samples = np.zeros(2400, np.float32)
    samples[1260] = 1.0  # middle of frame 10
    energy = log_mel(samples, SPEC).mean(axis=1)
    assert int(energy.argmax()) == 10


@pytest.mark.parametrize(("samples", "frames"), [(0, 0), (1, 1), (120, 1), (121, 2), (24000, 200)])
def test_number_of_frames(samples: int, frames: int) -> None:
    assert num_frames(samples, SPEC) == frames
    if samples:
        assert log_mel(np.zeros(samples, np.float32), SPEC).shape == (frames, SPEC.bands)


def test_digital_silence_has_a_finite_logarithm() -> None:
    np.testing.assert_allclose(log_mel(np.zeros(1200, np.float32), SPEC), np.log(SPEC.floor), rtol=1e-5)


def test_mel_scale_round_trip() -> None:
    hz = np.array([0.0, 40.0, 999.0, 1000.0, 1001.0, 7000.0, 12000.0])
    np.testing.assert_allclose(mel_to_hz(hz_to_mel(hz)), hz, atol=1e-9)


def test_density_of_a_flat_spectrum_is_flat() -> None:
    density = mel_power_density(np.full((2, SPEC.bands), -3.0, np.float32), SPEC, 65)
    np.testing.assert_allclose(density, np.exp(-3.0), rtol=1e-5)
