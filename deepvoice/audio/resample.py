"""Another sample rate: a polyphase filter that gives the same samples in pieces as in one.

Output m lies at the time of input m M / L, where L / M is the ratio of the rates in lowest terms. Its value is the
input convolved with a low-pass of linear phase, a Kaiser-windowed sinc (A. V. Oppenheim and R. W. Schafer,
Discrete-Time Signal Processing, section 7.5), of which only L different shifts occur; they are tabulated.
"""

from functools import lru_cache
from math import ceil, gcd

import numpy as np
from numpy.typing import NDArray

from deepvoice.errors import AudioError

FloatArray = NDArray[np.float32]

_REJECTION = 96.0  # dB: what lies above the lower Nyquist frequency ends below the steps of 16 bits
_EDGE = 0.9  # of the lower Nyquist frequency: what lies below passes unchanged
_BLOCK = 4096  # outputs computed at a time, which bounds the memory
_MAX_RATE = 768_000


class Resampler:
    """Turns samples at one rate into samples at another, piece by piece.

    However the input is cut, the outputs put together are the same bits; n samples become ceil(n target / source).
    """

    def __init__(self, source: int, target: int) -> None:
        """Prepare for samples at `source` Hz that become samples at `target` Hz; raises AudioError for absurd rates."""
        for rate in (source, target):
            if type(rate) is not int or not 1 <= rate <= _MAX_RATE:
                raise AudioError(f"the sample rate is {rate!r}; expected a whole number of Hz up to {_MAX_RATE}")
        self.source, self.target = source, target
        common = gcd(source, target)
        self._up, self._down = target // common, source // common
        self._table_LK = _filters(self._up, self._down)
        self._half = self._table_LK.shape[1] // 2
        self._buffer = np.zeros(self._half - 1, np.float32)  # silence before the first sample
        self._start = 1 - self._half  # the input that buffer[0] is
        self._read = 0  # inputs
        self._written = 0  # outputs

    def count(self, num_samples: int) -> int:
        """Return how many samples `num_samples` become in all."""
        return -(-num_samples * self._up // self._down)

    def write(self, samples_T: FloatArray) -> FloatArray:
        """Take samples, float32 [T]; returns those outputs that no later input can change."""
        self._read += len(samples_T)
        if self._up == self._down:
            return samples_T
        self._buffer = np.concatenate([self._buffer, samples_T], dtype=np.float32)
        # output m reads the inputs up to floor(m M / L) + half
        return self._compute(ceil((self._read - self._half) * self._up / self._down))

    def finish(self) -> FloatArray:
        """Return the rest, as if silence followed the last sample."""
        if self._up == self._down:
            return np.zeros(0, np.float32)
        self._buffer = np.concatenate([self._buffer, np.zeros(2 * self._half, np.float32)])
        return self._compute(self.count(self._read))

    def _compute(self, end: int) -> FloatArray:
        """Return the outputs from the next one to `end`, and forget the inputs that they alone needed."""
        if end <= self._written:
            return np.zeros(0, np.float32)
        pieces = []
        for start in range(self._written, end, _BLOCK):
            steps_T = np.arange(start, min(start + _BLOCK, end), dtype=np.int64) * self._down
            first_T = steps_T // self._up - (self._half - 1) - self._start
            windows_TK = np.lib.stride_tricks.sliding_window_view(self._buffer, 2 * self._half)[first_T]
            # each output is a sum of its own, in one order, so that cutting differently changes nothing
            pieces.append(np.einsum("tk,tk->t", windows_TK, self._table_LK[steps_T % self._up]))
        self._written = end
        keep = end * self._down // self._up - (self._half - 1) - self._start
        self._buffer, self._start = self._buffer[keep:].copy(), self._start + keep
        return np.concatenate(pieces)


def resample(samples_T: FloatArray, source: int, target: int) -> FloatArray:
    """Return samples, float32 [T] at `source` Hz, at `target` Hz."""
    resampler = Resampler(source, target)
    return np.concatenate([resampler.write(samples_T), resampler.finish()])


@lru_cache(maxsize=16)
def _filters(up: int, down: int) -> FloatArray:
    """Return the low-pass at each of the L shifts, float32 [L, K]; tap k of shift p lies at (k - K/2 + 1) - p/L."""
    lower = min(1.0, up / down)  # the lower Nyquist frequency, in halves of the input rate
    width = (1 - _EDGE) * lower
    taps = (_REJECTION - 7.95) / (2.285 * np.pi * width) + 1
    half = ceil(taps / 2)
    time_LK = np.arange(1 - half, half + 1)[None, :] - np.arange(up)[:, None] / up
    beta = 0.1102 * (_REJECTION - 8.7)
    cutoff = lower - width / 2
    window_LK = np.i0(beta * np.sqrt(np.maximum(0, 1 - (time_LK / half) ** 2)))
    table_LK = np.sinc(cutoff * time_LK) * window_LK
    table_LK /= table_LK.sum(axis=1, keepdims=True)  # a constant stays what it is
    return table_LK.astype(np.float32)
