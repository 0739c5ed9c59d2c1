"""`deepvoice say` with SSML, lexicons, timings, loudness and the rest of what it can be asked for."""

import json

import numpy as np
import pytest
import soundfile

SSML = "<speak>Two <mark name='m'/>cats.<break time='500ms'/> <voice name='Bob'>They</voice> sleep.</speak>"


@pytest.fixture
def say(run_python, tiny_voice, tmp_path):
    """Return a function that runs `deepvoice say` in an empty folder with the miniature voice."""

    def run(*arguments, **options):
        return run_python(
            "-m", "deepvoice", "say", *arguments, "--voice", str(tiny_voice), cwd=tmp_path, **options
        )  # fmt: skip

    return run


def message(result, status):
    assert result.returncode == status, result.stderr.decode()
    assert result.stdout == b"" and b"Traceback" not in result.stderr
    return result.stderr.decode().strip().splitlines()[-1]


def test_ssml(say, tmp_path):
    result = say("--ssml", SSML, "-o", "a.wav")
    assert result.returncode == 0
    assert "not done: <voice name='Bob'> (character 54)" in result.stderr.decode()
    assert message(say("--ssml", SSML, "-o", "b.wav", "--strict"), 3).startswith("deepvoice: refused: not done")
    assert "SSML line 1, column 11" in message(say("--ssml", "<speak>a & b</speak>", "-o", "b.wav"), 1)
    (tmp_path / "text.ssml").write_text("<speak>\n<p>Two cats.</p>\n<oops/>\n</speak>", encoding="utf-8")
    assert "SSML line 3, column 1" in message(say("--ssml", "-f", "text.ssml", "-o", "b.wav"), 1)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.wav", "text.ssml"]


def test_timings_beside_a_file(say, tmp_path):
    files = ["a.json", "a.jsonl", "a.srt", "a.words.vtt", "a.lrc", "a.TextGrid"]
    arguments = [argument for name in files for argument in ("--timings", name)]
    assert say("--ssml", SSML, "-q", "-o", "a.wav", "--rate", "16000", "--lead-in", "0.25", *arguments).stderr == b""
    assert {file.name for file in tmp_path.iterdir()} == {*files, "a.wav"}
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    info = soundfile.info(tmp_path / "a.wav")
    assert (data["sample_rate"], data["samples"]) == (info.samplerate, info.frames) == (16000, info.frames)
    assert [SSML[slice(*word["span"])] for word in data["words"]] == ["Two", "cats", "They", "sleep"]
    assert data["words"][0]["start"] >= 0.25 and data["marks"][0]["name"] == "m"


def test_unknown_timings_are_refused_before_any_work(say, tmp_path):
    assert "no suffix of timings" in message(say("Two cats.", "-o", "a.wav", "--timings", "a.txt"), 1)
    assert list(tmp_path.iterdir()) == []


def test_a_lexicon(say, tmp_path):
    (tmp_path / "names.toml").write_text('cats = "D AO1 G Z"\n', encoding="utf-8")
    say("-q", "Two cats.", "-o", "a.wav")
    result = say("-q", "Two cats.", "-o", "b.wav", "--lexicon", "names.toml", "--timings", "b.json")
    assert result.returncode == 0, result.stderr.decode()
    assert (tmp_path / "a.wav").read_bytes() != (tmp_path / "b.wav").read_bytes()
    symbols = [phone["symbol"] for phone in json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["phones"]]
    assert symbols[-5:-1] == ["D", "AO1", "G", "Z"]
    assert "none.toml" in message(say("Two cats.", "-o", "c.wav", "--lexicon", "none.toml"), 1)


def test_loudness_and_lead_in(say, tmp_path):
    assert say("-q", "Two cats.", "-o", "a.wav", "--loudness", "-45", "--lead-in", "0.5").returncode == 0
    samples, rate = soundfile.read(tmp_path / "a.wav")
    assert rate == 24000 and not samples[:12000].any() and samples[12000:].any()
    assert "would clip" in say("Two cats.", "-o", "b.wav", "--loudness", "-5").stderr.decode()
    for arguments in (("--loudness", "3"), ("--lead-in", "-1"), ("--lead-in", "11")):
        assert "is not a number from" in message(say("Two cats.", "-o", "c.wav", *arguments), 2)
    assert "--rate is the sample rate of a file" in message(say("Two cats.", "--rate", "8000"), 2)


def test_long_text_is_rendered_side_by_side_with_the_same_samples(say, tmp_path):
    text = "Two cats sleep. They like 3 dogs.\n" * 40
    assert say("-q", "-f", "-", "-o", "a.wav", input=text.encode(), stdin=None).returncode == 0
    first = say("-q", "Two cats sleep. They like 3 dogs.", "-o", "b.wav")
    assert first.returncode == 0
    whole, part = (soundfile.read(tmp_path / name, dtype="int16")[0] for name in ("a.wav", "b.wav"))
    assert np.array_equal(whole[: len(part)], part)


def test_a_dry_run_tells_sentences_phones_and_times_without_audio(say, tmp_path):
    text = "Two cats sleep. They like 3 dogs."
    result = say(text, "--dry-run", "-o", "a.wav", "--timings", "a.json")
    assert result.returncode == 0, result.stderr.decode()
    lines = result.stdout.decode().splitlines()
    assert [line.split(": ")[1] for line in lines[::2]] == ["Two cats sleep.", "They like 3 dogs."]
    assert lines[1].split()[:3] == ["T", "UW1", "K"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    spoken = say(text, "-q", "-o", "b.wav", "--timings", "b.json")
    assert spoken.returncode == 0 and (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    seconds = soundfile.info(tmp_path / "b.wav").duration
    assert f"2 sentences, {seconds:.2f} s of speech, not made" in result.stderr.decode()
    assert say("你好 cats", "--dry-run", "--strict").returncode == 3


@pytest.mark.parametrize("name", ["a.srt", "./a.srt", "none/a.srt"])
def test_timings_that_replace_another_file_or_have_no_folder_are_refused_before_any_work(say, tmp_path, name):
    arguments = ("Two cats.", "-o", "a.srt", "--format", "wav", "--timings", name)
    words = "folder does not exist" if "none" in name else "where the audio goes"
    assert words in message(say(*arguments), 1 if "none" in name else 2)
    twice = ("--timings", "b.srt", "--timings", "./b.srt")
    assert "where the other timings go" in message(say("Two cats.", "-o", "a.wav", *twice), 2)
    assert list(tmp_path.iterdir()) == []
