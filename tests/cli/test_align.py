"""`deepvoice align`: one recording and folders, bad ones listed, resumed, the same from any number of processes."""

import json
from itertools import pairwise

import numpy as np
import pytest
import soundfile

import deepvoice as package

TEXTS = ("The ferry leaves at dawn.", "The garden was very quiet.", "He read the record.", "Nine cats sat there.")
LONE = (("lost", "txt"), ("silent", "wav"))


@pytest.fixture(scope="session")
def speeches():
    """Speech of TEXTS by the voice of the package."""
    voice = package.load()
    return [voice.speak(text) for text in TEXTS]


@pytest.fixture
def corpus(speeches, tmp_path):
    """Ten recordings, of which four are good; returns the folder."""
    folder = tmp_path / "corpus"
    folder.mkdir()

    def add(name, samples, text, rate=24000):
        if samples is not None:
            soundfile.write(folder / f"{name}.wav", samples, rate)
        if text is not None:
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")

    for number, (speech, text) in enumerate(zip(speeches, TEXTS, strict=True)):
        add(f"good{number}", speech.samples, text)
    add("other", speeches[0].samples, "Seven purple elephants were expected in the garden.")
    add("more", np.concatenate([speeches[1].samples, speeches[3].samples]), TEXTS[1])
    add("silent", np.zeros(48000, np.float32), "It was quiet.")
    add("short", speeches[0].samples[:600], "A text that is far too long for this recording of no words.")
    add("unspeakable", speeches[0].samples, "...")
    add("untold", speeches[0].samples, None)
    return folder


def rows(folder):
    return {row["name"]: row for row in map(json.loads, (folder / "results.jsonl").read_text().splitlines())}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def tiers(path):
    """Return the tiers of a TextGrid: name -> [(start, end, label)]."""
    found, lines = {}, path.read_text(encoding="utf-8").splitlines()
    name, start, end = "", 0.0, 0.0
    for line in lines:
        key, _, value = line.strip().partition(" = ")
        if key == "name":
            name = value.strip('"')
            found[name] = []
        elif key == "xmin":
            start = float(value)
        elif key == "xmax":
            end = float(value)
        elif key == "text":
            found[name].append((start, end, value.strip('"')))
    return found


def test_bad_recordings_are_listed_and_the_good_ones_add_up(deepvoice, corpus):
    result = deepvoice("align", corpus, "--jobs", 1, "--format", "TextGrid", "--format", "json", "--format", "ctm")
    messages = result.stderr.decode()
    assert result.returncode == 0 and result.stdout == b"", messages
    out = corpus / "aligned"
    status = {name: row["status"] for name, row in rows(out).items()}
    assert status == {
        **{f"good{n}": "accepted" for n in range(4)},
        **dict.fromkeys(("other", "more"), "rejected"),
        **dict.fromkeys(("silent", "short", "unspeakable"), "failed"),
    }
    for name in ("other", "more", "silent", "short", "unspeakable", "untold"):
        assert name in messages
    for name in ("silent", "short", "unspeakable"):
        assert not (out / f"{name}.TextGrid").exists()
    for n in range(4):
        frames = -(-soundfile.info(corpus / f"good{n}.wav").frames // 120)
        content = json.loads((out / f"good{n}.json").read_text())
        assert sum(p["end"] - p["start"] for p in content["phones"]) / 0.005 == pytest.approx(frames, abs=1)
        grid = tiers(out / f"good{n}.TextGrid")
        assert set(grid) == {"sentences", "words", "phones"}
        for intervals in grid.values():
            assert intervals[0][0] == 0 and intervals[-1][1] / 0.005 == pytest.approx(frames, abs=1)
            assert all(a[1] == b[0] for a, b in pairwise(intervals))
        said = [label for _, _, label in grid["words"] if label]
        assert said == [word["text"] for word in content["words"]]
        assert len((out / f"good{n}.ctm").read_text().splitlines()) == len(said)
    assert "spn" in [label for _, _, label in tiers(out / "more.TextGrid")["phones"]]


def test_it_goes_on_where_it_stopped_with_the_same_bytes(deepvoice, corpus, tmp_path):
    for number, jobs in enumerate((1, 2)):
        assert deepvoice("align", corpus, "-o", f"out{number}", "--jobs", jobs).returncode == 0
    once = files(tmp_path / "out0")
    assert once == files(tmp_path / "out1")
    (tmp_path / "out0" / "good1.json").unlink()
    with (tmp_path / "out0" / ".deepvoice-align.jsonl").open("a") as journal:
        journal.write('{"key": "half a li')
    again = deepvoice("align", corpus, "-o", "out0", "--jobs", 1)
    assert again.returncode == 0
    assert b"5 were done before" in again.stderr
    assert files(tmp_path / "out0") == once
    (corpus / "good2.txt").write_text("He read the records.")
    assert b"5 were done before" in deepvoice("align", corpus, "-o", "out0", "--jobs", 1).stderr


def test_one_recording(deepvoice, corpus, tmp_path):
    result = deepvoice("align", corpus / "good0.wav", corpus / "good0.txt")
    lines = [line.split() for line in result.stdout.decode().splitlines()]
    assert result.returncode == 0 and [line[4] for line in lines] == ["the", "ferry", "leaves", "at", "dawn"]
    assert deepvoice("align", corpus / "good0.wav", "--text", TEXTS[0], "-o", "a.TextGrid").returncode == 0
    assert TEXTS[0] in [label for _, _, label in tiers(tmp_path / "a.TextGrid")["sentences"]]


def test_errors_name_the_file(deepvoice, error, corpus):
    for name, message in (("silent", "the recording is silent"), ("unspeakable", "spoken")):
        told = error(deepvoice("align", corpus / f"{name}.wav", corpus / f"{name}.txt"), 1)
        assert message in told and f"{name}.{'txt' if name == 'unspeakable' else 'wav'}: " in told
    result = deepvoice("align", corpus, "--jobs", 1)
    assert f"{corpus / 'silent.wav'}: failed: the recording is silent" in result.stderr.decode()


def test_strict_refuses_what_is_not_the_text(deepvoice, corpus):
    result = deepvoice("align", corpus / "good0.wav", "--text", "Seven purple elephants in my garden.", "--strict")
    assert result.returncode == 3
    assert b"does not say the text" in result.stderr
    assert deepvoice("align", corpus, "--strict", "--jobs", 1, "-q").returncode == 3


def test_everything_without_a_partner_is_listed(deepvoice, speeches, tmp_path):
    """More than are shown: all are in a file, and counted; those that do not fit their text are shown beside them."""
    soundfile.write(tmp_path / "told.wav", speeches[0].samples, 24000)
    (tmp_path / "told.txt").write_text(TEXTS[2])
    for number in range(25):
        (tmp_path / f"silent{number:02d}.wav").write_bytes(b"")
        (tmp_path / f"lost{number:02d}.txt").write_text("A text without a sound.")
    shown = deepvoice("align", ".", "--jobs", 1).stderr.decode()
    listed = [line.split("\t") for line in (tmp_path / "aligned" / "refused.tsv").read_text().splitlines()]
    assert [row[0] for row in listed[1:]] == [f"{n}{i:02d}.{s}" for n, s in LONE for i in range(25)]
    assert "and 30 more: aligned/refused.tsv" in shown and "50 files or lines without a partner" in shown
    assert "told.wav: rejected" in shown


def test_recordings_that_the_manifest_leaves_out_are_listed(deepvoice, speeches, tmp_path):
    for name in ("named", "other"):
        soundfile.write(tmp_path / f"{name}.wav", speeches[0].samples, 24000)
    (tmp_path / "manifest.jsonl").write_text(json.dumps({"audio": "named.wav", "text": TEXTS[0]}) + "\n")
    shown = deepvoice("align", ".", "--jobs", 1).stderr.decode()
    assert "other.wav: no line of the manifest names it" in shown and "1 files or lines without a partner" in shown


def test_layouts(deepvoice, speeches, tmp_path):
    (tmp_path / "wavs").mkdir()
    for number in range(2):
        soundfile.write(tmp_path / "wavs" / f"u{number}.flac", speeches[number].samples, 24000)
    (tmp_path / "metadata.csv").write_text(f"u0|x|{TEXTS[0]}\nu1|{TEXTS[1]}|\n")
    assert deepvoice("align", ".", "-o", "a", "--jobs", 1).returncode == 0
    (tmp_path / "metadata.csv").unlink()
    (tmp_path / "manifest.jsonl").write_text(
        "".join(json.dumps({"id": f"u{n}", "audio": f"wavs/u{n}.flac", "text": TEXTS[n]}) + "\n\n" for n in range(2))
    )
    assert deepvoice("align", ".", "-o", "b", "--jobs", 1).returncode == 0
    assert files(tmp_path / "a") == files(tmp_path / "b")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("missing.wav", "--text", "x"), 1, "missing.wav is missing"),
        (("a.wav",), 2, "give the text"),
        (("a.wav", "a.txt", "--text", "x"), 2, "give the text"),
        (("a.wav", "missing.txt"), 1, "cannot read missing.txt"),
        (("a.txt", "a.wav"), 2, "a.txt and a.wav are swapped; expected the recording first"),
        (("a.wav", "b.FLAC"), 2, "b.FLAC is a recording too"),
        (("a.wav", "--text", "x", "-o", "a.srt"), 2, "no alignment"),
        (("a.wav", "--text", "x", "--adapt", "m"), 2, "--adapt needs a folder"),
        (("a.wav", "--text", "x", "--minutes", "3"), 2, "--minutes needs --adapt"),
        (("a.wav", "--text", "x", "--jobs", "0"), 2, "--jobs is 0"),
        ((".", "a.txt"), 2, "leave TEXT out"),
        ((".",), 1, "recordings"),
    ],
)
def test_what_makes_no_sense_is_said(deepvoice, error, tmp_path, arguments, status, message):
    assert message in error(deepvoice("align", *arguments), status)
