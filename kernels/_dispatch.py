"""Choose the implementation of a kernel: the compiled extension where it is there, otherwise the numpy reference.

The CUDA kernels are used only where they are named: by an argument, `using`, or the environment variable.
"""

import contextlib
import importlib
import logging
import os
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from types import ModuleType
from typing import Literal, get_args

from deepvoice.errors import KernelUnavailableError
from deepvoice.kernels import cuda
from deepvoice.kernels.weights import PRECISIONS, Precision

Backend = Literal["reference", "cpu", "cuda"]
BackendChoice = Literal["auto", "reference", "cpu", "cuda"]

ENVIRONMENT = "DEEPVOICE_KERNELS"
PRECISION_ENVIRONMENT = "DEEPVOICE_PRECISION"
INTERFACE_VERSION = 4  # of the functions of _cpu; an editable install may have an extension built from older sources
_PREFERRED: ContextVar[str] = ContextVar("preferred_backend", default="auto")
_LOG = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def _load_extension() -> tuple[ModuleType | None, str | None]:
    """Import the compiled extension once; the second item says why there is none."""
    try:
        module = importlib.import_module("deepvoice.kernels._cpu")
    except ImportError as error:
        reason = f"the compiled extension is missing ({error}); reinstall deepvoice where a C++17 compiler is present"
        return None, reason
    if getattr(module, "interface_version", None) != INTERFACE_VERSION:
        return None, "the compiled extension belongs to another version of deepvoice; reinstall deepvoice"
    return module, None


def extension(backend: Backend = "cpu") -> ModuleType:
    """Return the compiled extension module of a backend; those of "cpu" and "cuda" have the same functions.

    Raises KernelUnavailableError when this installation or machine has none.
    """
    if backend == "cuda":
        return cuda.extension()
    module, reason = _load_extension()
    if module is None:
        raise KernelUnavailableError(f"backend 'cpu' is not available: {reason}")
    return module


def supported_isas() -> list[str]:
    """Return the instruction sets of this machine that the extension has kernels for, slowest first; [] without it."""
    module, _ = _load_extension()
    return list(module.supported_isas()) if module is not None else []


def isa() -> str | None:
    """Return the instruction set in use, None without the extension.

    It is the fastest supported one unless the environment variable DEEPVOICE_CPU_ISA names another.
    Raises KernelUnavailableError when that variable names one that this machine or build does not have.
    """
    module, _ = _load_extension()
    if module is None:
        return None
    try:
        return str(module.isa())
    except ValueError as error:
        raise KernelUnavailableError(str(error)) from error


def set_isa(name: str) -> None:
    """Use another instruction set from now on, in the whole process.

    Raises KernelUnavailableError when this machine or build does not have it.
    """
    try:
        extension().set_isa(name)
    except ValueError as error:
        raise KernelUnavailableError(str(error)) from error


def available() -> dict[Backend, str | None]:
    """Map every backend to None where it can be used, otherwise to the reason why not."""
    return {"reference": None, "cpu": _load_extension()[1], "cuda": cuda.why_unavailable()}


@lru_cache(maxsize=1)
def _choose() -> Backend:
    """Pick the fastest backend there is, and say so once."""
    reason = _load_extension()[1]
    if reason is None:
        _LOG.debug("kernels: using backend 'cpu' with instruction set %s", isa())
        return "cpu"
    warnings.warn(
        f"speaking through the numpy reference, many times slower than the compiled kernels: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )
    return "reference"


@contextlib.contextmanager
def using(backend: str) -> Iterator[None]:
    """Make `backend` what "auto" means inside the block, in this thread or task.

    Networks call many kernels; this spares them an argument that they would only hand on.
    """
    token = _PREFERRED.set(backend)
    try:
        yield
    finally:
        _PREFERRED.reset(token)


def choose_precision(wanted: str = "auto", *, calibrated: bool, backend: str = "auto") -> Precision:
    """Turn a requested precision of a WaveNet into one that can be used.

    wanted: "auto", "float32", "bfloat16" or "int8"; "auto" is what the environment variable DEEPVOICE_PRECISION says,
        then the fastest for the instruction set in use; on a device "float32", whose weights lie there in half
        precision where that is exact
    calibrated: whether the weights have limits, without which there is no int8
    Raises KernelUnavailableError for an unknown name, and for an int8 that was named without limits or for a device.
    """
    chosen = resolve(backend)
    source = "argument precision"
    if wanted == "auto":
        wanted = os.environ.get(PRECISION_ENVIRONMENT) or "auto"
        source = f"environment variable {PRECISION_ENVIRONMENT}"
    if wanted == "auto":
        slow = chosen != "cpu" or isa() == "scalar"  # these multiply integers no faster, or not at all
        return "float32" if slow else "int8" if calibrated else "float32"
    for precision in PRECISIONS:
        if wanted == precision:
            if precision == "int8" and chosen == "cuda":
                raise KernelUnavailableError(
                    f"precision 'int8' in the {source}: the CUDA kernels have 'float32' and 'bfloat16'"
                )
            if precision == "int8" and not calibrated:
                raise KernelUnavailableError(
                    f"precision 'int8' in the {source}: this voice was not calibrated for it; use 'bfloat16', or "
                    "calibrate it with python -m deepvoice.recipes.vocoder.quantise"
                )
            return precision
    raise KernelUnavailableError(f"unknown precision {wanted!r} in the {source}: choose auto, {', '.join(PRECISIONS)}")


def resolve(backend: str = "auto") -> Backend:
    """Turn a requested backend into one that can be used.

    backend: "auto", "reference", "cpu" or "cuda"; "auto" is what `using` says, then what the environment variable
        DEEPVOICE_KERNELS says, then the fastest there is of "cpu" and "reference"
    Raises KernelUnavailableError for an unknown name, or for a named backend that is not available.
    """
    if backend == "auto":
        backend = _PREFERRED.get()
    wanted = os.environ.get(ENVIRONMENT) or "auto" if backend == "auto" else backend
    if wanted not in get_args(BackendChoice):
        source = f"environment variable {ENVIRONMENT}" if backend == "auto" else "argument backend"
        raise KernelUnavailableError(
            f"unknown kernel backend {wanted!r} in the {source}: choose one of {', '.join(get_args(BackendChoice))}"
        )
    if wanted == "auto":
        return _choose()
    if wanted == "cpu":
        extension()
        isa()
        return "cpu"
    if wanted == "cuda":
        cuda.extension()
        return "cuda"
    return "reference"
