"""The vocoder's conditioner, speaking half: phones, durations and F0 -> spectrum -> biases and filters of every frame."""

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray

# Log-mel power of speech has a mean near -6 and a spread near 5; F0 of the shipped voice lies around 180 Hz.
MEL_MEAN, MEL_SPREAD = -6.0, 5.0
LOG_F0_MEAN, LOG_F0_SPREAD = float(np.log(180.0)), 0.3


def frame_inputs(mel_FM: FloatArray, f0_F: FloatArray, voiced_F: NDArray[np.bool_]) -> FloatArray:
    """Scale spectrum, F0 and voicing for the networks.

    mel_FM: float32 [F, bands] log power; f0_F: float32 [F] Hz, continuous; voiced_F: bool [F]
    Returns float32 [F, bands + 2].
    """
    mel = (mel_FM - MEL_MEAN) / MEL_SPREAD
    pitch = (np.log(f0_F) - LOG_F0_MEAN) / LOG_F0_SPREAD
    return np.concatenate([mel, pitch[:, None], voiced_F[:, None]], axis=1).astype(np.float32)
