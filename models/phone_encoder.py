"""The blocks that the duration and F0 models share: an encoder of the phones of a sentence, and its residual convolution."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deepvoice.text.phones import SYMBOLS


def length_mask(lengths_B: Tensor, size: int) -> Tensor:
    """Return float32 [B, size, 1]: 1 at places before each length, 0 in the padding after it."""
    places = torch.arange(size, device=lengths_B.device)
    return (places[None, :] < lengths_B[:, None]).float()[:, :, None]


class ResidualConv(nn.Module):
    """x + dropout(relu(conv(norm(x)))) over time, with zeros outside the sentence."""

    def __init__(self, channels: int, width: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.conv = nn.Conv1d(channels, channels, width, dilation=dilation, padding="same")
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTC: Tensor, mask_BT1: Tensor) -> Tensor:
        """Transform float32 [B, T, C]; mask_BT1 is 0 in the padding, so that padded and single sentences agree."""
        normed_BCT = (self.norm(x_BTC) * mask_BT1).transpose(1, 2)  # BTC -> BCT for conv1d
        y_BTC = torch.relu(self.conv(normed_BCT)).transpose(1, 2)
        return x_BTC + self.dropout(y_BTC.float())


class PhoneEncoder(nn.Module):
    """Embedding and features of the phones, convolutions for the neighbourhood, a bi-GRU for the whole sentence."""

    def __init__(
        self, *, features: int, channels: int, layers: int, width: int, recurrent: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(SYMBOLS), channels)
        self.features = nn.Linear(features, channels)
        self.convs = nn.ModuleList(ResidualConv(channels, width, 1, dropout) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(channels, recurrent, batch_first=True, bidirectional=True)
        self.size = channels + 2 * recurrent

    def forward(self, ids_BP: Tensor, features_BPX: Tensor, lengths_B: Tensor) -> Tensor:
        """Encode padded sentences.

        ids_BP: int64 [B, P]; features_BPX: float32 [B, P, features]; lengths_B: int64 [B], on the CPU
        Returns float32 [B, P, channels + 2 * recurrent].
        """
        P = ids_BP.shape[1]
        mask_BP1 = length_mask(lengths_B.to(ids_BP.device), P)
        x_BPC = self.embedding(ids_BP) + self.features(features_BPX).float()
        for conv in self.convs:
            x_BPC = conv(x_BPC, mask_BP1)
        x_BPC = self.dropout(x_BPC)
        packed = pack_padded_sequence(x_BPC, lengths_B, batch_first=True, enforce_sorted=False)
        with torch.autocast(x_BPC.device.type, enabled=False):  # recurrence in bfloat16 is slower on CPUs and less exact
            recurrent, _ = self.gru(packed)
        y_BPH, _ = pad_packed_sequence(recurrent, batch_first=True, total_length=P)
        return torch.cat([x_BPC, self.dropout(y_BPH)], dim=2)
