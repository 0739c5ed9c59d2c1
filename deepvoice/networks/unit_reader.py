"""One network of the grapheme-to-phoneme module: letters -> units, letter by letter, with a beam over the units.

Hypotheses all have one unit per letter, so their probabilities compare directly.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.kernels import Packed
from deepvoice.networks.gru import BACKWARD, FORWARD, gru_shapes, gru_weights

Array = NDArray[np.float32]
Units = tuple[int, ...]  # one for each letter, by position in the config's list
Found = list[tuple[Units, float]]  # with their log probabilities, the best first

WINDOW = 4.0  # natural logarithm: a hypothesis so much less likely than the best one is dropped, which costs nothing


class UnitReader:
    """Bidirectional GRUs over the letters, then one that emits a unit for each letter given the units before."""

    def __init__(self, weights: Mapping[str, Array], config: GraphemeToPhonemeConfig) -> None:
        """Arrange the weights, float32 arrays named and shaped as `expected_shapes` says."""
        self._config = config
        self._letters = weights["letters.weight"]
        self._encoder = [
            [gru_weights(weights, f"encoder.{layer}", direction).packed() for direction in (FORWARD, BACKWARD)]
            for layer in range(config.encoder_layers)
        ]
        decoder = gru_weights(weights, "decoder")
        # The input product of the decoder falls into a part from the letters and a part that depends on the
        # previous unit alone, which is a table.
        encoded = 2 * config.encoder_dim
        self._letter_gates = Packed(np.ascontiguousarray(decoder.w_ih_GI[:, :encoded]))
        unit_gates_GV = np.ascontiguousarray(decoder.w_ih_GI[:, encoded:])
        self._unit_gates_UG = kernels.dense(weights["units.weight"], unit_gates_GV, decoder.b_ih_G)
        self._recurrent = Packed(decoder.w_hh_GH, decoder.b_hh_G)
        self._output = Packed(weights["output.weight"], weights["output.bias"])

    @staticmethod
    def expected_shapes(config: GraphemeToPhonemeConfig, letters: int) -> dict[str, tuple[int, ...]]:
        """Return the name and shape of every tensor, for so many different letters."""
        units, encoded, hidden = len(config.units), 2 * config.encoder_dim, config.decoder_dim
        shapes: dict[str, tuple[int, ...]] = {
            "letters.weight": (letters, config.letter_dim),
            "units.weight": (units + 1, config.unit_dim),
            "output.weight": (units, hidden),
            "output.bias": (units,),
        }
        for layer in range(config.encoder_layers):
            inputs = encoded if layer else config.letter_dim
            for direction in (FORWARD, BACKWARD):
                shapes |= gru_shapes(f"encoder.{layer}", inputs, config.encoder_dim, direction)
        return shapes | gru_shapes("decoder", encoded + config.unit_dim, hidden)

    def encode(self, letters_G: NDArray[np.int64]) -> Array:
        """Return the letters' part of the decoder's input gates, [letters, 3 * decoder_dim]."""
        hidden_GD = self._letters[letters_G]
        for forward, backward in self._encoder:
            ahead_GD, _ = kernels.packed_gru(hidden_GD, *forward)
            back_GD, _ = kernels.packed_gru(hidden_GD, *backward, reverse=True)
            hidden_GD = np.concatenate([ahead_GD, back_GD], 1)
        return kernels.affine(hidden_GD, self._letter_gates)

    def search(self, gates_GG: Array, beam: int, silent: bool = True) -> Found:
        """Return up to `beam` hypotheses, the best first.

        gates_GG: what `encode` returns
        silent: whether a letter may stand for no phone
        """
        units = len(self._config.units)
        previous_K = np.array([units])
        state_KD = np.zeros((1, self._config.decoder_dim), np.float32)
        total_K = np.zeros(1)
        history: list[Units] = [()]
        for letter_gates_G in gates_GG:
            state_KD = self._advance(letter_gates_G, previous_K, state_KD)
            candidates_KU = total_K[:, None] + self._log_probabilities(state_KD)
            if not silent:
                candidates_KU[:, 0] = -np.inf
            flat = candidates_KU.reshape(-1)
            likely = np.flatnonzero(flat > flat.max() - WINDOW)
            best = likely[np.argsort(-flat[likely], kind="stable")[:beam]]
            kept, previous_K = np.divmod(best, units)
            total_K, state_KD = flat[best], np.ascontiguousarray(state_KD[kept])
            history = [(*history[k], unit) for k, unit in zip(kept.tolist(), previous_K.tolist(), strict=True)]
        return list(zip(history, total_K.tolist(), strict=True))

    def score(self, gates_GG: Array, readings: Sequence[Units]) -> NDArray[np.float64]:
        """Return the log probability of each reading, [K].

        gates_GG: what `encode` returns
        """
        units_KG = np.array(readings)
        words, letters = units_KG.shape
        start_K1 = np.full((words, 1), len(self._config.units))
        previous_KG = np.concatenate([start_K1, units_KG[:, :-1]], 1)
        state_KD = np.zeros((words, self._config.decoder_dim), np.float32)
        states_GKD = np.empty((letters, words, self._config.decoder_dim), np.float32)
        for i, letter_gates_G in enumerate(gates_GG):
            states_GKD[i] = state_KD = self._advance(letter_gates_G, previous_KG[:, i], state_KD)
        log_NU = self._log_probabilities(states_GKD.reshape(letters * words, -1))
        chosen_N = log_NU[np.arange(letters * words), units_KG.T.reshape(-1)]
        total_K: NDArray[np.float64] = chosen_N.reshape(letters, words).sum(0, dtype=np.float64)
        return total_K

    def _advance(self, letter_gates_G: Array, previous_K: NDArray[np.int64], state_KD: Array) -> Array:
        """Advance the states of K hypotheses, [K, D], by one letter."""
        size = self._config.decoder_dim
        inputs_KG = letter_gates_G + self._unit_gates_UG[previous_K]
        recurrent_KG = kernels.affine(state_KD, self._recurrent)
        gates_KG = _sigmoid(inputs_KG[:, : 2 * size] + recurrent_KG[:, : 2 * size])
        reset_KD, update_KD = gates_KG[:, :size], gates_KG[:, size:]
        candidate_KD = np.tanh(inputs_KG[:, 2 * size :] + reset_KD * recurrent_KG[:, 2 * size :])
        next_KD: Array = candidate_KD + update_KD * (state_KD - candidate_KD)
        return next_KD

    def _log_probabilities(self, state_ND: Array) -> Array:
        """Return the log probabilities of all units after each state, [N, U]."""
        logits_NU = kernels.affine(state_ND, self._output)
        shifted_NU = logits_NU - logits_NU.max(1, keepdims=True)
        log_NU: Array = shifted_NU - np.log(np.exp(shifted_NU).sum(1, keepdims=True))
        return log_NU


def _sigmoid(x: Array) -> Array:
    # tanh does not overflow, unlike exp of a large negative number.
    y: Array = np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1.0))
    return y
