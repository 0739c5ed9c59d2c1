"""What a recording sounds like, in figures: level, noise, clipping, offset, bandwidth, and a fingerprint."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import MelSpec, log_mel
from deepvoice.recipes.corpora.recordings import SAMPLE_RATE, FloatArray

_BLOCK_SECONDS = 0.01  # whose power counts as loud or quiet
_QUIETEST = -120.0  # dB of full scale, what digital silence is called
_FLAT_RUN = 3  # samples in a row at the very top of a recording that are no wave's crest
_FLAT_CRESTS = 3  # such runs that make clipping; a single one may be the crest of one slow wave
_BAND_DROP = 65.0  # dB under the strongest band where the sound is taken to end
_PRINT_TIMES, _PRINT_BANDS = 25, 17  # of a fingerprint
_PRINT_DEPTH = 11.5  # log power below the loudest that counts, 50 dB


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Figures of one recording at its own rate, before anything was changed.

    seconds: of the whole; speech: without silent edges
    peak: largest magnitude, 1 is full scale; clipped: share of samples in flat tops; offset: mean of all samples
    loud, quiet: dB of full scale of the loud (95 %) and the quiet (5 %) blocks of 10 ms; their difference is `range`
    bandwidth: Hz, above which there is next to nothing
    """

    rate: int
    channels: int
    encoding: str
    seconds: float
    speech: float
    peak: float
    clipped: float
    offset: float
    loud: float
    quiet: float
    bandwidth: float

    @property
    def range(self) -> float:
        """How far speech stands out of what is heard in its pauses, dB."""
        return self.loud - self.quiet


def levels(samples_T: FloatArray, rate: int) -> tuple[float, float]:
    """Return the levels of loud and quiet blocks in dB; digital silence does not count as quiet where there is more."""
    size = max(1, round(_BLOCK_SECONDS * rate))
    blocks = len(samples_T) // size
    if not blocks:
        return _QUIETEST, _QUIETEST
    power = np.mean(np.square(samples_T[: blocks * size].reshape(blocks, size), dtype=np.float64), axis=1)
    heard = power[power > 10 ** (_QUIETEST / 10)]
    if not len(heard):
        return _QUIETEST, _QUIETEST
    decibels = 10 * np.log10(np.maximum(power, 10 ** (_QUIETEST / 10)))
    return float(np.percentile(decibels, 95)), float(np.percentile(10 * np.log10(heard), 5))


def clipped_share(samples_T: FloatArray) -> float:
    """Return the share of samples that lie in flat tops: several in a row at the largest or the smallest value."""
    if len(samples_T) < _FLAT_RUN:
        return 0.0
    flat = 0
    for extreme in (float(samples_T.max()), float(samples_T.min())):
        if abs(extreme) < 1e-3:
            continue
        at_top = np.abs(samples_T - extreme) <= 1e-4 * abs(extreme)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], at_top, [False]]).astype(np.int8)))
        runs = edges[1::2] - edges[::2]
        runs = runs[runs >= _FLAT_RUN]
        if len(runs) >= _FLAT_CRESTS:
            flat += int(runs.sum())
    return flat / len(samples_T)


def bandwidth(samples_T: FloatArray, rate: int) -> float:
    """Return the frequency in Hz above which the long-term spectrum lies far below its strongest part."""
    size = 1024
    if len(samples_T) < size:
        return rate / 2
    count = min(400, len(samples_T) // size)
    starts = np.linspace(0, len(samples_T) - size, count).astype(np.int64)
    frames = samples_T[starts[:, None] + np.arange(size)] * np.hanning(size).astype(np.float32)
    power = np.mean(np.abs(np.fft.rfft(frames, axis=1)) ** 2, axis=0) + 1e-20
    heard = np.flatnonzero(10 * np.log10(power) > 10 * np.log10(power.max()) - _BAND_DROP)
    return float((heard[-1] + 1) * rate / size)


def fingerprint(samples_T: FloatArray) -> str:
    """Return 384 bits that the same sound keeps in another format or at another level, as hexadecimal digits.

    The signs of how the difference between neighbouring bands changes over time (J. Haitsma and T. Kalker, A Highly
    Robust Audio Fingerprinting System, 2002), here over the whole utterance at a fixed number of times.
    samples_T: float32 at 24 kHz, trimmed
    """
    spec = MelSpec()
    mel_FM = log_mel(samples_T, spec)[:, : spec.bands * 3 // 4]  # low bands, which every format keeps
    mel_FM = np.maximum(mel_FM, mel_FM.max() - _PRINT_DEPTH)  # formats differ in what cannot be heard
    rows = np.array_split(np.arange(len(mel_FM)), _PRINT_TIMES)
    columns = np.array_split(np.arange(mel_FM.shape[1]), _PRINT_BANDS)
    coarse = np.array([[mel_FM[np.ix_(r, c)].mean() if len(r) else 0.0 for c in columns] for r in rows])
    return np.packbits(np.diff(np.diff(coarse, axis=1), axis=0) > 0).tobytes().hex()


def differing_bits(prints_ND: NDArray[np.uint8], one_D: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return how many bits of each fingerprint differ from another's, int64 [N]; unrelated ones differ in half."""
    return np.unpackbits(prints_ND ^ one_D, axis=1).sum(axis=1, dtype=np.int64)


def measure(samples_T: FloatArray, rate: int, channels: int, encoding: str, speech: float) -> Measures:
    """Measure a recording, mono float32 [T] at its own rate; `speech` is its length in seconds without silent edges."""
    offset = float(samples_T.mean(dtype=np.float64)) if len(samples_T) else 0.0
    centred_T = samples_T - np.float32(offset)
    loud, quiet = levels(centred_T, rate)
    return Measures(
        rate=rate,
        channels=channels,
        encoding=encoding,
        seconds=round(len(samples_T) / rate, 4),
        speech=round(speech, 4),
        peak=round(float(np.abs(samples_T).max(initial=0.0)), 4),
        clipped=round(clipped_share(samples_T), 6),
        offset=round(offset, 5),
        loud=round(loud, 2),
        quiet=round(quiet, 2),
        bandwidth=round(bandwidth(centred_T, rate)),
    )


__all__ = [
    "SAMPLE_RATE",
    "Measures",
    "bandwidth",
    "clipped_share",
    "differing_bits",
    "fingerprint",
    "levels",
    "measure",
]
