"""The phone sequence of one sentence: the only input that the networks take from text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.text.phones import ENDS, START, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneSequence:
    """Symbols of one sentence, from the start silence to the end mark, and the word each belongs to.

    symbols: P symbols of deepvoice.text.phones
    word_of: P word indices, -1 for silences
    """

    symbols: tuple[str, ...]
    word_of: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.symbols) != len(self.word_of):
            raise ValueError(f"{len(self.symbols)} symbols but {len(self.word_of)} word indices")
        if len(self.symbols) < 2 or self.symbols[0] != START or self.symbols[-1] not in ENDS:
            ends = f"{self.symbols[:1]}..{self.symbols[-1:]}"
            raise ValueError(f"a sentence runs from {START!r} to one of {ENDS}, got {ends}")

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def ids_P(self) -> NDArray[np.int64]:
        """Ids of the symbols, int64 [P]."""
        return np.asarray(encode(self.symbols), np.int64)

    @property
    def flags_P2(self) -> NDArray[np.float32]:
        """Word-initial and word-final flags, float32 [P, 2]; zero for silences."""
        flags = np.zeros((len(self), 2), np.float32)
        for i, word in enumerate(self.word_of):
            if word >= 0:
                flags[i, 0] = float(self.word_of[i - 1] != word)
                flags[i, 1] = float(self.word_of[i + 1] != word)
        return flags


def from_manifest(phones: str, word_of: Sequence[int]) -> PhoneSequence:
    """Build the sequence from a manifest row's `phones` (space-separated) and `word_of`."""
    return PhoneSequence(symbols=tuple(phones.split()), word_of=tuple(word_of))
