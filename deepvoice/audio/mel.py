"""Log-mel spectra: the one definition that training, the conditioner and the linear prediction share.

Frames are centred: frame f covers samples f*hop .. (f+1)*hop, and its window is centred on the middle of that span,
so that a frame of conditioning describes exactly the samples it conditions.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deepvoice.config import require_range

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class MelSpec:
    """Parameters of the log-mel spectrum."""

    sample_rate: int = 24000  # Hz
    hop: int = 120  # samples, 5 ms
    window: int = 768  # samples, 32 ms Hann
    fft: int = 1024
    bands: int = 80
    low_hz: float = 0.0
    high_hz: float = 12000.0
    floor: float = 1e-9  # power added before the logarithm; digital silence becomes log(floor)

    def __post_init__(self) -> None:
        require_range("mel.sample_rate", self.sample_rate, 8000, 48000)
        require_range("mel.hop", self.hop, 1, 4096)
        require_range("mel.window", self.window, 2, 8192)
        require_range("mel.fft", self.fft, self.window, 16384)
        require_range("mel.bands", self.bands, 2, 256)
        require_range("mel.high_hz", self.high_hz, 100.0, self.sample_rate / 2)
        require_range("mel.low_hz", self.low_hz, 0.0, self.high_hz / 2)
        require_range("mel.floor", self.floor, 1e-20, 1.0)

    def to_dict(self) -> dict[str, float]:
        """Return the fields as a plain dict, for hashing and for voice.json."""
        return asdict(self)


def hz_to_mel(hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slaney's mel scale: linear below 1 kHz, logarithmic above (as librosa's default)."""
    hz = np.asarray(hz, np.float64)
    log_part = 15.0 + np.log(np.maximum(hz, 1e-9) / 1000.0) * (27.0 / np.log(6.4))
    return np.where(hz < 1000.0, hz * 3.0 / 200.0, log_part)


def mel_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of `hz_to_mel`."""
    mel = np.asarray(mel, np.float64)
    return np.where(mel < 15.0, mel * 200.0 / 3.0, 1000.0 * np.exp((mel - 15.0) * (np.log(6.4) / 27.0)))


def band_edges_hz(spec: MelSpec) -> NDArray[np.float64]:
    """Edges of the triangular bands in Hz, [bands + 2]."""
    low, high = hz_to_mel(np.array([spec.low_hz, spec.high_hz]))
    return mel_to_hz(np.linspace(low, high, spec.bands + 2))


@lru_cache(maxsize=8)
def filterbank(spec: MelSpec) -> FloatArray:
    """Triangular filters of unit area (Slaney normalisation), float32 [bands, fft // 2 + 1]."""
    edges = band_edges_hz(spec)
    bins = np.linspace(0, spec.sample_rate / 2, spec.fft // 2 + 1)
    rising = (bins[None] - edges[:-2, None]) / np.maximum(edges[1:-1] - edges[:-2], 1e-9)[:, None]
    falling = (edges[2:, None] - bins[None]) / np.maximum(edges[2:] - edges[1:-1], 1e-9)[:, None]
    weights = np.maximum(0.0, np.minimum(rising, falling)) * (2.0 / (edges[2:] - edges[:-2]))[:, None]
    return weights.astype(np.float32)


def num_frames(num_samples: int, spec: MelSpec) -> int:
    """Frames that cover a signal: ceil(samples / hop)."""
    return -(-num_samples // spec.hop)


def log_mel(samples_T: FloatArray, spec: MelSpec) -> FloatArray:
    """Compute the log-mel power spectrum.

    samples_T: float32 [T] in [-1, 1]
    Returns float32 [F, bands], natural logarithm of power density plus `spec.floor`.
    """
    frames = num_frames(len(samples_T), spec)
    left = spec.window // 2 - spec.hop // 2
    right = frames * spec.hop + spec.window - len(samples_T)
    padded = np.pad(np.asarray(samples_T, np.float32), (left, max(right, 0)))
    window = np.hanning(spec.window + 1)[:-1].astype(np.float32)
    views = np.lib.stride_tricks.sliding_window_view(padded, spec.window)[:: spec.hop][:frames]
    power = np.abs(np.fft.rfft(views * window, spec.fft, axis=1)).astype(np.float32) ** 2 / np.sum(window**2)
    return np.log(power @ filterbank(spec).T * np.float32(spec.sample_rate / 2) + spec.floor).astype(np.float32)


def mel_power_density(mel_FM: FloatArray, spec: MelSpec, bins: int) -> FloatArray:
    """Interpolate a log-mel spectrum to a power density over equally spaced frequencies.

    mel_FM: float32 [F, bands]
    bins: number of frequencies from 0 to half the sample rate
    Returns float32 [F, bins], power.
    """
    low_N, high_N, share_N = _interpolation(spec, bins)
    power_FN = np.take(mel_FM, high_N, axis=1)
    power_FN *= share_N
    power_FN += np.take(mel_FM, low_N, axis=1) * (np.float32(1) - share_N)
    np.minimum(power_FN, np.float32(30.0), out=power_FN)
    return np.exp(power_FN, out=power_FN)


@lru_cache(maxsize=8)
def _interpolation(spec: MelSpec, bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Bands on either side of every frequency and the share of the upper one; constant beyond the outer centres."""
    centres = band_edges_hz(spec)[1:-1]
    place = np.interp(np.linspace(0, spec.sample_rate / 2, bins), centres, np.arange(spec.bands))
    low = np.minimum(place.astype(np.int64), spec.bands - 2)
    return low, low + 1, (place - low).astype(np.float32)
