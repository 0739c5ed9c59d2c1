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


def fake_nvcc(folder: Path, printed: str) -> Path:
    """A compiler that says this of every source."""
    nvcc = folder / "nvcc"
    nvcc.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{printed}END\n", encoding="utf-8")
    nvcc.chmod(0o755)
    return nvcc


def test_a_kernel_that_spills_fails(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(resources, "SOURCES", Path(__file__).parents[3] / "kernels" / "cuda")
    dry = PRINTED.replace("4 bytes spill stores, 12 bytes spill loads", "0 bytes spill stores, 0 bytes spill loads")
    loads = PRINTED.replace("4 bytes spill stores", "0 bytes spill stores")
    for printed, status, said in ((dry, 0, "0 of them spill"), (PRINTED, 1, "SPILLS 4 + 12"), (loads, 1, "SPILLS 0 +")):
        report = tmp_path / "report.json"
        assert resources.main(["--nvcc", str(fake_nvcc(tmp_path, printed)), "--json", str(report)]) == status
        assert said in capsys.readouterr().out
        spilling = [kernel for kernel in json.loads(report.read_text())["kernels"] if kernel["spill_loads"]]
        assert bool(spilling) is (status == 1)


@pytest.mark.parametrize("path", REPORTS)
def test_no_kernel_spills_on_any_card(path):
    kernels = json.loads(Path(path).read_text())["kernels"]
    on_card = {c: {k["kernel"] for k in kernels if k["capability"] == c} for c in resources.CAPABILITIES}
    assert all(names == on_card[75] for names in on_card.values())
    assert len(kernels) == len(on_card[75]) * len(resources.CAPABILITIES)
    names = {name.partition("<")[0] for name in on_card[75]}
    assert names == {"affine_kernel", "elementary_kernel", "norm_kernel", "gru_kernel", "qrnn_kernel", "wavenet"}
    assert sum(name.startswith("wavenet<") for name in on_card[75]) == 9  # three storages, three widths
    for kernel in kernels:
        assert kernel["spill_stores"] == kernel["spill_loads"] == 0, kernel
