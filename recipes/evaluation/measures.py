"""What can be measured on a speech without a reference: silence, offset, clicks, clipping, lines, bursts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray
from deepvoice.recipes.evaluation.bursts import Burst, detector
from deepvoice.speech import Speech
from deepvoice.text.phones import is_silence

_INSIDE = 0.03  # s, left out at both ends of a silence: the tail of one word and the breath before the next
_LEAST = 0.05  # s, of a silence that is measured
_FRAME = 0.005  # s
_NOTHING = 1e-6  # -120 dBFS: the logarithm of digital zero


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Measures of one recording.

    noise_floor: dBFS, root mean square of the loudest 20 ms inside the silences; None without such a silence
    offset: dBFS, of the mean
    edges: dBFS, the larger of the first and the last sample
    clipped: samples at full scale
    peak: dBFS
    bursts: as `bursts.BurstDetector` finds them
    """

    noise_floor: float | None
    offset: float
    edges: float
    clipped: int
    peak: float
    bursts: tuple[Burst, ...]


def decibels(amplitude: float) -> float:
    """Return an amplitude in dB relative to full scale, -120 at least."""
    return 20.0 * float(np.log10(max(amplitude, _NOTHING)))


def measure(samples_T: FloatArray, sample_rate: int, silences: Sequence[tuple[int, int]]) -> Signal:
    """Measure a recording.

    samples_T: float32 [T] in [-1, 1]; silences: samples [first, past the last) where nobody speaks
    """
    peak = float(np.abs(samples_T).max()) if len(samples_T) else 0.0
    ends = max(abs(float(samples_T[0])), abs(float(samples_T[-1]))) if len(samples_T) else 0.0
    return Signal(
        noise_floor=_noise_floor(samples_T, sample_rate, silences),
        offset=decibels(abs(float(samples_T.mean(dtype=np.float64)))) if len(samples_T) else decibels(0.0),
        edges=decibels(ends),
        clipped=int(np.count_nonzero(np.abs(samples_T) >= 32767 / 32768)),
        peak=decibels(peak),
        bursts=tuple(detector().find(samples_T, sample_rate)),
    )


def silences_of(speech: Speech) -> list[tuple[int, int]]:
    """Return where a speech of ours says nothing, in samples."""
    return [phone.samples for phone in speech.phones if is_silence(phone.symbol)]


def _noise_floor(samples_T: FloatArray, rate: int, silences: Sequence[tuple[int, int]]) -> float | None:
    margin, least, window = round(_INSIDE * rate), round(_LEAST * rate), round(0.02 * rate)
    loudest = []
    for first, last in silences:
        inside = samples_T[first + margin : last - margin].astype(np.float64)
        if last - first >= least + 2 * margin and len(inside) >= window:
            squares = np.convolve((inside - inside.mean()) ** 2, np.ones(window) / window, "valid")
            loudest.append(float(np.sqrt(squares.max())))
    return decibels(max(loudest)) if loudest else None


class LongTermSpectrum:
    """The average power spectrum of all that is spoken, for lines at the rate of the vocoder's steps."""

    _SIZE = 8192

    def __init__(self, sample_rate: int) -> None:
        """Begin with nothing."""
        self._rate = sample_rate
        self._power: NDArray[np.float64] = np.zeros(self._SIZE // 2 + 1)

    def add(self, samples_T: FloatArray) -> None:
        """Add a recording, float32 [T]."""
        window = np.hanning(self._SIZE)
        for start in range(0, len(samples_T) - self._SIZE + 1, self._SIZE // 2):
            piece = np.fft.rfft(samples_T[start : start + self._SIZE] * window)
            self._power += np.abs(piece) ** 2

    def lines(self, step: int) -> dict[float, float]:
        """Return how far the spectrum stands out at multiples of rate / step: Hz -> dB above its neighbours."""
        found = {}
        for multiple in range(1, step // 2 + 1):
            frequency = multiple * self._rate / step
            bin_ = round(frequency * self._SIZE / self._rate)
            low = self._power[max(bin_ - 24, 1) : bin_ - 3]
            high = self._power[bin_ + 4 : bin_ + 25]
            around = float(np.concatenate([low, high]).mean())
            here = float(self._power[bin_ - 1 : bin_ + 2].mean())
            found[frequency] = 10.0 * float(np.log10(max(here, 1e-20) / max(around, 1e-20)))
        return found
