"""Monotone alignment of steps of sound to the states of a known line, by the decoder of `deepvoice align`."""

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels.viterbi import IMPOSSIBLE, Problem
from deepvoice.kernels.viterbi import viterbi as best_paths

FloatArray = NDArray[np.float32]


def viterbi(
    emission_BTS: FloatArray,
    steps_B: NDArray[np.int64],
    states_B: NDArray[np.int64],
    optional_BS: NDArray[np.bool_],
    entry_BTS: FloatArray | None = None,
) -> list[NDArray[np.int64]]:
    """Find the best monotone path of every sentence through its line of states.

    emission_BTS: float32, log score of being in state s at step t
    steps_B, states_B: steps and states of each sentence; what lies beyond them is padding
    optional_BS: states that may have no step at all (never two such neighbours)
    entry_BTS: float32, log score added when state s is entered at step t
    Returns for each sentence the state of each step, int64 [steps_B[b]].
    Raises ValueError where a sentence has more compulsory states than steps.
    """
    problems = [
        _problem(
            emission_BTS[b, :steps, :states],
            optional_BS[b, :states],
            None if entry_BTS is None else entry_BTS[b, :steps, :states],
        )
        for b, (steps, states) in enumerate(zip(steps_B.tolist(), states_B.tolist(), strict=True))
    ]
    found = []
    for problem, path in zip(problems, best_paths(problems), strict=True):
        if path is None:
            steps, states = problem.emission_FC.shape
            raise ValueError(
                f"{steps} steps cannot hold {states} states; expected a recording long enough for its text"
            )
        found.append(path.state_F.astype(np.int64))
    return found


def _problem(emission_TS: FloatArray, optional_S: NDArray[np.bool_], entry_TS: FloatArray | None) -> Problem:
    """Return a line as a graph: a state is entered from the one before, or from the one before an optional one."""
    T, S = emission_TS.shape
    leap_S = np.concatenate([[False, False], optional_S[1:-1]])[:S]
    sources = [[s - 1, s - 2] if leap_S[s] else [s - 1] for s in range(1, S)]
    source_A = np.array([source for into in sources for source in into], np.int32)
    initial_S, final_S = np.full(S, IMPOSSIBLE, np.float32), np.full(S, IMPOSSIBLE, np.float32)
    initial_S[: 2 if optional_S[0] else 1] = 0.0
    final_S[-2 if optional_S[-1] else -1 :] = 0.0
    return Problem(
        emission_FC=np.ascontiguousarray(emission_TS),
        leave_TC=np.zeros((T, S), np.float32),
        enter_TC=np.zeros((T, S), np.float32) if entry_TS is None else np.ascontiguousarray(entry_TS),
        class_S=np.arange(S, dtype=np.int32),
        first_arc=np.concatenate([[0, 0], np.cumsum([len(into) for into in sources])]).astype(np.int32),
        source_A=source_A,
        bonus_A=np.zeros(len(source_A), np.float32),
        initial_S=initial_S,
        final_S=final_S,
        low_F=np.zeros(T, np.int32),
        high_F=np.full(T, S, np.int32),
    )
