"""The decoder of the aligner: the best path of a recording through the graph of its text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepvoice.kernels._checks import float_array
from deepvoice.kernels._dispatch import extension, resolve
from deepvoice.kernels.reference import viterbi as reference
from deepvoice.kernels.reference.viterbi import IMPOSSIBLE, IntArray, Problem

__all__ = ["IMPOSSIBLE", "Path", "Problem", "viterbi"]

MAX_ARCS = 254  # into one state


class Path(NamedTuple):
    """The state of every frame, int32 [F], and the sum of the scores along the way."""

    state_F: IntArray
    score: float


def viterbi(problems: Sequence[Problem], *, backend: str = "auto") -> list[Path | None]:
    """Find the best path of every problem; equations are in `reference.viterbi`.

    A problem has F frames in T steps of a few frames each, C classes of sounds, S states and A arcs between them:

    emission_FC: float32, log score of a frame for each class
    leave_TC, enter_TC: float32, log score of leaving a state of a class, and of entering one, in a step
    class_S: int32, class of each state
    first_arc: int32 [S + 1], the arcs first_arc[s] .. first_arc[s + 1] lead into state s
    source_A: int32, where an arc comes from: a state before its target; bonus_A: float32, its own log score
    initial_S, final_S: float32, log score of beginning and of ending in a state, IMPOSSIBLE where that cannot be
    low_F, high_F: int32, the band: in frame f only states low <= s < high are possible; neither may fall

    Memory: a byte for every frame and state of the band. Returns None where a problem has no path.
    Raises ValueError for sizes or indexes that do not fit.
    """
    checked = [_checked(problem) for problem in problems]
    if not checked:
        return []
    if resolve(backend) == "reference":
        found = reference.viterbi(checked)
    else:
        paths = [np.zeros(len(problem.emission_FC), np.int32) for problem in checked]
        scores = extension().viterbi_many([(*problem, path) for problem, path in zip(checked, paths, strict=True)])
        found = list(zip(paths, scores, strict=True))
    return [Path(path_F, score) if score > IMPOSSIBLE / 2 else None for path_F, score in found]


def _checked(problem: Problem) -> Problem:
    """Return a problem whose arrays have the types and sizes that both versions expect."""
    emission_FC = float_array("emission_FC", problem.emission_FC, (None, None))
    F, C = emission_FC.shape
    S, A = len(problem.class_S), len(problem.source_A)
    leave_TC = float_array("leave_TC", problem.leave_TC, (None, C))
    T = len(leave_TC)
    if min(F, S, T) < 1 or -(-F // -(-F // max(T, 1))) != T:
        raise ValueError(f"{F} frames, {T} steps and {S} states; expected at least one each, and steps of equal length")
    whole = [
        _indices(name, array, size)
        for name, array, size in (
            ("class_S", problem.class_S, S),
            ("first_arc", problem.first_arc, S + 1),
            ("source_A", problem.source_A, A),
            ("low_F", problem.low_F, F),
            ("high_F", problem.high_F, F),
        )
    ]
    class_S, first_arc, source_A, low_F, high_F = whole
    into_S = np.diff(first_arc)
    if first_arc[0] or first_arc[-1] != A or into_S.min() < 0 or into_S.max() > MAX_ARCS:
        raise ValueError(f"first_arc must rise from 0 to {A}, by at most {MAX_ARCS} a state")
    if class_S.min() < 0 or class_S.max() >= C:
        raise ValueError(f"class_S must be from 0 to {C - 1}")
    if A and (source_A.min() < 0 or (source_A >= np.repeat(np.arange(S), into_S)).any()):
        raise ValueError("source_A must be a state before the one that the arc leads to")
    if low_F.min() < 0 or high_F.max() > S or (high_F <= low_F).any() or _falls(low_F) or _falls(high_F):
        raise ValueError("low_F and high_F must rise, with at least one state of the graph between them")
    return Problem(
        emission_FC,
        leave_TC,
        float_array("enter_TC", problem.enter_TC, (T, C)),
        class_S,
        first_arc,
        source_A,
        float_array("bonus_A", problem.bonus_A, (A,)),
        float_array("initial_S", problem.initial_S, (S,)),
        float_array("final_S", problem.final_S, (S,)),
        low_F,
        high_F,
    )


def _falls(values: IntArray) -> bool:
    return bool((np.diff(values) < 0).any())


def _indices(name: str, value: IntArray, size: int) -> IntArray:
    if not isinstance(value, np.ndarray) or value.dtype != np.int32 or value.shape != (size,):
        raise ValueError(f"{name} must be int32 [{size}], got {getattr(value, 'dtype', type(value))} {np.shape(value)}")
    return np.ascontiguousarray(value)
