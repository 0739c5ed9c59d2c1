"""Leaves out each barrier of a kernel source in turn and says which omissions the emulation shows.

    python omissions.py recurrent.cu ...

prints one JSON object: for each barrier, by file and line, what came of leaving it out. An omission is shown when some
schedule gives other bits, an error of the emulation or a crash; each is tried in a process of its own.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from deepvoice import kernels
from deepvoice.kernels import cuda, wavenet
from deepvoice.kernels.parity.cases import named_shape, random_arguments
from deepvoice.kernels.weights import random_weights

SOURCES = Path(__file__).parents[3] / "kernels" / "cuda"
SCHEDULES = (("forward", 0), ("reverse", 0), ("random", 1), ("random", 2))
BARRIER = re.compile(r"\b(?:block|cluster|warp)_barrier\(\);")
Workload = Callable[[], list[np.ndarray]]
_SAME, _SHOWN, _NOT_REACHED, _FAILED = 0, 3, 4, 5
_SECONDS = 60  # after which a process that goes round in circles is ended, which shows the omission too


def normal(*shape: int) -> np.ndarray:
    """Return numbers that depend on the shape alone."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def affine() -> list[np.ndarray]:
    """Return a product with several tiles of inputs."""
    layer = kernels.Packed(normal(20, 2, 40), normal(20))
    return [kernels.affine(normal(9, 40), layer, "tanh", 1, True, backend="cuda")]


def grus() -> list[np.ndarray]:
    """Return what four sequences say in one block, and one in a cluster, with states to begin with."""
    made: list[np.ndarray] = []
    for hidden, sequences in ((20, 4), (128, 1)):
        given, fed_back = kernels.Packed(normal(3 * hidden, 3)), kernels.Packed(normal(3 * hidden, hidden))
        calls = []
        for number in range(sequences):
            arrays = np.full(hidden, 0.1 + number, np.float32), np.empty((3, hidden), np.float32)
            calls.append((given.layer("cuda"), fed_back.layer("cuda"), normal(3, 3), number % 2 == 1, *arrays))
            made += arrays
        cuda.extension().packed_gru_many(calls)
    return made


def wavenets() -> list[np.ndarray]:
    """Return what a WaveNet says in a cluster, and one in a block that fetches the past of two layers at a time."""
    made: list[np.ndarray] = []
    deep = named_shape("small", dilations=(1, 2, 1, 3), residual=64, hop=8)
    in_cluster, in_block = {"cluster": 4, "columns": 1}, {"cluster": 1, "columns": 4, "shared_bytes": 20480}
    behind = named_shape("odd", history=8, lpc_order=40)  # more is kept than the trunk sees
    for shape, wishes in ((behind, in_cluster), (deep, in_block)):
        weights = random_weights(shape, seed=1)
        wavenet.prepare(weights, backend="cuda")
        weights._packed["cuda"].wish(threads=64, **wishes)
        said = wavenet.generate(weights, **random_arguments(shape, 1), backend="cuda")
        made += [said.codes, said.samples, said.state.signal, said.state.residual, said.state.queues_DR]
    return made


WORKLOADS: dict[str, Workload] = {
    "dense.cu": affine,
    "recurrent.cu": grus,
    "wavenet_block.cuh": wavenets,
    "wavenet_worker.cuh": wavenets,
}


def barriers(name: str) -> list[int]:
    """Return the lines of a source that have a barrier."""
    lines = (SOURCES / name).read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if BARRIER.search(line.partition("//")[0])]


def try_without(name: str, line: int, work: Workload, expected: list[np.ndarray]) -> int:
    """Run under every schedule without a barrier, until something differs."""
    module = cuda.extension()
    module.omit_barrier(name, line)
    for schedule in SCHEDULES:
        module.set_schedule(*schedule)
        try:
            made = work()
        except RuntimeError:
            return _SHOWN
        if not all(np.array_equal(a, b) for a, b in zip(made, expected, strict=True)):
            return _SHOWN
    return _SAME if module.barriers_omitted() > 0 else _NOT_REACHED


def outcome(name: str, line: int, work: Workload, expected: list[np.ndarray]) -> str:
    """Say what leaving out a barrier does, in a process that may crash."""
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        code = _FAILED
        try:
            code = try_without(name, line, work, expected)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    others = {_SAME: "nothing", _NOT_REACHED: "not reached", _FAILED: "this program failed"}
    return others.get(os.waitstatus_to_exitcode(status), "shown")  # a signal, or an address sanitizer's status, too


def main() -> None:
    """Try the sources that were named."""
    outcomes = {}
    for name in sys.argv[1:]:
        work = WORKLOADS[name]
        expected = work()
        if (unharmed := outcome("", 0, work, expected)) != "not reached":
            sys.exit(f"{name}: with all barriers in place: {unharmed}")
        for line in barriers(name):
            outcomes[f"{name}:{line}"] = outcome(name, line, work, expected)
    sys.stdout.write(json.dumps(outcomes) + "\n")


if __name__ == "__main__":
    main()
