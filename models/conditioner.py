"""The vocoder's conditioner: phones, durations and F0 -> log-mel spectrum of every frame.

A departure from the paper, whose conditioner is trained through the WaveNet alone: a spectrum is a target that a few
minutes of training reach, and the linear prediction of the vocoder can be computed from it
(recipes/vocoder/README.md has the comparison).
"""

import torch
from torch import Tensor, nn

from deepvoice.configs import ConditionerConfig
from deepvoice.models.phone_encoder import ResidualConv, length_mask
from deepvoice.text.context import CONTEXT_FEATURES, FRAME_FEATURES
from deepvoice.text.phones import SYMBOLS

PITCH_FEATURES = 2  # scaled log F0, voicing


class Conditioner(nn.Module):
    """Phone convolutions, spread over frames, then dilated frame convolutions to the spectrum."""

    def __init__(self, config: ConditionerConfig, bands: int) -> None:
        super().__init__()
        phone, frame = config.phone_channels, config.frame_channels
        self.embedding = nn.Embedding(len(SYMBOLS), phone)
        self.features = nn.Linear(CONTEXT_FEATURES, phone)
        self.phone_convs = nn.ModuleList(
            ResidualConv(phone, config.phone_kernel, 1, 0.0) for _ in range(config.phone_layers)
        )
        self.frame_in = nn.Linear(phone + FRAME_FEATURES + PITCH_FEATURES, frame)
        self.frame_convs = nn.ModuleList(
            ResidualConv(frame, config.frame_kernel, d, 0.0) for d in config.frame_dilations
        )
        self.spectrum = nn.Linear(frame, bands)

    def forward(
        self, ids_BP: Tensor, context_BPX: Tensor, lengths_B: Tensor, phone_BF: Tensor, frame_BFX: Tensor
    ) -> Tensor:
        """Predict the scaled log-mel spectrum.

        ids_BP: int64 [B, P]; context_BPX: float32 [B, P, CONTEXT_FEATURES]; lengths_B: int64 [B], phones
        phone_BF: int64 [B, F], the phone of each frame; frame_BFX: float32 [B, F, 6], frame features, pitch, voicing
        Returns float32 [B, F, bands], (log-mel - mean) / spread of deepvoice.networks.conditioner.
        """
        mask_BP1 = length_mask(lengths_B, ids_BP.shape[1])
        x_BPC = self.embedding(ids_BP) + self.features(context_BPX)
        for conv in self.phone_convs:
            x_BPC = conv(x_BPC, mask_BP1)
        index = phone_BF[:, :, None].expand(-1, -1, x_BPC.shape[2])
        y_BFC = self.frame_in(torch.cat([x_BPC.gather(1, index), frame_BFX], dim=2))
        everywhere = torch.ones(1, 1, 1, device=y_BFC.device)
        for conv in self.frame_convs:
            y_BFC = conv(y_BFC, everywhere)
        out: Tensor = self.spectrum(y_BFC)
        return out.float()
