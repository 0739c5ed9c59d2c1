"""Duration model: phones of a sentence and the speaking rate -> how long each phone and pause lasts.

Deep Voice 2, section 3.2: durations as log-scaled buckets under a bidirectional GRU. The paper decodes the buckets with
a CRF; here the median of the softmax is taken, which minimises the expected absolute error, and the loss is the
continuous ranked probability score, which is that absolute error for a distribution.
"""

import torch
from torch import Tensor, nn

from deepvoice.configs import DurationConfig
from deepvoice.models.phone_encoder import PhoneEncoder
from deepvoice.models.share import mean

_TYPICAL = 2.7  # ln(1 + frames)
_TYPICAL_SPREAD = 0.6


class Duration(nn.Module):
    """Predicts a distribution over duration buckets for every phone."""

    centres_A: Tensor

    def __init__(self, config: DurationConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = PhoneEncoder(
            features=config.features,
            channels=config.channels,
            layers=config.layers,
            width=config.width,
            recurrent=config.recurrent,
            dropout=config.dropout,
        )
        self.hidden = nn.Linear(self.encoder.size, config.hidden)
        self.output = nn.Linear(config.hidden, config.buckets)
        centres_A = torch.tensor(config.bucket_centres())
        with torch.no_grad():  # begin near what phones last, log-normal around 70 ms, instead of equal buckets
            self.output.bias.copy_(-0.5 * ((torch.log1p(centres_A) - _TYPICAL) / _TYPICAL_SPREAD).square())
        self.register_buffer("centres_A", centres_A, persistent=False)

    def forward(self, ids_BP: Tensor, features_BPX: Tensor, lengths_B: Tensor) -> Tensor:
        """Return the logits of the buckets.

        ids_BP: int64 [B, P]; features_BPX: float32 [B, P, X], context features and log speed; lengths_B: int64 [B]
        Returns float32 [B, P, buckets].
        """
        encoded_BPE = self.encoder(ids_BP, features_BPX, lengths_B)
        return self.output(torch.relu(self.hidden(encoded_BPE))).float()

    def loss(self, logits_BPA: Tensor, durations_BP: Tensor, mask_BP: Tensor) -> Tensor:
        """Return the mean ranked probability score in frames, a scalar.

        durations_BP: float32 [B, P] frames; mask_BP: float32 [B, P], 0 in the padding
        """
        below_BPA = torch.softmax(logits_BPA, dim=2).cumsum(dim=2)[:, :, :-1]  # P(duration <= boundary)
        centres_A = self.centres_A
        # Between two centres the true distribution steps from 0 to 1 at the duration; its share of the gap above it.
        gaps_A = centres_A[1:] - centres_A[:-1]
        above_BPA = ((centres_A[1:] - durations_BP[:, :, None]) / gaps_A).clamp(0.0, 1.0)
        score_BP = ((below_BPA - above_BPA).square() * gaps_A).sum(dim=2)
        return mean((score_BP * mask_BP).sum(), mask_BP.sum())

    def median(self, logits_BPA: Tensor) -> Tensor:
        """Decode the median of the buckets, float32 [B, P] frames."""
        below_BPA = torch.softmax(logits_BPA, dim=2).cumsum(dim=2)
        index_BP = (below_BPA < 0.5).sum(dim=2).clamp(max=self.config.buckets - 1)
        at_BP = below_BPA.gather(2, index_BP[:, :, None])[:, :, 0]
        before_BP = at_BP - torch.softmax(logits_BPA, dim=2).gather(2, index_BP[:, :, None])[:, :, 0]
        share_BP = ((0.5 - before_BP) / (at_BP - before_BP).clamp(min=1e-6)).clamp(0.0, 1.0)
        edges = torch.tensor(self.config.bucket_edges(), device=logits_BPA.device)
        low_BP, high_BP = edges[index_BP], edges[index_BP + 1]
        return low_BP + share_BP * (high_BP - low_BP)
