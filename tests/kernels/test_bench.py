"""The benchmark verifies before it times."""

import json

import pytest

from deepvoice import kernels
from deepvoice.kernels import tolerances
from deepvoice.kernels.bench import __main__ as bench
from deepvoice.kernels.weights import PRECISIONS

SMALL = "--residual 16 --skip 16 --head 16 --dilations 1,2 --seconds 0.01 --repeats 1".split()


@pytest.mark.usefixtures("isa")
def test_every_instruction_set_has_a_row(capsys):
    assert bench.main([*SMALL, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    variants = [(row["isa"], row["precision"], row["streams"]) for row in rows]
    assert variants == [
        (isa, precision, streams) for isa in kernels.supported_isas() for precision in PRECISIONS for streams in (1, 8)
    ]
    assert all(row["x"] > 0 and row["error"] < 0.05 and row["share"] > 0 for row in rows)


def test_the_table_names_the_sizes(isa, capsys):
    bench.main(SMALL)
    printed = capsys.readouterr().out
    assert "R 16, S 16" in printed
    assert isa in printed


def test_a_wrong_kernel_is_not_timed(isa, monkeypatch):
    monkeypatch.setitem(tolerances.TOLERANCES, "wavenet_logits", 0.0)
    with pytest.raises(RuntimeError, match="logits are off by"):
        bench.main(SMALL)
