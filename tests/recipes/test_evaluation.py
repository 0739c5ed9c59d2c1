"""Evaluation of a voice: every measure beside something whose value is known."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

import deepvoice
from deepvoice.alignment import Aligner
from deepvoice.cli import main
from deepvoice.errors import AudioError, ConfigError, TextError
from deepvoice.recipes.evaluation import page
from deepvoice.recipes.evaluation.bursts import detector, inject, peaks
from deepvoice.recipes.evaluation.compare import compare
from deepvoice.recipes.evaluation.listen import open_recogniser, word_errors, words_of
from deepvoice.recipes.evaluation.measures import LongTermSpectrum, measure, silences_of
from deepvoice.recipes.evaluation.score import Scorer, aligned, summary, table
from deepvoice.recipes.evaluation.sentences import Item, read_items

TEXT = "The ferry leaves at dawn, and nobody has seen the captain since Tuesday."


@pytest.fixture(scope="module")
def heart():
    return deepvoice.load()


@pytest.fixture(scope="module")
def speech(heart):
    return heart.speak(TEXT)


@pytest.mark.parametrize(
    ("lines", "names", "texts"),
    [
        ("One.\n\n Two. \n", ["000", "001"], ["One.", "Two."]),
        ("\ufeffa\tOne.\r\nb\tTwo, he said\t.\r\n", ["a", "b"], ["One.", "Two, he said\t."]),
        ('"One," he said.\n', ["000"], ['"One," he said.']),
    ],
)
def test_sentences_are_read(tmp_path, lines, names, texts):
    (tmp_path / "s.txt").write_text(lines, encoding="utf-8", newline="")
    items = read_items(tmp_path / "s.txt")
    assert [item.name for item in items] == names and [item.text for item in items] == texts


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tOne.\na\tTwo.\n", r"s\.txt:2: the name 'a' comes twice"),
        (b"a\t\n", r"s\.txt:1: 'a"),
        (b"../x\tOne.\n", r"s\.txt:1: '\.\./x"),
        (b"\n \n", "no sentence"),
        (b"caf\xe9\n", "not UTF-8"),
    ],
)
def test_bad_sentences_are_refused(tmp_path, data, message):
    (tmp_path / "s.txt").write_bytes(data)
    with pytest.raises(TextError, match=message):
        read_items(tmp_path / "s.txt")


def test_a_limit_takes_sentences_evenly(tmp_path):
    (tmp_path / "s.txt").write_text("".join(f"Line {i}.\n" for i in range(10)))
    assert [item.name for item in read_items(tmp_path / "s.txt", limit=3)] == ["000", "003", "006"]


def test_a_recording_that_is_missing_is_named(tmp_path):
    (tmp_path / "s.txt").write_text("a\tOne.\nb\tTwo.\n")
    soundfile.write(tmp_path / "a.flac", np.zeros(100), 16000)
    with pytest.raises(AudioError, match=r"no recording b\.wav"):
        read_items(tmp_path / "s.txt", tmp_path)


@pytest.mark.parametrize("rate", [24000, 16000])
def test_bursts_are_found_where_they_are_and_nowhere_else(speech, rate):
    from deepvoice.audio.resample import resample

    samples = resample(speech.samples, speech.sample_rate, rate)
    assert detector().find(samples, rate) == []
    times = [0.3, 0.9, 1.5, 2.1, 2.7]
    found = detector().find(inject(samples, rate, times, -24.0, 0.02, 3), rate)
    assert [burst.time for burst in found] == pytest.approx([time + 0.01 for time in times], abs=0.02)


def test_detections_that_touch_are_one_burst():
    logits = np.full(100, -5.0, np.float32)
    logits[[10, 12, 13, 60]] = [1, 3, 2, 4]
    assert [(round(b.time, 4), b.logit) for b in peaks(logits, 0.0)] == [(0.03, 3.0), (0.15, 4.0)]


def test_the_signal_is_measured():
    rate = 24000
    samples = np.zeros(rate, np.float32)
    noise = np.random.default_rng(0).standard_normal(rate // 2).astype(np.float32)
    samples[: rate // 2] = noise * 10 ** (-50 / 20)
    samples += 0.01
    samples[rate * 3 // 4] = 1.0
    found = measure(samples, rate, [(0, rate // 2)])
    assert found.noise_floor == pytest.approx(-50, abs=1.0)
    assert found.offset == pytest.approx(-40, abs=0.2)
    assert found.clipped == 1 and found.peak == 0.0
    assert found.edges == pytest.approx(20 * np.log10(max(abs(samples[0]), abs(samples[-1]))))


@pytest.mark.parametrize("text", ["Help!", "Stop! The bridge is closed.", "Really? I had no idea!", "Who is there?"])
def test_silences_are_silent_after_every_mark(heart, text):
    spoken = heart.speak(text)
    assert measure(spoken.samples, spoken.sample_rate, silences_of(spoken)).noise_floor < -60


def test_the_silences_of_the_voice_are_silent(speech):
    found = measure(speech.samples, speech.sample_rate, silences_of(speech))
    assert found.noise_floor < -60 and found.offset < -60 and found.edges < -60
    assert found.clipped == 0 and found.bursts == ()


def test_a_line_at_the_rate_of_the_steps_stands_out():
    random = np.random.default_rng(0)
    noise = random.standard_normal(24000 * 20).astype(np.float32) * 0.01
    line = 0.002 * np.cos(2 * np.pi * 8000 / 24000 * np.arange(len(noise)))
    spectrum = LongTermSpectrum(24000)
    spectrum.add((noise + line).astype(np.float32))
    lines = spectrum.lines(6)
    assert set(lines) == {4000.0, 8000.0, 12000.0}
    assert abs(lines[4000.0]) < 1.0 and abs(lines[12000.0]) < 1.5 and lines[8000.0] > 6


def test_a_speech_is_no_distance_from_itself(speech):
    distance, path = compare(speech.samples, 24000, speech.phones, speech.samples, 24000)
    assert distance.spectral == distance.cepstral == distance.f0 == distance.voicing == distance.duration == 0
    assert distance.length == 1 and distance.f0_correlation == pytest.approx(1)
    assert (path[:, 0] == path[:, 1]).all()


def test_distances_are_those_that_were_made(heart, speech):
    slower = heart.speak(TEXT, speed=0.8)
    distance, _ = compare(speech.samples, 24000, speech.phones, slower.samples, 24000)
    lengths = [[p.end - p.start for p in one.phones if p.word >= 0] for one in (speech, slower)]
    true = 1000 * np.abs(np.subtract(*lengths)).mean()
    assert distance.duration == pytest.approx(true, abs=8)
    assert distance.length == pytest.approx(0.8, abs=0.05)
    higher = heart.speak(TEXT, pitch=4.0)
    distance, _ = compare(speech.samples, 24000, speech.phones, higher.samples, 24000)
    mean = np.mean([phone.f0 for phone in speech.phones if phone.f0])
    assert distance.f0 == pytest.approx(mean * (2 ** (4 / 12) - 1), rel=0.15)
    louder, _ = compare(speech.samples, 24000, speech.phones, speech.samples * np.float32(2), 24000)
    assert louder.spectral == pytest.approx(6.02, abs=0.6) and louder.cepstral < 1.5


def test_word_errors_and_their_difference():
    found = word_errors([1, 0, 3], [10, 10, 20])
    assert found.rate == 10 and 0 <= found.low <= 10 <= found.high <= 15
    assert word_errors([1, 0, 3], [10, 10, 20], [1, 0, 3]).high == 0
    assert word_errors([2, 0], [10, 10], [0, 0]).rate == 10


def test_words_are_compared_as_they_are_said(voice):
    assert words_of(voice, "It cost $42.") == words_of(voice, "it cost forty two dollars")
    assert words_of(voice, "...") == []


def test_a_recogniser_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"faster-whisper is not installed.*--recogniser none"):
        open_recogniser("whisper")
    with pytest.raises(ConfigError, match="expected one of auto"):
        open_recogniser("ears")
    assert open_recogniser("none") is None


class Parrot:
    """A recogniser that hears the same words always."""

    name = "parrot"

    def hear(self, samples_T):
        assert samples_T.dtype == np.float32
        return "two cats sat"


def test_rows_carry_what_was_heard(voice, tmp_path):
    reference = voice.speak("Two cats.")
    reference.save(tmp_path / "a.wav")
    items = [Item(name="a", text="Two cats.", reference=tmp_path / "a.wav")]
    scorer = Scorer(voice, Parrot(), lambda samples, rate: len(samples) / rate)
    (example,) = scorer.examples(items, {})
    row = example.row
    assert (row.count, row.ours.errors, row.ours.words) == (2, 1, "two cats sat")
    assert row.theirs.errors == 1 and row.ours.quality == pytest.approx(reference.seconds)
    figures = summary([row], scorer.spectrum, 6, "parrot")
    assert figures["word_errors"]["rate"] == 50 and figures["word_errors_above_reference"]["rate"] == 0
    assert figures["distillmos"] == pytest.approx(figures["reference_distillmos"])
    assert "heard_by: parrot" in table(figures)
    page.write_page(tmp_path, "<title>", figures, [row], pictures=False)
    text = (tmp_path / "index.html").read_text()
    assert "&lt;title&gt;" in text and "<p>Two cats.</p>" in text and "1 of 2 words wrong (recording 1)" in text
    assert "http" not in text


def test_the_aligner_names_words_that_it_does_not_hear(heart, tmp_path):
    voice = heart
    said = voice.speak("He read the record of forty two years ago.")
    said.save(tmp_path / "a.wav")
    text = "He read the umbrella of forty two years ago."
    scorer = Scorer(voice, None, None, Aligner.load())
    (example,) = scorer.examples([Item(name="a", text=text, reference=tmp_path / "a.wav")], {})
    ours, theirs = example.row.ours, example.row.theirs
    assert "umbrella" in theirs.unread and "umbrella" not in ours.unread
    assert theirs.goodness <= 0 and ours.goodness <= 0
    figures = summary([example.row], scorer.spectrum, 6, None)
    assert figures["reference_unread_words_percent"] > figures["unread_words_percent"]
    assert figures["goodness"] == ours.goodness and "unread_words_percent" in table(figures)
    page.write_page(tmp_path, "t", figures, [dataclasses.replace(example.row, ours=theirs)], pictures=False)
    assert "not heard by the aligner: umbrella" in (tmp_path / "index.html").read_text()
    unread, goodness = aligned(Aligner.load(), np.zeros(240, np.float32), 24000, "Two cats.")
    assert unread == ("Two", "cats.") and goodness is None


def test_the_command(tiny_voice, tmp_path, capsys):
    (tmp_path / "s.txt").write_text("One dog & <two> cats.\nWe met.\n")
    out, figures = tmp_path / "out", tmp_path / "f.json"
    words = ["evaluate", str(tmp_path / "s.txt"), "--voice", str(tiny_voice), "-o", str(out), "--json", str(figures)]
    assert main([*words, "--recogniser", "none", "--no-mos", "-q"]) == 0
    printed = capsys.readouterr()
    assert "sentences: 2" in printed.out and printed.err == ""
    result = json.loads(figures.read_text())
    assert [row["name"] for row in result["rows"]] == ["000", "001"]
    assert result["figures"]["seconds"] == pytest.approx(sum(row["seconds"] for row in result["rows"]))
    text = (out / "index.html").read_text()
    assert "One dog &amp; &lt;two&gt; cats." in text
    for place in ("audio/000.flac", "audio/001.flac", "pictures/000.png"):
        assert f'src="{place}"' in text and (out / place).stat().st_size > 500
    assert not list(out.rglob("*.part"))


@pytest.mark.parametrize(
    ("extra", "status", "message"),
    [
        (["--limit", "0"], 2, "--limit is 0"),
        (["--reference", "nowhere"], 1, "no recording 000.wav"),
    ],
)
def test_bad_arguments(tiny_voice, tmp_path, capsys, extra, status, message):
    (tmp_path / "s.txt").write_text("One dog.\n")
    words = ["evaluate", str(tmp_path / "s.txt"), "--voice", str(tiny_voice), "--recogniser", "none", "--no-mos"]
    assert main([*words, *extra]) == status
    assert message in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "none.txt")]) == 2
    assert "is not a file" in capsys.readouterr().err


def test_the_weights_are_small():
    from deepvoice.recipes.evaluation.bursts import WEIGHTS

    assert Path(WEIGHTS).stat().st_size < 100_000


def test_questions_end_as_they_should(heart):
    from deepvoice.recipes.evaluation.questions import evaluate, read_triples

    triples = read_triples()
    assert len(triples) == 50 and len({text for triple in triples for text in triple}) == 150
    found = evaluate(heart, triples[:3])
    assert found["yes_no_ends_3_semitones_above_statement_percent"] == 100
    assert min(found["question word_falls_percent"], found["statement_falls_percent"]) > 60
    assert found["frames_within_a_tenth_of_the_contour_percent"] > 90


def test_contours_are_those_of_the_speech(heart):
    from deepvoice.recipes.evaluation.questions import requested

    wanted = requested(heart, "Did she sell the old house? She did.")
    speech = heart.speak("Did she sell the old house? She did.")
    assert len(wanted) * 120 >= len(speech.samples)
    for phone in speech.phones:
        inside = wanted[round(phone.samples[0] / 120) : round(phone.samples[1] / 120)]
        if phone.f0 and len(inside[inside > 0]) > 4:
            assert inside[inside > 0].mean() == pytest.approx(phone.f0, rel=0.03)
