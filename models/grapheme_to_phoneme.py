"""Grapheme-to-phoneme model: spelling -> phones with stress, for words that the lexicon lacks (paper section 3.1).

The paper's encoder-decoder squeezes a word through one vector. Here each letter emits one *unit* (no phone, one, or
two), so input and output run in step: a bidirectional GRU reads the letters, and a second GRU walks along them,
given the units that it has emitted so far. Nothing has to be attended to, one word takes exactly as many steps as it
has letters, and every hypothesis of a beam has the same length.

A second network of the same sizes may read the word from its last letter to its first: it makes other mistakes.
"""

import dataclasses
import math

import torch
from torch import nn

from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.models.share import keep, mean
from deepvoice.networks.grapheme_to_phoneme import LETTERS, REVERSE_SHARE


class GraphemeToPhoneme(nn.Module):
    """Predict the unit of each letter from the spelling and the units before it.

    Dimensions: B batch, G graphemes (all words of a batch have the same number), U units.
    """

    def __init__(self, config: GraphemeToPhonemeConfig) -> None:
        """Build the layers; random weights."""
        super().__init__()
        self.config = config
        units = len(config.units)
        self.letters = nn.Embedding(len(LETTERS), config.letter_dim)
        self.encoder = nn.ModuleList(
            nn.GRU(size, config.encoder_dim, batch_first=True, bidirectional=True)
            for size in [config.letter_dim, *[2 * config.encoder_dim] * (config.encoder_layers - 1)]
        )
        self.units = nn.Embedding(units + 1, config.unit_dim)  # the last row is "before the first letter"
        self.decoder = nn.GRU(2 * config.encoder_dim + config.unit_dim, config.decoder_dim, batch_first=True)
        self.output = nn.Linear(config.decoder_dim, units)
        if config.reverse:
            self.reverse = GraphemeToPhoneme(dataclasses.replace(config, reverse=False))

    def forward(self, letters_BG: torch.Tensor, previous_BG: torch.Tensor) -> torch.Tensor:
        """Return logits [B, G, U].

        letters_BG: int64 [B, G], positions in LETTERS
        previous_BG: int64 [B, G], unit of the letter before, or len(config.units) at the first letter
        """
        decoded_BGD, _ = self.decoder(torch.cat([self._encoded(letters_BG), self.units(previous_BG)], -1))
        logits_BGU: torch.Tensor = self.output(self._drop(decoded_BGD))
        return logits_BGU

    def log_probabilities(self, letters_BG: torch.Tensor, units_BKG: torch.Tensor) -> torch.Tensor:
        """Return log P(units | letters) of K readings of every word, [B, K]; all lose the same channels to dropout.

        letters_BG: int64 [B, G]
        units_BKG: int64 [B, K, G]
        With a second network this is the weighted mean of what both say, which is no log probability any more.
        """
        own_BK = self._log_probabilities(letters_BG, units_BKG)
        if not self.config.reverse:
            return own_BK
        second_BK = self.reverse.log_probabilities(letters_BG.flip(1), units_BKG.flip(2))
        return own_BK + REVERSE_SHARE * (second_BK - own_BK)

    def _log_probabilities(self, letters_BG: torch.Tensor, units_BKG: torch.Tensor) -> torch.Tensor:
        words, readings, letters = units_BKG.shape
        previous_NG = self.shift(units_BKG.flatten(0, 1))
        encoded_NGD = self._encoded(letters_BG).repeat_interleave(readings, 0)
        decoded_NGD, _ = self.decoder(torch.cat([encoded_NGD, self.units(previous_NG)], -1))
        decoded_BSD = self._drop(decoded_NGD.reshape(words, readings * letters, -1))
        log_BKGU = self.output(decoded_BSD).float().log_softmax(-1).reshape(words, readings, letters, -1)
        total_BK: torch.Tensor = log_BKGU.gather(3, units_BKG[..., None]).sum((2, 3))
        return total_BK

    def _encoded(self, letters_BG: torch.Tensor) -> torch.Tensor:
        hidden_BGD = self.letters(letters_BG)
        for layer in self.encoder:
            hidden_BGD, _ = layer(self._drop(hidden_BGD))
        return self._drop(hidden_BGD)

    def _drop(self, x_BGD: torch.Tensor) -> torch.Tensor:
        """Drop channels for all letters of a word at once: kinder to recurrent layers, and fewer random numbers."""
        if not self.training or self.config.dropout == 0.0:
            return x_BGD
        kept = 1.0 - self.config.dropout
        mask_B1D = keep((x_BGD.shape[0], 1, x_BGD.shape[2]), kept, x_BGD.device)
        return x_BGD * (mask_B1D.to(x_BGD.dtype) / kept)

    def shift(self, units_BG: torch.Tensor, extra_B: torch.Tensor | None = None, forget: float = 0.0) -> torch.Tensor:
        """Return the previous unit of each letter, int64 [B, G].

        extra_B: bool [B], words from another lexicon than the dictionary; they begin with the silent unit, which
            no letter precedes otherwise, so that the model keeps the habits of the two lexicons apart
        forget: share of them replaced by the "before the first letter" row, so that the model learns to read the
            letters rather than to trust its own past
        """
        start = len(self.config.units)
        first_B1 = torch.full_like(units_BG[:, :1], start)
        if extra_B is not None:
            first_B1 = first_B1.masked_fill(extra_B[:, None], 0)
        previous_BG = torch.cat([first_B1, units_BG[:, :-1]], 1)
        if forget > 0.0:
            hidden_BG = keep(previous_BG.shape, forget, previous_BG.device)
            hidden_BG[:, 0] = False
            previous_BG = previous_BG.masked_fill(hidden_BG, start)
        return previous_BG


@torch.no_grad()
def log_probability(model: GraphemeToPhoneme, letters_BG: torch.Tensor, units_BG: torch.Tensor) -> torch.Tensor:
    """Return log P(units | letters) of every word, [B].

    letters_BG, units_BG: int64 [B, G]
    """
    with torch.autocast("cpu", torch.bfloat16):
        return model.log_probabilities(letters_BG, units_BG[:, None])[:, 0]


def loss(
    model: GraphemeToPhoneme,
    letters_BG: torch.Tensor,
    units_BG: torch.Tensor,
    extra_B: torch.Tensor | None = None,
    forget: float = 0.0,
    smoothing: float = 0.0,
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return the cross-entropy per letter, and numbers for the log.

    letters_BG, units_BG: int64 [B, G]
    extra_B: bool [B], words from another lexicon than the dictionary
    forget: share of previous units hidden from the decoder
    smoothing: label smoothing, 0 to 1
    """
    logits_BGU = model(letters_BG, model.shift(units_BG, extra_B, forget if model.training else 0.0)).float()
    total = nn.functional.cross_entropy(
        logits_BGU.flatten(0, 1), units_BG.flatten(), label_smoothing=smoothing, reduction="sum"
    )
    value = mean(total, torch.tensor(float(units_BG.numel()), device=total.device))
    right = (logits_BGU.detach().argmax(-1) == units_BG).float().mean()
    return value, {"letter_accuracy": float(right)}


def expected_error(
    model: GraphemeToPhoneme,
    letters_BG: torch.Tensor,
    units_BKG: torch.Tensor,
    memory_BK: torch.Tensor,
    listed_BK: torch.Tensor,
    taught_BK: torch.Tensor,
    likelihood: float,
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return the share of words that would be said wrong, drawing among the given readings, and numbers for the log.

    letters_BG: int64 [B, G]; units_BKG: int64 [B, K, G], readings of each word
    memory_BK: float32 [B, K], what the memory adds to their log probabilities; -inf for rows that only fill up
    listed_BK, taught_BK: bool [B, K], whether the dictionary lists the phones, stress aside; whether it lists the very
        units, which it does for one reading of every word at least
    likelihood: weight of the cross-entropy per letter of the taught readings, which keeps stress and the probabilities
        of letters in place
    """
    log_BK = model.log_probabilities(letters_BG, units_BKG)
    right_B = ((log_BK + memory_BK).softmax(1) * listed_BK).sum(1)
    cost_B = 1.0 - right_B
    if likelihood:
        taught_B = log_BK.masked_fill(~taught_BK, -math.inf).logsumexp(1)
        cost_B = cost_B - likelihood / letters_BG.shape[1] * taught_B
    value = mean(cost_B.sum(), torch.tensor(float(len(cost_B)), device=cost_B.device))
    return value, {"right": float((right_B.detach() > 0.5).float().mean())}
