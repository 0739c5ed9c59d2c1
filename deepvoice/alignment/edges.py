"""Edges of silences by power: speech begins and ends where the level rises and falls."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRule:
    """Where silence ends and begins, by power."""

    reach: int = 12  # frames that an edge may move
    threshold: float = 0.25  # share of the way from the silence's level to the phone's, in log power


def settle_edges(
    durations_P: Array, silent_P: NDArray[np.bool_], energy_F: NDArray[np.float32], rule: EdgeRule
) -> Array:
    """Move the boundaries between silences and phones to where the log power crosses the threshold.

    Only boundaries of silences that have frames move, by at most `rule.reach` and never past the middle of a neighbour.
    Returns int64 [P], same sum, phones at least one frame.
    """
    cuts = np.concatenate([[0], np.cumsum(durations_P)])
    for i in np.flatnonzero(silent_P[:-1] != silent_P[1:]) + 1:
        if durations_P[i - 1] == 0 or durations_P[i] == 0:
            continue
        low = max(cuts[i] - rule.reach, (cuts[i - 1] + cuts[i] + 1) // 2, cuts[i - 1] + 1)
        high = min(cuts[i] + rule.reach, (cuts[i] + cuts[i + 1]) // 2, cuts[i + 1] - 1)
        if low >= high:
            continue
        quiet, loud = (slice(cuts[i - 1], low), slice(high, cuts[i + 1]))[:: 1 if silent_P[i - 1] else -1]
        level = np.median(energy_F[quiet]) if quiet.stop > quiet.start else energy_F[low]
        peak = np.max(energy_F[loud]) if loud.stop > loud.start else energy_F[high]
        above = energy_F[low:high] > level + rule.threshold * (peak - level)
        if silent_P[i - 1]:  # speech begins at the first frame above
            cuts[i] = low + int(np.argmax(above)) if above.any() else high
        else:  # silence begins after the last frame above
            cuts[i] = low + len(above) - int(np.argmax(above[::-1])) if above.any() else low
    return np.diff(cuts)
