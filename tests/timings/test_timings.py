"""Timings: they cover the samples exactly, point into the original text, and every format can be read back."""

import itertools
import json
import re

import numpy as np
import pytest

import deepvoice
from deepvoice import timings
from deepvoice.errors import AudioError, ConfigError
from deepvoice.speech import Phone, SpokenMark, SpokenSentence, Word
from deepvoice.text.phones import PHONES, SYMBOLS, base
from deepvoice.timings.cues import LINE, LINES, LONGEST, cues, wrap
from deepvoice.timings.visemes import SHAPES

TEXT = 'Dr. Smith has 42 cats & "dogs". They sleep, mostly.\n\nAll day?'
SSML = (
    "<speak><mark name='start'/>Hello <break time='1337ms'/><mark name='mid'/>big &amp; <emphasis>bright</emphasis> "
    "world.<break time='2s'/> <s>Two</s><s>Three <break time='90ms'/> four</s><break time='777ms'/><mark name='end'/>"
    "</speak>"
)


@pytest.fixture(scope="module")
def speech(voice):
    return voice.speak(TEXT)


@pytest.fixture(scope="module")
def marked(voice):
    return voice.speak(SSML, ssml=True, lead_in=0.2)


def contiguous(items, end):
    edges = [item.samples for item in items]
    return edges[0][0] == 0 and edges[-1][1] == end and all(a[1] == b[0] for a, b in itertools.pairwise(edges))


def test_phones_cover_every_sample(speech, marked):
    for spoken in (speech, marked):
        assert contiguous(spoken.phones, len(spoken.samples))
        shapes = timings.visemes(spoken.phones)
        assert shapes[0].start == 0 and shapes[-1].end == len(spoken.samples)
        assert all(a.end == b.start and a.shape != b.shape for a, b in itertools.pairwise(shapes))
        for item in (*spoken.words, *spoken.phones, *spoken.sentences):
            assert (item.start, item.end) == tuple(sample / 24000 for sample in item.samples)


def test_words_and_their_phones_agree(speech):
    for index, word in enumerate(speech.words):
        own = [phone.samples for phone in speech.phones if phone.word == index]
        assert (own[0][0], own[-1][1]) == word.samples
    for sentence in speech.sentences:
        words = speech.words[slice(*sentence.words)]
        assert (words[0].samples[0], words[-1].samples[1]) == sentence.samples


def test_sentences_and_words_show_what_was_written(speech, marked):
    assert [s.text for s in speech.sentences] == ['Dr. Smith has 42 cats & "dogs".', "They sleep, mostly.", "All day?"]
    assert [TEXT[slice(*s.span)] for s in speech.sentences] == [s.text for s in speech.sentences]
    assert [w.written for w in speech.words[:8]] == ["Dr. ", "Smith ", "has ", "42 ", "", "cats ", "& ", '"dogs".']
    assert [s.text for s in marked.sentences] == ["Hello big & bright world.", "Two", "Three four"]
    assert [SSML[slice(*w.span)] for w in marked.words[:3]] == ["Hello", "big", "&"]


def test_breaks_last_as_long_as_they_say(marked):
    by_text = {word.text: word for word in marked.words}
    gap = by_text["big"].samples[0] - by_text["hello"].samples[1]
    assert gap == round(1.337 * 24000)
    assert by_text["two"].samples[0] - by_text["world"].samples[1] == 2 * 24000
    assert by_text["four"].samples[0] - by_text["three"].samples[1] == pytest.approx(0.09 * 24000, abs=60)
    assert len(marked.samples) - by_text["four"].samples[1] == round(0.777 * 24000)
    middle = by_text["hello"].samples[1] + gap // 2
    assert not marked.samples[middle - 6000 : middle + 6000].any()
    assert not marked.samples[: round(0.2 * 24000)].any()


def test_marks(marked):
    at = {mark.name: mark.sample for mark in marked.marks}
    by_text = {word.text: word for word in marked.words}
    assert list(at) == ["start", "mid", "end"]
    assert at["mid"] == by_text["big"].samples[0]
    assert by_text["four"].samples[1] <= at["end"] <= len(marked.samples)


def test_times_without_samples_are_the_same(voice, marked):
    silent = voice.timings(SSML, ssml=True, lead_in=0.2)
    assert len(silent.samples) == 0 and silent.seconds == marked.seconds
    with pytest.raises(AudioError, match="no samples"):
        silent.save("never.wav")
    for name in ("words", "phones", "sentences", "marks"):
        assert getattr(silent, name) == getattr(marked, name)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_times_at_another_rate_cover_the_file(marked, rate):
    timeline = timings.Timeline.of(marked).at_rate(rate)
    assert contiguous(timeline.phones, -(-len(marked.samples) * rate // 24000))
    assert timeline.num_samples == timeline.phones[-1].samples[1]
    for before, after in zip(marked.words, timeline.words, strict=True):
        assert after.start == pytest.approx(before.start, abs=1.1 / rate)


def test_every_phone_has_a_shape():
    assert {base(phone) for phone in PHONES} == set(timings.VISEMES)
    assert {shape for shapes in timings.VISEMES.values() for shape in shapes} | {"sil"} == set(SHAPES)
    phones = [
        Phone(symbol=symbol, start=0, end=0, f0=0, samples=(10 * i, 10 * i + 10)) for i, symbol in enumerate(SYMBOLS)
    ]
    assert timings.visemes(phones)[-1].end == 10 * len(SYMBOLS)


def test_shapes():
    symbols = ["sil", "HH", "AY1", "P", "B", "."]
    phones = [Phone(symbol=s, start=0, end=0, f0=0, samples=(100 * i, 100 * i + 100)) for i, s in enumerate(symbols)]
    assert timings.visemes(phones) == [
        ("sil", 0, 100), ("aa", 100, 250), ("ih", 250, 300), ("PP", 300, 500), ("sil", 500, 600)
    ]  # fmt: skip


def test_json(marked):
    data = json.loads(timings.render(marked, "json"))
    assert data["samples"] == len(marked.samples) and data["sample_rate"] == 24000
    assert data["words"][0] == {
        "text": "hello", "written": "Hello", "start": marked.words[0].start, "end": marked.words[0].end,
        "samples": list(marked.words[0].samples), "span": list(marked.words[0].span),
    }  # fmt: skip
    assert [mark["name"] for mark in data["marks"]] == ["start", "mid", "end"]
    assert sum(b - a for a, b in (phone["samples"] for phone in data["phones"])) == data["samples"]
    assert sum(b - a for a, b in (viseme["samples"] for viseme in data["visemes"])) == data["samples"]


def test_json_lines(marked):
    events = [json.loads(line) for line in timings.render(marked, "jsonl").splitlines()]
    assert [event["start"] for event in events] == sorted(event["start"] for event in events)
    counts = {kind: sum(event["type"] == kind for event in events) for kind in ("sentence", "word", "mark", "phone")}
    assert counts == {"sentence": 3, "word": len(marked.words), "mark": 3, "phone": len(marked.phones)}
    word = next(event for event in events if event["type"] == "word")
    assert SSML[slice(*word["span"])] == "Hello" and word["value"] == "hello"


def clock(text):
    hours, minutes, seconds = text.replace(",", ".").split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


@pytest.mark.parametrize("by_word", [False, True])
def test_srt(speech, by_word):
    blocks = timings.render(speech, "srt", by_word=by_word).strip().split("\n\n")
    last = 0.0
    shown = []
    for number, block in enumerate(blocks, 1):
        count, times, *lines = block.split("\n")
        assert int(count) == number
        start, end = map(clock, re.fullmatch(r"(\d\d:\d\d:\d\d,\d{3}) --> (\d\d:\d\d:\d\d,\d{3})", times).groups())
        assert last <= start <= end <= speech.seconds + 0.001
        last = end
        shown += lines
    assert " ".join(shown) == " ".join(TEXT.split())


@pytest.mark.parametrize("by_word", [False, True])
def test_vtt(speech, by_word):
    text = timings.render(speech, "vtt", by_word=by_word)
    assert text.startswith("WEBVTT\n\n")
    plain = re.sub(r"<[^>]*>", "", text)
    assert 'Dr. Smith has 42 cats &amp; "dogs".' in plain
    if by_word:
        for cue in text.split("\n\n")[1:]:
            edges = re.search(r"([\d:.]+) --> ([\d:.]+)", cue)
            inner = [clock(t) for t in re.findall(r"<(\d\d:[\d:.]+)>", cue)]
            assert all(a < b for a, b in itertools.pairwise([clock(edges[1]), *inner]))
            assert not inner or inner[-1] <= clock(edges[2])


def test_lrc(speech):
    lines = timings.render(speech, "lrc").splitlines()
    assert all(re.match(r"\[\d\d:\d\d\.\d\d\]\S", line) for line in lines)
    assert lines[-1].endswith("]All day?")
    assert re.fullmatch(
        r"\[\S+\](<\d\d:\d\d\.\d\d> \S+ )+<\S+>", timings.render(speech, "lrc", by_word=True).splitlines()[0]
    )


def read_textgrid(text):
    """A reader of Praat's long format, strict about order: name -> list of (xmin, xmax, label)."""
    fields = re.findall(
        r"^\s*(class|name|xmin|xmax|text|number|mark|size|intervals: size|points: size) = (.*)$", text, re.M
    )
    tiers, name, row = {}, None, []
    for key, value in fields:
        if key == "name":
            name = value.strip('"')
            tiers[name] = []
        elif key in ("xmin", "xmax", "number"):
            row.append(float(value))
        elif key in ("intervals: size", "points: size"):
            row = []
        elif key in ("text", "mark"):
            tiers[name].append((*row, value[1:-1].replace('""', '"')))
            row = []
    return tiers


def test_textgrid(marked, speech):
    tiers = read_textgrid(timings.render(marked, "TextGrid"))
    assert list(tiers) == ["sentences", "words", "phones", "visemes", "marks"]
    for name in ("sentences", "words", "phones", "visemes"):
        intervals = tiers[name]
        assert intervals[0][0] == 0 and intervals[-1][1] == pytest.approx(marked.seconds, abs=1e-9)
        assert all(a[1] == b[0] and a[0] < a[1] for a, b in itertools.pairwise(intervals))
    assert [label for *_, label in tiers["words"] if label] == [word.text for word in marked.words]
    assert [label for _, label in tiers["marks"]] == ["start", "mid", "end"]
    quoted = read_textgrid(timings.render(speech, "TextGrid"))
    assert quoted["sentences"][1][2] == 'Dr. Smith has 42 cats & "dogs".' and "marks" not in quoted


def test_files(speech, tmp_path):
    for name in ("a.json", "a.jsonl", "a.srt", "a.words.vtt", "a.LRC", "a.TextGrid"):
        path = timings.write(tmp_path / name, speech)
        assert path.read_text(encoding="utf-8")
    assert "<c>" in (tmp_path / "a.words.vtt").read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == 6
    with pytest.raises(deepvoice.ConfigError, match="no suffix of timings"):
        timings.write(tmp_path / "a.txt", speech)
    with pytest.raises(deepvoice.ConfigError, match="expected one of"):
        timings.render(speech, "ass")
    with pytest.raises(deepvoice.AudioError, match="cannot write"):
        timings.write(tmp_path / "no" / "a.srt", speech)


def made_up(sentence, seconds_per_word):
    """A speech of one sentence whose words take so long each."""
    words, at = [], 0
    for text in sentence.split():
        end = at + round(seconds_per_word * 24000)
        words.append(
            Word(
                text=text.lower(), start=at / 24000, end=end / 24000, span=(0, 1), samples=(at, end), written=f"{text} "
            )
        )
        at = end
    spoken = SpokenSentence(text=sentence, start=0, end=at / 24000, span=(0, 1), samples=(0, at), words=(0, len(words)))
    phone = Phone(symbol=".", start=0, end=at / 24000, f0=0, samples=(0, at))
    return timings.Timeline(
        sample_rate=24000, num_samples=at, words=tuple(words), phones=(phone,), sentences=(spoken,),
        marks=(SpokenMark(name="x", time=0, sample=0),),
    )  # fmt: skip


@pytest.mark.parametrize("seconds", [0.1, 0.4, 1.5, 9.0])
def test_long_sentences_become_several_subtitles(seconds):
    sentence = (
        "It was a bright, cold day in April, and all the clocks of the town were striking thirteen; nobody knew why. "
        * 3
    )
    shown = cues(made_up(sentence, seconds))
    assert " ".join(cue.text for cue in shown) == " ".join(sentence.split())
    for cue in shown:
        assert len(cue.writings) == 1 or (cue.end - cue.start) / 24000 <= LONGEST
        lines = wrap(cue.text)
        assert len(lines) <= LINES and all(len(line) <= LINE + 8 for line in lines)
    assert any(cue.text.endswith((",", ";")) for cue in shown) or seconds > 1


def test_a_stream_that_goes_on_counts_on(voice):
    text = "Two cats. They sleep. All day?"
    whole = voice.speak(text)
    first = voice.stream(text[:10])
    pieces = list(first)
    second = voice.stream(text[10:], after=first)
    pieces += list(second)
    assert np.array_equal(np.concatenate(pieces), whole.samples)
    assert (*first.words, *second.words) == whole.words
    assert (*first.sentences, *(s for s in second.sentences))[1].span == whole.sentences[1].span
    data = json.loads(timings.render(second, "json"))
    assert data["words"][0]["samples"][0] < whole.words[2].samples[0]  # a file of the second part begins at 0


@pytest.mark.parametrize("wrong", [None, 5, b"srt", "txt"])
def test_unknown_formats_are_one_error(speech, wrong):
    with pytest.raises(ConfigError, match="timings"):
        timings.render(speech, wrong)
    with pytest.raises(ConfigError, match="timings"):
        timings.write(wrong, speech)
