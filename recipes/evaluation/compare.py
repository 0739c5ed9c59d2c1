"""A speech beside a recording of the same sentence: spectra, pitch and durations, compared frame by frame in step.

The two are put in step by dynamic time warping of their log-mel spectra (librosa). Durations follow from it: the times
at which our phones begin, carried over to the recording along the path, tell how long each phone is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec, log_mel
from deepvoice.audio.resample import resample
from deepvoice.recipes.common.pitch import track_f0
from deepvoice.speech import Phone
from deepvoice.text.phones import is_silence

_DECIBELS = 10 / np.log(10)
_QUIET = -14.0  # mean log-mel below which a frame of the recording is silence and is not compared
_CEPSTRA = 13
_HOP_SECONDS = 0.005
_STRIDE = 2  # frames: the path has steps of 10 ms
_BAND = 0.25  # of the length: how far the path may leave the diagonal


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How far a speech is from a recording.

    spectral: dB, mean absolute difference of log-mel spectra in frames with speech
    cepstral: dB, mel-cepstral distortion over 13 coefficients, without the level
    f0: Hz, mean absolute difference where both are voiced; None where nothing is
    f0_correlation: of the logarithms, in the same frames; None likewise
    voicing: share of frames with speech that are voiced in one alone
    duration: ms, mean absolute difference of the phones' durations
    length: ratio of the whole lengths, without the silence at the ends
    """

    spectral: float
    cepstral: float
    f0: float | None
    f0_correlation: float | None
    voicing: float
    duration: float
    length: float


def spec_of(sample_rate: int) -> MelSpec:
    """Return the log-mel spectrum for a sample rate: frames of 5 ms, up to 12 kHz or half the rate."""
    hop = round(_HOP_SECONDS * sample_rate)
    window = round(0.032 * sample_rate)
    size = 1 << (window - 1).bit_length()
    return MelSpec(sample_rate=sample_rate, hop=hop, window=window, fft=size, high_hz=min(12000.0, sample_rate / 2))


def spectrum(samples_T: FloatArray, spec: MelSpec) -> FloatArray:
    """Return the log-mel spectrum [F, M], with the dither that digital silence needs."""
    dither = np.random.default_rng(0).uniform(-2e-5, 2e-5, len(samples_T)).astype(np.float32)
    return log_mel(samples_T + dither, spec)


def path_between(ours_FM: FloatArray, theirs_GM: FloatArray) -> NDArray[np.int64]:
    """Return the warping path: pairs of frames [N, 2], never decreasing."""
    import librosa

    a, b = ours_FM[::_STRIDE].T.astype(np.float64), theirs_GM[::_STRIDE].T.astype(np.float64)
    length = abs(a.shape[1] - b.shape[1]) / max(a.shape[1], b.shape[1])
    _, path = librosa.sequence.dtw(a, b, metric="cityblock", global_constraints=True, band_rad=max(_BAND, 1.5 * length))
    return np.asarray(path[::-1] * _STRIDE, np.int64)


def compare(
    ours_T: FloatArray, rate: int, phones: Sequence[Phone], theirs_T: FloatArray, their_rate: int
) -> tuple[Distance, NDArray[np.int64]]:
    """Compare a speech with a recording.

    ours_T, theirs_T: float32 in [-1, 1], at their rates in Hz; phones: of ours
    Returns the distance and the warping path (frames of 5 ms, [N, 2]).
    """
    lower = min(rate, their_rate)
    ours_T = ours_T if rate == lower else resample(ours_T, rate, lower)
    theirs_T = theirs_T if their_rate == lower else resample(theirs_T, their_rate, lower)
    spec = spec_of(lower)
    ours_FM, theirs_GM = spectrum(ours_T, spec), spectrum(theirs_T, spec)
    path = path_between(ours_FM, theirs_GM)
    speech = path[theirs_GM[path[:, 1]].mean(axis=1) > _QUIET]
    if not len(speech):
        speech = path
    difference = ours_FM[speech[:, 0]] - theirs_GM[speech[:, 1]]
    f0, correlation, voicing = _pitch(
        track_f0(ours_T, lower, spec.hop, len(ours_FM)), track_f0(theirs_T, lower, spec.hop, len(theirs_GM)), speech
    )
    ours_s, theirs_s = _extent(ours_FM), _extent(theirs_GM)
    distance = Distance(
        spectral=float(np.abs(difference).mean() * _DECIBELS),
        cepstral=_cepstral(difference),
        f0=f0, f0_correlation=correlation, voicing=voicing,
        duration=_durations(phones, path),
        length=ours_s / max(theirs_s, 1),
    )  # fmt: skip
    return distance, path


def _cepstral(difference_NM: FloatArray) -> float:
    bands = difference_NM.shape[1]
    order = np.arange(1, _CEPSTRA + 1)[:, None]
    basis = 2 / bands * np.cos(np.pi / bands * (np.arange(bands) + 0.5) * order)
    cepstra = (difference_NM / 2) @ basis.T  # of amplitudes: half the logarithm of powers
    return float((_DECIBELS * np.sqrt(2 * (cepstra**2).sum(axis=1))).mean())


def _pitch(
    ours_F: FloatArray, theirs_G: FloatArray, path: NDArray[np.int64]
) -> tuple[float | None, float | None, float]:
    a, b = ours_F[path[:, 0]], theirs_G[path[:, 1]]
    both = (a > 0) & (b > 0)
    voicing = float(((a > 0) != (b > 0)).mean())
    if both.sum() < 3:
        return None, None, voicing
    x, y = np.log(a[both]), np.log(b[both])
    flat = x.std() < 1e-6 or y.std() < 1e-6
    return float(np.abs(a - b)[both].mean()), None if flat else float(np.corrcoef(x, y)[0, 1]), voicing


def _durations(phones: Sequence[Phone], path: NDArray[np.int64]) -> float:
    """Carry the edges of our phones over to the recording and compare how long the phones are."""
    spoken = [phone for phone in phones if not is_silence(phone.symbol)]
    if not spoken:
        return 0.0
    frames, first = np.unique(path[:, 0], return_index=True)
    last = np.append(first[1:], len(path))
    theirs = np.array([path[i:j, 1].mean() for i, j in zip(first, last, strict=True)])
    edges = np.array([[phone.start, phone.end] for phone in spoken]) / _HOP_SECONDS
    carried = np.interp(edges, frames, theirs)
    return float(np.abs((edges[:, 1] - edges[:, 0]) - (carried[:, 1] - carried[:, 0])).mean() * 1000 * _HOP_SECONDS)


def _extent(mel_FM: FloatArray) -> int:
    """Return the frames from the first with speech to the last."""
    loud = np.flatnonzero(mel_FM.mean(axis=1) > _QUIET)
    return int(loud[-1] - loud[0] + 1) if len(loud) else 0
