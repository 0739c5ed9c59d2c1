"""Clocks."""

import statistics
import time
from collections.abc import Callable


def best_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least processor time of several calls, after one that is not counted.

    Processor time of this thread, and its least, since a busy machine disturbs them least.
    """
    call()
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        call()
        times.append(time.thread_time() - started)
    return min(times)


def best_wall_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least wall-clock time of several calls, after one that is not counted: for work on several threads."""
    return min(_wall_seconds(call, repeats))


def median_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the median wall-clock time of several calls, after one that is not counted."""
    return statistics.median(_wall_seconds(call, repeats))


def _wall_seconds(call: Callable[[], object], repeats: int) -> list[float]:
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return times
