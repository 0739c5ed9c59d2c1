"""The benchmark verifies before it times."""

import json

import pytest

from deepvoice import kernels
from deepvoice.kernels import bench, tolerances

SMALL = "--residual 16 --skip 16 --head 16 --dilations 1,2 --seconds 0.01 --repeats 1".split()


@pytest.mark.usefixtures("isa")
def test_every_instruction_set_has_a_row(capsys):
    assert bench.main([*SMALL, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["isa"] for row in rows] == kernels.supported_isas()
    assert all(row["x"] > 0 and row["error"] < 1e-4 for row in rows)


def test_the_table_names_the_sizes(isa, capsys):
    bench.main(SMALL)
    printed = capsys.readouterr().out
    assert "R 16, S 16" in printed
    assert isa in printed


def test_a_wrong_kernel_is_not_timed(isa, monkeypatch):
    monkeypatch.setitem(tolerances.TOLERANCES, "wavenet_logits", 0.0)
    with pytest.raises(RuntimeError, match="logits are off by"):
        bench.main(SMALL)
