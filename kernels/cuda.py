"""The CUDA extension: loaded when it is asked for, never before, so that nothing else needs a driver.

`_cuda` is what nvcc made; `_cuda_emulated` holds the same sources compiled as C++, for tests on machines without a GPU
(`kernels/cuda/README.md`). The environment variable DEEPVOICE_CUDA_EMULATION=1 loads the second one in place of the
first.
"""

import importlib
import os
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

from deepvoice.errors import KernelUnavailableError

EMULATION_ENVIRONMENT = "DEEPVOICE_CUDA_EMULATION"
INTERFACE_VERSION = 1  # kCudaInterfaceVersion of bindings/cuda_module.cpp


class Device(NamedTuple):
    """What the kernels run on."""

    name: str
    capability: tuple[int, int]  # compute capability
    multiprocessors: int
    shared_bytes: int  # shared memory that one block may ask for
    memory_bytes: int
    clusters: bool  # thread-block clusters with distributed shared memory


def _module_name() -> str:
    return "_cuda_emulated" if os.environ.get(EMULATION_ENVIRONMENT) == "1" else "_cuda"


@lru_cache(maxsize=2)
def _load(name: str) -> tuple[ModuleType | None, str | None]:
    """Import one of the two extensions once; the second item says why it cannot be used."""
    try:
        module = importlib.import_module(f"deepvoice.kernels.{name}")
    except ModuleNotFoundError:
        if name == "_cuda_emulated":
            return None, "the emulated CUDA kernels are built in a development install only (pip install -e .)"
        return None, "this deepvoice was built without CUDA; reinstall it with DEEPVOICE_CUDA=ON where nvcc is"
    except ImportError as error:
        return None, f"the CUDA extension cannot be loaded ({error}); reinstall deepvoice with DEEPVOICE_CUDA=ON"
    if getattr(module, "interface_version", None) != INTERFACE_VERSION:
        return None, "the CUDA extension belongs to another version of deepvoice; reinstall with DEEPVOICE_CUDA=ON"
    return module, str(module.why_unavailable()) or None


def why_unavailable() -> str | None:
    """Return None where the CUDA kernels can run, otherwise the reason why not."""
    return _load(_module_name())[1]


def extension() -> ModuleType:
    """Return the CUDA extension, with the functions that the one for processors has.

    Raises KernelUnavailableError when it is not built or there is no device that it can use.
    """
    module, reason = _load(_module_name())
    if module is None or reason is not None:
        raise KernelUnavailableError(f"backend 'cuda' is not available: {reason}")
    return module


def device() -> Device:
    """Describe the device. Raises KernelUnavailableError like `extension`."""
    return Device(*extension().device_info())
