"""From a recording to what the decoder reads: spectrum, network, log scores of every class of sound."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.graph import FILLER_CLASS, GARBAGE_CLASS, NUM_CLASSES, SILENCE_CLASS
from deepvoice.audio.mel import FloatArray, MelSpec, log_mel, num_frames
from deepvoice.networks.segmentation import NO_LEVEL, SegmentationScores, level_of
from deepvoice.text.phones import BASES, NUM_SILENCES

SPEC = MelSpec()
FRAME_SECONDS = SPEC.hop / SPEC.sample_rate
_DITHER = 2e-5  # amplitude of the noise that the features of training have: digital silence has no spectrum
CHUNK, CONTEXT = 6000, 200  # frames that the network reads at a time, and beside them
_FAINTER = 2.0  # nats (9 dB) below the recording's level, under which a piece may be a pause: its noise is no speech
_CLEAR = -0.9  # mean log probability of what seems to be phones; speech has -0.8 at 10 dB above noise, noise -1.6
MARGIN = 4  # frames: more than half a window of the spectrum
_PERIOD = 1 << 16  # samples after which the noise repeats


class Network(Protocol):
    """What reads a log-mel spectrum [F, M], F a multiple of its stack; least_level: see `networks.segmentation`."""

    def __call__(self, mel_FM: FloatArray, least_level: float = NO_LEVEL) -> SegmentationScores:
        """Return the readings."""


class Sound(NamedTuple):
    """Features of a recording at 24 kHz: log-mel spectrum [F, M] and log power [F], both float32."""

    mel_FM: FloatArray
    energy_F: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWeights:
    """How the network's readings are weighed.

    pair: of log p(pair) - log p(no boundary) in the step in which a boundary falls, beside the phones of the frames
    garbage: log score of a frame of speech that is not in the text, added to that of its likeliest phone
    pause: log score of a frame of a pause between the words of such speech, added to that of silence
    """

    pair: float = 0.5
    garbage: float = -3.0
    pause: float = -0.2


class ClassScores(NamedTuple):
    """Log scores by class of sound, as `deepvoice.kernels.viterbi` wants them."""

    emission_FC: FloatArray
    leave_TC: FloatArray
    enter_TC: FloatArray

    def part(self, start: int, end: int) -> "ClassScores":
        """Return the frames [start, end); start must be the first of a step."""
        stack = -(-len(self.emission_FC) // len(self.leave_TC))
        steps = slice(start // stack, -(-end // stack))
        return ClassScores(
            np.ascontiguousarray(self.emission_FC[start:end]),
            np.ascontiguousarray(self.leave_TC[steps]),
            np.ascontiguousarray(self.enter_TC[steps]),
        )


def analyse(samples_T: FloatArray) -> Sound:
    """Compute the features of float32 samples [T] at 24 kHz, as training does."""
    frames = num_frames(len(samples_T), SPEC)
    parts = [analyse_piece(samples_T, 0, first, min(first + CHUNK, frames)) for first in range(0, frames, CHUNK)]
    return Sound(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def analyse_piece(samples_T: FloatArray, begin: int, first: int, past: int) -> Sound:
    """Compute frames [first, past) of a recording of which these samples begin with frame `begin`.

    The noise that is added depends on the place in the recording alone, so the pieces of a recording are the whole.
    """
    start = max(begin, first - MARGIN)
    end = past + MARGIN
    piece_T = np.zeros((end - start) * SPEC.hop, np.float32)
    given_T = samples_T[(start - begin) * SPEC.hop : (end - begin) * SPEC.hop]
    piece_T[: len(given_T)] = given_T
    inside = min(len(piece_T), -(-len(given_T) // SPEC.hop) * SPEC.hop)  # zeros follow the last frame, as in training
    piece_T[:inside] += _noise(start * SPEC.hop, inside)
    mel_FM = log_mel(piece_T, SPEC)[first - start : past - start]
    power_F = np.mean(piece_T.reshape(end - start, SPEC.hop) ** 2, axis=1)[first - start : past - start]
    return Sound(mel_FM, np.log(power_F + np.float32(SPEC.floor)))


def _noise(first: int, count: int) -> FloatArray:
    """Return the noise of samples [first, first + count); it repeats."""
    return np.take(_period(), np.arange(first, first + count) % _PERIOD)


@lru_cache(maxsize=1)
def _period() -> FloatArray:
    random = np.random.Generator(np.random.Philox(0)).random(_PERIOD, np.float32)
    return (random * 2 - 1) * np.float32(_DITHER)


def run_network(network: Network, mel_FM: FloatArray, stack: int) -> SegmentationScores:
    """Read a spectrum of any length, in pieces with context; frames beyond the last are silence."""
    if len(mel_FM) <= CHUNK + 2 * CONTEXT:
        return network(_whole_steps(mel_FM, stack))
    parts = list(read_pieces(network, mel_FM, stack, level_of(mel_FM)))
    return SegmentationScores(
        left_TV=np.concatenate([part.left_TV for part in parts]),
        right_TV=np.concatenate([part.right_TV for part in parts]),
        boundary_T=np.concatenate([part.boundary_T for part in parts]),
        frame_FV=np.concatenate([part.frame_FV for part in parts]),
    )


def read_pieces(
    network: Network, mel_FM: NDArray[np.floating], stack: int, level: float
) -> Iterator[SegmentationScores]:
    """Read a spectrum CHUNK frames after the other, each with CONTEXT beside it; frames beyond the last are silence.

    level: of the loudest part of the recording
    """
    F = len(mel_FM)
    for start in range(0, F, CHUNK):
        past = min(start + CHUNK, F)
        first, end = max(0, start - CONTEXT), min(past + CONTEXT, F)
        found = _read_piece(network, _whole_steps(np.asarray(mel_FM[first:end], np.float32), stack), level)
        steps = slice((start - first) // stack, -(-(past - first) // stack))
        yield SegmentationScores(
            left_TV=found.left_TV[steps],
            right_TV=found.right_TV[steps],
            boundary_T=found.boundary_T[steps],
            frame_FV=found.frame_FV[start - first : steps.stop * stack],
        )


def _read_piece(network: Network, mel_FM: FloatArray, level: float) -> SegmentationScores:
    """Read a piece of a recording by its own level; a long pause by the recording's, beside which noise is silence.

    A piece is a pause where it is faint and not clear at its own level, so a speaker who is farther away is none.
    """
    found = network(mel_FM)
    if level_of(mel_FM) >= level - _FAINTER:
        return found
    phone_F = found.frame_FV.max(axis=1)[found.frame_FV.argmax(axis=1) >= NUM_SILENCES]
    return found if len(phone_F) and phone_F.mean() >= _CLEAR else network(mel_FM, level)


def _whole_steps(mel_FM: FloatArray, stack: int) -> FloatArray:
    """Return a spectrum with silence up to the end of its last step."""
    quiet = np.full((-len(mel_FM) % stack, mel_FM.shape[1]), np.log(SPEC.floor), np.float32)
    return np.concatenate([mel_FM, quiet])


def class_scores(scores: SegmentationScores, frames: int, weights: ScoreWeights | None = None) -> ClassScores:
    """Weigh the readings of the first `frames` frames.

    The silences count as one class in both readings. Garbage is any speech: its score of a frame is that of the
    likeliest phone, less a constant, so that it wins only where the phones of the text fit much worse than others.
    Filler is garbage with pauses: whole sentences that are not in the text are one stretch of it. Were its pauses dear,
    words beside it would be given up for the silences between them.
    """
    weights = weights or ScoreWeights()
    V, (T, _) = len(BASES), scores.left_TV.shape
    pair = np.float32(weights.pair)
    emission_FC = np.full((frames, NUM_CLASSES), np.float32(-1e4))
    emission_FC[:, :V] = scores.frame_FV[:frames]
    emission_FC[:, GARBAGE_CLASS] = emission_FC[:, NUM_SILENCES:V].max(axis=1) + np.float32(weights.garbage)
    pause_F = emission_FC[:, SILENCE_CLASS] + np.float32(weights.pause)
    emission_FC[:, FILLER_CLASS] = np.maximum(emission_FC[:, GARBAGE_CLASS], pause_F)
    steps = -(-frames // (len(scores.frame_FV) // T))
    leave_TC, enter_TC = np.zeros((steps, NUM_CLASSES), np.float32), np.zeros((steps, NUM_CLASSES), np.float32)
    leave_TC[:, :V], enter_TC[:, :V] = scores.left_TV[:steps], scores.right_TV[:steps]
    for array_TC in (leave_TC, enter_TC):
        array_TC[:, SILENCE_CLASS] = np.logaddexp.reduce(array_TC[:, :NUM_SILENCES], axis=1)
    enter_TC += scores.boundary_T[:steps, None]
    return ClassScores(emission_FC, leave_TC * pair, enter_TC * pair)
