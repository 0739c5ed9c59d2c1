"""A whole voice on the device: its samples are those of the reference, alone, side by side and through the server."""

import numpy as np
import pytest

import deepvoice
from deepvoice.kernels.tolerances import TOLERANCES

TEXTS = ("Hi.", "Zqx.")  # the second is in no dictionary: its letters go through the network


@pytest.fixture(scope="module")
def expected(tiny_voice):
    voice = deepvoice.load(tiny_voice, backend="reference")
    return [voice.speak(text).samples for text in TEXTS]


def assert_same_speech(actual: np.ndarray, wanted: np.ndarray) -> None:
    """The same codes were drawn: what is left is rounding, and another code would be far off."""
    assert actual.shape == wanted.shape
    assert np.abs(actual - wanted).max() <= TOLERANCES["wavenet_samples"] * (1 + np.abs(wanted).max())


def test_speak_many_says_what_the_reference_says(tiny_voice, expected):
    voice = deepvoice.load(tiny_voice, backend="cuda", threads=1)
    assert voice.backend == "cuda"
    made = [speech.samples for speech in voice.speak_many(TEXTS)]
    for actual, wanted in zip(made, expected, strict=True):
        assert_same_speech(actual, wanted)
    assert np.array_equal(voice.speak(TEXTS[0]).samples, made[0])


def test_a_dispatcher_has_as_many_slots_as_the_device_has_places(tiny_voice):
    voice = deepvoice.load(tiny_voice, backend="cuda")
    places = voice._synthesizer.streams_at_once
    assert places >= 4
    with voice.dispatcher() as dispatcher:
        assert dispatcher.slots == min(places, 1024)
    with voice.dispatcher(slots=3) as dispatcher:
        assert dispatcher.slots == 3
    with deepvoice.load(tiny_voice).dispatcher() as dispatcher:
        assert dispatcher.slots == 16
