"""Mu-law companding of the vocoder's residual (ITU-T G.711's curve, 256 levels, applied to a scaled signal)."""

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray

MU = 255.0
LEVELS = 256
_LOG = np.float32(np.log(256.0))


def compress(values: FloatArray, scale: float) -> FloatArray:
    """Map amplitudes to [-1, 1]: sign(v) log(1 + 255 min(|v| scale, 1)) / log 256."""
    values = np.asarray(values, np.float32)
    magnitude = np.minimum(np.abs(values) * np.float32(scale), np.float32(1))
    return (np.sign(values) * np.log1p(np.float32(MU) * magnitude) / _LOG).astype(np.float32)


def encode(values: FloatArray, scale: float) -> NDArray[np.uint8]:
    """Return the nearest of 256 levels of each amplitude, uint8."""
    levels = np.rint((compress(values, scale) + np.float32(1)) * np.float32(MU / 2))
    return np.clip(levels, 0, LEVELS - 1).astype(np.uint8)


def expand(codes: NDArray[np.uint8], scale: float) -> FloatArray:
    """Return the amplitude of each level, float32."""
    table = level_amplitudes(scale)
    return table[codes]


def level_amplitudes(scale: float) -> FloatArray:
    """Amplitudes of the 256 levels, float32 [256]."""
    position = np.arange(LEVELS, dtype=np.float64) / (MU / 2) - 1
    magnitude = np.expm1(np.abs(position) * np.log(256.0)) / MU / scale
    return (np.sign(position) * magnitude).astype(np.float32)
