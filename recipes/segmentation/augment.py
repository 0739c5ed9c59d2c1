"""Other speakers, rooms and lines from one corpus: random changes of a log-mel spectrum, without touching its audio.

Speed, pitch and formants (each by its own factor), the channel, the bandwidth of telephones and of 16 kHz recordings,
noise, reverberation and small gaps. All work on natural-log mel power, so a batch costs a few milliseconds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec, band_edges_hz
from deepvoice.config import require_range

_ENVELOPE = 2.5  # bands: width of the smoothing that separates the formants from the harmonics
_FLOOR = -20.7  # natural-log power of nothing (MelSpec.floor)
_LINES_HZ = (3400.0, 4000.0, 5500.0, 7000.0, 8000.0)  # upper ends of telephones and of recordings at 8 to 16 kHz


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """How far the random changes go; a share of the utterances stays as it is."""

    clean: float = 0.3
    slowest: float = 0.8
    fastest: float = 1.3
    formants: float = 0.2  # largest change of their frequencies, either way, as a natural logarithm
    pitch: float = 0.5  # the same for the harmonics
    equaliser: float = 1.2  # standard deviation of each of its four cosines over the bands, nats
    narrow: float = 0.3  # share with a narrow band
    noisy: float = 0.6
    echoing: float = 0.3
    least_snr: float = 3.0  # decibels
    most_snr: float = 40.0

    def __post_init__(self) -> None:
        for name in ("clean", "narrow", "noisy", "echoing"):
            require_range(f"augmentation.{name}", getattr(self, name), 0.0, 1.0)
        require_range("augmentation.slowest", self.slowest, 0.3, 1.0)
        require_range("augmentation.fastest", self.fastest, 1.0, 3.0)
        require_range("augmentation.formants", self.formants, 0.0, 0.5)
        require_range("augmentation.pitch", self.pitch, 0.0, 1.0)
        require_range("augmentation.equaliser", self.equaliser, 0.0, 5.0)
        require_range("augmentation.least_snr", self.least_snr, -20.0, 100.0)
        require_range("augmentation.most_snr", self.most_snr, self.least_snr, 100.0)


def augment(
    mel_FM: FloatArray, spec: MelSpec, rule: Augmentation, random: np.random.Generator, least_frames: int
) -> FloatArray:
    """Return the spectrum of another speaker saying the same, float32 [G, bands], G >= least_frames where F is."""
    if random.random() < rule.clean:
        return mel_FM
    mel_FM = change_speed(mel_FM, np.exp(random.uniform(np.log(rule.slowest), np.log(rule.fastest))), least_frames)
    mel_FM = change_voice(
        mel_FM, spec, np.exp(random.uniform(-rule.formants, rule.formants)),
        np.exp(random.uniform(-rule.pitch, rule.pitch)), random.uniform(0.2, 1.1),
    )  # fmt: skip
    if random.random() < rule.echoing:
        mel_FM = add_echo(mel_FM, random.uniform(0.1, 0.5), random.uniform(0.02, 0.3))
    bands = mel_FM.shape[1]
    cosines_KM = np.cos(np.pi * np.arange(1, 5)[:, None] * (np.arange(bands) + 0.5) / bands)
    mel_FM = mel_FM + (random.normal(0.0, rule.equaliser, 4) @ cosines_KM).astype(np.float32)
    if random.random() < rule.noisy:
        mel_FM = add_noise(mel_FM, spec, random.uniform(rule.least_snr, rule.most_snr), random)
    if random.random() < rule.narrow:
        mel_FM = narrow_band(mel_FM, spec, float(random.choice(_LINES_HZ)), telephone=random.random() < 0.3)
    return _mask(mel_FM, random)


def change_speed(mel_FM: FloatArray, speed: float, least_frames: int) -> FloatArray:
    """Play faster or slower without a change of pitch; never shorter than `least_frames`, if it was not before."""
    frames = len(mel_FM)
    target = max(round(frames / speed), min(frames, least_frames), 2)
    place_F = (np.arange(target) + 0.5) * (frames / target) - 0.5
    return _interpolate(mel_FM.T, np.clip(place_F, 0, frames - 1)).T


def change_voice(mel_FM: FloatArray, spec: MelSpec, formants: float, pitch: float, harmonics: float) -> FloatArray:
    """Multiply the frequencies of formants and of harmonics; `harmonics` is how distinct these stay, 1 as they are."""
    half = int(3 * _ENVELOPE)
    kernel = np.exp(-0.5 * (np.arange(-half, half + 1) / _ENVELOPE) ** 2)
    bands = mel_FM.shape[1]
    smoothing_MM = np.zeros((bands, bands))
    for offset, weight in zip(range(-half, half + 1), kernel, strict=True):
        np.add.at(smoothing_MM, (np.arange(bands), np.clip(np.arange(bands) + offset, 0, bands - 1)), weight)
    smoothing_MM /= smoothing_MM.sum(axis=1, keepdims=True)
    envelope_FM = mel_FM @ smoothing_MM.T.astype(np.float32)
    detail_FM = (mel_FM - envelope_FM) * np.float32(harmonics)
    centres = band_edges_hz(spec)[1:-1]
    index = np.arange(bands, dtype=np.float64)
    moved = [_interpolate(part, np.interp(centres / factor, centres, index)) for part, factor in
             ((envelope_FM, formants), (detail_FM, pitch))]  # fmt: skip
    return np.asarray(moved[0] + moved[1], np.float32)


def add_echo(mel_FM: FloatArray, seconds: float, share: float) -> FloatArray:
    """Let power die away over `seconds` (to -60 dB); `share` is the echo's part of the direct sound, per frame."""
    from scipy.signal import lfilter

    decay = np.exp(-13.8 * 0.005 / seconds)
    power_FM = np.exp(np.minimum(mel_FM, 30.0))
    tail_FM = lfilter([0.0, decay], [1.0, -decay], power_FM, axis=0)
    return np.log(power_FM + share * (1 - decay) * 10.0 * tail_FM + 1e-12).astype(np.float32)


def add_noise(mel_FM: FloatArray, spec: MelSpec, snr: float, random: np.random.Generator) -> FloatArray:
    """Add steady coloured noise at a ratio to the loud frames, in decibels."""
    frames, bands = mel_FM.shape
    edges = band_edges_hz(spec)
    bins_M = np.maximum((edges[2:] - edges[:-2]) / 2 / (spec.sample_rate / spec.fft), 1.0)
    centres = np.maximum(edges[1:-1], 50.0)
    shape_M = -random.uniform(0.0, 2.0) * np.log(centres / 1000.0) + random.normal(0, 0.5, bands)
    loud = np.percentile(np.log(np.exp(np.minimum(mel_FM, 30.0)).sum(axis=1)), 95)
    level = loud - snr * np.log(10) / 10 - np.log(np.exp(shape_M).sum())
    grains_FM = np.log(random.standard_gamma(np.broadcast_to(bins_M, (frames, bands)).astype(np.float32)) / bins_M)
    return np.logaddexp(mel_FM, (level + shape_M + grains_FM).astype(np.float32)).astype(np.float32)


def narrow_band(mel_FM: FloatArray, spec: MelSpec, high_hz: float, *, telephone: bool) -> FloatArray:
    """Silence the bands above a frequency, and those below 300 Hz for a telephone."""
    centres = band_edges_hz(spec)[1:-1]
    gone_M = (centres > high_hz) | (telephone & (centres < 300.0))
    return np.where(gone_M, np.float32(_FLOOR), mel_FM)


def _mask(mel_FM: FloatArray, random: np.random.Generator) -> FloatArray:
    """Replace a stripe of bands and a few short stretches of time by the mean (SpecAugment; Park et al., 2019)."""
    mel_FM = mel_FM.copy()
    mean = mel_FM.mean()
    first, width = int(random.integers(0, mel_FM.shape[1])), int(random.integers(0, 10))
    mel_FM[:, first : first + width] = mean
    for _ in range(int(random.integers(0, 3))):
        start = int(random.integers(0, len(mel_FM)))
        mel_FM[start : start + int(random.integers(1, 7))] = mean
    return mel_FM


def _interpolate(values_XN: FloatArray, place_G: NDArray[np.float64]) -> FloatArray:
    """Read columns at fractional places, float32 [X, G]."""
    low_G = np.minimum(place_G.astype(np.int64), values_XN.shape[1] - 2)
    share_G = (place_G - low_G).astype(np.float32)
    return values_XN[:, low_G] * (1 - share_G) + values_XN[:, low_G + 1] * share_G
