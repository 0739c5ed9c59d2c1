"""`deepvoice batch`: rows to files, resumed, in parallel, with honest results."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import soundfile

from deepvoice import resume
from deepvoice.batch import read_rows
from deepvoice.errors import TextError
from deepvoice.resume import safe_name


@pytest.fixture
def batch(deepvoice, tmp_path):
    """Return a function that writes the input, runs the command and returns it with the rows of the results."""

    def run(name, content, *arguments, **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        jobs = () if "--jobs" in arguments else ("--jobs", 1)
        result = deepvoice("batch", name, "-o", "out", *arguments, *jobs, **options)
        path = tmp_path / "out" / "results.jsonl"
        return result, [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    return run


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith("."))


def test_a_line_becomes_a_file(batch, tmp_path):
    result, rows = batch("a.txt", "One cat.\n\nTwo cats.\r\nThree cats.", "--jobs", 2)
    assert result.returncode == 0 and result.stdout == b""
    assert files(tmp_path) == ["0001.wav", "0003.wav", "0004.wav", "results.csv", "results.jsonl"]
    for row in rows:
        assert row["status"] == "done" and row["text"].endswith(("cat.", "cats."))
        assert soundfile.info(tmp_path / "out" / row["file"]).duration == pytest.approx(row["seconds"], abs=1e-3)
    with (tmp_path / "out" / "results.csv").open(encoding="utf-8", newline="") as handle:
        assert [row["file"] for row in csv.DictReader(handle)] == ["0001.wav", "0003.wav", "0004.wav"]


def test_columns_of_a_table(batch, tmp_path):
    table = 'id,sentence,speed,who\none,"Two cats, ""here""\nand there.",2,A\ntwo,Two cats.,,B\n'
    result, rows = batch(
        "a.csv", table, "--text-column", "sentence", "--name-column", "id", "--timings", "srt", "--format", "flac"
    )
    assert result.returncode == 0, result.stderr.decode()
    assert [row["file"] for row in rows] == ["one.flac", "two.flac"]
    assert [row["who"] for row in rows] == ["A", "B"]
    assert [row["timings"] for row in rows] == ["one.srt", "two.srt"]
    assert "-->" in (tmp_path / "out" / "one.srt").read_text()
    assert soundfile.info(tmp_path / "out" / "one.flac").format == "FLAC"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_separators_and_byte_order_marks(batch, name):
    for separator in ("\t",) if name == "a.tsv" else (",", ";", "|"):
        table = f"\ufeffname{separator}text\r\nx{separator}A cat.\r\n"
        _, rows = batch(name, table)
        assert [(row["file"], row["status"]) for row in rows] == [("x.wav", "done")], separator


def test_json_lines_with_options(batch, tmp_path):
    lines = [
        {"text": "A cat.", "name": "slow", "speed": 0.5, "seed": 3, "more": [1]},
        {"text": "A cat.", "name": "fast", "speed": 2},
        "A cat.",
    ]
    result, rows = batch("a.jsonl", "".join(json.dumps(line) + "\n" for line in lines), "--jobs", 2)
    assert result.returncode == 0
    assert [row["file"] for row in rows] == ["slow.wav", "fast.wav", "0003.wav"]
    assert rows[0]["more"] == [1]
    assert rows[0]["seconds"] > 2 * rows[1]["seconds"]


def test_failures_are_listed_and_the_others_are_spoken(batch, tmp_path):
    lines = [
        '{"text": "A cat."}', "not json", "[1]", '{"text": ""}', '{"text": 5}', '{"text": "A cat.", "speed": 9}',
        '{"text": "A cat.", "voice": "nobody"}', '{"text": "***"}', '{"text": "A cat.", "ssml": "maybe"}',
    ]  # fmt: skip
    result, rows = batch("a.jsonl", "\n".join(lines))
    assert result.returncode == 1
    assert [row["status"] for row in rows] == ["done"] + 8 * ["failed"]
    message = result.stderr.decode()
    assert "1 of 9 rows" in message and "Traceback" not in message
    for line, words in ((2, "not JSON"), (3, "expected an object"), (6, "from 0.25 to 4"), (7, "no voice 'nobody'")):
        assert f"line {line}: " in message and words in message
    assert files(tmp_path) == ["0001.wav", "results.csv", "results.jsonl"]


def test_what_is_there_is_kept_and_what_changed_is_spoken_again(batch, tmp_path):
    batch("a.txt", "One cat.\nTwo cats.\nThree cats.\n")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.wav")}
    (tmp_path / "out" / "0001.wav").write_bytes(b"cut")
    (tmp_path / "out" / ".0002.wav.0a1b2c3d.part").write_bytes(b"left by a kill")
    (tmp_path / "out" / ".film.part").write_bytes(b"not ours")
    (tmp_path / "out" / ".deepvoice-batch.jsonl").open("a").write('{"key": "half a li')
    result, rows = batch("a.txt", "One cat.\nTwo cats.\nThree dogs.\n")
    assert result.returncode == 0 and "(1 were there)" in result.stderr.decode()
    assert [path.name for path in (tmp_path / "out").glob(".*.part")] == [".film.part"]
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.wav")}
    assert [before[name] == after[name] for name in sorted(after)] == [False, True, False]
    assert all(row["status"] == "done" for row in rows)
    assert "(0" not in batch("a.txt", "One cat.\nTwo cats.\nThree dogs.\n")[0].stderr.decode()
    assert "were there" not in batch("a.txt", "One cat.\nTwo cats.\nThree dogs.\n", "--speed", 2)[0].stderr.decode()


def test_a_killed_batch_goes_on(tiny_voice, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"Line {number} has {number} cats.\n" for number in range(40)))
    command = [sys.executable, "-P", "-m", "deepvoice", "batch", "a.txt", "-o", "out", "--voice", str(tiny_voice)]
    for count in (3, 9):
        with subprocess.Popen([*command, "--jobs", "2"], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and len(list(tmp_path.glob("out/*.wav"))) < count:
                time.sleep(0.01)
            process.kill()
    result = subprocess.run([*command, "--jobs", "1"], cwd=tmp_path, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
    entries = [json.loads(line) for line in (tmp_path / "out" / ".deepvoice-batch.jsonl").read_text().splitlines()]
    assert len({entry["file"] for entry in entries}) == 40
    assert "40 of 40" in result.stderr.decode() and "were there)" in result.stderr.decode()
    assert not list(tmp_path.glob("out/.*.part"))


def test_an_interrupt_from_the_terminal_is_one_line(tiny_voice, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"Line {number} has {number} cats.\n" for number in range(2000)))
    command = [sys.executable, "-P", "-m", "deepvoice", "batch", "a.txt", "-o", "out", "--voice", str(tiny_voice)]
    with subprocess.Popen(
        [*command, "--jobs", "3"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while process.poll() is None and not (tmp_path / "out" / ".deepvoice-batch.jsonl").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # the workers are loading
        message = process.stderr.read().decode()
    assert (process.returncode, message) == (130, "deepvoice: interrupted\n")
    assert not list(tmp_path.glob("out/.*.part"))


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("a", "a"), ("a.wav", "a"), ("a.b", "a.b"), ("../../etc/passwd", "_.._etc_passwd"), ("/etc/x", "_etc_x"),
        ("C:\\x", "C_x"), ("..", "7"), (".", "7"), ("", "7"), (" ", "7"), (".hidden", "hidden"), ("a\0b\nc", "a_b_c"),
        ("nul", "_nul"), ("COM1.txt", "_COM1.txt"), ("é" * 300, "é" * 100), ("e\u0301", "é"), ("x. ", "x"),
        ("你好", "你好"), ("???", "7"), ("\ud800x", "_x"),
    ],
)  # fmt: skip
def test_names_stay_in_their_folder(name, safe):
    assert safe_name(name, "7") == safe
    assert os.sep not in safe_name(name, "7")


def test_equal_names_get_numbers(batch):
    _, rows = batch("a.csv", "name,text\nx,A cat.\nX,A dog.\nx.wav,A cow.\nresults,A pig.\n")
    assert [row["file"] for row in rows] == ["x.wav", "X-2.wav", "x-3.wav", "results-2.wav"]


@pytest.mark.parametrize(
    ("name", "content", "status", "words"),
    [
        ("a.txt", b"", 1, "has no rows"),
        ("a.txt", b"\n \n", 1, "has no rows"),
        ("a.txt", b"na\xefve", 1, "not UTF-8"),
        ("a.bin", b"x", 2, "expected a name ending in .txt"),
        ("a.csv", b"a,b\nx,y\n", 1, "expected one named 'text'"),
        ("a.csv", b"", 1, "expected one named 'text'"),
        ("a.csv", b'text\n"open\nrows\nfollow', 1, "quotation mark"),
    ],
)
def test_files_that_are_no_batch(batch, tmp_path, error, name, content, status, words):
    result, _ = batch(name, content)
    assert words in error(result, status)
    assert not (tmp_path / "out").exists()


def test_unwritable_places(deepvoice, tmp_path, error):
    (tmp_path / "a.txt").write_text("A cat.")
    (tmp_path / "file").write_text("")
    assert "cannot use the folder" in error(deepvoice("batch", "a.txt", "-o", "file"), 1)
    assert "cannot use the folder" in error(deepvoice("batch", "a.txt", "-o", "file/sub"), 1)
    assert "cannot read none.txt" in error(deepvoice("batch", "none.txt", "-o", "out"), 1)
    assert "--jobs is 0" in error(deepvoice("batch", "a.txt", "-o", "out", "--jobs", 0), 2)
    assert "from 8000 to 48000" in error(deepvoice("batch", "a.txt", "-o", "out", "--rate", 7), 1)


def test_rows_with_quotes_and_long_lines():
    rows = list(read_rows('"Fourth line starts quoted\nnext\n', ".txt"))
    assert [row.text for row in rows] == ['"Fourth line starts quoted', "next"]
    assert len(next(read_rows("text\n" + "a" * 1_000_000 + "\n", ".csv")).text) == 1_000_000
    rows = list(read_rows("text,name\none,1,extra\ntwo\n", ".csv"))
    assert "3 cells" in (rows[0].error or "") and (rows[1].text, rows[1].error) == ("two", None)
    with pytest.raises(TextError, match="line 3"):
        list(read_rows('text\nx\n"open', ".csv"))


def test_keys_name_everything_that_samples_depend_on(tiny_voice, monkeypatch, tmp_path):
    def key(**options):
        resume._data_hash.cache_clear()
        return resume.content_key(str(tiny_voice), options, "Two cats.")

    monkeypatch.setattr(resume, "_DATA", tmp_path)
    keys = [key(), key(speed=2.0)]
    for variable, value in (("DEEPVOICE_PRECISION", "bfloat16"), ("DEEPVOICE_KERNELS", "reference")):
        with monkeypatch.context() as changed:
            changed.setenv(variable, value)
            keys.append(key())
    (tmp_path / "lexicon.bin").write_bytes(b"other words")
    keys.append(key())
    assert len(set(keys)) == len(keys)
    assert key() == keys[-1]


def test_rows_with_voices_that_cannot_be_loaded_fail_alone(batch, make_tiny_voice, tmp_path):
    broken = make_tiny_voice(tmp_path / "broken")
    (broken / "f0.safetensors").write_bytes(b"damaged")
    rows = [{"text": "Two cats."}, {"text": "A dog.", "voice": str(broken)}, {"text": "A cow."}]
    result, results = batch("a.jsonl", "\n".join(map(json.dumps, rows)))
    assert result.returncode == 1
    assert [row["status"] for row in results] == ["done", "failed", "done"]
    assert "cannot be used" in results[1]["error"]
