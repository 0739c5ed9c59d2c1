"""Which tracked frames are heard as voiced: trackers hold on to a pitch while it dies away."""

import numpy as np
from numpy.typing import NDArray

_BAND = (60.0, 900.0)  # Hz; the first harmonics
_WINDOW_SECONDS = 0.01
_RANGE = 5.5  # natural logarithm of power (24 dB) below the loud frames of the utterance


def band_level(samples_T: NDArray[np.float32], sample_rate: int, hop: int) -> NDArray[np.float64]:
    """Return the log power of the band of the first harmonics around the middle of every frame, float64 [T / hop]."""
    from scipy.signal import butter, sosfiltfilt

    frames = len(samples_T) // hop
    half = int(_WINDOW_SECONDS * sample_rate) // 2
    band_T = sosfiltfilt(butter(4, _BAND, "bandpass", fs=sample_rate, output="sos"), samples_T.astype(np.float64))
    edges = np.concatenate([[0.0], np.cumsum(band_T**2)])
    middles = np.arange(frames) * hop + hop // 2
    first, last = np.maximum(middles - half, 0), np.minimum(middles + half, len(samples_T))
    return np.log((edges[last] - edges[first]) / (last - first) + 1e-10)


def heard(f0_F: NDArray[np.float32], samples_T: NDArray[np.float32], sample_rate: int, hop: int) -> NDArray[np.float32]:
    """Set frames whose first harmonics are far below the loud frames to unvoiced.

    f0_F: float32 [F] Hz, 0 where unvoiced; samples_T: float32 [F * hop]
    Returns float32 [F]. An utterance without a voiced frame is returned as it is.
    """
    voiced = f0_F > 0
    if not voiced.any():
        return f0_F
    level_F = band_level(samples_T, sample_rate, hop)
    return np.where(level_F > np.quantile(level_F, 0.95) - _RANGE, f0_F, np.float32(0)).astype(np.float32)
