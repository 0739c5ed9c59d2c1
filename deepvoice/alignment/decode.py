"""From scores and a graph to sounds with times: the best path, edges of silences, boundaries finer than a frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.edges import EdgeRule, settle_edges
from deepvoice.alignment.graph import SILENCE_CLASS, Graph
from deepvoice.alignment.scores import ClassScores
from deepvoice.audio.mel import FloatArray
from deepvoice.kernels.viterbi import Problem, viterbi

Array = NDArray[np.int64]
_REACH = 10  # frames around a boundary over which its place is weighed
_SURE = 4  # frames: a boundary's confidence is the probability of lying so near
_MEAN = 2  # frames around the best one whose mean is the place between frames


class Segments(NamedTuple):
    """The best path, sound by sound.

    state_N: state of the graph; cut_N1: int64 [N + 1], frame in which each begins, and the number of frames
    score: of the path
    """

    state_N: Array
    cut_N1: Array
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundaries:
    """Where sounds meet, [N - 1]: frames with a fraction, and the probability of lying within 20 ms of that place."""

    place_M: FloatArray
    confidence_M: FloatArray


def decode(scores: Sequence[ClassScores], graphs: Sequence[Graph], band: int | None = None) -> list[Segments | None]:
    """Find the best path of each recording through its graph, None where it is too short for its text.

    band: states to each side of the diagonal that are tried; None tries all
    """
    problems = [_problem(score, graph, band) for score, graph in zip(scores, graphs, strict=True)]
    return [None if path is None else _segments(path.state_F, path.score) for path in viterbi(problems)]


def _problem(scores: ClassScores, graph: Graph, band: int | None) -> Problem:
    F, S = len(scores.emission_FC), len(graph)
    low_F, high_F = np.zeros(F, np.int32), np.full(F, S, np.int32)
    if band is not None and 2 * band < S:
        centre_F = np.linspace(0, S - 1, F).astype(np.int32)
        low_F = np.clip(centre_F - band, 0, S - 1).astype(np.int32)
        high_F = np.clip(centre_F + band + 1, 1, S).astype(np.int32)
    return Problem(
        *scores,
        graph.class_S,
        graph.first_arc,
        graph.source_A,
        graph.bonus_A,
        graph.initial_S,
        graph.final_S,
        low_F,
        high_F,
    )


def _segments(state_F: NDArray[np.int32], score: float) -> Segments:
    begins = np.flatnonzero(np.diff(state_F, prepend=-1))
    return Segments(state_F[begins].astype(np.int64), np.append(begins, len(state_F)), score)


def place_boundaries(
    segments: Segments, graph: Graph, scores: ClassScores, energy_F: FloatArray, rule: EdgeRule | None = None
) -> Boundaries:
    """Weigh where each boundary lies, given its neighbours; edges of silences follow the power.

    Around the path's boundary every place has a score, the sum of the two sounds' scores before and behind it and that
    of a boundary in that step; the mean of the nearest places, weighed by their probabilities, is finer than the frame.
    """
    cut_M, kind_N = segments.cut_N1[1:-1], graph.class_S[segments.state_N]
    if not len(cut_M):
        return Boundaries(place_M=np.zeros(0, np.float32), confidence_M=np.zeros(0, np.float32))
    share_MR = _shares(segments.cut_N1, kind_N, scores)
    offsets_R = np.arange(-_REACH, _REACH + 1)
    best_M = share_MR.argmax(axis=1)
    near_MR = np.where(np.abs(offsets_R - offsets_R[best_M][:, None]) <= _MEAN, share_MR, 0)
    place_M = cut_M + (near_MR @ offsets_R) / near_MR.sum(axis=1)
    confidence_M = np.where(np.abs(offsets_R - (place_M - cut_M)[:, None]) <= _SURE, share_MR, 0).sum(axis=1)
    silent_N = kind_N == SILENCE_CLASS
    settled_M = np.cumsum(settle_edges(np.diff(segments.cut_N1), silent_N, energy_F, rule or EdgeRule()))[:-1]
    edge_M = silent_N[:-1] != silent_N[1:]
    place_M = np.where(edge_M, settled_M, place_M)
    # neighbours may not pass each other: every sound keeps at least a frame
    return Boundaries(
        place_M=np.maximum.accumulate(place_M - np.arange(len(cut_M)) * 1.0) + np.arange(len(cut_M)) * 1.0,
        confidence_M=np.minimum(confidence_M, 1.0).astype(np.float32),
    )


def _shares(cut_N1: Array, kind_N: NDArray[np.int32], scores: ClassScores) -> FloatArray:
    """Return the probability of each place around each boundary, [M, 2 _REACH + 1], 0 beyond a neighbour."""
    cut_M = cut_N1[1:-1]
    place_MR = cut_M[:, None] + np.arange(-_REACH, _REACH + 1)
    F, T = len(scores.emission_FC), len(scores.leave_TC)
    inside_MR = (place_MR > cut_N1[:-2, None]) & (place_MR < cut_N1[2:, None])
    frame_MR, before_M, after_M = np.clip(place_MR, 0, F - 1), kind_N[:-1, None], kind_N[1:, None]
    gain_MR = scores.emission_FC[frame_MR, before_M] - scores.emission_FC[frame_MR, after_M]
    sum_MR = np.cumsum(gain_MR, axis=1) - gain_MR  # of the frames before each place
    step_MR = frame_MR // -(-F // T)
    sum_MR = sum_MR + scores.leave_TC[step_MR, before_M] + scores.enter_TC[step_MR, after_M]
    sum_MR = np.where(inside_MR, sum_MR, -np.inf)
    share_MR = np.exp(sum_MR - sum_MR.max(axis=1, keepdims=True))
    return np.asarray(share_MR / share_MR.sum(axis=1, keepdims=True), np.float32)
