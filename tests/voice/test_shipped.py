"""What every voice of the package can do, beside the tests that hold `heart` to more."""

import numpy as np
import pytest

import deepvoice
from deepvoice.alignment.aligner import Aligner
from deepvoice.errors import VoiceError
from deepvoice.voice import voice_names

TEXT = "The ferry leaves at dawn, but nobody read the sign."


@pytest.fixture(scope="module", params=voice_names())
def shipped(request):
    return deepvoice.load(request.param)


def test_speech_is_loud_at_words_and_silent_around_them(shipped):
    speech = shipped.speak(TEXT)
    assert speech.sample_rate == 24000 and 2.0 < len(speech.samples) / 24000 < 6.0
    assert np.abs(speech.samples).max() < 1.0
    power = np.square(speech.samples[: len(speech.samples) // 480 * 480].reshape(-1, 480)).mean(axis=1)
    decibels = 10 * np.log10(power + 1e-12)
    assert -32 < np.percentile(decibels, 70) < -8  # speech
    assert decibels[0] < -60 and decibels[-1] < -60


def test_same_text_same_samples_and_timings(shipped):
    first, second = shipped.speak(TEXT, seed=5), shipped.speak(TEXT, seed=5)
    assert np.array_equal(first.samples, second.samples)
    assert [word.text for word in first.words] == [word.text for word in second.words]
    assert len(first.words) == len(TEXT.split())


def test_int8_and_float32_say_the_same(shipped):
    """The envelopes of both agree: int8 moves samples, not sounds."""
    name = shipped.name
    levels = []
    for precision in ("float32", "int8"):
        samples = deepvoice.load(name, precision=precision).speak(TEXT).samples
        levels.append(10 * np.log10(np.square(samples[: len(samples) // 1200 * 1200].reshape(-1, 1200)).mean(1) + 1e-6))
    assert np.corrcoef(*levels)[0, 1] > 0.95


def test_pronunciations_are_those_of_the_default_voice(shipped):
    """int8 in what chooses between readings moves no word of a page."""
    text = "I read that the record was sold. They live in the lead of the wind, and object to use what is close."
    assert shipped.phonemes(text) == deepvoice.load().phonemes(text)


def test_made_up_words_sound_nearly_as_in_the_default_voice(shipped):
    """heart-lite has one network where heart has two; most words are the same."""
    words = "zanorvik blipped grontle yevarra kavrintosk brenlow quindle marzetti okonkwo trebble".split()
    same = [shipped.phonemes(word) == deepvoice.load().phonemes(word) for word in words]
    assert sum(same) >= 8


def test_the_small_voice_says_that_it_does_not_align():
    with pytest.raises(VoiceError, match=r"has no segmentation.*'heart'"):
        Aligner.load("heart-lite")
