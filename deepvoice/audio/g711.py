"""The two laws of ITU-T G.711 (1988) for telephones: 16-bit samples <-> bytes."""

import numpy as np
from numpy.typing import NDArray

_BIAS = 33 << 2  # of the mu-law, at 16 bits
_SEGMENT_ENDS = np.array([0xFF, 0x1FF, 0x3FF, 0x7FF, 0xFFF, 0x1FFF, 0x3FFF])  # 16-bit magnitudes


def encode_mulaw(samples_T: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Encode 16-bit samples by the mu-law (North America, Japan): uint8 [T]."""
    wide_T = samples_T.astype(np.int32)
    magnitude_T = np.minimum(np.abs(wide_T), 32635) + _BIAS
    segment_T = np.searchsorted(_SEGMENT_ENDS, magnitude_T)
    step_T = (magnitude_T >> (segment_T + 3)) & 0x0F
    return (~(np.where(wide_T < 0, 0x80, 0) | segment_T << 4 | step_T) & 0xFF).astype(np.uint8)


def encode_alaw(samples_T: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Encode 16-bit samples by the A-law (elsewhere): uint8 [T]."""
    wide_T = samples_T.astype(np.int32)
    magnitude_T = np.where(wide_T < 0, ~wide_T, wide_T)
    segment_T = np.searchsorted(_SEGMENT_ENDS, magnitude_T)
    step_T = (magnitude_T >> np.maximum(segment_T + 3, 4)) & 0x0F
    return ((np.where(wide_T < 0, 0, 0x80) | segment_T << 4 | step_T) ^ 0x55).astype(np.uint8)
