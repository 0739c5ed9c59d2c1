"""The options of speaking, SSML through the voice, dispatchers, and streams that go on from others."""

import dataclasses
import typing
import zlib
from fractions import Fraction

import numpy as np
import pytest

import deepvoice
from deepvoice.options import Options, OptionValues
from deepvoice.text.document import Document, Style
from deepvoice.text.options import TextOptions
from deepvoice.text.user_lexicon import UserLexicon

TEXT = "Dr. Smith has 42 cats. They sleep, mostly.\n\nAll day!"
SSML = (
    "<speak>Two <break time='400ms'/>cats. "
    "<prosody rate='fast' pitch='+2st' volume='-3dB'>They</prosody> sleep.</speak>"
)


def joined(stream):
    return np.concatenate(list(stream))


def test_the_keywords_and_the_dataclass_agree():
    assert set(OptionValues.__annotations__) == {field.name for field in dataclasses.fields(Options)}
    assert list(typing.get_type_hints(Options, {"UserLexicon": UserLexicon})) == list(OptionValues.__annotations__)


@pytest.mark.parametrize(
    "options",
    [
        {"ssml": "yes"}, {"lexicon": {"a": "b"}}, {"options": {"dates": "dmy"}}, {"normalize": 1}, {"loudness": 3},
        {"loudness": float("nan")}, {"lead_in": -1}, {"lead_in": 11}, {"question_rise": None},
    ],
)  # fmt: skip
def test_options_of_the_wrong_kind(voice, options):
    for speak in (voice.speak, voice.stream, voice.timings, voice.phonemes):
        with pytest.raises(deepvoice.ConfigError, match=next(iter(options))):
            speak(TEXT, **options)
    with pytest.raises(TypeError, match="unexpected keyword"):
        voice.speak(TEXT, loudnes=-20)


def test_malformed_ssml_is_refused_at_once(voice):
    for speak in (voice.stream, voice.phonemes):
        with pytest.raises(deepvoice.TextError, match="line 1, column 8"):
            speak("<speak><nothing/></speak>", ssml=True)
    with pytest.raises(deepvoice.TextError, match=r"empty|nothing"):
        voice.stream("<speak><break time='1s'/></speak>", ssml=True)
    with pytest.raises(deepvoice.TextError, match="Document"):
        voice.stream(Document(text="Hi"), ssml=True)
    assert [w.text for w in voice.speak("this is a <test> of 3 < 5").words][3] == "test"  # plain text has no markup


def test_ssml_and_documents_say_the_same(voice):
    by_ssml = voice.speak("<speak>Two <prosody rate='2'>cats</prosody>.</speak>", ssml=True)
    by_hand = voice.speak(Document(text="Two cats.", styles=(Style(start=4, end=8, rate=2.0),)))
    assert np.array_equal(by_ssml.samples, by_hand.samples)
    assert not np.array_equal(by_ssml.samples, voice.speak("Two cats.").samples)


def test_markup_that_changes_nothing_changes_no_sample(voice):
    plain = voice.speak("Two cats. They sleep.")
    marked = voice.speak(
        "<speak>Two <mark name='m'/>cats. <emphasis level='none'>They</emphasis> sleep.</speak>", ssml=True
    )
    assert np.array_equal(plain.samples, marked.samples)
    assert [m.name for m in marked.marks] == ["m"]


def test_notes_are_reported(voice):
    report = voice.speak("<speak><voice name='Bob'>Two cats.</voice></speak>", ssml=True).report
    assert [note.text for note in report.notes] == ["<voice name='Bob'>"]


def test_the_lexicon_and_the_text_options_reach_the_front_end(voice):
    lexicon = UserLexicon.from_mapping({"cats": "D AO1 G Z"})
    assert voice.speak("Two cats.", lexicon=lexicon).phones[-5].symbol == "D"
    days = [voice.phonemes("03/04/2026", options=TextOptions(dates=order)) for order in ("mdy", "dmy")]
    assert [day[0].words[0].text for day in days] == ["march", "april"]
    said = [[w.text for w in voice.phonemes("It costs $5.", normalize=flag)[0].words] for flag in (True, False)]
    assert said[0][-2:] == ["five", "dollars"] != said[1][-2:]


@pytest.mark.parametrize(("text", "ssml"), [(TEXT, False), (SSML, True)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_dispatcher_gives_the_same_samples(voice, text, ssml, threads):
    expected = voice.speak(text, ssml=ssml)
    with voice.dispatcher(threads=threads, slots=2) as dispatcher:
        streams = [voice.stream(text, ssml=ssml, dispatcher=dispatcher) for _ in range(3)]
        abandoned = voice.stream(text, ssml=ssml, dispatcher=dispatcher)
        next(abandoned)
        abandoned.close()
        for stream in streams:
            assert np.array_equal(joined(stream), expected.samples)
            assert tuple(stream.phones) == expected.phones


def test_a_batch_of_eight_and_another_process_give_the_same_samples(voice, tiny_voice, run_python):
    expected = voice.speak(TEXT).samples
    assert all(np.array_equal(speech.samples, expected) for speech in voice.speak_many([TEXT] * 8))
    code = (
        "import sys, zlib, deepvoice\n"
        "print(zlib.crc32(deepvoice.load(sys.argv[1]).speak(sys.argv[2]).samples.tobytes()))"
    )
    results = {run_python("-c", code, str(tiny_voice), TEXT).stdout for _ in range(2)}
    assert results == {f"{zlib.crc32(expected.tobytes())}\n".encode()}


def test_a_stream_can_be_closed_at_any_time(voice):
    for read in (0, 1, 3):
        stream = voice.stream(TEXT)
        for _ in range(read):
            next(stream)
        stream.close()
        assert list(stream) == []
        stream.close()


@pytest.mark.parametrize("loudness", [None, -30.0])
def test_streams_equal_the_whole_with_every_option(voice, loudness):
    options = {"ssml": True, "loudness": loudness, "lead_in": 0.15, "speed": 1.3, "pitch": 1.0, "volume": 0.7}
    whole = voice.speak(SSML, **options)
    stream = voice.stream(SSML, **options)
    assert stream.count_samples() == len(whole.samples)
    assert np.array_equal(joined(stream), whole.samples)
    assert stream.report == whole.report


def test_parts_of_a_text_give_the_samples_of_the_whole(voice):
    text = "Two cats sleep. They like 3 dogs. All day?"
    whole = voice.speak(text)
    last, pieces, words, changes = None, [], [], []
    for part in ("Two cats sleep. ", "They like 3 dogs. ", "All day?"):
        last = voice.stream(part, after=last)
        pieces += list(last)
        words += last.words
        changes += last.report.normalised
    assert np.array_equal(np.concatenate(pieces), whole.samples)
    assert tuple(words) == whole.words and tuple(changes) == whole.report.normalised


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("speed", np.float32(1.5), 1.5), ("speed", np.int64(2), 2), ("pitch", np.float16(-1), -1.0),
        ("seed", np.uint8(4), 4), ("loudness", np.float32(-20), -20.0), ("lead_in", Fraction(1, 4), 0.25),
    ],
)  # fmt: skip
def test_numbers_of_other_kinds_are_numbers(voice, name, value, plain):
    options = Options(**{name: value})
    assert getattr(options, name) == plain and type(getattr(options, name)) is type(plain)
    assert voice.timings("Cats.", **{name: value}).words == voice.timings("Cats.", **{name: plain}).words
    with pytest.raises(deepvoice.ConfigError, match=name):
        Options(**{name: np.bool_(True)})


def test_what_a_stream_cannot_go_on_from_is_refused(voice):
    with pytest.raises(deepvoice.ConfigError, match="after is a str"):
        voice.stream(TEXT, after="One.")
    before = voice.stream(TEXT)
    with pytest.raises(deepvoice.ConfigError, match="has not ended"):
        voice.stream(TEXT, after=before)
    joined(before)
    assert len(joined(voice.stream(TEXT, after=before)))


def test_the_dispatcher_of_another_voice_is_refused(voice, tiny_voice):
    other = deepvoice.load(tiny_voice, threads=1)
    with other.dispatcher() as dispatcher:
        for wrong in (dispatcher, "dispatcher"):
            with pytest.raises(deepvoice.ConfigError, match="not one of this voice"):
                voice.stream(TEXT, dispatcher=wrong)


def test_the_key_of_a_voice_follows_how_it_is_computed_now(tiny_voice, monkeypatch):
    from deepvoice.resume import voice_key

    usual = voice_key(str(tiny_voice))
    monkeypatch.setenv("DEEPVOICE_KERNELS", "reference")
    assert voice_key(str(tiny_voice)) != usual
    monkeypatch.delenv("DEEPVOICE_KERNELS")
    assert voice_key(str(tiny_voice)) == usual
