"""What this machine could do at most: multiply-adds from registers, and reading from its caches."""

from typing import NamedTuple

import numpy as np

from deepvoice.kernels._dispatch import extension, isa
from deepvoice.kernels.bench.timing import best_seconds
from deepvoice.kernels.bench.work import Work

KINDS = ("float32", "bfloat16", "int8")  # in the order of the extension
_ROUNDS = 200_000
_L2_BYTES = 384 * 1024  # far more than an L1 cache holds, less than an L2 cache
_READ_BYTES = 200 << 20  # in one timing
_REPEATS = 5


class Limits(NamedTuple):
    """Limits of one core with one instruction set.

    multiply_adds: by precision, multiply-adds a second; a precision that the instruction set does not have is missing
    read_bytes: from the L2 cache, a second
    """

    isa: str
    multiply_adds: dict[str, float]
    read_bytes: float

    def seconds(self, work: Work, streams: int = 1) -> float:
        """Return the least time for one stream's step beside others, which share one reading of the weights."""
        return max(self._products(work), self._reading(work, streams))

    def binds(self, work: Work, streams: int = 1) -> str:
        """Name the resource that sets that time."""
        return "multiply-adds" if self._products(work) >= self._reading(work, streams) else "reading weights"

    def _products(self, work: Work) -> float:
        peaks, other = self.multiply_adds, self.multiply_adds["float32"]
        return sum(count / peaks.get(precision, other) for precision, count in work.products.items())

    def _reading(self, work: Work, streams: int) -> float:
        return work.weight_bytes / streams / self.read_bytes


def measure_limits() -> Limits:
    """Measure the limits of the instruction set in use."""
    module = extension()
    peaks = {}
    for kind, name in enumerate(KINDS):
        count = module.multiply_adds(kind, _ROUNDS)
        if count:
            peaks[name] = count / best_seconds(lambda kind=kind: module.multiply_adds(kind, _ROUNDS), _REPEATS)  # type: ignore[misc]
    buffer = np.zeros(_L2_BYTES // 4, np.float32)
    rounds = _READ_BYTES // _L2_BYTES
    seconds = best_seconds(lambda: module.read_all(buffer, rounds), _REPEATS)
    return Limits(str(isa()), peaks, rounds * _L2_BYTES / seconds)
