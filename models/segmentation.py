"""The segmentation network: where each phone of a known sentence begins in its recording.

Two readings of the same sound, both without stress:
- a distribution over phone *pairs* every 10 ms, factored into the phone on the left and the phone on the right of a
  boundary, with a blank for "no boundary here"; trained by CTC from audio and phones alone (Deep Voice, section 3.3);
- a distribution over phones every 5 ms, trained on the alignments that the pairs give.

Letters: B batch, F frames of 5 ms, T = F / stack steps of 10 ms, M mel bands, V base phones, C channels.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepvoice.configs import SegmentationConfig
from deepvoice.models.share import Dropout, mean
from deepvoice.text.phones import BASES


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentationOutput:
    """Log-probabilities of one batch.

    left_BTV, right_BTV: the phone before and after a boundary at this step
    boundary_BT: logit of "a boundary is here"
    frame_BFV: the phone of each 5 ms frame
    """

    left_BTV: Tensor
    right_BTV: Tensor
    boundary_BT: Tensor
    frame_BFV: Tensor

    def pair_scores(self, left_BU: Tensor, right_BU: Tensor) -> Tensor:
        """Log-probabilities of the blank and of each pair of a sentence's own line of pairs.

        left_BU, right_BU: base ids of pair u
        Returns [B, T, 1 + U]; column 0 is the blank. These are entries of the joint distribution over all pairs, so
        they need no further normalisation.
        """
        B, T, _ = self.left_BTV.shape
        left = self.left_BTV.gather(2, left_BU[:, None].expand(B, T, -1))
        right = self.right_BTV.gather(2, right_BU[:, None].expand(B, T, -1))
        pairs = left + right + functional.logsigmoid(self.boundary_BT)[..., None]
        return torch.cat([functional.logsigmoid(-self.boundary_BT)[..., None], pairs], dim=2)


class Segmentation(nn.Module):
    """Residual dilated convolutions and the two readings.

    `typical` is the mean spectrum of speech that `networks.segmentation.normalise` needs; the trainer fills it in.
    """

    typical: Tensor

    def __init__(self, config: SegmentationConfig) -> None:
        super().__init__()
        self.config = config
        C, V = config.channels, len(BASES)
        self.register_buffer("typical", torch.zeros(config.bands))
        self.input = nn.Conv1d(config.bands * config.stack, C, config.stem, padding=config.stem // 2)
        reach = config.kernel // 2
        dilations = [config.dilation(layer) for layer in range(config.layers)]
        self.convs = nn.ModuleList(nn.Conv1d(C, C, config.kernel, padding=reach * d, dilation=d) for d in dilations)
        self.dropout = Dropout(config.dropout)
        self.pair = nn.Linear(C, 2 * V + 1)
        self.frame = nn.Linear(C, config.stack * V)
        with torch.no_grad():
            self.pair.bias[-1] = -2.0  # about one step in eight holds a boundary

    def forward(self, mel_BFM: Tensor) -> SegmentationOutput:
        """Read a batch of normalised log-mel spectra [B, F, M]; F must be a multiple of `config.stack`."""
        B, F, M = mel_BFM.shape
        stack, V = self.config.stack, len(BASES)
        if F % stack or self.config.bands != M:
            raise ValueError(
                f"mel of shape {tuple(mel_BFM.shape)}; expected frames in {stack}s, {self.config.bands} bands"
            )
        h_BCT = self.input(mel_BFM.reshape(B, F // stack, stack * M).transpose(1, 2))
        for conv in self.convs:
            h_BCT = h_BCT + conv(self.dropout(functional.relu(h_BCT)))
        h_BTC = self.dropout(functional.relu(h_BCT)).transpose(1, 2)
        pair = self.pair(h_BTC).float()
        frame = self.frame(h_BTC).float().reshape(B, F, V)
        return SegmentationOutput(
            left_BTV=pair[..., :V].log_softmax(-1),
            right_BTV=pair[..., V : 2 * V].log_softmax(-1),
            boundary_BT=pair[..., -1],
            frame_BFV=frame.log_softmax(-1),
        )


def pair_loss(
    output: SegmentationOutput, left_BU: Tensor, right_BU: Tensor, steps_B: Tensor, pairs_B: Tensor
) -> Tensor:
    """CTC loss over the line of pairs, nats per pair.

    left_BU, right_BU: base ids of each pair, zero after pairs_B; steps_B: steps of 10 ms; pairs_B: pairs
    """
    scores = output.pair_scores(left_BU, right_BU).transpose(0, 1)
    labels_BU = torch.arange(1, left_BU.shape[1] + 1, device=left_BU.device).expand_as(left_BU)
    losses_B = functional.ctc_loss(scores, labels_BU, steps_B, pairs_B, reduction="none", zero_infinity=True)
    return mean(losses_B.sum(), pairs_B.sum())


def frame_loss(output: SegmentationOutput, phone_BF: Tensor) -> Tensor:
    """Cross entropy of the phone of each frame, nats per frame; phone_BF is -1 where nothing is to be learned."""
    total = functional.cross_entropy(
        output.frame_BFV.flatten(0, 1), phone_BF.flatten(), ignore_index=-1, reduction="sum"
    )
    return mean(total, (phone_BF >= 0).sum())


def boundary_loss(output: SegmentationOutput, left_BT: Tensor, right_BT: Tensor, boundary_BT: Tensor) -> Tensor:
    """Cross entropies of "a boundary is in this step" and of its two phones, nats per step.

    left_BT, right_BT: base ids, -1 in steps without a boundary; boundary_BT: 1, 0, or -1 in the padding
    """
    known_BT = (boundary_BT >= 0).float()
    where = functional.binary_cross_entropy_with_logits(
        output.boundary_BT, boundary_BT.clamp(min=0), weight=known_BT, reduction="sum"
    )
    phones = functional.cross_entropy(
        output.left_BTV.flatten(0, 1), left_BT.flatten(), ignore_index=-1, reduction="sum"
    ) + functional.cross_entropy(output.right_BTV.flatten(0, 1), right_BT.flatten(), ignore_index=-1, reduction="sum")
    return mean(where + phones, known_BT.sum())
