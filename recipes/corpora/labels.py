"""Text -> manifest rows, by the same front end that speaks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deepvoice.config import from_dict
from deepvoice.errors import ConfigError, TextError
from deepvoice.pipeline import build_front_end
from deepvoice.text.frontend import FrontEnd, Report, Sentence
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.phones import START
from deepvoice.voice import MODULES, TEXT, load_voice

Phones = tuple[str, ...]


class UnknownWordError(Exception):
    """A word outside the lexicon, and no model to read it."""


class Label(NamedTuple):
    """The phones of one utterance, as a manifest row holds them."""

    text: str
    phones: str
    word_of: list[int]
    words: list[str]

    def row(self, name: str, audio: str, seconds: float, speed: float = 1.0) -> dict[str, Any]:
        """Return the manifest row."""
        return {
            "id": name, "audio": audio, "text": self.text, "speed": speed, "seconds": round(seconds, 4),
            "phones": self.phones, "word_of": self.word_of, "words": self.words,
        }  # fmt: skip


class _NoModel:
    """Refuses every word: only what the lexicon holds is used."""

    def __call__(self, words: Sequence[str]) -> list[Phones]:
        """Raise UnknownWordError with the first word."""
        raise UnknownWordError(words[0])


def front_end(g2p: Path | None = None, homographs: Path | None = None) -> FrontEnd:
    """Build the front end that labels a corpus: that of a voice with these modules.

    g2p, homographs: last.pt of the two recipes, both or none; without them an unknown word raises UnknownWordError, and
        rules choose between the readings of a homograph
    Raises ConfigError when only one is given.
    """
    if g2p is None and homographs is None:
        return FrontEnd(Lexicon(), _NoModel())
    if g2p is None or homographs is None:
        raise ConfigError("give --g2p and --homographs together: a voice reads words by both, and so must its labels")
    from deepvoice.recipes.common.checkpoint import load_checkpoint

    states = {"grapheme_to_phoneme": load_checkpoint(g2p), "homographs": load_checkpoint(homographs)}
    return build_front_end(
        {name: {key: value.float().numpy() for key, value in state["ema"].items()} for name, state in states.items()},
        {name: from_dict(MODULES[name][0], state["config"], name) for name, state in states.items()},
    )


def label_sentences(speaker: FrontEnd, text: str) -> list[Label]:
    """Label every sentence of a text by itself; raises TextError and UnknownWordError as `label_utterance` does."""
    return [_label(text[sentence.start : sentence.end], [sentence]) for sentence in speaker.analyse(text).sentences]


def voice_front_end(voice: str | Path | None = None) -> FrontEnd:
    """Build the front end of a packed voice, given by name or path; it needs no torch. Raises VoiceError."""
    folder = load_voice(voice, TEXT)
    return build_front_end(folder.tensors, folder.configs)


def label_utterance(speaker: FrontEnd, text: str) -> Label:
    """Label a recorded utterance as one line: the marks between its sentences become the long pause `;`.

    Raises TextError where nothing can be spoken, UnknownWordError without a model.
    """
    return label_with_report(speaker, text)[0]


def label_with_report(speaker: FrontEnd, text: str) -> tuple[Label, Report]:
    """Label an utterance as `label_utterance` does, and return what the front end has to say about the text."""
    analysis = speaker.analyse(text)
    return _label(text, list(analysis.sentences)), analysis.report


def _label(text: str, sentences: list[Sentence]) -> Label:
    symbols, word_of, words = [START], [-1], []
    for sentence in sentences:
        if words:
            symbols[-1] = ";"
        for symbol, word in zip(sentence.sequence.symbols[1:], sentence.sequence.word_of[1:], strict=True):
            symbols.append(symbol)
            word_of.append(word + len(words) if word >= 0 else -1)
        words += [word.text for word in sentence.words]
    return Label(text.strip(), " ".join(symbols), word_of, words)


def try_label(speaker: FrontEnd, text: str) -> Label | str:
    """Label an utterance, or say in a few words why it cannot be used."""
    try:
        return label_utterance(speaker, text)
    except TextError as error:
        return str(error)
    except UnknownWordError:
        return "a word outside the lexicon, and no model to read it"
