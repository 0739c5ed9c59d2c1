"""Grapheme-to-phoneme network, speaking half: spelling -> phones with stress, without torch (paper section 3.1).

The same arithmetic as `deepvoice.models.grapheme_to_phoneme`, one word at a time, with a beam over the units that
the letters stand for. Hypotheses all have one unit per letter, so their probabilities compare directly; those that
say the same phones, stress aside, are added up at the end, and the likeliest stress of the likeliest phones is said.
A memory of known words (`deepvoice.text.analogy`) may have a say in which phones are likeliest.

A possessive is read twice, with its ending and without: it is said as the word without it and the regular ending, but
of the readings of that word the one is chosen that the possessive's spelling speaks for, too.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import TextError, VoiceError
from deepvoice.networks.gru import BACKWARD, FORWARD, gru_shapes, gru_weights
from deepvoice.text.phones import base
from deepvoice.text.pronounce import with_s

Array = NDArray[np.float32]
# Takes letters and readings, each a unit without stress per letter; returns what to add to their log probabilities.
Memory = Callable[[str, Sequence[Sequence[str]]], Sequence[float]]

LETTERS = "'abcdefghijklmnopqrstuvwxyz"
MAX_LETTERS = 32  # longer strings are pronounced in pieces; no word of the dictionary is longer than 34
WINDOW = 4.0  # natural logarithm: a hypothesis so much less likely than the best one is dropped, which costs nothing
POSSESSIVE = 0.5  # weight of what the possessive's spelling says beside the word's; chosen on the dev words
UNHEARD = -8.0  # log probability of a reading that the search does not find

_LETTER_IDS = {letter: i for i, letter in enumerate(LETTERS)}
_APOSTROPHES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u00f8": "o"}
)


def letters_of(word: str) -> str:
    """Return a word as the network reads it: lower case, accents dropped, letters a-z and apostrophes only.

    Raises TextError when it holds anything else, or no letter at all.
    """
    folded = unicodedata.normalize("NFKD", word.lower().translate(_APOSTROPHES))
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    for letter in plain:
        if letter not in _LETTER_IDS:
            raise TextError(
                f"{word[:40]!r} holds {letter!r}, which is not a letter of a-z or an apostrophe; "
                "normalise the text or spell the word before asking for its pronunciation"
            )
    if not plain.strip("'"):
        raise TextError(f"{word[:40]!r} has no letter to pronounce; expected a word of letters a-z")
    return plain


def _pieces(letters: str) -> Iterator[str]:
    """Cut a string into pieces of nearly equal length, MAX_LETTERS at most, each with a letter of a-z."""
    count = -(-len(letters) // MAX_LETTERS)
    for i in range(count):
        piece = letters[i * len(letters) // count : (i + 1) * len(letters) // count]
        if piece.strip("'"):
            yield piece


class GraphemeToPhonemeNetwork:
    """Pronounce words that the lexicon lacks."""

    def __init__(
        self,
        tensors: Mapping[str, Array],
        config: GraphemeToPhonemeConfig,
        beam: int = 8,
        memory: Memory | None = None,
    ) -> None:
        """Check and arrange the weights.

        tensors: float32 arrays named and shaped as `expected_shapes` says
        beam: hypotheses kept; 1 is greedy
        memory: weighs the readings of a word by the words that are known
        Raises VoiceError when a tensor is missing or has another shape, ValueError for a beam below 1.
        """
        if beam < 1:
            raise ValueError(f"beam is {beam}; expected at least 1")
        weights = _checked(tensors, config)
        self._config, self._beam, self.memory = config, beam, memory
        self._letters = weights["letters.weight"]
        self._encoder = [
            [gru_weights(weights, f"encoder.{layer}", direction) for direction in (FORWARD, BACKWARD)]
            for layer in range(config.encoder_layers)
        ]
        decoder = gru_weights(weights, "decoder")
        # The input product of the decoder falls into a part from the letters and a part that depends on the
        # previous unit alone, which is a table.
        encoded = 2 * config.encoder_dim
        self._letter_gates_GE = np.ascontiguousarray(decoder.w_ih_GI[:, :encoded])
        unit_gates_GV = np.ascontiguousarray(decoder.w_ih_GI[:, encoded:])
        self._unit_gates_UG = kernels.dense(weights["units.weight"], unit_gates_GV, decoder.b_ih_G)
        self._w_hh_GH, self._b_hh_G = decoder.w_hh_GH, decoder.b_hh_G
        self._output_UD, self._output_bias_U = weights["output.weight"], weights["output.bias"]
        self._phones: list[tuple[str, ...]] = [tuple(unit.split()) for unit in config.units]
        self._plain = [" ".join(map(base, phones)) for phones in self._phones]

    @staticmethod
    def expected_shapes(config: GraphemeToPhonemeConfig) -> dict[str, tuple[int, ...]]:
        """Return the name and shape of every tensor."""
        units, encoded, hidden = len(config.units), 2 * config.encoder_dim, config.decoder_dim
        shapes: dict[str, tuple[int, ...]] = {
            "letters.weight": (len(LETTERS), config.letter_dim),
            "units.weight": (units + 1, config.unit_dim),
            "output.weight": (units, hidden),
            "output.bias": (units,),
        }
        for layer in range(config.encoder_layers):
            inputs = encoded if layer else config.letter_dim
            for direction in (FORWARD, BACKWARD):
                shapes |= gru_shapes(f"encoder.{layer}", inputs, config.encoder_dim, direction)
        return shapes | gru_shapes("decoder", encoded + config.unit_dim, hidden)

    def __call__(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return one pronunciation per word: at least one phone each, of ARPAbet with stress.

        Raises TextError for a word with anything but letters and apostrophes, or without a letter.
        """
        return [
            tuple(phone for piece in _pieces(letters_of(word)) for phone in self._pronounce(piece)) for word in words
        ]

    def search(self, word: str) -> list[tuple[tuple[int, ...], float]]:
        """Return hypotheses of one word, the best first: a unit for each letter, and the log probability.

        word: 1 to MAX_LETTERS letters as `letters_of` returns them
        """
        return self._search(self._encode(np.array([_LETTER_IDS[letter] for letter in word])))

    def _pronounce(self, letters: str) -> tuple[str, ...]:
        """Return the most probable phones of up to MAX_LETTERS letters; never empty."""
        stem = letters.removesuffix("'s")
        if stem == letters or not stem.strip("'"):
            totals, plain = self._readings(letters)
            return _likeliest(totals, plain) if totals else self._every_letter(letters)
        totals, plain = self._readings(stem)
        if not totals:
            return with_s(self._every_letter(stem))
        whole = self._readings(letters)[1]
        joint = {
            bases: value + POSSESSIVE * whole.get(tuple(map(base, with_s(bases))), UNHEARD)
            for bases, value in plain.items()
        }
        return with_s(_likeliest(totals, joint))

    def _readings(self, letters: str) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
        """Return the log probability of each pronunciation, and of each one's phones without stress.

        Both are empty if all hypotheses are silent; the second is shared among those that the search finds.
        """
        found = self.search(letters)
        bonus = self._bonus(letters, [units for units, _ in found])
        totals: dict[tuple[str, ...], float] = {}
        plain: dict[tuple[str, ...], float] = {}
        for (units, log_probability), more in zip(found, bonus, strict=True):
            phones = tuple(phone for unit in units for phone in self._phones[unit])
            if phones:
                bases, value = tuple(map(base, phones)), log_probability + more
                totals[phones] = float(np.logaddexp(totals.get(phones, -np.inf), value))
                plain[bases] = float(np.logaddexp(plain.get(bases, -np.inf), value))
        whole = float(np.logaddexp.reduce(list(plain.values()))) if plain else 0.0
        return totals, {bases: value - whole for bases, value in plain.items()}

    def _every_letter(self, letters: str) -> tuple[str, ...]:
        """Return the phones of a word whose every hypothesis is silent: let each letter sound."""
        gates_GG = self._encode(np.array([_LETTER_IDS[letter] for letter in letters]))
        return tuple(phone for unit in self._search(gates_GG, silent=False)[0][0] for phone in self._phones[unit])

    def _bonus(self, letters: str, readings: Sequence[tuple[int, ...]]) -> list[float]:
        """Return what the memory adds to each reading; those that differ by stress alone get the same."""
        if self.memory is None or len(readings) == 1:
            return [0.0] * len(readings)
        plain = [tuple(self._plain[unit] for unit in units) for units in readings]
        kinds = list(dict.fromkeys(plain))
        bonus = dict(zip(kinds, self.memory(letters, kinds), strict=True))
        return [bonus[kind] for kind in plain]

    def _encode(self, letters_G: NDArray[np.int64]) -> Array:
        """Return the letters' part of the decoder's input gates, [letters, 3 * decoder_dim]."""
        hidden_GD = self._letters[letters_G]
        for forward, backward in self._encoder:
            ahead_GD, _ = kernels.gru(hidden_GD, *forward)
            back_GD, _ = kernels.gru(hidden_GD, *backward, reverse=True)
            hidden_GD = np.concatenate([ahead_GD, back_GD], 1)
        return kernels.dense(hidden_GD, self._letter_gates_GE)

    def _step(self, letter_gates_G: Array, previous_K: NDArray[np.int64], state_KD: Array) -> tuple[Array, Array]:
        """Advance K hypotheses by one letter; returns log probabilities [K, U] and states [K, D]."""
        size = self._config.decoder_dim
        inputs_KG = letter_gates_G + self._unit_gates_UG[previous_K]
        recurrent_KG = kernels.dense(state_KD, self._w_hh_GH, self._b_hh_G)
        gates_KG = _sigmoid(inputs_KG[:, : 2 * size] + recurrent_KG[:, : 2 * size])
        reset_KD, update_KD = gates_KG[:, :size], gates_KG[:, size:]
        candidate_KD = np.tanh(inputs_KG[:, 2 * size :] + reset_KD * recurrent_KG[:, 2 * size :])
        state_KD = candidate_KD + update_KD * (state_KD - candidate_KD)
        logits_KU = kernels.dense(state_KD, self._output_UD, self._output_bias_U)
        shifted_KU = logits_KU - logits_KU.max(1, keepdims=True)
        return shifted_KU - np.log(np.exp(shifted_KU).sum(1, keepdims=True)), state_KD

    def _search(self, gates_GG: Array, silent: bool = True) -> list[tuple[tuple[int, ...], float]]:
        """Return up to `beam` sequences of units, one per letter, with their log probabilities, the best first.

        gates_GG: what `_encode` returns
        silent: whether a letter may stand for no phone
        """
        units = len(self._config.units)
        previous_K = np.array([units])
        state_KD = np.zeros((1, self._config.decoder_dim), np.float32)
        total_K = np.zeros(1)
        history: list[tuple[int, ...]] = [()]
        for letter_gates_G in gates_GG:
            log_KU, state_KD = self._step(letter_gates_G, previous_K, state_KD)
            candidates_KU = total_K[:, None] + log_KU
            if not silent:
                candidates_KU[:, 0] = -np.inf
            flat = candidates_KU.reshape(-1)
            likely = np.flatnonzero(flat > flat.max() - WINDOW)
            best = likely[np.argsort(-flat[likely], kind="stable")[: self._beam]]
            kept, previous_K = np.divmod(best, units)
            total_K, state_KD = flat[best], np.ascontiguousarray(state_KD[kept])
            history = [(*history[k], unit) for k, unit in zip(kept.tolist(), previous_K.tolist(), strict=True)]
        return list(zip(history, total_K.tolist(), strict=True))


def _likeliest(totals: Mapping[tuple[str, ...], float], plain: Mapping[tuple[str, ...], float]) -> tuple[str, ...]:
    """Return the likeliest stress of the likeliest phones.

    totals: of pronunciations; plain: of those without stress
    """
    return max(totals, key=lambda phones: (plain[tuple(map(base, phones))], totals[phones], phones))


def _sigmoid(x: Array) -> Array:
    # tanh does not overflow, unlike exp of a large negative number.
    y: Array = np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1.0))
    return y


def _checked(tensors: Mapping[str, Array], config: GraphemeToPhonemeConfig) -> dict[str, Array]:
    weights = {}
    for name, shape in GraphemeToPhonemeNetwork.expected_shapes(config).items():
        if name not in tensors:
            raise VoiceError(f"the grapheme-to-phoneme network lacks the tensor {name!r}; pack the voice again")
        if tensors[name].shape != shape:
            raise VoiceError(
                f"tensor {name!r} has shape {tensors[name].shape}, its config says {shape}; pack the voice again"
            )
        weights[name] = np.ascontiguousarray(tensors[name], np.float32)
    return weights
