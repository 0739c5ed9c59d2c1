"""Linear prediction from a log-mel spectrum: the spectral envelope that the vocoder does not have to learn.

As in LPCNet (Valin and Skoglund, 2019): power spectrum -> autocorrelation -> Levinson-Durbin. The autocorrelation
method gives a stable synthesis filter for every spectrum.
"""

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec, mel_power_density

_BINS = 257  # resolution of the interpolated spectrum
_NOISE_FLOOR = 1e-4  # -40 dB white-noise correction keeps the recursion well conditioned
_LAG_WINDOW_HZ = 60.0  # Gaussian lag window: widens resonances narrower than this


def lpc_from_mel(mel_FM: FloatArray, spec: MelSpec, order: int, pre_emphasis: float) -> FloatArray:
    """Compute predictor coefficients of the pre-emphasised signal for every frame.

    mel_FM: float32 [F, bands], log-mel of the signal without pre-emphasis
    Returns float32 [F, order]: x_t is predicted as sum_k lpc[f, k-1] * x_{t-k}.
    """
    power_FN = mel_power_density(mel_FM, spec, _BINS).astype(np.float64)
    omega = np.pi * np.arange(_BINS) / (_BINS - 1)
    power_FN = power_FN * (1 + pre_emphasis**2 - 2 * pre_emphasis * np.cos(omega))
    autocorrelation = np.fft.irfft(power_FN, axis=1)[:, : order + 1]
    lags = np.arange(order + 1)
    autocorrelation *= np.exp(-0.5 * (2 * np.pi * _LAG_WINDOW_HZ / spec.sample_rate * lags) ** 2)
    autocorrelation[:, 0] *= 1 + _NOISE_FLOOR
    return levinson(autocorrelation).astype(np.float32)


def levinson(autocorrelation_FK: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve the normal equations of linear prediction for a batch of frames (Levinson-Durbin).

    autocorrelation_FK: float64 [F, order + 1], lag 0 positive
    Returns float64 [F, order] predictor coefficients.
    """
    frames, order = autocorrelation_FK.shape[0], autocorrelation_FK.shape[1] - 1
    predictor = np.zeros((frames, order))
    error = autocorrelation_FK[:, 0].copy()
    for k in range(order):
        acc = autocorrelation_FK[:, k + 1] - np.einsum("fi,fi->f", predictor[:, :k], autocorrelation_FK[:, k:0:-1])
        reflection = acc / np.maximum(error, 1e-30)
        previous = predictor[:, :k].copy()
        predictor[:, :k] = previous - reflection[:, None] * previous[:, ::-1]
        predictor[:, k] = reflection
        error *= 1 - reflection**2
    return predictor
