"""Fixtures for the CUDA kernels, which run emulated unless DEEPVOICE_CUDA_TESTS=device asks for a real device."""

import importlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from deepvoice.kernels import cuda
from deepvoice.kernels.cuda import EMULATION_ENVIRONMENT

ON_DEVICE = os.environ.get("DEEPVOICE_CUDA_TESTS") == "device"
# Wheels have no emulated kernels, and so no such tests; a development install always has them.
IN_A_CHECKOUT = Path(cuda.__file__).with_suffix("").joinpath("wavenet.cu").exists()
HAVE_KERNELS = ON_DEVICE or importlib.util.find_spec("deepvoice.kernels._cuda_emulated") is not None
if IN_A_CHECKOUT and not HAVE_KERNELS:
    raise RuntimeError("the emulated CUDA kernels are missing: pip install --no-build-isolation --no-deps -e .")
collect_ignore_glob = [] if HAVE_KERNELS else ["test_*.py"]

SCHEDULES = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]


@pytest.fixture(autouse=True)
def emulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backend "cuda" is the emulated one in these tests."""
    if not ON_DEVICE:
        monkeypatch.setenv(EMULATION_ENVIRONMENT, "1")


@pytest.fixture
def emulated() -> Iterator[ModuleType]:
    """Return the emulated extension; its schedule and its capability are put back afterwards."""
    module = importlib.import_module("deepvoice.kernels._cuda_emulated")
    yield module
    module.set_schedule("forward")
    module.set_capability(90)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a device, leave out the tests of the emulation."""
    folder = Path(__file__).parent
    of_emulation = [
        item
        for item in items
        if ON_DEVICE and folder in item.path.parents and "emulated" in getattr(item, "fixturenames", ())
    ]
    if of_emulation:
        config.hook.pytest_deselected(items=of_emulation)
        items[:] = [item for item in items if item not in of_emulation]
