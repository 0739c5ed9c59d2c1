"""deepvoice: text in, speech out, with a small neural voice and no network.

    import deepvoice
    voice = deepvoice.load()
    voice.speak("The ferry leaves at dawn.").save("ferry.wav")

Importing the package loads nothing else; its names are loaded when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from deepvoice.errors import (
    AudioError,
    ConfigError,
    DeepVoiceError,
    KernelUnavailableError,
    TextError,
    VoiceError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from deepvoice.alignment import Alignment, align
    from deepvoice.pipeline import SpeechStream, Voice
    from deepvoice.speech import Phone, Report, Speech, SpokenMark, SpokenSentence, Word
    from deepvoice.text.options import TextOptions
    from deepvoice.text.user_lexicon import UserLexicon

__version__ = "0.1.0"

_LAZY = {
    "Voice": "deepvoice.pipeline",
    "SpeechStream": "deepvoice.pipeline",
    "Phone": "deepvoice.speech",
    "Report": "deepvoice.speech",
    "Speech": "deepvoice.speech",
    "SpokenMark": "deepvoice.speech",
    "SpokenSentence": "deepvoice.speech",
    "Word": "deepvoice.speech",
    "TextOptions": "deepvoice.text.options",
    "UserLexicon": "deepvoice.text.user_lexicon",
    "Alignment": "deepvoice.alignment",
    "align": "deepvoice.alignment",
}

__all__ = [
    "Alignment",
    "AudioError",
    "ConfigError",
    "DeepVoiceError",
    "KernelUnavailableError",
    "Phone",
    "Report",
    "Speech",
    "SpeechStream",
    "SpokenMark",
    "SpokenSentence",
    "TextError",
    "TextOptions",
    "UserLexicon",
    "Voice",
    "VoiceError",
    "Word",
    "__version__",
    "align",
    "load",
]


def load(
    voice: "str | Path | None" = None, *, backend: str = "auto", threads: int | None = None, precision: str = "auto"
) -> "Voice":
    """Load a voice: the default one, one of the package by name, or a voice folder by path.

    backend: "auto", "reference", "cpu" or "cuda"; one that is named and unavailable raises KernelUnavailableError
    precision: of the vocoder: "float32", "bfloat16", "int8", or "auto": what the environment variable
        DEEPVOICE_PRECISION says, then the fastest for this processor
    threads: texts that `speak_many` renders at a time; None uses every core this process may use
    Raises VoiceError when the voice is missing or damaged.
    """
    from deepvoice.pipeline import Voice

    return Voice.load(voice, backend=backend, threads=threads, precision=precision)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        try:
            return getattr(importlib.import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("deepvoice."):
                raise ImportError(
                    f"{error.name} is missing: the folder you are in hides the installed package; "
                    "leave the checkout, or install it with `make setup`"
                ) from error
            raise
    raise AttributeError(f"module 'deepvoice' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
