"""Loudness of speech after ITU-R BS.1770-4 and EBU R128: integrated, gated, one channel.

The K weighting is applied by convolution with the impulse response of its two filters, which is 0.2 s long to any
precision that matters; numpy alone would need a loop over samples for the recursive form.
"""

import math

import numpy as np
from numpy.typing import NDArray

from deepvoice.errors import AudioError

FloatArray = NDArray[np.float64]

_OFFSET = -0.691  # dB; of the standard's loudness formula
_ABSOLUTE_GATE = -70.0  # LUFS
_RELATIVE_GATE = -10.0  # LU below the mean of the blocks that pass the absolute gate
_STEPS = 4  # blocks of 400 ms begin every 100 ms
_RESPONSE = 0.2  # seconds of impulse response; the rest is below -100 dB
_HEADROOM = 10.0 ** (-1.0 / 20.0)  # highest sample after a gain: -1 dBFS
_BLOCK = 1 << 16  # samples filtered at a time


def k_weighting(sample_rate: int) -> FloatArray:
    """Return the impulse response of the K weighting: a shelf above 1.5 kHz and a high pass at 38 Hz.

    The analogue prototypes behind the coefficients that the standard lists for 48 kHz, transformed for any rate.
    """
    count = math.ceil(_RESPONSE * sample_rate)
    response = np.zeros(count)
    response[0] = 1.0
    gain, q = 10.0 ** (3.999843853973347 / 20.0), 0.7071752369554196
    k = math.tan(math.pi * 1681.974450955533 / sample_rate)
    middle = gain**0.4996667741545416
    a0 = 1.0 + k / q + k * k
    shelf = (
        ((gain + middle * k / q + k * k) / a0, 2.0 * (k * k - gain) / a0, (gain - middle * k / q + k * k) / a0),
        (2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0),
    )
    q = 0.5003270373238773
    k = math.tan(math.pi * 38.13547087602444 / sample_rate)
    a0 = 1.0 + k / q + k * k
    high_pass = ((1.0, -2.0, 1.0), (2.0 * (k * k - 1.0) / a0, (1.0 - k / q + k * k) / a0))
    for feed, back in (shelf, high_pass):
        response = _recursive(response, feed, back)
    return response


def _recursive(input_T: FloatArray, feed: tuple[float, float, float], back: tuple[float, float]) -> FloatArray:
    """Filter with a second-order section; a loop, for the few samples of an impulse response."""
    output = np.zeros_like(input_T)
    x1 = x2 = y1 = y2 = 0.0
    for i, x in enumerate(input_T.tolist()):
        y = feed[0] * x + feed[1] * x1 + feed[2] * x2 - back[0] * y1 - back[1] * y2
        output[i] = y
        x1, x2, y1, y2 = x, x1, y, y1
    return output


class Meter:
    """Measures samples as they come, in little memory."""

    def __init__(self, sample_rate: int) -> None:
        """Begin a measurement at a sample rate in Hz."""
        if not 4000 <= sample_rate <= 768000:
            raise AudioError(f"the sample rate is {sample_rate}; expected 4,000 to 768,000 Hz")
        self.peak = 0.0  # highest magnitude of a sample
        self._step = sample_rate // 10
        self._response = k_weighting(sample_rate)
        self._size = 1 << (len(self._response) + _BLOCK - 2).bit_length()
        self._spectrum = np.fft.rfft(self._response, self._size)
        self._tail = np.zeros(len(self._response) - 1)
        self._pending: list[NDArray[np.float32]] = []
        self._num_pending = 0
        self._rest = np.zeros(0)  # weighted samples of an unfinished step
        self._energies: list[FloatArray] = []  # sums of squares of whole steps of 100 ms

    def write(self, samples_T: NDArray[np.float32]) -> None:
        """Append samples, float32 [T]."""
        if len(samples_T) == 0:
            return
        self.peak = max(self.peak, float(np.abs(samples_T).max()))
        self._pending.append(samples_T)
        self._num_pending += len(samples_T)
        if self._num_pending >= _BLOCK:
            self._filter()

    def integrated(self) -> float:
        """Return the integrated loudness in LUFS; -inf for silence.

        Less than one block of 0.4 s is measured as if it went on in silence.
        """
        self._filter()
        steps = np.concatenate([*self._energies, np.zeros(0)])
        if len(steps) < _STEPS:
            rest = float(np.square(self._rest).sum())
            steps = np.concatenate([steps, [rest], np.zeros(_STEPS)])[:_STEPS]
        sums = np.convolve(steps, np.ones(_STEPS), mode="valid")
        power = sums / (_STEPS * self._step)
        power = power[power > 10.0 ** ((_ABSOLUTE_GATE - _OFFSET) / 10.0)]
        if len(power) == 0:
            return -math.inf
        power = power[power > power.mean() * 10.0 ** (_RELATIVE_GATE / 10.0)]
        return _OFFSET + 10.0 * math.log10(float(power.mean()))

    def _filter(self) -> None:
        """Weight what is pending and add its energy, step by step."""
        samples = np.concatenate([*self._pending, np.zeros(0, np.float32)]).astype(np.float64)
        self._pending, self._num_pending = [], 0
        for start in range(0, len(samples), _BLOCK):
            block = samples[start : start + _BLOCK]
            full = np.fft.irfft(np.fft.rfft(block, self._size) * self._spectrum, self._size)
            full = full[: len(block) + len(self._tail)]
            full[: len(self._tail)] += self._tail
            self._tail = full[len(block) :].copy()
            weighted = np.concatenate([self._rest, full[: len(block)]])
            whole = len(weighted) // self._step * self._step
            self._energies.append(np.square(weighted[:whole]).reshape(-1, self._step).sum(axis=1))
            self._rest = weighted[whole:]


def loudness(samples_T: NDArray[np.float32], sample_rate: int) -> float:
    """Return the integrated loudness of samples, float32 [T], in LUFS."""
    meter = Meter(sample_rate)
    meter.write(samples_T)
    return meter.integrated()


def gain(meter: Meter, target: float) -> float:
    """Return the factor that brings what was measured to `target` LUFS without a sample above -1 dBFS.

    Silence keeps its level: the factor is 1.
    """
    measured = meter.integrated()
    if not math.isfinite(measured) or meter.peak == 0.0:
        return 1.0
    return float(min(10.0 ** ((target - measured) / 20.0), _HEADROOM / meter.peak))
