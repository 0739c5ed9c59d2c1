"""One sentence being made, piece by piece, alone or beside others.

A `Rendering` says what the vocoder needs for the next frames and takes what it made of them. Whoever drives it decides
how many frames, and beside which other sentences: the samples are the same, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.errors import VoiceError
from deepvoice.kernels.wavenet import Generated, Piece, WaveNetState

FloatArray = NDArray[np.float32]
PartOfFrames = Callable[[int, int], FloatArray]  # frames first..last -> what belongs to them

FIRST_FRAMES, MOST_FRAMES = 8, 32  # of a piece: short ones for the first sound, then longer ones
_UNIFORMS = 15360  # random numbers that are drawn together, since each draw costs as much as thousands of them
_COMB_FRAMES = 3  # 15 ms
_PHILOX_WORDS = 4  # 64-bit numbers in one block of the counter


def uniforms(seed: int, sentence: int, start: int, count: int) -> FloatArray:
    """Return the random numbers of samples start .. start + count of a sentence, float32 [count] in [0, 1).

    Counter-based (Philox, keyed by seed and sentence), so any range can be drawn without the ones before it. They are
    made from raw bits rather than by numpy's Generator, whose streams may change between versions.
    """
    per_block = 2 * _PHILOX_WORDS  # samples, 32 bits each
    skip = start % per_block
    generator = np.random.Philox(key=np.array([seed, sentence], np.uint64))
    generator.advance(start // per_block)
    words = generator.random_raw(-(-(skip + count) // 2)).astype("<u8", copy=False)
    bits = words.view("<u4")[skip : skip + count] >> np.uint32(8)  # the lower half of a word comes first
    return bits.astype(np.float32) * np.float32(2.0**-24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What the vocoder plays: everything about a sentence that is known before its first sample.

    biases: float32 [F, C], conditioning of some frames; computed when it is needed, since it is large
    pulses: float32 [N, 2Q], pulse features of every step of some frames; likewise
    lpc_FK, temperature_F: float32, one row a frame
    hop, step: samples in a frame, and in a step of the vocoder
    floor: probability taken off every level
    ramp: samples of the fade at both edges
    seed, sentence: key of the random numbers
    """

    biases: PartOfFrames
    pulses: PartOfFrames
    lpc_FK: FloatArray
    temperature_F: FloatArray
    hop: int
    step: int
    floor: float
    ramp: int
    seed: int
    sentence: int


class _Uniforms:
    """The random numbers of one sentence, from the first to the last, drawn a block at a time."""

    def __init__(self, seed: int, sentence: int) -> None:
        self._key = (seed, sentence)
        self._first = 0  # sample that the block begins with
        self._block = np.empty(0, np.float32)

    def take(self, start: int, count: int) -> FloatArray:
        skip = start - self._first
        if skip + count > len(self._block):
            self._first, skip = start, 0
            self._block = uniforms(*self._key, start, max(count, _UNIFORMS))
        return self._block[skip : skip + count]


class _Comb:
    """Takes out what repeats with every step of the vocoder: faint lines at the rate of the steps and its multiples.

    The places of a step have heads of their own, whose draws are not all without bias; the mean of each place over the
    last frames, less the mean of all, is subtracted. That is a notch 60 Hz wide at each multiple of rate / step.
    """

    def __init__(self, step: int, hop: int) -> None:
        self._step, self._hop = step, hop
        self._before_WN = np.zeros((_COMB_FRAMES - 1, step), np.float32)  # means of the frames before

    def apply(self, samples_T: FloatArray) -> FloatArray:
        """Return the samples of some whole frames without it."""
        if self._step == 1:
            return samples_T
        steps_FSN = samples_T.reshape(-1, self._hop // self._step, self._step)
        place_FN = steps_FSN.mean(axis=1)
        place_FN -= place_FN.mean(axis=1, keepdims=True)
        known_FN = np.concatenate([self._before_WN, place_FN])
        self._before_WN = known_FN[len(place_FN) :]
        pattern_FN = np.lib.stride_tricks.sliding_window_view(known_FN, _COMB_FRAMES, axis=0).mean(axis=-1)
        return (steps_FSN - pattern_FN[:, None]).reshape(-1)


class Rendering:
    """The state of one sentence between two pieces. Used by one thread at a time."""

    def __init__(self, score: Score) -> None:
        self._score = score
        self._frames = len(score.temperature_F)
        self._first = self._last = 0  # frames of the piece that has been asked for
        self._state: WaveNetState | None = None
        self._uniforms = _Uniforms(score.seed, score.sentence)
        self._comb = _Comb(score.step, score.hop)

    @property
    def frames_left(self) -> int:
        """Frames that have no samples yet."""
        return self._frames - self._first

    def ask(self, frames: int) -> Piece:
        """Return what the vocoder needs for the next frames, `frames` of them or as many as are left."""
        score, first = self._score, self._first
        last = self._last = min(self._frames, first + frames)
        return Piece(
            cond_FC=score.biases(first, last),
            lpc_FK=score.lpc_FK[first:last],
            pulse_NQ2=score.pulses(first, last),
            uniforms_T=self._uniforms.take(first * score.hop, (last - first) * score.hop),
            temperature_F=score.temperature_F[first:last],
            floor=score.floor,
            state=self._state,
        )

    def take(self, made: Generated) -> FloatArray:
        """Take what the vocoder made of the frames asked for; returns samples in [-1, 1], faded at both edges.

        Raises VoiceError when they are not numbers.
        """
        if not np.isfinite(made.samples).all():
            raise VoiceError(
                "the voice computed values that are not numbers; its weights are damaged: reinstall deepvoice"
            )
        start = self._first * self._score.hop
        self._first, self._state = self._last, made.state
        samples_T: FloatArray = np.clip(self._comb.apply(made.samples), -1.0, 1.0)
        return self._fade(samples_T, start)

    def _fade(self, samples_T: FloatArray, start: int) -> FloatArray:
        """Apply raised-cosine ramps to the edges of the sentence, in place."""
        total, stop = self._frames * self._score.hop, start + len(samples_T)
        ramp = max(1, min(self._score.ramp, total // 2))
        if start < ramp or stop > total - ramp:
            index = np.arange(start, stop, dtype=np.float32)
            closeness = np.clip(np.minimum(index, total - 1 - index) / np.float32(ramp), 0.0, 1.0)
            samples_T *= (0.5 - 0.5 * np.cos(np.float32(np.pi) * closeness)).astype(np.float32)
        return samples_T
