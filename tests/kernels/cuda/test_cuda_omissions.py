"""Every barrier of every kernel is there for a reason that the emulation shows: without it something goes wrong."""

import json
from pathlib import Path

from tests.kernels.cuda import omissions


def test_every_barrier_that_is_left_out_shows_under_some_schedule(emulated, run_python):
    result = run_python(str(Path(omissions.__file__)), *omissions.WORKLOADS)
    outcomes = json.loads(result.stdout or "{}")
    assert result.returncode == 0, result.stderr.decode()
    sources = {site.partition(":")[0] for site in outcomes}
    assert sources == set(omissions.WORKLOADS)
    assert len(outcomes) > 20
    assert {site: outcome for site, outcome in outcomes.items() if outcome != "shown"} == {}


def test_no_kernel_with_a_barrier_is_forgotten(emulated):
    kernels = {*omissions.SOURCES.glob("*.cu"), *omissions.SOURCES.glob("*.cuh")}
    with_barriers = {path.name for path in kernels if omissions.barriers(path.name)}
    assert with_barriers - {"emulation_demo.cu", "portable.cuh"} == set(omissions.WORKLOADS)


def test_a_source_without_omissions_is_left_alone(emulated):
    expected = omissions.affine()
    emulated.omit_barrier("recurrent.cu", omissions.barriers("recurrent.cu")[0])
    made = omissions.affine()
    emulated.omit_barrier("", 0)
    assert emulated.barriers_omitted() == 0
    assert all((a == b).all() for a, b in zip(made, expected, strict=True))
