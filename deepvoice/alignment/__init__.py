"""Which sound is where in a recording of a known text, and whether the text was read at all.

from deepvoice import alignment
result = alignment.align(samples, 16000, "The ferry leaves at dawn.")
for word in result.words:
    print(word.text, word.start, word.end, word.confidence)
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.aligner import Aligner
from deepvoice.alignment.result import AlignedPhone, AlignedWord, Alignment
from deepvoice.alignment.settings import AlignerSettings

__all__ = ["AlignedPhone", "AlignedWord", "Aligner", "AlignerSettings", "Alignment", "align"]


def align(
    samples_T: NDArray[np.float32], sample_rate: int, text: str | Sequence[str], *, aligner: Aligner | None = None
) -> Alignment:
    """Align a recording with the text that was read in it.

    samples_T: float32 [T] or [T, channels] in [-1, 1], at any rate
    text: the text, or its words
    aligner: None is that of the default voice, which this process then keeps
    Raises AudioError for a recording that holds nothing, TextError for a text that cannot be spoken.
    """
    return (aligner or _default()).align(samples_T, sample_rate, text)


@lru_cache(maxsize=1)
def _default() -> Aligner:
    return Aligner.load()
