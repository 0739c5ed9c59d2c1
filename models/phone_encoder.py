"""The blocks that the duration and F0 models share: an encoder of the phones of a sentence, residual convolutions."""

import torch
from torch import Tensor, nn

from deepvoice.models.share import Dropout
from deepvoice.text.phones import SYMBOLS


def length_mask(lengths_B: Tensor, size: int) -> Tensor:
    """Return float32 [B, size, 1]: 1 at places before each length, 0 in the padding after it."""
    places = torch.arange(size, device=lengths_B.device)
    return (places[None, :] < lengths_B[:, None]).float()[:, :, None]


def reverse(x_BTC: Tensor, lengths_B: Tensor) -> Tensor:
    """Reverse every sentence in time, float32 [B, T, C]; the padding stays where it is."""
    B, T, C = x_BTC.shape
    places = torch.arange(T, device=x_BTC.device)[None, :]
    mirrored_BT = torch.where(places < lengths_B[:, None], lengths_B[:, None] - 1 - places, places)
    return x_BTC.gather(1, mirrored_BT[:, :, None].expand(B, T, C))


def bidirectional_gru(gru: nn.GRU, x_BTC: Tensor, lengths_B: Tensor) -> Tensor:
    """Run a one-layer bidirectional GRU over padded sentences, float32 [B, T, C] -> [B, T, 2H].

    Equal to torch's packed sequences, and faster to train on CPUs: both directions share each step, and the backward
    pass does not fill a tensor of the whole length for every step.
    """
    forward, backward = gru.all_weights  # each: weight_ih, weight_hh, bias_ih, bias_hh
    both_TDBG = torch.stack(
        [
            nn.functional.linear(x_BTC, forward[0], forward[2]),
            nn.functional.linear(reverse(x_BTC, lengths_B), backward[0], backward[2]),
        ]
    ).permute(2, 0, 1, 3)
    weight_DHG = torch.stack([forward[1].t(), backward[1].t()])
    bias_D1G = torch.stack([forward[3], backward[3]])[:, None]
    h_DBH = x_BTC.new_zeros(2, x_BTC.shape[0], gru.hidden_size)
    outputs = []
    for input_DBG in both_TDBG.contiguous().unbind(0):
        reset, update, new = input_DBG.chunk(3, dim=2)
        hidden_reset, hidden_update, hidden_new = torch.baddbmm(bias_D1G, h_DBH, weight_DHG).chunk(3, dim=2)
        candidate = torch.tanh(new + torch.sigmoid(reset + hidden_reset) * hidden_new)
        h_DBH = candidate + torch.sigmoid(update + hidden_update) * (h_DBH - candidate)
        outputs.append(h_DBH)
    y_DBTH = torch.stack(outputs, dim=2)
    return torch.cat([y_DBTH[0], reverse(y_DBTH[1], lengths_B)], dim=2)


class ResidualConv(nn.Module):
    """x + dropout(relu(conv(norm(x)))) over time, with zeros outside the sentence."""

    def __init__(self, channels: int, width: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.conv = nn.Conv1d(channels, channels, width, dilation=dilation, padding="same")
        self.dropout = Dropout(dropout)

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
        self.dropout = Dropout(dropout)
        self.gru = nn.GRU(channels, recurrent, batch_first=True, bidirectional=True)
        self.size = channels + 2 * recurrent

    def forward(self, ids_BP: Tensor, features_BPX: Tensor, lengths_B: Tensor) -> Tensor:
        """Encode padded sentences.

        ids_BP: int64 [B, P]; features_BPX: float32 [B, P, features]; lengths_B: int64 [B]
        Returns float32 [B, P, channels + 2 * recurrent].
        """
        P = ids_BP.shape[1]
        mask_BP1 = length_mask(lengths_B, P)
        x_BPC = self.embedding(ids_BP) + self.features(features_BPX).float()
        for conv in self.convs:
            x_BPC = conv(x_BPC, mask_BP1)
        x_BPC = self.dropout(x_BPC)
        with torch.autocast(x_BPC.device.type, enabled=False):  # recurrence in bfloat16 is slower on CPUs
            y_BPH = bidirectional_gru(self.gru, x_BPC, lengths_B)
        return torch.cat([x_BPC, self.dropout(y_BPH)], dim=2)
