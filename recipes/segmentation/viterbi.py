"""Monotone alignment of steps of sound to the states of a known line: one Viterbi pass over a batch, in numpy."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
_IMPOSSIBLE = np.float32(-1e30)


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
    B, T, S = emission_BTS.shape
    score_BS = np.full((B, S), _IMPOSSIBLE, np.float32)
    score_BS[:, 0] = emission_BTS[:, 0, 0]
    if S > 1:
        score_BS[:, 1] = np.where(optional_BS[:, 0], emission_BTS[:, 0, 1], _IMPOSSIBLE)
    final_BS = score_BS
    back_TBS = np.zeros((T, B, S), np.int8)
    for t in range(1, T):
        score_BS, back_TBS[t] = _step(score_BS, optional_BS, None if entry_BTS is None else entry_BTS[:, t])
        score_BS += emission_BTS[:, t]
        final_BS = np.where((steps_B > t)[:, None], score_BS, final_BS)
    return [
        _trace(
            back_TBS[: steps_B[b], b], final_BS[b, : states_B[b]], last_optional=bool(optional_BS[b, states_B[b] - 1])
        )
        for b in range(B)
    ]


def _step(
    score_BS: FloatArray, optional_BS: NDArray[np.bool_], entry_BS: FloatArray | None
) -> tuple[FloatArray, NDArray[np.int8]]:
    """Return the best score of each state before emission, and how many states back it came from."""
    advance_BS = np.full_like(score_BS, _IMPOSSIBLE)
    advance_BS[:, 1:] = score_BS[:, :-1]
    leap_BS = np.full_like(score_BS, _IMPOSSIBLE)
    leap_BS[:, 2:] = np.where(optional_BS[:, 1:-1], score_BS[:, :-2], _IMPOSSIBLE)
    best_BS = np.maximum(advance_BS, leap_BS)
    moves_BS = np.where(leap_BS > advance_BS, np.int8(2), np.int8(1))
    if entry_BS is not None:
        best_BS = best_BS + entry_BS
    moves_BS[best_BS <= score_BS] = 0
    return np.maximum(best_BS, score_BS), moves_BS


def _trace(back_TS: NDArray[np.int8], final_S: FloatArray, *, last_optional: bool) -> NDArray[np.int64]:
    """Follow the moves back from the best final state."""
    state = len(final_S) - 1
    if last_optional and state and final_S[state - 1] > final_S[state]:
        state -= 1
    if final_S[state] <= _IMPOSSIBLE / 2:
        raise ValueError(
            f"{len(back_TS)} steps cannot hold {len(final_S)} states; expected a recording long enough for its text"
        )
    path_T = np.empty(len(back_TS), np.int64)
    for t in range(len(back_TS) - 1, -1, -1):
        path_T[t] = state
        state -= int(back_TS[t, state])
    return path_T
