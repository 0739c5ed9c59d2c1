"""The emulation: what a kernel may rely on, and which mistakes it shows. Sources: what may stand where."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.cuda.conftest import SCHEDULES

SOURCES = Path(__file__).parents[3] / "kernels" / "cuda"
BLOCKS, CLUSTER, THREADS = 4, 2, 64
NUMBERS = np.arange(BLOCKS * THREADS).reshape(BLOCKS, THREADS)
GROUPS = NUMBERS.reshape(BLOCKS, 2, THREADS // 2)
RIGHT = {
    "neighbours": np.roll(NUMBERS, -1, axis=1),
    "ring": np.roll(NUMBERS.reshape(-1, CLUSTER, THREADS), 1, axis=1),
    "warp_sum": np.repeat(NUMBERS.reshape(-1, 32).sum(axis=1), 32),
    "scan": np.tile(np.arange(1, 33) + 100 * 1 + 1000 * 31, BLOCKS * THREADS // 32),
    "named": np.roll(GROUPS, -1, axis=2) + np.array([1, 0])[:, None],
}


def run(emulated, name: str, omit: bool = False) -> np.ndarray:
    return np.array(emulated.demo(name, BLOCKS, CLUSTER, THREADS, omit), np.float32)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_correct_kernel_says_the_same_under_every_schedule(emulated, name, schedule):
    emulated.set_schedule(*schedule)
    assert np.array_equal(run(emulated, name), RIGHT[name].ravel())


@pytest.mark.parametrize("name", ["neighbours", "ring", "named"])
def test_a_missing_barrier_shows_under_some_schedule(emulated, name):
    wrong = []
    for schedule in SCHEDULES:
        emulated.set_schedule(*schedule)
        wrong.append(not np.array_equal(run(emulated, name, omit=True), RIGHT[name].ravel()))
    assert any(wrong)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("deadlock", "deadlock|a thread of its block has ended"),
        ("mixed", "different operations"),
        ("overrun", "beyond its end"),
        ("early", "a block that may not have begun"),
        ("ended", "a block that has ended"),
    ],
)
def test_a_broken_kernel_is_an_error(emulated, name, says, schedule):
    emulated.set_schedule(*schedule)
    with pytest.raises(RuntimeError, match=says):
        run(emulated, name)
    assert np.array_equal(run(emulated, "neighbours"), RIGHT["neighbours"].ravel())  # and nothing is left of it


def test_unknown_names_and_impossible_shapes_are_refused(emulated):
    with pytest.raises(ValueError, match="no demonstration"):
        emulated.demo("nothing", 1, 1, 32)
    with pytest.raises(ValueError, match="schedule"):
        emulated.set_schedule("sideways")
    for shape in [(3, 2, 32), (1, 1, 33), (32, 32, 32), (1, 1, 2048), (0, 1, 32)]:
        with pytest.raises(RuntimeError, match="no device takes"):
            emulated.demo("neighbours", *shape)


# What nvcc alone knows stands in portable.cuh, whose twin is emulation.hpp.
DEVICE_ONLY = re.compile(
    r"<<<|\b(?:__)?asm(?:__)?\b|\b__(?!ldg)\w*(?:sync|shfl|ballot)\w*|\b__(?:(?:global|device|host|shared|constant|forceinline|launch_bounds)__|ldg)\b|"
    r"\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|\batomic[A-Z]\w*|\bcuda[A-Z]\w*|\bcooperative_groups\b|"
    r"#\s*include\s*<cuda"
)


@pytest.mark.parametrize(
    "line",
    [
        "kernel<<<1, 32>>>(call);",
        'asm volatile("bar.sync 1, 32;");',
        '__asm__("nop");',
        "__syncthreads();",
        "const int i = threadIdx.x;",
        "__global__ void kernel();",
        "__device__ __forceinline__ int f();",
        "extern __shared__ float memory[];",
        "cudaDeviceSynchronize();",
        "atomicAdd(at, 1);",
        "x = __shfl_xor_sync(~0u, x, 1);",
    ],
)
def test_device_only_syntax_is_recognised(line):
    assert DEVICE_ONLY.search(line)


def test_device_only_syntax_stands_in_one_header():
    bindings = SOURCES.parent.joinpath("bindings").glob("cuda_*")
    kernels = sorted([*SOURCES.glob("*.cu"), *SOURCES.glob("*.[ch]pp"), *SOURCES.glob("*.cuh"), *bindings])
    exempt = {"portable.cuh", "emulation.hpp", "emulation.cpp", "emulation_fibre.hpp", "runtime_device.cpp"}
    assert exempt <= {path.name for path in kernels}
    assert DEVICE_ONLY.search((SOURCES / "portable.cuh").read_text(encoding="utf-8"))
    for path in kernels:
        code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        if path.name == "runtime_device.cpp":  # calls the runtime, and starts no kernel
            assert not re.search(r"<<<|\basm\b|cudaLaunch", code)
        if path.name in exempt:
            continue
        found = DEVICE_ONLY.search(code)
        assert found is None, f"{path.name}: {found.group() if found else ''}"
