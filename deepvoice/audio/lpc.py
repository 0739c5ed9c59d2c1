"""Linear prediction from a log-mel spectrum: the spectral envelope that the vocoder does not have to learn.

As in LPCNet (Valin and Skoglund, 2019): power spectrum -> autocorrelation -> Levinson-Durbin. The autocorrelation
method gives a stable synthesis filter for every spectrum.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec, mel_power_density

_BINS = 257  # resolution of the interpolated spectrum
_BLOCK = 32  # frames at a time: they stay in the cache, and the product is too small for BLAS to split among threads
_NOISE_FLOOR = 1e-4  # -40 dB white-noise correction keeps the recursion well conditioned
_LAG_WINDOW_HZ = 60.0  # Gaussian lag window: widens resonances narrower than this


def lpc_from_mel(mel_FM: FloatArray, spec: MelSpec, order: int, pre_emphasis: float) -> FloatArray:
    """Compute predictor coefficients of the pre-emphasised signal for every frame.

    mel_FM: float32 [F, bands], log-mel of the signal without pre-emphasis
    Returns float32 [F, order]: x_t is predicted as sum_k lpc[f, k-1] * x_{t-k}.
    """
    correlation_NK = _correlation(spec.sample_rate, order, pre_emphasis)
    autocorrelation_FK = np.empty((len(mel_FM), order + 1))
    for first in range(0, len(mel_FM), _BLOCK):
        power_FN = mel_power_density(mel_FM[first : first + _BLOCK], spec, _BINS)
        autocorrelation_FK[first : first + _BLOCK] = power_FN.astype(np.float64) @ correlation_NK
    return levinson(autocorrelation_FK).astype(np.float32)


@lru_cache(maxsize=8)
def _correlation(sample_rate: int, order: int, pre_emphasis: float) -> NDArray[np.float64]:
    """Map a power density to the autocorrelation of the pre-emphasised signal, float64 [bins, order + 1].

    It is the inverse Fourier transform of an even spectrum, the response of the pre-emphasis, the lag window and the
    noise floor in one matrix: few lags are wanted, which makes the product cheaper than a transform.
    """
    bins_N, lags_K = np.arange(_BINS), np.arange(order + 1)
    omega_N = np.pi * bins_N / (_BINS - 1)
    response_N = 1 + pre_emphasis**2 - 2 * pre_emphasis * np.cos(omega_N)
    share_N = np.where((bins_N == 0) | (bins_N == _BINS - 1), 1.0, 2.0) / (2 * (_BINS - 1))
    window_K = np.exp(-0.5 * (2 * np.pi * _LAG_WINDOW_HZ / sample_rate * lags_K) ** 2)
    window_K[0] *= 1 + _NOISE_FLOOR
    return (response_N * share_N)[:, None] * np.cos(omega_N[:, None] * lags_K) * window_K


def levinson(autocorrelation_FK: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve the normal equations of linear prediction for a batch of frames (Levinson-Durbin).

    autocorrelation_FK: float64 [F, order + 1], lag 0 positive
    Returns float64 [F, order] predictor coefficients.
    """
    correlation_KF = np.ascontiguousarray(autocorrelation_FK.T)  # frames last: every operation runs along them
    order, frames = len(correlation_KF) - 1, len(autocorrelation_FK)
    predictor_KF, reversed_KF = np.zeros((order, frames)), np.zeros((order, frames))
    error_F = correlation_KF[0].copy()
    for k in range(order):
        known_F = np.einsum("kf,kf->f", reversed_KF[order - k :], correlation_KF[1 : k + 1])
        reflection_F = (correlation_KF[k + 1] - known_F) / np.maximum(error_F, 1e-30)
        predictor_KF[:k] -= reflection_F * reversed_KF[order - k :]
        predictor_KF[k] = reflection_F
        reversed_KF[order - k - 1 :] = predictor_KF[k::-1]
        error_F *= 1 - reflection_F**2
    return np.ascontiguousarray(predictor_KF.T)
