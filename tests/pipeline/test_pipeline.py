"""The whole chain on a miniature voice: times, words, streams, seeds, options."""

import itertools
import threading

import numpy as np
import pytest
import soundfile

import deepvoice
from deepvoice.rendering import uniforms

TEXT = "Dr. Smith has 42 cats. They sleep, mostly.\n\nAll day!"


def joined(stream):
    return np.concatenate(list(stream))


@pytest.fixture(scope="module")
def speech(voice):
    return voice.speak(TEXT)


def test_samples(speech):
    assert speech.samples.dtype == np.float32 and speech.sample_rate == 24000
    assert np.abs(speech.samples).max() <= 1 and np.abs(speech.samples).max() > 0.001
    assert speech.report.sentences == 3 and speech.report.seed == 1


def test_words_point_into_the_original_text(speech):
    spoken = [(word.text, TEXT[slice(*word.span)]) for word in speech.words]
    assert spoken[:5] == [("doctor", "Dr."), ("smith", "Smith"), ("has", "has"), ("forty", "42"), ("two", "42")]
    assert spoken[-1] == ("day", "day")


def test_times_cover_the_speech(speech):
    for items in (speech.words, speech.phones):
        assert all(item.start <= item.end for item in items)
        assert all(a.end <= b.start + 1e-9 for a, b in itertools.pairwise(items))
    assert speech.phones[0].start == 0
    assert speech.phones[-1].end == pytest.approx(speech.seconds)
    assert {phone.symbol for phone in speech.phones} >= {"sil", ",", ".", "!"}


def test_streams_equal_the_whole(voice, speech):
    pieces = list(voice.stream(TEXT))
    assert len(pieces) > 5
    assert np.array_equal(np.concatenate(pieces), speech.samples)
    counted = voice.stream(TEXT)
    assert counted.count_samples() == len(speech.samples)
    assert np.array_equal(joined(counted), speech.samples)
    assert (tuple(counted.words), tuple(counted.phones)) == (speech.words, speech.phones)
    assert counted.report == speech.report


def test_samples_can_be_counted_at_any_time(voice, speech):
    stream = voice.stream(TEXT)
    for _ in stream:
        assert stream.count_samples() == len(speech.samples)
    assert stream.count_samples() == len(speech.samples)


def test_an_abandoned_stream_leaves_the_voice_as_it_was(voice, speech):
    stream = voice.stream(TEXT)
    next(stream)
    del stream
    assert np.array_equal(voice.speak(TEXT).samples, speech.samples)


def test_speeches_compare_without_an_error(voice, speech):
    assert speech == speech and speech != voice.speak("One.") and len({speech}) == 1


def test_seeds(voice, speech):
    assert np.array_equal(voice.speak(TEXT, seed=1).samples, speech.samples)
    other = voice.speak(TEXT, seed=2)
    assert len(other.samples) == len(speech.samples) and not np.array_equal(other.samples, speech.samples)
    random = voice.speak(TEXT, seed="random")
    assert np.array_equal(voice.speak(TEXT, seed=random.report.seed).samples, random.samples)


def test_batches_and_threads_equal_one_at_a_time(voice, speech):
    texts = [TEXT, "One.", TEXT, "Two."]
    many = list(voice.speak_many(texts))
    assert [len(s.words) for s in many] == [11, 1, 11, 1]
    assert np.array_equal(many[2].samples, speech.samples)
    results = {}
    threads = [threading.Thread(target=lambda i=i: results.update({i: voice.speak(TEXT)})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result.samples, speech.samples) for result in results.values())


def test_a_batch_is_checked_before_it_is_iterated(voice):
    for texts in ("One.", b"One.", None, 5):
        with pytest.raises(deepvoice.TextError, match="pass a list"):
            voice.speak_many(texts)
    with pytest.raises(deepvoice.ConfigError, match="speed"):
        voice.speak_many(["One."], speed=9)
    with pytest.raises(deepvoice.TextError, match="expected a string"):
        list(voice.speak_many([None]))


def test_an_abandoned_batch_stops(voice):
    endless = ("Cat." for _ in iter(int, 1))
    batch = voice.speak_many(endless)
    assert next(batch).words[0].text == "cat"
    batch.close()


def test_sentences_of_a_text_sound_as_alone(voice, speech):
    """Silence between sentences is counted in samples, so nothing after it is shifted."""
    gap = round(voice.manifest.synthesis.gap_seconds * 24000)
    first = voice.speak("Dr. Smith has 42 cats.").samples
    assert np.array_equal(speech.samples[: len(first)], first)
    assert not speech.samples[len(first) : len(first) + gap].any()


@pytest.mark.parametrize("rate", [24000, 22050])
def test_a_sentence_behind_silence_sounds_as_alone(tmp_path, rate):
    """Silence is counted in whole samples: half a sample too much would turn all that follows into noise."""
    heart = deepvoice.load(threads=1)
    text = "We sold seven seats."
    alone = heart.speak(text).save(tmp_path / "alone.wav", rate=rate)
    after = heart.speak(f"<speak>The ferry.<break time='0.45s'/> {text}</speak>", ssml=True)
    after.save(tmp_path / "after.wav", rate=rate)
    solo = soundfile.read(alone, dtype="int16")[0]
    both = soundfile.read(tmp_path / "after.wav", dtype="int16")[0]
    assert len(both) == -(-len(after.samples) * rate // 24000)
    silence = (after.words[2].samples[0] - after.words[1].samples[1]) / 24000
    assert silence == pytest.approx(0.45, abs=1e-4)
    assert np.corrcoef(both[-len(solo) :], solo)[0, 1] > 0.7
    shifted = np.frombuffer(b"\0" + both.tobytes()[:-1], np.int16)
    assert np.corrcoef(shifted[-len(solo) :], solo)[0, 1] < 0.3


def test_edges_fade(voice):
    samples = voice.speak("Cats.", volume=1.0).samples
    assert samples[0] == 0 and samples[-1] == 0
    ramp = np.abs(samples[:120])
    assert ramp[:12].max() <= 0.05


def test_speed_and_pitch(voice, speech):
    slow, fast = voice.speak(TEXT, speed=0.5), voice.speak(TEXT, speed=2.0)
    assert len(slow.samples) > 1.2 * len(speech.samples)  # random weights make rates of their own in between
    assert len(fast.samples) < len(speech.samples)
    assert fast.phones[-1].end - fast.phones[-1].start >= 0.05
    high = voice.speak(TEXT, pitch=12)
    assert len(high.samples) == len(speech.samples)
    ratios = [b.f0 / a.f0 for a, b in zip(speech.phones, high.phones, strict=True) if a.f0 > 0]
    assert ratios and np.allclose(ratios, 2.0, rtol=1e-3)


def test_volume_is_a_gain_and_clips(voice, speech):
    assert np.allclose(voice.speak(TEXT, volume=0.5).samples, 0.5 * speech.samples)
    loud = voice.speak(TEXT, volume=10).samples
    assert np.abs(loud).max() <= 1
    assert not voice.speak(TEXT, volume=0).samples.any()


@pytest.mark.parametrize(
    "options",
    [
        {"speed": 0}, {"speed": 9}, {"speed": float("nan")}, {"speed": "2"}, {"speed": True}, {"pitch": 40},
        {"volume": -1}, {"seed": -1}, {"seed": 1.5}, {"seed": 2**63}, {"seed": "other"},
    ],
)  # fmt: skip
def test_options_outside_their_ranges(voice, options):
    with pytest.raises(deepvoice.ConfigError, match=next(iter(options))):
        voice.speak(TEXT, **options)


@pytest.mark.parametrize("text", ["", " ", "\n", "***", "...!?", "—", "你好", "\x00\x01", "\ud800"])
def test_text_without_words_is_refused_at_once(voice, text):
    with pytest.raises(deepvoice.TextError):
        voice.stream(text)


def test_nothing_is_dropped_silently(voice):
    report = voice.speak("你好 world, zxqv 3").report
    assert [piece.text for piece in report.dropped] == ["你好"]
    assert report.unknown == ("zxqv",)
    assert [(change.text, change.spoken) for change in report.normalised] == [("3", "three")]


def test_a_long_text_without_a_space_is_spoken_whole(voice):
    stream = voice.stream("a" * 3000)
    assert stream.count_samples() > 3000


def test_phonemes_without_audio(voice):
    sentences = voice.phonemes("The cat sat.")
    assert [word.text for word in sentences[0].words] == ["the", "cat", "sat"]
    assert sentences[0].sequence.symbols[0] == "sil"


def test_backends(tiny_voice):
    with pytest.raises(deepvoice.KernelUnavailableError):
        deepvoice.load(tiny_voice, backend="cuda")
    reference = deepvoice.load(tiny_voice, backend="reference")
    assert reference.backend == "reference"
    assert np.array_equal(joined(reference.stream("At.")), reference.speak("At.").samples)
    for threads in (0, 1025, 1.5, "2", True):
        with pytest.raises(deepvoice.ConfigError, match="threads"):
            deepvoice.load(tiny_voice, threads=threads)


def test_uniforms_depend_on_seed_sentence_and_sample_alone():
    whole = uniforms(5, 2, 0, 1000)
    assert whole.dtype == np.float32 and whole.min() >= 0 and whole.max() < 1
    for start, count in ((0, 1), (1, 1), (137, 500), (7, 9), (999, 1)):
        assert np.array_equal(uniforms(5, 2, start, count), whole[start : start + count])
    assert not np.array_equal(uniforms(5, 3, 0, 1000), whole)
    assert not np.array_equal(uniforms(6, 2, 0, 1000), whole)
    assert abs(float(uniforms(1, 0, 0, 100_000).mean()) - 0.5) < 0.01
    assert [round(float(u), 6) for u in whole[:3]] == [0.905629, 0.846738, 0.65664]  # fixed for ever
