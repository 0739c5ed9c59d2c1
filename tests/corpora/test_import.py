import json

import numpy as np
import pytest
import soundfile

from deepvoice.recipes.corpora.asterisk import main as import_asterisk
from deepvoice.recipes.corpora.ljspeech import main as import_ljspeech
from deepvoice.text.sequence import from_manifest


def sound(path, seconds=1.0, rate=22050, level=0.2):
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = level * np.random.default_rng(1).standard_normal(round(seconds * rate))
    soundfile.write(path, np.clip(samples, -1, 1), rate)


def rows(folder):
    return [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]


def test_an_ljspeech_folder_becomes_a_corpus(tmp_path, capsys):
    source, out = tmp_path / "lj", tmp_path / "out"
    sound(source / "wavs" / "a.wav", rate=48000)
    sound(source / "wavs" / "b.flac", rate=16000)
    sound(source / "wavs" / "quiet.wav", level=0.0)
    (source / "metadata.csv").write_text(
        'a|The "cat sat.|The "cat sat. Dogs run!\r\nb|It is late.\r\nquiet|A dog.\nnone|12 …\nodd|Zzquxav the cat.\n'
    )
    sound(source / "wavs" / "none.wav")
    sound(source / "wavs" / "odd.wav")
    assert import_ljspeech([str(source), "--out", str(out)]) == 0
    found = {row["id"]: row for row in rows(out)}
    assert {"a", "b"} <= set(found) <= {"a", "b", "none"}
    first = from_manifest(found["a"]["phones"], found["a"]["word_of"])
    assert first.symbols[-1] == "!"
    assert first.symbols.count(";") == 1  # the end of the first sentence is a pause inside the utterance
    assert found["a"]["words"] == ["the", "cat", "sat", "dogs", "run"]
    assert max(first.word_of) == 4
    for row in found.values():
        info = soundfile.info(out / row["audio"])
        assert (info.samplerate, info.channels) == (24000, 1)
        assert info.frames / 24000 == pytest.approx(row["seconds"], abs=1e-3)
        assert row["seconds"] == pytest.approx(1.3, abs=0.01)  # margins of 0.15 s, which the sounds did not have
    report = capsys.readouterr().out
    assert "48000 Hz, resampled" in report
    assert "silent recording" in report
    assert "outside the lexicon" in report


def test_a_missing_recording_is_named_with_its_line(tmp_path, capsys):
    (tmp_path / "wavs").mkdir()
    (tmp_path / "metadata.csv").write_text("a|One cat.\n")
    assert import_ljspeech([str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "metadata.csv:1: " in capsys.readouterr().out
    assert not (tmp_path / "out" / "manifest.jsonl").exists()


def test_asterisk_names_what_is_missing(tmp_path, capsys):
    (tmp_path / "text.tsv").write_text("digits/1\tOne.\n")
    assert import_asterisk([str(tmp_path / "text.tsv"), "--out", str(tmp_path / "o"), "--sounds", str(tmp_path)]) == 1
    assert "text.tsv:1: " in capsys.readouterr().out
    missing = tmp_path / "nowhere"
    assert import_asterisk([str(tmp_path / "text.tsv"), "--out", str(tmp_path / "o"), "--sounds", str(missing)]) == 1
    assert "apt-get install" in capsys.readouterr().out
