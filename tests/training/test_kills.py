"""Processes that are killed: what was lost is done again, and the weights come out the same to the last bit."""

import random
import signal
import socket
import time

import pytest
import torch

from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.events import read_events

# stages: all of the segmentation's, one after the other, each on the alignment that the one before gave
STEPS = {"duration": "30", "f0": "30", "vocoder": "20", "grapheme_to_phoneme": "30", "stages": "10"}


def same(first, second):
    """Whether two trees of tensors and plain values are equal to the last bit."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def assert_same_run(first, second):
    """Two run folders end in the same state and logged the same losses."""
    states = [load_checkpoint(folder / "last.pt") for folder in (first, second)]
    for key in ("step", "skipped", "best", "guard", "model", "ema", "optimizer"):
        assert same(states[0][key], states[1][key]), key
    for aligned in first.glob("*/alignments.jsonl"):
        assert aligned.read_bytes() == (second / aligned.relative_to(first)).read_bytes(), aligned


def finish(begin, task, kill_after=None):
    """Perform a task, killed after so many seconds if it lasts so long; returns its exit code."""
    process = begin(task)
    process.join(kill_after)
    if kill_after is not None:
        process.kill()
    process.join(300)
    return process.exitcode


def command(tiny, corpora, module, out, *more):
    often = ("--steps", STEPS[module], "--checkpoint-seconds", "0", "--evaluate-every", "10")
    return tiny.arguments(module, corpora, out, *often, *more)


@pytest.fixture(scope="module")
def whole(tiny, begin, corpora, tmp_path_factory):
    """A function that gives the run folder of an uninterrupted training of a module, and the seconds it took."""
    made = {}

    def of(module):
        if module not in made:
            folder, started = tmp_path_factory.mktemp("whole"), time.monotonic()
            task = {"log": str(folder / "log"), "commands": [command(tiny, corpora, module, folder)]}
            assert finish(begin, task) == 0, (folder / "log").read_text()
            made[module] = folder, time.monotonic() - started
        return made[module]

    return of


def kill_at_random(tiny, begin, corpora, folder, whole, module, seed, kills):
    """Train with so many kills at random moments, to the end, and compare with the uninterrupted run."""
    chance, (undisturbed, usual) = random.Random(seed), whole(module)
    task = {"log": str(folder / "log"), "commands": [command(tiny, corpora, module, folder)]}
    for _ in range(kills):
        finish(begin, task, chance.uniform(0.1, 0.9) * usual)
    assert finish(begin, task) == 0, (folder / "log").read_text()
    assert_same_run(undisturbed, folder)


def test_killed_at_random_moments(tiny, begin, corpora, tmp_path, whole):
    kill_at_random(tiny, begin, corpora, tmp_path, whole, "duration", seed=0, kills=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2 * len(STEPS)))
def test_killed_again_and_again(tiny, begin, corpora, tmp_path, whole, seed):
    module = list(STEPS)[seed % len(STEPS)]
    kill_at_random(tiny, begin, corpora, tmp_path, whole, module, seed=1 + seed, kills=3)


def elastic(tiny, torchrun, corpora, folder, **more):
    torchrun({"log": str(folder) + ".log", "commands": [command(tiny, corpora, "duration", folder)], **more})


def test_torchrun_begins_again_when_a_rank_is_killed(tiny, torchrun, corpora, tmp_path, whole):
    elastic(tiny, torchrun, corpora, tmp_path / "run", kill=(1, 11))
    starts = [event["step"] for event in read_events(tmp_path / "run").rows if event["event"] == "start"]
    assert starts == [0, 11]
    one, two = (load_checkpoint(folder / "last.pt")["model"] for folder in (whole("duration")[0], tmp_path / "run"))
    assert all(torch.allclose(one[name], two[name], atol=1e-3) for name in one)


@pytest.mark.slow
def test_two_killed_processes_end_in_the_same_bits(tiny, torchrun, corpora, tmp_path):
    elastic(tiny, torchrun, corpora, tmp_path / "whole")
    elastic(tiny, torchrun, corpora, tmp_path / "broken", kill=(0, 17))
    assert_same_run(tmp_path / "whole", tmp_path / "broken")


def test_the_rank_that_is_left_says_so(tiny, begin, corpora, tmp_path, free_ports):
    task = {"commands": [command(tiny, corpora, "duration", tmp_path / "run")], "world": 2, "ports": free_ports(1)}
    logs = [tmp_path / "0.log", tmp_path / "1.log"]
    processes = [begin({**task, "log": str(log), "rank": rank, "kill": (1, 7)}) for rank, log in enumerate(logs)]
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [1, -9]
    assert "process 0 of 2 lost contact with another one" in logs[0].read_text()
    assert load_checkpoint(tmp_path / "run" / "last.pt")["step"] == 7
    faults = [event["cause"] for event in read_events(tmp_path / "run").rows if event["event"] == "fault"]
    assert faults == ["lost worker"]


def test_nobody_waits_for_ever_at_the_start(tiny, begin, corpora, tmp_path, free_ports):
    commands = [command(tiny, corpora, "duration", tmp_path / "run", "--timeout", "1")]
    log = tmp_path / "log"
    alone = {"commands": commands, "rank": 0, "world": 2, "log": str(log)}
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert finish(begin, {**alone, "ports": [other.getsockname()[1]]}) == 1
    assert "another program has the port" in log.read_text()
    assert finish(begin, {**alone, "ports": free_ports(1)}) == 1
    assert "not all 2 processes came within 1 s" in log.read_text()


def test_a_full_disk_keeps_the_old_checkpoint(tiny, begin, corpora, tmp_path, whole):
    """The kernel refuses to write more: the run ends with a message, and goes on when there is room."""
    task = {"log": str(tmp_path / "log"), "commands": [command(tiny, corpora, "duration", tmp_path, "--minutes", "0")]}
    assert finish(begin, task) == 0
    size = (tmp_path / "last.pt").stat().st_size
    task["commands"] = [command(tiny, corpora, "duration", tmp_path)]
    assert finish(begin, {**task, "file_limit": size // 2}) == 1
    assert "no room for a checkpoint" in (tmp_path / "log").read_text()
    assert load_checkpoint(tmp_path / "last.pt")["step"] == 0
    assert not list(tmp_path.glob("*.part"))
    assert [e["cause"] for e in read_events(tmp_path).rows if e["event"] == "fault"] == ["disk full"]
    assert finish(begin, task) == 0
    assert_same_run(whole("duration")[0], tmp_path)


def test_a_request_to_end_leaves_a_checkpoint(tiny, begin, corpora, tmp_path, whole):
    """SIGTERM, as schedulers send it before they kill."""
    task = {"log": str(tmp_path / "log"), "commands": [command(tiny, corpora, "duration", tmp_path)]}
    assert finish(begin, {**task, "terminate": (0, 9)}) == 128 + signal.SIGTERM
    assert "stopped at step 10, with a checkpoint" in (tmp_path / "log").read_text()
    assert finish(begin, task) == 0
    assert_same_run(whole("duration")[0], tmp_path)
