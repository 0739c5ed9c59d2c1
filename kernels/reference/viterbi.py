"""The best path through an acyclic graph of states, frame by frame: the equations, vectorised over a batch.

With v[t, s] the best score of a path that is in state s in frame t, v[0, s] = initial[s] + emission[0, class(s)]; then,
for the arcs a = (r -> s) into s,

    e[s]    = max over a of (v[t-1, r] + leave[t // stack, class(r)]) + bonus[a], plus enter[t // stack, class(s)]
    v[t, s] = max(v[t-1, s], e[s]) + emission[t, class(s)]

Staying wins over an arc of the same score, and an earlier arc over a later one. States outside the band of a frame are
impossible in it. All sums are of float32 numbers in the order written, so that the C++ version gives the same bits.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]
IMPOSSIBLE = np.float32(-1e30)


class Problem(NamedTuple):
    """One recording and the graph of its text; shapes are those of `deepvoice.kernels.viterbi`."""

    emission_FC: FloatArray
    leave_TC: FloatArray
    enter_TC: FloatArray
    class_S: IntArray
    first_arc: IntArray
    source_A: IntArray
    bonus_A: FloatArray
    initial_S: FloatArray
    final_S: FloatArray
    low_F: IntArray
    high_F: IntArray

    @property
    def stack(self) -> int:
        """Frames of one step."""
        return -(-len(self.emission_FC) // len(self.leave_TC))


class _Padded(NamedTuple):
    """A batch of graphs in arrays of one size; arcs that are not there have the source 0 and an impossible bonus."""

    class_BS: NDArray[np.int64]
    source_BSK: NDArray[np.int64]
    bonus_BSK: FloatArray


def viterbi(problems: Sequence[Problem]) -> list[tuple[IntArray, float]]:
    """Return the state of every frame, int32 [F], and the score of each problem's best path."""
    padded = _pad(problems)
    (B, S, _), F = padded.source_BSK.shape, max(len(problem.emission_FC) for problem in problems)
    rows = np.arange(B)[:, None]
    class_of_source_BSK = padded.class_BS[np.arange(B)[:, None, None], padded.source_BSK]
    score_BS = np.full((B, S), IMPOSSIBLE, np.float32)
    final_BS = score_BS.copy()
    moves_FBS = np.zeros((F, B, S), np.uint8)
    for t in range(F):
        emission_BC, leave_BC, enter_BC, inside_BS = _frame(problems, t, S)
        if t == 0:
            for b, problem in enumerate(problems):
                score_BS[b, : len(problem.initial_S)] = problem.initial_S
        else:
            # (v + leave) + bonus, as the C++ version adds them
            value_BSK = score_BS[np.arange(B)[:, None, None], padded.source_BSK]
            value_BSK = value_BSK + leave_BC[np.arange(B)[:, None, None], class_of_source_BSK] + padded.bonus_BSK
            arc_BS = np.argmax(value_BSK, axis=2)
            best_BS = np.maximum(np.take_along_axis(value_BSK, arc_BS[..., None], axis=2)[..., 0], IMPOSSIBLE)
            best_BS = best_BS + enter_BC[rows, padded.class_BS]
            moved_BS = best_BS > score_BS
            moves_FBS[t] = np.where(moved_BS, arc_BS + 1, 0)
            score_BS = np.where(moved_BS, best_BS, score_BS)
        score_BS = np.where(inside_BS, score_BS + emission_BC[rows, padded.class_BS], IMPOSSIBLE)
        for b, problem in enumerate(problems):
            if t == len(problem.emission_FC) - 1:
                final_BS[b] = score_BS[b]
    return [_trace(problem, moves_FBS[:, b], final_BS[b]) for b, problem in enumerate(problems)]


def _pad(problems: Sequence[Problem]) -> _Padded:
    B = len(problems)
    S = max(len(problem.class_S) for problem in problems)
    K = max(1, *(int(np.diff(problem.first_arc).max()) for problem in problems))
    padded = _Padded(np.zeros((B, S), np.int64), np.zeros((B, S, K), np.int64), np.full((B, S, K), IMPOSSIBLE))
    for b, problem in enumerate(problems):
        padded.class_BS[b, : len(problem.class_S)] = problem.class_S
        into_S = np.diff(problem.first_arc)
        state_A = np.repeat(np.arange(len(into_S)), into_S)
        place_A = np.arange(len(state_A)) - problem.first_arc[state_A]
        padded.source_BSK[b, state_A, place_A] = problem.source_A
        padded.bonus_BSK[b, state_A, place_A] = problem.bonus_A
    return padded


def _frame(problems: Sequence[Problem], t: int, S: int) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return the scores of frame t, [B, C] each, and which states are in its band, [B, S]."""
    B, C = len(problems), problems[0].emission_FC.shape[1]
    scores_3BC, inside_BS = np.zeros((3, B, C), np.float32), np.zeros((B, S), bool)
    for b, problem in enumerate(problems):
        if t < len(problem.emission_FC):
            step = t // problem.stack
            scores_3BC[:, b] = problem.emission_FC[t], problem.leave_TC[step], problem.enter_TC[step]
            inside_BS[b, problem.low_F[t] : problem.high_F[t]] = True
    return scores_3BC[0], scores_3BC[1], scores_3BC[2], inside_BS


def _trace(problem: Problem, moves_FS: NDArray[np.uint8], score_S: FloatArray) -> tuple[IntArray, float]:
    """Follow the moves back from the best final state."""
    F, S = len(problem.emission_FC), len(problem.class_S)
    value_S = np.full(S, IMPOSSIBLE, np.float32)
    last = slice(problem.low_F[-1], problem.high_F[-1])
    value_S[last] = score_S[:S][last] + problem.final_S[last]
    state = int(np.argmax(value_S))
    path_F = np.zeros(F, np.int32)
    if value_S[state] <= IMPOSSIBLE / 2:
        return path_F, float(IMPOSSIBLE)
    for t in range(F - 1, -1, -1):
        path_F[t] = state
        if t and moves_FS[t, state]:
            state = int(problem.source_A[problem.first_arc[state] + moves_FS[t, state] - 1])
    return path_F, float(value_S.max())
