"""The suite of the evaluation: its sentences, its cache, its bars, and a run with a made-up teacher and listener."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from deepvoice.errors import ConfigError
from deepvoice.recipes.evaluation import parts, questions, suite
from deepvoice.recipes.evaluation.listener import Listener, mean_of, paired, scored
from deepvoice.recipes.evaluation.sentences import read_items
from deepvoice.recipes.voice import speak_file


class Parrot:
    """A recogniser that hears what it is told to, and counts how often it is asked."""

    name = "parrot"

    def __init__(self, text="two cats sat"):
        self.text, self.asked = text, 0

    def hear(self, samples_T):
        self.asked += 1
        return self.text


def level(samples_T, rate):
    return 3.0 + float(np.abs(samples_T).max())


@pytest.fixture
def listener(tmp_path):
    return Listener(Parrot(), level, tmp_path / "heard.jsonl")


@pytest.fixture
def bench(voice, listener, tmp_path):
    recordings = parts.Recordings(tmp_path / "teacher")
    recordings._teacher = lambda text, *, speed, seed: np.full(int(2400 / speed), 0.25, np.float32)
    texts = ["Two cats.", "We met.", "Two cats sat."]
    return parts.Bench(
        voice=voice, listener=listener, recordings=recordings, prompts=texts, varied=texts[:2], filler=texts, small=2
    )


def test_the_varied_sentences_are_distinct_and_speakable(voice):
    texts = [item.text for item in read_items(suite.VARIED)]
    assert len(texts) == len({text.lower() for text in texts}) == 100
    reports = [voice.analyse(text) for text in texts]
    assert not [one.report.dropped for one in reports if one.report.dropped]
    words = [sum(len(sentence.words) for sentence in report.sentences) for report in reports]
    assert min(words) <= 2 and max(words) >= 20
    assert sum(text.endswith("?") for text in texts) >= 15 and sum(text.endswith("!") for text in texts) >= 5
    assert sum(any(c.isdigit() for c in text) for text in texts) >= 15


def test_a_recording_is_heard_once_and_remembered(listener, tmp_path):
    samples = np.linspace(-0.5, 0.5, 1600, dtype=np.float32)
    first = listener.listen(samples, 16000)
    assert first.text == "two cats sat" and first.quality == 3.5
    assert listener.listen(samples.copy(), 16000) == first and listener.recogniser.asked == 1
    again = Listener(Parrot("other"), level, tmp_path / "heard.jsonl")
    assert again.listen(samples, 16000) == first
    assert again.listen(samples[:-1], 16000).text == "other"


def test_a_line_that_was_cut_off_is_dropped_and_another_is_named(tmp_path):
    path = tmp_path / "heard.jsonl"
    path.write_text('["a", "one", 4.0]\n["b", "tw')
    Listener(Parrot(), level, path)
    assert path.read_text() == '["a", "one", 4.0]\n'
    path.write_text('["a", "on\n["b", "two", 4.0]\n')
    with pytest.raises(ConfigError, match=r"heard\.jsonl:1 is"):
        Listener(Parrot(), level, path)


def test_differences_are_of_pairs():
    def side(errors, quality):
        words = ["a", "b", "c", "d"]
        heard = [["a", "b", "c", "d"][: 4 - count] for count in errors]
        return [
            scored(words, found, SimpleNamespace(text=" ".join(found), quality=value))
            for found, value in zip(heard, quality, strict=True)
        ]

    errors = [0, 4, 1, 3] * 5
    same = paired(side(errors, [4.0] * 20), side(errors, [4.5] * 20))
    assert same["word_errors"]["low"] < same["word_errors"]["high"]  # sentences differ widely
    assert same["word_errors_above_teacher"] == {"rate": 0.0, "low": 0.0, "high": 0.0}  # and both in the same way
    assert same["words"] == 80 and same["distillmos"]["mean"] == 4.0
    found = mean_of([1.0, 2.0, 3.0])
    assert found.mean == 2.0 and 1.0 <= found.low < 2.0 < found.high <= 3.0


def test_words_of_a_set_beside_the_teacher(bench):
    found = parts.words(bench, "prompts", bench.prompts)
    assert found["words"] == 7 and found["word_errors"]["rate"] == pytest.approx(100 * 4 / 7)
    assert found["word_errors_above_teacher"]["high"] == 0.0
    assert found["teacher_distillmos"]["mean"] == 3.25
    assert {row["text"] for row in found["rows"]} == set(bench.prompts)
    asked = bench.listener.recogniser.asked
    parts.words(bench, "prompts", bench.prompts)
    assert bench.listener.recogniser.asked == asked


def test_the_teacher_is_recorded_once_at_every_speed(bench, tmp_path):
    fast = bench.recordings.samples("prompts", 0, "Two cats.", 2.0)
    bench.recordings._teacher = None
    assert len(fast) == 1200 and np.array_equal(bench.recordings.samples("prompts", 0, "Two cats.", 2.0), fast)


def test_every_part_gives_its_lines(bench):
    rates = parts.rates(bench)
    assert list(rates) == ["0.5", "2"] and rates["2"]["sentences"] == 2
    pitches = parts.pitches(bench)
    assert set(pitches) == {"sentences", "0", "-4", "+4"}
    hour = parts.hour(bench, seconds=1.0)
    assert hour["seconds"] >= 1.0 and hour["clipped_samples"] == 0
    signal = parts.signal(bench)
    assert signal["edges_dbfs"] < -60
    figures = {"rates": rates, "pitches": pitches, "hour": hour, "signal": signal, "heard_by": "parrot"}
    rows = suite.lines(json.loads(json.dumps(figures)))
    assert len(rows) == 2 + 2 + 2 + 4
    assert suite.markdown(rows).count("\n") == len(rows) + 1


def test_bars_hold_or_do_not():
    above = {"rate": 1.0, "low": 0.5, "high": 2.1}
    one = {"rate": 3.0, "low": 2.0, "high": 4.0}
    mean = {"mean": 3.6, "low": 3.5, "high": 3.7}
    row = {
        "sentences": 300, "word_errors": one, "teacher_word_errors": one, "word_errors_above_teacher": above,
        "distillmos": mean, "teacher_distillmos": mean,
    }  # fmt: skip
    words, quality, rate = suite.lines({"words": row, "rates": {"2": row}})
    assert not words.holds and "<= 2" in words.bar and quality.holds and rate.holds
    questions = {
        "triples": 50, "yes_no_ends_3_semitones_above_statement_percent": 100.0, "question word_falls_percent": 98.0,
        "statement_falls_percent": 100.0, "frames_within_a_tenth_of_the_contour_percent": 99.0,
    }  # fmt: skip
    assert [line.holds for line in suite.lines({"questions": questions})] == [True, False, True, True]


def test_a_part_that_is_unknown_is_named(tmp_path, capsys):
    (tmp_path / "p.txt").write_text("One.\n")
    assert suite.main([str(tmp_path / "p.txt"), "--work", str(tmp_path), "--parts", "signal,sounds"]) == 1
    assert "error: --parts has 'sounds'; expected some of words, varied" in capsys.readouterr().err


@pytest.mark.parametrize("command", [questions.main, speak_file.main])
def test_a_voice_that_is_missing_is_one_line(tmp_path, capsys, command):
    (tmp_path / "p.txt").write_text("One.\n")
    files = [] if command is questions.main else [str(tmp_path / "p.txt"), str(tmp_path / "out")]
    assert command([*files, "--voice", "nobody"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and "nobody" in line
