"""The pitch phase: where in its glottal cycle each step of the vocoder stands.

The vocoder is given cosines and sines of the first harmonics of the pitch at the middle of each bunch. In training
the phase is measured from the recording (recipes/common/pitch.py); in speaking it is the integral of the
predicted F0. With it the network renders a pitch period instead of inventing one.
"""

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray


def phase_from_f0(f0_F: FloatArray, hop: int, sample_rate: int, start: float = 0.0) -> NDArray[np.float64]:
    """Integrate F0 to a phase at frame edges.

    f0_F: float32 [F] Hz, continuous (unvoiced frames interpolated)
    Returns float64 [F + 1] in cycles; frame f runs from entry f to entry f + 1.
    """
    steps = np.asarray(f0_F, np.float64) * hop / sample_rate
    return np.concatenate([[start], start + np.cumsum(steps)])


def pulse_features(
    phase_E: NDArray[np.float64], voiced_F: NDArray[np.bool_], hop: int, bunch: int, harmonics: int
) -> FloatArray:
    """Sample the harmonics of the phase at the middle of every bunch.

    phase_E: float64 [F + 1] cycles at frame edges, linear inside a frame
    voiced_F: bool [F]
    Returns float32 [F * hop / bunch, 2 * harmonics]: cos of harmonics 1..Q, then sin; zero where unvoiced.
    """
    steps = hop // bunch
    middle = (np.arange(steps) + 0.5) / steps
    phase = phase_E[:-1, None] + (phase_E[1:] - phase_E[:-1])[:, None] * middle
    angle_N = (2 * np.pi * (phase % 1.0)).astype(np.float32).reshape(-1)
    turn_x_N, turn_y_N = np.cos(angle_N), np.sin(angle_N)
    features_QN = np.empty((2 * harmonics, len(angle_N)), np.float32)
    x_N, y_N = np.repeat(voiced_F, steps).astype(np.float32), np.zeros_like(angle_N)
    # Each harmonic is the one before it, turned once more. Not with complex numbers: their products may be rounded
    # otherwise at the end of an array, and a piece of a sentence must equal that piece of the whole.
    for i in range(harmonics):
        x_N, y_N = x_N * turn_x_N - y_N * turn_y_N, x_N * turn_y_N + y_N * turn_x_N
        features_QN[i], features_QN[harmonics + i] = x_N, y_N
    return np.ascontiguousarray(features_QN.T)


def interpolate_unvoiced(f0_F: FloatArray, default_hz: float = 180.0) -> FloatArray:
    """Fill unvoiced frames (0 Hz) by interpolation in log F0; all-unvoiced input becomes `default_hz`."""
    voiced = f0_F > 0
    if not voiced.any():
        return np.full(len(f0_F), default_hz, np.float32)
    at = np.flatnonzero(voiced)
    return np.exp(np.interp(np.arange(len(f0_F)), at, np.log(f0_F[at]))).astype(np.float32)
