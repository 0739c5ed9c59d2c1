"""Several processes train as one does."""

import json

import pytest


def rows(folder):
    """The rows of a log, by step and name of the figure."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return {(row["step"], name): value for row in lines for name, value in row.items() if name not in ("step", "time")}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny, begin, corpora, free_ports):
    """All modules trained by one process and by two, at the same time."""
    folder = tmp_path_factory.mktemp("runs")
    ports = free_ports(len(tiny.MODULES))
    for name in ("one", "two"):
        tiny.write_first_stages(folder / name / "frames", corpora)

    def task(name, **more):
        commands = [tiny.arguments(module, corpora, folder / name / module) for module in tiny.MODULES]
        return begin({"log": str(folder / f"{name}{more.get('rank', 0)}.log"), "commands": commands, **more})

    started = [task("one"), *(task("two", rank=rank, world=2, ports=ports) for rank in (0, 1))]
    for process in started:
        process.join(300)
    said = "".join(path.read_text()[-2000:] for path in folder.glob("*.log"))
    assert [process.exitcode for process in started] == [0, 0, 0], said
    return folder


@pytest.mark.parametrize("module", ["segmentation/pairs", "frames", "grapheme_to_phoneme", "duration", "f0", "vocoder"])
def test_two_processes_are_one(runs, module):
    """Batches of uneven shares, dropout and noise included: float32, 50 steps and the figures on held-out data."""
    one, two = rows(runs / "one" / module), rows(runs / "two" / module)
    assert one.keys() == two.keys()
    losses = [key for key in one if key[1] == "loss"]
    assert len(losses) >= 50
    assert max(abs(one[key] - two[key]) for key in losses) < 1e-4
    held_out = [key for key in one if key[1].startswith(("held_out", "dev_"))]
    assert held_out
    assert all(two[key] == pytest.approx(one[key], rel=1e-3, abs=1e-3) for key in held_out)
