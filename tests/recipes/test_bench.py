"""`deepvoice bench`: every section runs on a miniature voice, and PyTorch's loops draw the codes of the reference."""

import json

import pytest

from deepvoice.commands.program import run
from deepvoice.recipes.bench import report, torch_loops
from deepvoice.recipes.bench.suite import SECTIONS


@pytest.fixture(scope="module")
def measured(tiny_voice, tmp_path_factory, run_python):
    """What the command measured, its JSON and its Markdown."""
    folder = tmp_path_factory.mktemp("bench")
    sections = [part for name in ("inner", "layers", "whole", "process") for part in ("--only", name)]
    outputs = ["--json", str(folder / "b.json"), "--markdown", str(folder / "b.md"), "--plot", str(folder / "b.png")]
    result = run_python(
        "-m", "deepvoice", "bench", "--quick", "-q", "--voice", str(tiny_voice), *sections, *outputs, timeout=300
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode(), json.loads((folder / "b.json").read_text()), folder


def test_sections(measured):
    printed, result, folder = measured
    assert {"machine", "inner", "layers", "whole", "process"} == set(result)
    assert result["whole"][0]["one"]["x"] > 0 and result["process"]["cold_seconds"] > 0
    assert all(row["x"] > 0 and row["streams"] in (1, 8) for row in result["inner"]["rows"])
    assert all(limit["multiply_adds"]["float32"] > 1e8 for limit in result["inner"]["limits"])
    for title, _, rows in report.tables(result):
        assert title in printed and title in (folder / "b.md").read_text() and rows
    assert (folder / "b.png").stat().st_size > 1000


def test_wrong_arguments(capsys):
    assert run(["bench", "--only", "nothing"]) == 2
    assert run(["bench", "--only", "layers", "--core", "99999", "-q"]) == 1
    assert "name another with --core" in capsys.readouterr().err


def test_loops_of_pytorch_draw_the_codes_of_the_reference(capsys, tiny_voice):
    assert torch_loops.main(["--voice", str(tiny_voice), "--steps", "8"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["field"] == 8 and found["naive"]["x"] > 0 and found["cached"]["x"] > 0
    assert torch_loops.main(["--sizes", "3,8,8", "--steps", "8"]) == 0


def test_a_report_of_everything():
    rows = [{"sizes": (20, 32, 128), "paper_x": 2.05, "isa": "avx2", "precision": "int8", "streams": 1, "x": 30.0,
             "threads": 1, "share": 0.5}]  # fmt: skip
    text = report.text({"paper": rows})
    assert "20/32/128" in text and "14.6" in text
    assert set(SECTIONS) >= {"torch", "peers"}
