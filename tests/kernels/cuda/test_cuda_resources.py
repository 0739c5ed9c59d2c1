"""The resource report of nvcc: how it is read, and, where `make cuda` wrote one, that no kernel spills."""

import json
import os
from pathlib import Path

import pytest

from deepvoice.errors import ConfigError
from deepvoice.kernels.bench import resources

# Set by `make cuda`, which compiles the kernels first.
REPORTS = [path for path in [os.environ.get("DEEPVOICE_CUDA_REPORT")] if path]

PRINTED = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN1a6kernelE' for 'sm_75'
ptxas info    : Function properties for _ZN1a6kernelE
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 8 bytes cumulative stack size, 440 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN1b6kernelE' for 'sm_90'
ptxas info    : Function properties for _ZN1b6kernelE
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 31 registers, used 0 barriers, 1024 bytes smem
"""


def test_a_report_is_read():
    first, second = resources.parse(PRINTED)
    assert (first.kernel, first.capability, first.registers, first.shared) == ("_ZN1a6kernelE", 75, 64, 0)
    assert (first.stack, first.spill_stores, first.spill_loads, first.spills) == (8, 4, 12, True)
    assert (second.capability, second.registers, second.shared, second.spills) == (90, 31, 1024, False)
    assert resources.parse("") == []


def test_a_report_without_figures_is_an_error():
    with pytest.raises(ConfigError, match="said nothing of the registers of _ZN1b6kernelE"):
        resources.parse(PRINTED[: PRINTED.rindex("ptxas info    : Used")])


def test_a_missing_compiler_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDACXX", raising=False)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    assert resources.main(["--nvcc", str(tmp_path / "nvcc")]) == 1
    assert "install the CUDA toolkit" in capsys.readouterr().err


@pytest.mark.parametrize("path", REPORTS)
def test_no_kernel_spills_on_any_card(path):
    kernels = json.loads(Path(path).read_text())["kernels"]
    assert {kernel["capability"] for kernel in kernels} == set(resources.CAPABILITIES)
    names = {kernel["kernel"].partition("<")[0] for kernel in kernels}
    assert {"affine_kernel", "norm_kernel", "gru_kernel", "qrnn_kernel"} < names
    for kernel in kernels:
        assert kernel["spill_stores"] == kernel["spill_loads"] == 0, kernel
