"""Linear prediction: the recursion against a direct solution, stability, and the gain on a resonance."""

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from deepvoice.audio.lpc import damped, levinson, lpc_from_mel
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


def resonator(radius: float, frequency: float) -> np.ndarray:
    """Predictor of order 4 with a pair of poles at a frequency in Hz, at 24 kHz."""
    angle = 2 * np.pi * frequency / 24000
    return np.array([2 * radius * np.cos(angle), -(radius**2), 0, 0], np.float32)


def test_sharp_frames_and_their_neighbours_are_damped() -> None:
    lpc = np.stack([resonator(0.9, 900)] * 10 + [resonator(0.995, 900)] + [resonator(0.9, 900)] * 30)
    found = damped(lpc)
    changed = np.flatnonzero((found != lpc).any(axis=1))
    assert changed.tolist() == [8, 9, 10, 11, 12]
    poles = np.abs(np.roots([1, *-found[10]]))
    assert abs(poles.max() - 0.995 * 0.99) < 1e-5
    assert damped(np.zeros((3, 0), np.float32)).shape == (3, 0)
    assert damped(np.zeros((0, 4), np.float32)).shape == (0, 4)


def test_damping_does_not_depend_on_the_frames_around() -> None:
    random = np.random.default_rng(1)
    lpc = np.stack([resonator(0.9 + 0.099 * r, 300 + 3000 * f) for r, f in random.random((100, 2))])
    whole = damped(lpc)
    assert (whole != lpc).any() and (whole == lpc).any()
    assert np.array_equal(damped(lpc[10:90])[2:-2], whole[12:88])
