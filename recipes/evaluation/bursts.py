"""Find bursts: the short broadband noises that an unstable sample-by-sample vocoder makes.

Short-time powers in bands of 500 Hz every 2.5 ms go through a small stack of convolutions, trained on clean speech with
bursts put in (`train_bursts.py`). What counts is one number per recording: how many separate bursts it has. The network
sees a tenth of a second around each moment, so it can tell a burst, which begins and ends within that, from a fricative
or a plosive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from deepvoice import kernels
from deepvoice.audio.mel import FloatArray
from deepvoice.audio.resample import resample

RATE = 24000  # Hz; everything is resampled to it
HOP = 60  # samples, 2.5 ms
WINDOW = 256
BANDS = 24  # of 500 Hz
KERNEL = 5
DILATIONS = (1, 1, 2, 4)  # of the hidden layers: 35 frames in sight, 88 ms
_FLOOR = 1e-9
_MEAN, _SCALE = -10.0, 4.0  # of the log powers of speech
_APART = 8  # frames; detections nearer than 20 ms are one burst
WEIGHTS = Path(__file__).with_name("bursts.safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """One burst: when it is loudest, in seconds, and how sure the detector is (its logit)."""

    time: float
    logit: float


def band_powers(samples_T: FloatArray) -> FloatArray:
    """Return normalised log powers, float32 [F, BANDS], of float32 samples at RATE; frame f is centred on f * HOP."""
    dither = np.random.default_rng(0).uniform(-2e-5, 2e-5, len(samples_T)).astype(np.float32)
    padded = np.pad(np.asarray(samples_T, np.float32) + dither, (WINDOW // 2, WINDOW))
    views = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][: len(samples_T) // HOP + 1]
    window = np.hanning(WINDOW + 1)[:-1].astype(np.float32)
    power = np.abs(np.fft.rfft(views * window, axis=1)).astype(np.float32) ** 2 / np.sum(window**2)
    bins = np.minimum(np.arange(power.shape[1]) * RATE / WINDOW // (RATE / 2 / BANDS), BANDS - 1).astype(int)
    edges = np.flatnonzero(np.diff(bins, prepend=-1))
    counts = np.diff(np.append(edges, len(bins))).astype(np.float32)
    banded = np.add.reduceat(power, edges, axis=1) / counts
    return ((np.log(banded + np.float32(_FLOOR)) - _MEAN) / _SCALE).astype(np.float32)


class BurstDetector:
    """The trained network and its threshold."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        """Read the weights; those of this package by default."""
        tensors = {name: np.ascontiguousarray(value, np.float32) for name, value in load_file(path).items()}
        layers = len(DILATIONS)
        self._layers = [(tensors[f"conv{i}.weight"], tensors[f"conv{i}.bias"]) for i in range(layers)]
        self._output = tensors["output.weight"], tensors["output.bias"]
        self.threshold = float(tensors["threshold"][0])

    def logits(self, samples_T: FloatArray) -> FloatArray:
        """Return the logit of "within a burst" of every 2.5 ms, float32 [F], of samples at RATE."""
        hidden_FC = band_powers(samples_T)
        for i, ((weight, bias), dilation) in enumerate(zip(self._layers, DILATIONS, strict=True)):
            new_FC = np.maximum(kernels.conv1d(hidden_FC, weight, bias, dilation=dilation), 0)
            hidden_FC = new_FC if i == 0 else hidden_FC + new_FC
        return kernels.dense(hidden_FC, *self._output)[:, 0]

    def find(self, samples_T: FloatArray, sample_rate: int) -> list[Burst]:
        """Return the bursts of a recording, in time order.

        samples_T: float32 [T] in [-1, 1]
        """
        at_rate = np.asarray(samples_T, np.float32)
        if sample_rate != RATE:
            at_rate = resample(at_rate, sample_rate, RATE)
        return peaks(self.logits(at_rate), self.threshold)


@lru_cache(maxsize=1)
def detector() -> BurstDetector:
    """Return the detector of this package."""
    return BurstDetector()


def peaks(logits_F: FloatArray, threshold: float) -> list[Burst]:
    """Return one burst for every group of frames above the threshold."""
    above = np.flatnonzero(logits_F > threshold)
    if not len(above):
        return []
    groups = np.split(above, np.flatnonzero(np.diff(above) > _APART) + 1)
    tops = [group[np.argmax(logits_F[group])] for group in groups]
    return [Burst(time=float(top * HOP / RATE), logit=float(logits_F[top])) for top in tops]


def inject(
    samples_T: FloatArray, sample_rate: int, times: Sequence[float], level_dbfs: float, seconds: float, seed: int
) -> FloatArray:
    """Return a copy of a recording with bursts of white noise added.

    times: where each begins, in seconds; level_dbfs: root mean square of each; seconds: length of each
    """
    random = np.random.default_rng(seed)
    out = np.array(samples_T, np.float32)
    for time in times:
        start = int(time * sample_rate)
        length = min(int(seconds * sample_rate), len(out) - start)
        out[start : start + length] += burst(random, length, level_dbfs)
    return out


def burst(random: np.random.Generator, length: int, level_dbfs: float, edge: int = 12) -> NDArray[np.float32]:
    """Return white noise of a level with rounded ends, float32 [length]."""
    noise = random.standard_normal(length)
    rise = np.clip((np.arange(length) + 0.5) / max(edge, 1), 0, 1)
    noise *= np.minimum(rise, rise[::-1])
    level = np.sqrt(np.mean(noise**2)) if length else 1.0
    return (noise * (10 ** (level_dbfs / 20) / max(level, 1e-9))).astype(np.float32)
