"""Which sound is where in a recording of a known text, and whether the text was read at all.

import deepvoice
result = deepvoice.align("take-1.wav", "The ferry leaves at dawn.")
for word in result.words:
    print(word.text, word.start, word.end, word.confidence)
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.aligner import Aligner
from deepvoice.alignment.result import AlignedPhone, AlignedWord, Alignment
from deepvoice.alignment.settings import AlignerSettings
from deepvoice.errors import ConfigError
from deepvoice.text.user_lexicon import UserLexicon

__all__ = ["AlignedPhone", "AlignedWord", "Aligner", "AlignerSettings", "Alignment", "align"]


def align(
    recording: str | Path | NDArray[np.float32],
    text: str | Sequence[str],
    *,
    sample_rate: int | None = None,
    lexicon: UserLexicon | None = None,
    aligner: Aligner | None = None,
) -> Alignment:
    """Align a recording with the text that was read in it.

    recording: a file of any format and length; or samples, float32 [T] or [T, channels] in [-1, 1]
    text: the text, or its words
    sample_rate: of samples, Hz; a file knows its own
    lexicon: pronunciations that come before all others
    aligner: None is that of the default voice, which this process then keeps
    Raises AudioError for a recording that holds nothing or cannot be read, TextError for a text that cannot be spoken,
    ConfigError for samples without a rate, or a file with one.
    """
    aligner = aligner or _default()
    if isinstance(recording, str | Path):
        if sample_rate is not None:
            raise ConfigError(
                f"sample_rate is {sample_rate} for the file {recording}; leave it out, a file has its own"
            )
        return aligner.align_file(Path(recording), text, lexicon=lexicon)
    if sample_rate is None:
        raise ConfigError("samples without sample_rate; expected their rate in Hz, such as sample_rate=24000")
    return aligner.align(recording, sample_rate, text, lexicon=lexicon)


@lru_cache(maxsize=1)
def _default() -> Aligner:
    return Aligner.load()
