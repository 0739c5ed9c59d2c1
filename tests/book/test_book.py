"""Books from end to end: chapters, titles and times as other programs see them, and going on after a kill."""

import json
import random
import resource
import subprocess
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from deepvoice.book.cluster import speak_remotely
from deepvoice.book.plan import Piece, piece_options, plan_book
from deepvoice.book.reader import read_book
from deepvoice.book.speak import PieceJob, path_of, speak_piece
from deepvoice.commands.arguments import decode_text

TITLES = ["The Lamp", "The Storm", "What the Sea Left"]


def probe(path):
    command = ["ffprobe", "-v", "error", "-show_chapters", "-show_format", "-show_streams", "-of", "json", str(path)]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def check(path, digits):
    """Check titles, chapter times, tags and cover; returns the description."""
    found = probe(path)
    chapters = found["chapters"]
    assert [chapter["tags"]["title"] for chapter in chapters] == TITLES
    assert float(chapters[0]["start_time"]) == 0
    for before, after in pairwise(chapters):
        assert before["end_time"] == after["start_time"]
    assert abs(float(chapters[-1]["end_time"]) - float(found["format"]["duration"])) < digits
    assert found["format"]["tags"]["title"] == "The Keeper & the Cat"
    assert found["format"]["tags"]["artist"] == "E. Holm"
    assert any(stream["disposition"]["attached_pic"] for stream in found["streams"])
    return found


@pytest.mark.parametrize(("suffix", "digits"), [("m4b", 0.03), ("mp3", 0.1)])
def test_chapters_titles_times_and_cover(book, sample, tmp_path, suffix, digits):
    result = book(sample, "-o", f"out.{suffix}", "--jobs", 2, "--keep")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "" and "out." in result.stderr
    chapters = check(tmp_path / f"out.{suffix}", digits)["chapters"]
    # where chapters begin is where their first piece does: after those of the chapters before, and 2 s of silence each
    lines = [json.loads(line) for line in (tmp_path / f"out.{suffix}.parts" / "spoken.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    lengths = sorted(line["seconds"] for line in lines)
    spans = [float(c["end_time"]) - float(c["start_time"]) for c in chapters]
    heard = sorted([spans[0] - 2, spans[1] - 2, spans[2]])
    assert heard == pytest.approx(lengths, abs=0.002)


def test_finished_books_are_left_alone_and_changed_ones_are_not(book, sample, tmp_path):
    assert book(sample, "-o", "out.mp3", "--keep").returncode == 0
    first = (tmp_path / "out.mp3").read_bytes()
    again = book(sample, "-o", "out.mp3")
    assert again.returncode == 0 and "nothing has changed" in again.stderr
    changed = book(sample, "-o", "out.mp3", "--title", "Another")
    assert changed.returncode == 0 and "100 % was spoken before" in changed.stderr
    assert (tmp_path / "out.mp3").read_bytes() != first
    assert not (tmp_path / "out.mp3.parts").exists()  # without --keep it goes


def test_a_folder_of_chapters(book, sample, tmp_path):
    assert book(sample, "-o", "out", "--format", "flac", "--chapters", "2-3").returncode == 0
    contents = json.loads((tmp_path / "out" / "book.json").read_text())
    assert [chapter["file"] for chapter in contents["chapters"]] == ["01 The Storm.flac", "02 What the Sea Left.flac"]
    for chapter in contents["chapters"]:
        assert abs(float(probe(tmp_path / "out" / chapter["file"])["format"]["duration"]) - chapter["seconds"]) < 0.002
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "01 The Storm.flac", "02 What the Sea Left.flac", "book.json"
    ]  # fmt: skip
    assert "nothing has changed" in book(sample, "-o", "out", "--format", "flac", "--chapters", "2-3").stderr


def test_one_process_and_many_make_the_same_book(book, sample, tmp_path):
    for jobs in (1, 3):
        assert book(sample, "-o", f"{jobs}.m4b", "--jobs", jobs).returncode == 0
    assert (tmp_path / "1.m4b").read_bytes() == (tmp_path / "3.m4b").read_bytes()


def kill_and_go_on(command, source, tmp_path, kills, moment):
    """Kill a run several times, then finish; returns the book and how often each piece was spoken."""
    work = tmp_path / "out.m4b.parts"
    full = [*command, str(source), "-o", str(tmp_path / "out.m4b"), "--jobs", "1", "--keep", "-q"]
    for number in range(kills):
        with subprocess.Popen(full, stderr=subprocess.PIPE) as process:
            moment(process, work, number)
            process.kill()
            process.communicate()
    result = subprocess.run(full, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
    spoken = Counter(json.loads(line)["key"] for line in (work / "spoken.jsonl").read_text().splitlines())
    return (tmp_path / "out.m4b").read_bytes(), spoken, work


def wait_for(process, condition):
    """Wait until a condition holds or the process ends."""
    while process.poll() is None and not condition():
        try:
            process.wait(0.01)
        except subprocess.TimeoutExpired:
            continue


def test_killed_twice_it_goes_on(book, command, sample, tmp_path):
    assert book(sample, "-o", "whole.m4b", "--jobs", 1).returncode == 0

    def in_the_next_chapter(process, work, number):
        wait_for(process, lambda: len(list(work.glob("*.flac"))) > number and list(work.glob(".*.part")))

    data, spoken, work = kill_and_go_on(command, sample, tmp_path, 2, in_the_next_chapter)
    assert data == (tmp_path / "whole.m4b").read_bytes()
    assert set(spoken.values()) == {1}  # no chapter was spoken twice
    assert {path.stem for path in work.glob("*.flac")} >= set(spoken)
    assert not list(work.glob(".*.part"))
    check(tmp_path / "out.m4b", 0.03)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(book, command, tmp_path, make_epub, files_of):
    moments = random.Random(5)
    chapters = {
        f"Chapter {n}": tuple(
            f"Paragraph {n} {i}. The boat came back at {i} o'clock, and then again." for i in range(120)
        )
        for n in range(1, 4)
    }
    source = make_epub(files_of(chapters))
    assert book(source, "-o", "whole.m4b", "--jobs", 1).returncode == 0

    def anywhere(process, work, number):
        try:
            process.wait(moments.uniform(0.05, 2.0))
        except subprocess.TimeoutExpired:
            return

    data, spoken, _ = kill_and_go_on(command, source, tmp_path, 20, anywhere)
    assert data == (tmp_path / "whole.m4b").read_bytes()
    assert set(spoken.values()) == {1}


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("keeper.epub",), 2, "there is no --output"),
        (("keeper.epub", "-o", "a.wav"), 2, "cannot hold chapters"),
        (("keeper.epub", "-o", "-"), 2, "cannot go to standard output"),
        (("keeper.epub", "-o", "a.m4b", "--format", "mp3"), 2, "--format is that of the files in a folder"),
        (("keeper.epub", "-o", "a.m4b", "--chapters", "2-9"), 2, "numbers from 1 to 3"),
        (("keeper.epub", "-o", "a.m4b", "--ssml"), 2, "single texts"),
        (("keeper.epub", "-o", "a.m4b", "--cover", "keeper.epub"), 1, "neither JPEG nor PNG"),
        (("keeper.epub", "-o", "no/such/a.m4b", "--voice", "nobody"), 1, "there is no voice"),
        (("none.epub", "-o", "a.m4b"), 1, "cannot read none.epub"),
        (("keeper.doc", "-o", "a.m4b"), 1, "expected a name ending in .epub"),
    ],
)
def test_what_makes_no_sense_is_said_before_any_work(book, sample, tmp_path, arguments, status, words):
    (tmp_path / "keeper.epub").write_bytes(sample.read_bytes())
    result = book(*arguments)
    assert (result.returncode, result.stdout) == (status, "")
    assert words in result.stderr and "Traceback" not in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["keeper.epub"]


def test_without_ffmpeg_it_is_said_at_once(book, sample, tmp_path):
    result = book(sample, "-o", "a.m4b", env={"PATH": "/nonexistent"})
    assert result.returncode == 1 and "ffmpeg is not installed" in result.stderr
    assert list(tmp_path.iterdir()) == []
    assert book(sample, "-o", "a.mp3", env={"PATH": "/nonexistent"}).returncode == 0


def test_a_full_disk_is_one_error_and_can_be_gone_on_from(book, command, sample, tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    full = [*command, str(sample), "-o", str(tmp_path / "a.m4b"), "--jobs", "1"]
    result = subprocess.run(full, capture_output=True, check=False, preexec_fn=small_files)
    message = result.stderr.decode()
    assert result.returncode == 1 and "Traceback" not in message
    assert "free space" in message.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["a.m4b.parts"]
    assert not list((tmp_path / "a.m4b.parts").glob(".*.part"))
    assert book(sample, "-o", "a.m4b").returncode == 0


def test_without_ray_it_is_said(book, sample, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "ray.py").write_text("raise ImportError('as if it were not installed')")
    result = book(sample, "-o", "a.mp3", "--ray", env={"PYTHONPATH": str(tmp_path / "lib")})
    assert result.returncode == 1 and "pip install 'deepvoice[ray]'" in result.stderr


def test_a_machine_of_a_cluster_sends_the_same_file(sample, tiny_voice, tmp_path):
    book = read_book(sample, decode_text)
    options = piece_options({}, False)
    for piece in plan_book(book, str(tiny_voice), {}, marked=False)[:2]:
        job = PieceJob(folder=tmp_path, piece=piece, voice=str(tiny_voice), options=options)
        spoken, data, error = speak_remotely(job)
        assert (spoken, error) == (speak_piece(job), "")
        assert data == path_of(tmp_path, piece).read_bytes()
    nothing = Piece(key="k", chapter=0, text="你好", breaks=())
    assert "nothing in the text" in speak_remotely(replace(job, piece=nothing))[2]


def test_the_list(book, sample, tmp_path):
    result = book(sample, "--list")
    assert result.returncode == 0 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "The Keeper & the Cat, E. Holm"
    assert [line.split(None, 2)[2] for line in lines[1:4]] == TITLES
    assert list(tmp_path.iterdir()) == []


def test_strict_and_dropped_text(book, tmp_path):
    (tmp_path / "a.txt").write_text("Two cats. 你好")
    assert "not spoken: 你好" in book("a.txt", "-o", "a.mp3").stderr
    result = book("a.txt", "-o", "b.mp3", "--strict")
    assert result.returncode == 3 and not (tmp_path / "b.mp3").exists()


def test_two_at_the_same_output_do_not_mix(book, command, sample, tmp_path):
    import fcntl

    (tmp_path / "a.mp3.parts").mkdir()
    with (tmp_path / "a.mp3.parts" / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        result = book(sample, "-o", "a.mp3")
    assert result.returncode == 1 and "another deepvoice is at work" in result.stderr


def test_a_damaged_part_is_removed_and_spoken_again(book, sample, tmp_path):
    assert book(sample, "-o", "a.mp3", "--keep").returncode == 0
    part = next((tmp_path / "a.mp3.parts").glob("*.flac"))
    part.write_bytes(b"damage")
    (tmp_path / "a.mp3").unlink()
    first = book(sample, "-o", "a.mp3", "--keep")
    assert first.returncode == 1 and "run the command again" in first.stderr
    assert book(sample, "-o", "a.mp3").returncode == 0


def test_a_file_in_a_folder_that_is_not_there_is_refused(book, sample, tmp_path):
    result = book(sample, "-o", "no/such/book.mp3")
    assert result.returncode == 1 and "its folder does not exist" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_precision_makes_another_book(book, sample, tmp_path):
    assert book(sample, "-o", "out.mp3", env={"DEEPVOICE_PRECISION": "float32"}).returncode == 0
    again = book(sample, "-o", "out.mp3", env={"DEEPVOICE_PRECISION": "bfloat16"})
    assert again.returncode == 0 and "nothing has changed" not in again.stderr
