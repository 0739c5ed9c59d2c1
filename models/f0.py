"""F0 model: phones and their durations -> fundamental frequency and voicing of every frame.

Deep Voice 2, section 3.3, predicts F0 on the upsampled frames, after the durations, from a mix of recurrent and
convolutional layers. Here the recurrence runs over phones (short sequences, context of the whole sentence) and the
convolutions over frames.
"""

from torch import Tensor, nn

from deepvoice.configs import F0Config
from deepvoice.models.phone_encoder import PhoneEncoder, ResidualConv, length_mask
from deepvoice.models.share import mean
from deepvoice.text.context import FRAME_FEATURES


class F0(nn.Module):
    """Predicts, for every frame of 5 ms, a logit of voicing and a normalised logarithm of F0."""

    def __init__(self, config: F0Config) -> None:
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
        self.project = nn.Linear(self.encoder.size, config.frame_channels)
        self.frame_features = nn.Linear(FRAME_FEATURES, config.frame_channels)
        self.convs = nn.ModuleList(
            ResidualConv(config.frame_channels, config.frame_width, dilation, dropout=0.0)
            for dilation in config.frame_dilations
        )
        self.norm = nn.LayerNorm(config.frame_channels)
        self.output = nn.Linear(config.frame_channels, 2 * config.frame_step)

    def forward(
        self,
        ids_BP: Tensor,
        features_BPX: Tensor,
        lengths_B: Tensor,
        phone_BN: Tensor,
        frame_features_BNY: Tensor,
        steps_B: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return voicing logits and normalised log F0, both float32 [B, N * frame_step].

        ids_BP: int64 [B, P]; features_BPX: float32 [B, P, X], context and timing features; lengths_B: int64 [B]
        phone_BN: int64 [B, N], phone of every step; frame_features_BNY: float32 [B, N, Y]; steps_B: int64 [B]
        """
        B, N = phone_BN.shape
        phones_BPD = self.project(self.encoder(ids_BP, features_BPX, lengths_B)).float()
        index_BND = phone_BN[:, :, None].expand(B, N, phones_BPD.shape[2])
        x_BND = phones_BPD.gather(1, index_BND) + self.frame_features(frame_features_BNY).float()
        mask_BN1 = length_mask(steps_B, N)
        for conv in self.convs:
            x_BND = conv(x_BND, mask_BN1)
        y_BNS = self.output(self.norm(x_BND)).float()
        step = self.config.frame_step
        return y_BNS[:, :, :step].reshape(B, N * step), y_BNS[:, :, step:].reshape(B, N * step)

    def loss(self, voicing_BF: Tensor, pitch_BF: Tensor, f0_BF: Tensor, mask_BF: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses of voicing (cross-entropy) and of F0 (absolute error of the normalised logarithm), scalars.

        f0_BF: float32 [B, F] Hz, negative where unvoiced (minus the interpolated value)
        mask_BF: float32 [B, F], 0 in the padding
        Unvoiced frames count a little towards F0, so that the contour stays sensible where voicing is uncertain.
        """
        voiced_BF = (f0_BF > 0).float()
        voicing = nn.functional.binary_cross_entropy_with_logits(voicing_BF, voiced_BF, reduction="none")
        target_BF = (f0_BF.abs().clamp(min=1.0).log() - self.config.log_mean) / self.config.log_deviation
        frames, weight = self.counts(f0_BF, mask_BF)
        weight_BF = self._weight(f0_BF, mask_BF)
        pitch = ((pitch_BF - target_BF).abs() * weight_BF).sum()
        return mean((voicing * mask_BF).sum(), frames), mean(pitch, weight)

    def counts(self, f0_BF: Tensor, mask_BF: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the two losses divide by, scalars."""
        return mask_BF.sum(), self._weight(f0_BF, mask_BF).sum()

    def _weight(self, f0_BF: Tensor, mask_BF: Tensor) -> Tensor:
        voiced_BF = (f0_BF > 0).float()
        return mask_BF * (voiced_BF + self.config.unvoiced_weight * (1.0 - voiced_BF))
