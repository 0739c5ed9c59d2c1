"""How a backend and an instruction set are chosen."""

import sys
import types

import numpy as np
import pytest

from deepvoice import kernels
from deepvoice.errors import KernelUnavailableError
from deepvoice.kernels import _dispatch


@pytest.fixture
def fresh(monkeypatch):
    """Forget what was loaded and chosen, before and after the test."""
    monkeypatch.delenv("DEEPVOICE_KERNELS", raising=False)
    _dispatch._load_extension.cache_clear()
    _dispatch._choose.cache_clear()
    yield
    monkeypatch.undo()
    _dispatch._load_extension.cache_clear()
    _dispatch._choose.cache_clear()


@pytest.fixture
def without_extension(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "deepvoice.kernels._cpu", None)


def test_every_backend_is_listed():
    assert set(kernels.available()) == {"reference", "cpu", "cuda"}
    assert kernels.available()["reference"] is None


def test_auto_takes_the_environment_then_the_fastest(fresh, monkeypatch):
    assert kernels.resolve() == ("cpu" if kernels.available()["cpu"] is None else "reference")
    monkeypatch.setenv("DEEPVOICE_KERNELS", "reference")
    assert kernels.resolve() == "reference"
    monkeypatch.setenv("DEEPVOICE_KERNELS", "")
    assert kernels.resolve("reference") == "reference"


def test_unknown_names_are_refused(monkeypatch):
    with pytest.raises(KernelUnavailableError, match="'fast' in the argument backend: choose one of auto"):
        kernels.resolve("fast")
    monkeypatch.setenv("DEEPVOICE_KERNELS", "gpu")
    with pytest.raises(KernelUnavailableError, match="'gpu' in the environment variable DEEPVOICE_KERNELS"):
        kernels.resolve()


def test_a_missing_extension_warns_once_and_computes(without_extension):
    assert "C++17 compiler" in str(kernels.available()["cpu"])
    with pytest.warns(RuntimeWarning, match="numpy reference") as warned:
        x = np.ones((2, 3), np.float32)
        y = kernels.dense(x, x)
        kernels.dense(x, x)
    assert len(warned) == 1
    assert y.tolist() == [[3, 3], [3, 3]]
    assert kernels.supported_isas() == []
    assert kernels.isa() is None


def test_a_missing_extension_that_is_asked_for_is_an_error(without_extension):
    with pytest.raises(KernelUnavailableError, match="reinstall"):
        kernels.resolve("cpu")
    with pytest.raises(KernelUnavailableError, match="reinstall"):
        kernels.set_isa("scalar")


def test_an_extension_built_from_other_sources_is_not_used(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "deepvoice.kernels._cpu", types.ModuleType("_cpu"))
    assert "another version" in str(kernels.available()["cpu"])


def test_an_unknown_instruction_set_is_refused(isa):
    with pytest.raises(KernelUnavailableError, match="'sse9': this machine has scalar"):
        kernels.set_isa("sse9")
    assert kernels.isa() == isa


def test_the_environment_names_the_instruction_set(isa, run_python):
    script = "from deepvoice import kernels; kernels.resolve('cpu'); print(kernels.isa())"
    done = run_python("-c", script, env={"DEEPVOICE_CPU_ISA": isa})
    assert done.stdout.decode().strip() == isa
    done = run_python("-c", script, env={"DEEPVOICE_CPU_ISA": "sse9"})
    assert done.returncode == 1
    assert b"KernelUnavailableError: environment variable DEEPVOICE_CPU_ISA names" in done.stderr
