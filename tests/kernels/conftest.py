"""Fixtures for the kernels: backends, instruction sets, comparison with the reference, random WaveNets."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from deepvoice import kernels
from deepvoice.kernels.parity.cases import SHAPES, named_shape, random_arguments
from deepvoice.kernels.tolerances import TOLERANCES
from deepvoice.kernels.weights import random_weights

REQUIRED = [name for name in os.environ.get("DEEPVOICE_REQUIRE_BACKENDS", "").split(",") if name]
UNAVAILABLE = {name: reason for name, reason in kernels.available().items() if reason is not None}
missing = {name: UNAVAILABLE[name] for name in REQUIRED if name in UNAVAILABLE}
if missing:
    raise RuntimeError(f"DEEPVOICE_REQUIRE_BACKENDS asks for backends that are missing: {missing}")

# One parameter an instruction set that this machine has; without the extension these tests have no cases.
ISAS = kernels.supported_isas()


@pytest.fixture(params=ISAS)
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each instruction set of this machine in turn, in use while the test runs."""
    before = kernels.isa()
    kernels.set_isa(request.param)
    yield request.param
    kernels.set_isa(before)


@pytest.fixture(params=["reference", *(f"cpu-{name}" for name in ISAS)])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every backend in turn, the compiled one with each instruction set."""
    name, _, instruction_set = request.param.partition("-")
    if not instruction_set:
        yield name
        return
    before = kernels.isa()
    kernels.set_isa(instruction_set)
    yield name
    kernels.set_isa(before)


@pytest.fixture(scope="session")
def assert_matches() -> Callable[..., None]:
    """Return the one comparison with the reference, which reports where and how much arrays differ."""

    def check(actual: np.ndarray, expected: np.ndarray, *, op: str) -> None:
        assert actual.dtype == expected.dtype == np.float32
        assert actual.shape == expected.shape
        if not expected.size:
            return
        error = np.abs(actual.astype(np.float64) - expected) / (1 + np.abs(expected.astype(np.float64)))
        worst = np.unravel_index(int(np.argmax(error)), error.shape)
        assert np.isfinite(actual).all() and error.max() <= TOLERANCES[op], (
            f"{op} with {kernels.isa()}: error {error.max():.3g} (mean {error.mean():.3g}) > {TOLERANCES[op]:.3g} "
            f"at {worst} of {actual.shape}: {actual[worst]!r}, reference {expected[worst]!r}"
        )

    return check


@pytest.fixture(scope="session")
def make_shape() -> Callable[..., kernels.WaveNetShape]:
    """Return a function from the name of a WaveNet, and what should differ, to its shape."""

    def make(name: str = "small", **changes: Any) -> kernels.WaveNetShape:
        return named_shape(name, **changes)

    return make


@pytest.fixture(scope="session")
def make_weights(make_shape: Callable[..., kernels.WaveNetShape]) -> Callable[..., kernels.WaveNetWeights]:
    """Return a function from the name of a WaveNet to random weights."""

    def make(
        name: str = "small", half: bool = True, precision: Any = "float32", **changes: Any
    ) -> kernels.WaveNetWeights:
        return random_weights(make_shape(name, **changes), seed=3, half=half, precision=precision)

    return make


@pytest.fixture(params=sorted(SHAPES))
def wavenet_name(request: pytest.FixtureRequest) -> str:
    """The name of each WaveNet in turn."""
    return request.param


@pytest.fixture(scope="session")
def make_inputs() -> Callable[..., dict[str, np.ndarray]]:
    """Return a function from a shape and a number of frames to random arguments of `wavenet.generate`."""

    return random_arguments
