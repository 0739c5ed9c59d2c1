"""The CUDA extension is loaded when it is asked for, and whoever asks in vain is told why."""

import sys
import types
from pathlib import Path

import pytest

from deepvoice import kernels
from deepvoice.commands import doctor
from deepvoice.errors import KernelUnavailableError
from deepvoice.kernels import cuda
from tests.kernels.cuda.conftest import ON_DEVICE


@pytest.fixture
def real(monkeypatch):
    """The real extension is looked for, and afterwards whatever was found is forgotten."""
    monkeypatch.delenv(cuda.EMULATION_ENVIRONMENT, raising=False)
    cuda._load.cache_clear()
    yield "deepvoice.kernels._cuda"
    monkeypatch.undo()
    cuda._load.cache_clear()


def extension_that_says(reason: str, version: int = cuda.INTERFACE_VERSION) -> types.ModuleType:
    module = types.ModuleType("_cuda")
    module.interface_version, module.why_unavailable = version, lambda: reason  # type: ignore[attr-defined]
    return module


def test_an_installation_without_cuda_says_how_to_get_it(real, monkeypatch):
    monkeypatch.setitem(sys.modules, real, None)
    assert "DEEPVOICE_CUDA=ON" in str(kernels.available()["cuda"])
    with pytest.raises(KernelUnavailableError, match="'cuda' is not available: this deepvoice was built without"):
        kernels.resolve("cuda")
    monkeypatch.setenv("DEEPVOICE_KERNELS", "cuda")
    with pytest.raises(KernelUnavailableError, match="built without CUDA"):
        kernels.resolve()


def test_a_machine_without_a_device_says_so(real, monkeypatch):
    monkeypatch.setitem(sys.modules, real, extension_that_says("the NVIDIA driver finds no device"))
    assert kernels.available()["cuda"] == "the NVIDIA driver finds no device"
    with pytest.raises(KernelUnavailableError, match="finds no device"):
        cuda.device()
    (line,) = doctor._cuda()
    assert line.startswith("no: the NVIDIA driver finds no device (this machine has")


def test_an_extension_of_another_version_is_not_used(real, monkeypatch):
    monkeypatch.setitem(sys.modules, real, extension_that_says("", version=0))
    with pytest.raises(KernelUnavailableError, match="another version"):
        kernels.resolve("cuda")


def test_auto_is_never_cuda():
    assert kernels.available()["cuda"] is None
    assert kernels.resolve() == "cpu"
    with kernels.using("cuda"):
        assert kernels.resolve() == "cuda"


def test_doctor_describes_the_device(emulated):
    (line,) = doctor._cuda()
    assert line.startswith("emulated, compute capability 9.0, 4 multiprocessors, 17 GB, runs clusters of blocks;")
    emulated.set_capability(89)
    (line,) = doctor._cuda()
    assert "compute capability 8.9" in line and "runs blocks by themselves" in line
    with pytest.raises(ValueError, match="capability 91: expected 75, 80, 89 or 90"):
        emulated.set_capability(91)


def test_precisions(monkeypatch):
    assert kernels.choose_precision(calibrated=True, backend="cuda") == "float32"
    assert kernels.choose_precision("bfloat16", calibrated=True, backend="cuda") == "bfloat16"
    with pytest.raises(KernelUnavailableError, match="'int8' in the argument precision: the CUDA kernels have"):
        kernels.choose_precision("int8", calibrated=True, backend="cuda")


def test_nothing_else_loads_it(run_python, tiny_voice):
    code = (
        "import sys, deepvoice\n"
        f"deepvoice.load({str(tiny_voice)!r}).speak('Hi.')\n"
        "print(sorted(name for name in sys.modules if '_cuda' in name))"
    )
    result = run_python("-c", code, env={} if ON_DEVICE else {cuda.EMULATION_ENVIRONMENT: "1"})
    assert result.stdout.decode().strip() == "[]", result.stderr.decode()


def test_a_build_for_one_card_is_not_one_for_all():
    text = (Path(__file__).parents[3] / "kernels" / "CMakeLists.txt").read_text(encoding="utf-8")
    condition = text[: text.index("set(CMAKE_CUDA_ARCHITECTURES 75-real")].rpartition("if(")[2]
    assert "NOT DEFINED ENV{CUDAARCHS}" in condition  # it would be overruled, and the check on a device run out of time
