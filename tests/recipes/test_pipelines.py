"""Pipelines: the same files whoever makes them, whatever dies on the way, and whatever was there before."""

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pytest
import soundfile

from deepvoice.audio.mel import MelSpec
from deepvoice.config import to_dict
from deepvoice.configs import SegmentationConfig
from deepvoice.errors import ConfigError, TextError, VoiceError
from deepvoice.models.segmentation import Segmentation
from deepvoice.recipes.common.checkpoint import save_checkpoint
from deepvoice.recipes.common.data import meta_of, read_alignments
from deepvoice.recipes.common.features import FeatureCache, build_cache, read_manifest
from deepvoice.recipes.pipelines.__main__ import main
from deepvoice.recipes.pipelines.executors import Local, OnRay
from deepvoice.recipes.pipelines.run import run_stage
from deepvoice.recipes.pipelines.stage import ATTEMPTS, do, finished, opened, result_path
from deepvoice.recipes.pipelines.stages import Align, Synthesise

WORDS = "dawn ferry rain light water stone green seven apple north house river paper winter cloud garden".split()


def sentences(count):
    """Different short sentences of common words."""
    texts = (f"The {WORDS[n % 16]} and the {WORDS[n // 16 % 16]} number {n}." for n in range(count))
    return [{"id": f"s{n:04d}", "text": text} for n, text in enumerate(texts)]


def contents(folder):
    """What a corpus folder holds, without the journal of who did what when."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class KillOnce:
    """Kills the process that has done the n-th outcome, once."""

    def __init__(self, after):
        self.after, self.seen, self.killed, self.keys = after, 0, 0, []

    def __call__(self, outcome):
        self.seen += 1
        self.keys.append(outcome.key)
        if self.seen >= self.after and not self.killed and outcome.pid != os.getpid():
            self.killed = outcome.pid
            with contextlib.suppress(ProcessLookupError):
                os.kill(outcome.pid, signal.SIGKILL)


def make(voice, out, executor, items, watch=None):
    """Speak and align; returns the rows of both."""
    made = run_stage(Synthesise(teacher=str(voice)), items, out, executor, watch)
    assert not made.errors
    rows = [row for one in made.rows for row in one["rows"]]
    recordings = [{"audio": row["audio"], "text": row["text"]} for row in rows]
    aligned = run_stage(Align(root=out.resolve(), model=str(voice)), recordings, out, executor, watch)
    return rows, aligned


def check_against_local(voice, tmp_path, items, executor, kill):
    """The bar: complete, no duplicates, the same bytes as one process makes."""
    rows, aligned = make(voice, tmp_path / "one", Local(1), items)
    watch = KillOnce(kill)
    rows_many, aligned_many = make(voice, tmp_path / "many", executor, items, watch)
    assert watch.killed
    assert rows_many == rows and len(rows) >= len(items)
    assert aligned_many.rows == aligned.rows and aligned_many.errors == aligned.errors
    assert len({row["id"] for row in rows_many}) == len(rows_many)
    assert len(watch.keys) == len(set(watch.keys))
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


def test_ray_makes_what_one_process_makes_though_a_worker_is_killed(tiny_voice, tmp_path):
    stage, items, watch = Synthesise(teacher=str(tiny_voice)), sentences(24), KillOnce(6)
    many = run_stage(stage, items, tmp_path / "many", OnRay(2), watch)  # alignment too: see the test of 500 sentences
    one = run_stage(stage, items, tmp_path / "one", Local(1))
    assert watch.killed and len(watch.keys) == len(set(watch.keys)) == 24
    assert many.rows == one.rows and not many.errors
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


def test_processes_make_the_same_though_one_is_killed(tiny_voice, tmp_path):
    check_against_local(tiny_voice, tmp_path, sentences(24), Local(2), 6)


@pytest.mark.slow
def test_five_hundred_sentences_on_ray_though_a_worker_is_killed(tmp_path):
    with OnRay(2) as executor:
        check_against_local("heart", tmp_path, sentences(500), executor, 250)


@pytest.mark.slow
def test_a_cluster_that_loses_a_machine_goes_on(tmp_path):
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    second, seen = cluster.add_node(**small), []

    def watch(outcome):
        seen.append(outcome.key)
        if len(seen) == 20:
            cluster.remove_node(second, allow_graceful=False)

    stage, items = Synthesise(teacher="heart"), sentences(80)
    try:
        with OnRay(2, cluster.address) as executor:
            many = run_stage(stage, items, tmp_path / "many", executor, watch)
    finally:
        cluster.shutdown()
    one = run_stage(stage, items, tmp_path / "one", Local(1))
    assert many.rows == one.rows and not many.errors and len(seen) == len(set(seen)) == 80
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


@dataclass(frozen=True)
class Odd:
    """A stage of this process that fails as its items say."""

    name: str = "odd"

    def key(self, item):
        return f"k{item['n']}"

    def open(self):
        def work(item, key, out):
            if item.get("leave"):
                raise SystemExit
            if item.get("text") == "":
                raise TextError("nothing to speak")
            if item.get("full", 0) > len(list(out.glob("tried*"))):
                (out / f"tried{len(list(out.glob('tried*')))}").touch()
                raise OSError(28, "No space left on device")
            (out / key).write_text("done")
            return {"n": item["n"], "files": [key]}

        return work


def test_a_bad_item_is_listed_and_the_others_are_done(tmp_path):
    result = run_stage(Odd(), [{"n": 0}, {"n": 1, "text": ""}, {"n": 2}, {"n": 0}], tmp_path, Local(1))
    assert [row and row["n"] for row in result.rows] == [0, None, 2, 0]
    assert result.errors == {1: "nothing to speak"} and result.done_before == 0
    again = run_stage(Odd(), [{"n": 2}, {"n": 3}], tmp_path, Local(1))
    assert again.done_before == 1 and not again.errors


def test_what_may_pass_is_tried_again(tmp_path):
    assert do(Odd(), "k0", {"n": 0, "full": ATTEMPTS - 1}, tmp_path).row["n"] == 0
    assert "No space left" in do(Odd(), "k1", {"n": 1, "full": 100}, tmp_path).error
    assert not list(tmp_path.rglob("*.attempts"))


def test_an_item_that_kills_its_workers_is_given_up(tmp_path):
    path = result_path(Odd(), "k7", tmp_path)
    path.parent.mkdir(parents=True)
    path.with_suffix(".attempts").write_bytes(b"x" * ATTEMPTS)  # as its dead workers have left it
    assert "died" in do(Odd(), "k7", {"n": 7}, tmp_path).error
    path.with_suffix(".attempts").write_bytes(b"x" * ATTEMPTS)
    assert not run_stage(Odd(), [{"n": 7}], tmp_path, Local(1)).errors  # a new run tries anew


DEADLY = """
import os, signal, sys, time
from dataclasses import dataclass
from uuid import uuid4
from pathlib import Path
from uuid import uuid4
from deepvoice.recipes.pipelines.executors import Local
from deepvoice.recipes.pipelines.run import run_stage

@dataclass(frozen=True)
class Deadly:
    name: str = "deadly"
    def key(self, item):
        return os.urandom(8).hex()  # another in every process: it is asked once, and travels
    def open(self):
        def work(item, key, out):
            if item in (2, 5):
                os.kill(os.getpid(), signal.SIGKILL)
            return {"n": item}
        return work

if __name__ == "__main__":
    result = run_stage(Deadly(), list(range(8)), Path(sys.argv[1]), Local(2))
    print([row and row["n"] for row in result.rows], result.errors)
"""


def test_items_that_kill_their_workers_are_listed_and_the_others_are_done(tmp_path, run_python):
    (tmp_path / "deadly.py").write_text(DEADLY)
    ran = run_python(str(tmp_path / "deadly.py"), str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stderr.decode()
    died = f"'its worker died {ATTEMPTS} times'"
    assert ran.stdout.decode().strip() == f"[0, 1, None, 3, 4, None, 6, 7] {{2: {died}, 5: {died}}}"


@dataclass(frozen=True)
class Forgetful(Odd):
    """A stage whose keys are never the same twice, as those of a process that has read other files."""

    name: str = "forgetful"

    def key(self, item):
        return uuid4().hex


def test_a_key_is_asked_once_and_travels_with_its_item(tmp_path):
    result = run_stage(Forgetful(), [{"n": n} for n in range(5)], tmp_path, Local(1))
    assert [row and row["n"] for row in result.rows] == list(range(5)) and not result.errors
    assert len(list(tmp_path.glob("results/forgetful/*/*.json"))) == 5
    opened.cache_clear()


def test_a_worker_that_is_asked_to_leave_is_no_failure_of_its_item(tmp_path):
    with pytest.raises(SystemExit):
        do(Odd(), "k0", {"n": 0, "leave": True}, tmp_path)
    assert [path.stat().st_size for path in tmp_path.rglob("*.attempts")] == [0]
    opened.cache_clear()


def test_a_result_without_its_files_is_made_again(tmp_path):
    assert do(Odd(), "k0", {"n": 0}, tmp_path).row
    (tmp_path / "k0").write_text("torn")
    assert finished(Odd(), "k0", tmp_path) is not None  # of the right size
    (tmp_path / "k0").write_text("")
    assert finished(Odd(), "k0", tmp_path) is None
    result_path(Odd(), "k0", tmp_path).write_text("{")
    assert do(Odd(), "k0", {"n": 0}, tmp_path).row and (tmp_path / "k0").read_text() == "done"
    opened.cache_clear()


def test_wrong_numbers_of_workers_and_a_missing_package(monkeypatch):
    for executor in (Local, OnRay):
        with pytest.raises(ConfigError, match="workers is 0"):
            executor(0)
    monkeypatch.setitem(__import__("sys").modules, "ray.data", None)
    with pytest.raises(ConfigError, match=r"deepvoice\[ray\]"):
        OnRay(1)


def test_a_voice_that_does_not_exist_is_one_error(tmp_path):
    with pytest.raises(VoiceError):
        run_stage(Synthesise(teacher="nobody"), sentences(2), tmp_path, Local(1))


def test_a_corpus_from_the_command_line(tiny_voice, tmp_path, capsys):
    prompts = tmp_path / "prompts.tsv"
    prompts.write_text("one\tThe ferry leaves at dawn.\ntwo\tGood morning. It rains\nbad\t***\n")
    corpus = tmp_path / "corpus"
    command = ["synthesise", str(prompts), "--out", str(corpus), "--teacher", str(tiny_voice), "--workers", "1"]
    assert main(command) == 1  # the third has nothing to speak
    rows = read_manifest(corpus / "manifest.jsonl")
    assert [row["id"] for row in rows] == ["one", "two_1", "two_2"]
    assert (corpus / "left_out.txt").read_text().startswith("bad: ")
    samples, rate = soundfile.read(corpus / rows[0]["audio"])
    assert rate == 24000 and len(samples) / rate == pytest.approx(rows[0]["seconds"], abs=1e-3)
    assert main(command) == 1 and "2 of them before" in capsys.readouterr().out

    manifest = str(corpus / "manifest.jsonl")
    assert main(["features", manifest, "--shard-seconds", "0.1", "--workers", "1"]) == 0
    build_cache(corpus / "manifest.jsonl", tmp_path / "same", MelSpec(), shard_seconds=0.1)
    made, same = FeatureCache(corpus / "features", MelSpec()), FeatureCache(tmp_path / "same", MelSpec())
    np.testing.assert_array_equal(made["two_2"].mel_FM, same["two_2"].mel_FM)

    assert main(["align", manifest, "--voice", str(tiny_voice), "--workers", "1"]) == 0
    timings = read_manifest(corpus / "timings.jsonl")
    assert [[word[0] for word in row["words"]] for row in timings][1] == ["good", "morning"]
    assert main(["align", str(tmp_path / "none.jsonl")]) == 1


def test_alignments_for_training_from_a_checkpoint(tiny_voice, tmp_path, capsys):
    corpus = tmp_path / "corpus"
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("".join(f"The {word} is here\n" for word in WORDS[:5]))
    assert main(["synthesise", str(prompts), "--out", str(corpus), "--teacher", str(tiny_voice), "--workers", "1"]) == 0
    manifest = str(corpus / "manifest.jsonl")
    config = SegmentationConfig(channels=8, layers=1)
    model = Segmentation(config)
    state = {"config": to_dict(config), "meta": meta_of(MelSpec()), "ema": model.state_dict(), "step": 0}
    save_checkpoint(state, tmp_path / "last.pt")
    command = ["align", manifest, "--checkpoint", str(tmp_path / "last.pt"), "--workers", "1"]
    assert main(command) == 1 and "has no features" in capsys.readouterr().err
    assert main(["features", manifest, "--workers", "1"]) == 0 and main(command) == 0
    rows, cache = read_manifest(corpus / "manifest.jsonl"), FeatureCache(corpus / "features", MelSpec())
    found = read_alignments(corpus / "alignments.jsonl")
    long_enough = [row for row in rows if cache.frames(row["id"]) >= 2 * len(row["phones"].split())]
    assert list(found) == [row["id"] for row in long_enough]
    assert all(sum(found[row["id"]]) == cache.frames(row["id"]) for row in long_enough)


def test_a_batch_from_the_command_line(tiny_voice, tmp_path, capsys):
    table = tmp_path / "texts.csv"
    table.write_text("text,speed\nThe ferry leaves.,2\nThe ferry leaves.,2\nToo fast.,1000\n,1\n")
    command = ["speak", str(table), "--out", str(tmp_path / "out"), "--voice", str(tiny_voice), "--workers", "1"]
    assert main([*command, "--format", "flac", "--timings", "json"]) == 1
    lines = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert lines[0]["files"] == lines[1]["files"] and len(lines[0]["files"]) == 2
    assert "speed" in lines[2]["error"] and "line 5" in capsys.readouterr().out
    assert all((tmp_path / "out" / name).stat().st_size for name in lines[0]["files"])
