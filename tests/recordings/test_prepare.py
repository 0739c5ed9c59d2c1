"""Recordings of every kind, and rows D3, D6 and D17 of reported faults: mixed rates, silence, long edges."""

import html.parser
import json
import re

import numpy as np
import pytest
import soundfile

from deepvoice.commands.program import run
from deepvoice.recipes.recordings.examine import Examined, Limits
from deepvoice.recipes.recordings.measure import bandwidth, clipped_share, fingerprint, levels
from deepvoice.recipes.recordings.prepare import JOURNAL, _judge_texts, _remarks, prepare

TEXT = "We are late today."


def write_texts(folder, *names, text=TEXT):
    lines = "".join(f"{name}\t{text}\n" for name in names)
    (folder / "texts.tsv").write_text(lines)


def prepared(folder, out, **how):
    return prepare(folder, out, listen=how.pop("listen", False), **how)


def by_name(result):
    return {found.source.rsplit("/", 1)[1]: found for found in result.examined}


def test_every_rate_and_format_is_resampled_and_none_is_sped_up(tmp_path, record):
    kinds = {
        "a16.wav": (16000, "PCM_16"), "b44.wav": (44100, "PCM_24"), "c48.wav": (48000, "FLOAT"),
        "d22.flac": (22050, "PCM_16"), "e24.mp3": (24000, None), "f11.wav": (11025, "PCM_U8"),
        "g96.wav": (96000, "DOUBLE"),
    }  # fmt: skip
    for name, (rate, subtype) in kinds.items():
        record(name, rate=rate, subtype=subtype)
    takes = tmp_path / "takes"
    write_texts(takes, *kinds)
    result = prepared(takes, tmp_path / "out")
    assert [found.reasons for found in result.examined] == [[]] * len(kinds)
    for found in result.examined:
        rate = kinds[found.source.rsplit("/", 1)[1]][0]
        info = soundfile.info(tmp_path / "out" / found.row["audio"])
        assert (info.samplerate, info.channels, info.subtype) == (24000, 1, "PCM_16")
        assert found.measures["seconds"] == pytest.approx(1.5, abs=0.08)
        assert found.row["seconds"] == pytest.approx(found.measures["speech"] + 0.3, abs=0.002)
        assert (f"resampled from {rate} Hz" in found.notes) == (rate != 24000)


def test_silence_is_refused_and_a_good_short_clip_kept(tmp_path, record, speech):
    random = np.random.default_rng(0)
    record("zero.wav", np.zeros(24000, np.float32))
    record("faint.wav", (10 ** (-90 / 20) * random.standard_normal(24000)).astype(np.float32), subtype="FLOAT")
    record("offset.wav", np.full(24000, 0.2, np.float32))
    record("noise.wav", (0.1 * random.standard_normal(24000)).astype(np.float32))
    record("short.wav", seconds=1.2)
    record("click.wav", np.concatenate([np.zeros(24000), 0.5 * np.ones(20), np.zeros(24000)]).astype(np.float32))
    takes = tmp_path / "takes"
    write_texts(takes, "zero.wav", "faint.wav", "offset.wav", "noise.wav", "short.wav", "click.wav", text="Go now.")
    found = by_name(prepared(takes, tmp_path / "out"))
    assert all(found[name].reasons == ["silent"] for name in ("zero.wav", "faint.wav", "offset.wav"))
    assert "noise: " in found["noise.wav"].reasons[0]
    assert "s of sound; expected 0.25" in found["click.wav"].reasons[0]
    assert not found["short.wav"].reasons


@pytest.mark.parametrize("pad", [0.0, 2.0])
def test_edges_become_the_margin_and_pauses_inside_stay(tmp_path, record, speech, pad):
    silence, pause = np.zeros(round(pad * 24000), np.float32), np.zeros(24000, np.float32)
    burst = 0.3 * np.sin(np.arange(12000) / 9).astype(np.float32)
    record("a.wav", np.concatenate([silence, burst, pause, burst, silence]))
    write_texts(tmp_path / "takes", "a.wav")
    (found,) = prepared(tmp_path / "takes", tmp_path / "out", limits=Limits(margin=0.1)).examined
    assert found.row["seconds"] == pytest.approx(2.2, abs=0.011)
    samples, rate = soundfile.read(tmp_path / "out" / found.row["audio"])
    heard = np.flatnonzero(np.abs(samples) > 0.01)
    assert heard[0] / rate == pytest.approx(0.1, abs=0.006)
    assert (len(samples) - heard[-1]) / rate == pytest.approx(0.1, abs=0.006)


def test_faults_of_the_sound_are_found_with_figures(tmp_path, record, speech):
    voice = speech(2.0, 24000, 5, 1.0)
    record("clipped.wav", np.clip(3 * voice, -0.9, 0.9))
    record("shifted.wav", 0.3 * speech(2.0, 24000, 6, 1.0) + 0.1)
    record("hissing.wav", 0.3 * speech(2.0, 24000, 7, 1.0) + 0.01 * np.random.default_rng(1).standard_normal(48000))
    record("inverted.wav", np.stack([speech(2.0, 24000, 8), -speech(2.0, 24000, 8)], axis=1))
    record("one_side.wav", np.stack([speech(2.0, 24000, 9), np.zeros(48000)], axis=1))
    record("nan.wav", np.where(np.arange(48000) == 99, np.nan, speech(2.0, 24000, 10)), subtype="FLOAT")
    names = ("clipped", "shifted", "hissing", "inverted", "one_side", "nan")
    write_texts(tmp_path / "takes", *(f"{name}.wav" for name in names))
    found = by_name(prepared(tmp_path / "takes", tmp_path / "out"))
    assert re.match(r"clipped: [\d.]+ % of the samples", found["clipped.wav"].reasons[0])
    assert any(note.startswith("offset +0.1") for note in found["shifted.wav"].notes)
    assert any(note.startswith("noisy: ") for note in found["hissing.wav"].notes)
    assert any("channels cancel" in note for note in found["inverted.wav"].notes)
    assert any("silent; channel 1 of 2" in note for note in found["one_side.wav"].notes)
    assert found["nan.wav"].reasons == ["samples that are not numbers"]
    assert not any(found[f"{name}.wav"].reasons for name in ("shifted", "hissing", "inverted", "one_side"))
    samples, _ = soundfile.read(tmp_path / "out" / found["shifted.wav"].row["audio"])
    assert abs(samples.mean()) < 0.01


def test_files_that_cannot_be_read_are_named(tmp_path, record):
    takes = tmp_path / "takes"
    record("good.wav")
    (takes / "empty.wav").touch()
    (takes / "header.wav").write_bytes((takes / "good.wav").read_bytes()[:44])
    (takes / "text.wav").write_text("not a sound at all")
    (takes / "cut.flac").write_bytes(b"fLaC\0\0\0\x22")
    soundfile.write(takes / "long.flac", np.zeros(8000 * 600, np.int16), 8000)
    soundfile.write(takes / "coarse.wav", 0.3 * np.sin(np.arange(8000)), 4000)
    names = ("good.wav", "empty.wav", "header.wav", "text.wav", "cut.flac", "long.flac", "coarse.wav")
    write_texts(takes, *names)
    result = prepared(takes, tmp_path / "out")
    reasons = {name: found.reasons[0] for name, found in by_name(result).items() if found.reasons}
    assert reasons.keys() == set(names[1:])
    assert "empty file" in reasons["empty.wav"]
    assert "no samples" in reasons["header.wav"] or "cannot be read" in reasons["header.wav"]
    assert "cannot be read as audio" in reasons["text.wav"]
    assert reasons["long.flac"].startswith("lasts 600.0 s")
    assert "4000 Hz" in reasons["coarse.wav"]
    refused = (tmp_path / "out" / "refused.tsv").read_text().splitlines()
    assert len(refused) == 1 + 6 and all(name in "\n".join(refused) for name in names[1:])


def test_texts_that_cannot_be_spoken_or_do_not_fit(tmp_path, record):
    lines = {
        "a.wav": TEXT, "b.wav": "…", "c.wav": "Hello 世界 again.", "d.wav": "We are late \U0001f600 today.",
        "g.wav": f"<p>{TEXT}</p>",
        "e.wav": "It is. " + "This is much more than anyone says in a second and a half. " * 4,
    }  # fmt: skip
    for name in lines:
        record(name)
    record("f.wav", seconds=9.0)
    (tmp_path / "takes" / "t.tsv").write_text("".join(f"{n}\t{t}\n" for n, t in {**lines, "f.wav": "No."}.items()))
    found = by_name(prepared(tmp_path / "takes", tmp_path / "out"))
    assert not found["a.wav"].reasons and not found["d.wav"].reasons
    assert found["b.wav"].reasons[0].startswith("text: ")
    assert "'世界' cannot be spoken" in found["c.wav"].reasons[0]
    assert "'<p>', '</p>' cannot be spoken" in found["g.wav"].reasons[0]
    assert "not spoken: '\U0001f600'" in found["d.wav"].notes
    assert "phones for" in found["e.wav"].reasons[0]
    assert "something missing" in found["f.wav"].reasons[0]


def test_the_same_sound_twice_is_found_in_any_format(tmp_path, record, speech):
    voice = speech(2.0, 24000, 3)
    record("a.wav", voice)
    record("b.mp3", 0.5 * voice)
    record("c.wav", voice)
    record("d.wav", speech(2.0, 24000, 4))
    takes = tmp_path / "takes"
    (takes / "t.tsv").write_text(f"a.wav\t{TEXT}\nb.mp3\t{TEXT}\nc.wav\tSomething else today.\nd.wav\t{TEXT}\n")
    result = prepared(takes, tmp_path / "out")
    found = by_name(result)
    assert found["b.mp3"].reasons == ["the same sound as a.wav"]
    assert found["c.wav"].reasons == [f"the same sound as a.wav with another text: {TEXT!r}"]
    assert "another text" in found["a.wav"].reasons[0]  # nobody knows which of the two texts is right
    assert not found["d.wav"].reasons
    assert any("same sound" in remark for remark in result.remarks)


def test_a_second_run_looks_only_at_what_is_new_and_ends_the_same(tmp_path, record):
    takes, out = tmp_path / "takes", tmp_path / "out"
    for name in ("a.wav", "b.wav", "c.wav"):
        record(name)
    write_texts(takes, "a.wav", "b.wav", "c.wav")
    prepared(takes, out)
    files = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert prepared(takes, out).again == 3
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} == files
    journal = (out / JOURNAL).read_text().splitlines()
    (out / JOURNAL).write_text(journal[0] + "\n" + journal[1][:50])  # as an interrupted run leaves it
    (out / "manifest.jsonl").unlink()
    assert prepared(takes, out).again == 1
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} == files
    record("d.wav")
    write_texts(takes, "a.wav", "b.wav", "d.wav")
    result = prepared(takes, out)
    assert result.again == 2 and [found.id for found in result.kept] == ["a", "b", "d"]
    assert not (out / "wav" / "c.flac").exists()


def test_a_corpus_inside_the_folder_of_the_recordings_is_not_read_again(tmp_path, record):
    record("a.wav")
    (tmp_path / "takes" / "a.txt").write_text(TEXT)
    for _ in range(2):
        result = prepared(tmp_path / "takes", tmp_path / "takes" / "corpus")
        assert [found.id for found in result.kept] == ["a"] and not result.refused


def test_processes_do_not_change_the_result(tmp_path, record):
    names = [f"{i}.wav" for i in range(8)]
    for name in names:
        record(name, seconds=0.6)
    write_texts(tmp_path / "takes", *names, text="Go.")
    prepared(tmp_path / "takes", tmp_path / "one")
    prepared(tmp_path / "takes", tmp_path / "two", jobs=2)
    for name in ("manifest.jsonl", "recordings.jsonl", "refused.tsv", "report.html"):
        assert (tmp_path / "one" / name).read_text() == (tmp_path / "two" / name).read_text()


class _Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "rect", "line", "circle", "path"):
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_the_report_is_one_page_that_asks_for_nothing(tmp_path, record):
    for name in ("a.wav", "<b>&.wav"):
        record(name)
    (tmp_path / "takes" / "t.tsv").write_text("a.wav\t<script>alert(1)</script> today.\n<b>&.wav\t世界\nz.wav\tGone.\n")
    prepared(tmp_path / "takes", tmp_path / "out")
    text = (tmp_path / "out" / "report.html").read_text()
    page = _Page()
    page.feed(text)
    assert not page.links and not page.open
    assert (
        "<script" not in text
        and "url(" not in text
        and "@import" not in text
        and "http" not in text.replace("http-equiv", "")
    )
    assert "default-src 'none'" in text
    assert "&lt;b&gt;&amp;.wav" in text and "t.tsv:3" in text
    assert text.count("<svg") >= 4


def test_the_command_tells_what_became_of_a_folder(tmp_path, record, capsys):
    record("a.wav")
    record("b.wav", np.zeros(9000, np.float32))
    write_texts(tmp_path / "takes", "a.wav", "b.wav", "c.wav")
    words = ["prepare", str(tmp_path / "takes"), "-o", str(tmp_path / "out"), "--no-listen", "-j", "1"]
    assert run(words) == 0
    told = capsys.readouterr().err
    assert "b.wav: silent" in told and "texts.tsv:3: its recording 'c.wav' is missing" in told
    assert "1 of 2 recordings" in told and "too few to train on" in told
    row = json.loads((tmp_path / "out" / "manifest.jsonl").read_text())
    assert row["id"] == "a" and row["phones"].startswith("sil ") and row["words"] == ["we", "are", "late", "today"]
    assert run([*words[:2], "-o", str(tmp_path / "takes")]) == 1
    assert run(["prepare", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out")]) == 1
    assert run([*words, "-j", "0"]) == 2
    assert "expected a folder with recordings" in capsys.readouterr().err


def heard(confidence, words=4, missing=0):
    doubts = ["it says something else"] if confidence <= 0.5 or missing else []
    return Examined(
        id="a", source="a.wav", place="t:1", text=TEXT, reasons=[], notes=[], doubts=doubts, confidence=confidence,
        missing=missing, row={"words": ["word"] * words},
    )  # fmt: skip


def test_a_text_that_is_not_said_is_refused_among_texts_that_are():
    several = [*(heard(0.9) for _ in range(8)), heard(0.45), heard(0.01), heard(0.01, words=2)]
    assert _judge_texts(several, Limits()) == ["the aligner hears 9 of 11 texts (82 %)"]
    assert [bool(found.reasons) for found in several] == [False] * 9 + [True, False]
    assert several[8].notes and several[10].notes and "differ" in several[9].reasons[0]
    cut = [*(heard(0.9) for _ in range(8)), heard(0.99, words=12, missing=4), heard(0.99, words=12, missing=2)]
    _judge_texts(cut, Limits())
    assert "differ" in cut[8].reasons[0] and not cut[9].reasons and cut[9].notes
    strange = [*(heard(0.01) for _ in range(9)), heard(0.9)]
    assert any("notes only" in remark for remark in _judge_texts(strange, Limits()))
    assert not [found for found in strange if found.reasons] and strange[0].notes


def test_levels_are_those_of_recordings_that_are_used():
    def recording(loud, *reasons):
        figures = {"rate": 24000, "channels": 1, "encoding": "WAV PCM_16", "loud": loud}
        return Examined(id="", source="", place="", text="", reasons=[*reasons], notes=[], measures=figures)

    even = [recording(-20.0) for _ in range(18)]
    refused = [recording(-120.0, "silent") for _ in range(6)]
    assert not [remark for remark in _remarks([*even, *refused]) if "dB" in remark]
    uneven = list(_remarks([*even, *(recording(-40.0) for _ in range(6))]))
    assert uneven[-1] == "levels differ by 20 dB between recordings"


def test_measures_of_known_sounds(speech):
    rate = 24000
    time = np.arange(2 * rate) / rate
    assert clipped_share((0.5 * np.sin(2 * np.pi * 100 * time)).astype(np.float32)) < 0.2  # crests of a pure tone
    assert clipped_share(speech(2.0, rate, 1)) == 0.0
    assert clipped_share(np.sign(np.sin(2 * np.pi * 100 * time)).astype(np.float32)) > 0.9
    loud, quiet = levels(
        np.concatenate([np.zeros(rate), 0.1 * np.sin(2 * np.pi * 440 * time)]).astype(np.float32), rate
    )
    assert loud == pytest.approx(-23.0, abs=0.2) and quiet == pytest.approx(-23.0, abs=0.2)
    noise = np.random.default_rng(0).standard_normal(2 * rate).astype(np.float32)
    assert bandwidth(noise, rate) > 11_900
    assert (
        bandwidth(np.convolve(noise, np.sinc((np.arange(255) - 127) / 4) * np.hanning(255)).astype(np.float32), rate)
        < 4000
    )
    voice = speech(2.0, rate, 1)
    same = bytes.fromhex(fingerprint(0.3 * voice))
    assert sum(bin(a ^ b).count("1") for a, b in zip(bytes.fromhex(fingerprint(voice)), same, strict=True)) < 20
