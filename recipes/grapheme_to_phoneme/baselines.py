"""What the model is compared with: one phone per letter, and the network of the PyPI package g2p-en."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deepvoice import kernels
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry
from deepvoice.text.phones import PHONES


class LetterBaseline:
    """Say every letter as the unit that it most often stands for in the training words."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Count the units of the aligned words."""
        counts: dict[str, Counter[str]] = {}
        for entry in entries:
            for units in entry.units:
                for letter, unit in zip(entry.word, units, strict=True):
                    counts.setdefault(letter, Counter())[unit] += 1
        self._best = {letter: tuple(count.most_common(1)[0][0].split()) for letter, count in counts.items()}

    def __call__(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return one pronunciation per word."""
        return [tuple(phone for letter in word for phone in self._best.get(letter, ())) for word in words]


class G2pEnNetwork:
    """The sequence-to-sequence network of g2p-en 2.1, read from its numpy checkpoint without importing the package.

    Importing g2p_en would download corpora. Its layout: letters and phones are numbered in alphabetical order after a
    few marks; a GRU reads the letters and an end mark, a second GRU says phones, 20 at most, greedily.
    """

    _MAX_PHONES = 20
    _UNKNOWN, _END_OF_WORD, _FIRST_LETTER = 1, 2, 3
    _START, _END, _FIRST_PHONE = 2, 3, 4

    def __init__(self, checkpoint: Path) -> None:
        """Read checkpoint20.npz."""
        with np.load(checkpoint) as arrays:
            weights = {name: np.ascontiguousarray(arrays[name], np.float32) for name in arrays.files}
        self._letters, self._sounds = weights["enc_emb"], weights["dec_emb"]
        names = ("w_ih", "w_hh", "b_ih", "b_hh")
        self._encoder = tuple(weights[f"enc_{name}"] for name in names)
        self._decoder = tuple(weights[f"dec_{name}"] for name in names)
        self._output = weights["fc_w"], weights["fc_b"]
        self._phones = sorted((*PHONES, "UW"))  # its set also has UW without stress
        if len(self._sounds) != self._FIRST_PHONE + len(self._phones):
            raise ValueError(f"{checkpoint} has {len(self._sounds)} symbols; expected g2p-en 2.1's checkpoint20.npz")

    def __call__(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return one pronunciation per word."""
        return [self._pronounce(word) for word in words]

    def _pronounce(self, word: str) -> tuple[str, ...]:
        ids = [self._FIRST_LETTER + ord(c) - ord("a") if "a" <= c <= "z" else self._UNKNOWN for c in word]
        _, state_H = kernels.gru(self._letters[[*ids, self._END_OF_WORD]], *self._encoder)
        said: list[str] = []
        symbol = self._START
        for _ in range(self._MAX_PHONES):
            y_1H, state_H = kernels.gru(self._sounds[[symbol]], *self._decoder, state_H)
            symbol = int(kernels.dense(y_1H, *self._output)[0].argmax())
            if symbol == self._END:
                break
            if symbol >= self._FIRST_PHONE:
                said.append(self._phones[symbol - self._FIRST_PHONE])
        return tuple(said)
