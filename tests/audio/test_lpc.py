"""Linear prediction: the recursion against a direct solution, stability, and the gain on a resonance."""

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from deepvoice.audio.lpc import levinson, lpc_from_mel
from deepvoice.audio.mel import MelSpec, log_mel

SPEC = MelSpec()


def test_levinson_solves_the_normal_equations() -> None:
    signals = np.random.default_rng(0).standard_normal((5, 400))
    correlation = np.stack([np.correlate(s, s, "full")[399:408] for s in signals])
    expected = np.stack([solve_toeplitz(row[:-1], row[1:]) for row in correlation])
    np.testing.assert_allclose(levinson(correlation), expected, atol=1e-10)


def test_filters_are_stable_for_any_spectrum() -> None:
    random = np.random.default_rng(1)
    mel = random.uniform(-20.7, 12.0, (200, SPEC.bands)).astype(np.float32)
    lpc = lpc_from_mel(mel, SPEC, 16, 0.85)
    for coefficients in lpc:
        assert np.abs(np.roots(np.concatenate([[1.0], -coefficients]))).max() < 1.0


def test_prediction_gains_on_a_resonance() -> None:
    noise = np.random.default_rng(2).standard_normal(12000) * 0.01
    pole = 0.97 * np.exp(2j * np.pi * 700 / 24000)
    samples = lfilter([1.0], np.poly([pole, pole.conj()]).real, noise).astype(np.float32)
    lpc = lpc_from_mel(log_mel(samples, SPEC), SPEC, 16, 0.0)[50]
    predicted = lfilter(np.concatenate([[0.0], lpc]), [1.0], samples)
    assert np.var((samples - predicted)[2000:]) < 0.1 * np.var(samples[2000:])
