"""Recurrent networks from spectrum to biases for the ablation bench: that of the kernels has convolutions only."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from deepvoice.configs import VocoderConfig


class QrnnLayer(nn.Module):
    """A quasi-recurrent layer (Bradbury et al., 2016; the paper's section 3.5), both directions, 2 taps, fo-pooling."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.taps = nn.ModuleList([nn.Conv1d(width_in, 3 * width, 2) for _ in range(2)])

    def forward(self, x_BCF: Tensor) -> Tensor:
        """Return [B, 2 * width, F]."""
        ahead = self._run(self.taps[0], x_BCF)
        back = self._run(self.taps[1], x_BCF.flip(2)).flip(2)
        return torch.cat([ahead, back], dim=1)

    def _run(self, taps: nn.Module, x_BCF: Tensor) -> Tensor:
        values, forget, out = taps(functional.pad(x_BCF, (1, 0))).float().split(self.width, dim=1)
        forget = torch.sigmoid(forget)
        fresh, state, states = torch.tanh(values) * (1 - forget), torch.zeros_like(values[:, :, 0]), []
        for kept, new in zip(forget.unbind(2), fresh.unbind(2), strict=True):
            state = kept * state + new
            states.append(state)
        return torch.stack(states, dim=2) * torch.sigmoid(out)


class RecurrentBiasNet(nn.Module):
    """Spectrum, F0 and voicing of each frame -> biases, through recurrent layers."""

    def __init__(self, kind: str, config: VocoderConfig) -> None:
        super().__init__()
        width, bands = config.conditioner.bias_channels, config.mel.bands + 2
        self.gru = nn.GRU(bands, width // 2, batch_first=True, bidirectional=True) if kind == "gru" else None
        half = width // 2
        self.qrnn = None if kind == "gru" else nn.Sequential(QrnnLayer(bands, half), QrnnLayer(width, half))
        self.out = nn.Linear(width, config.conditioning_width)
        nn.init.normal_(self.out.weight, std=0.5 / width**0.5)
        nn.init.zeros_(self.out.bias)

    def forward(self, frames_BFC: Tensor) -> Tensor:
        """frames_BFC: [B, F, bands + 2] -> [B, F, L*2R + S]."""
        if self.gru is not None:
            hidden_BFC = self.gru(frames_BFC)[0]
        else:
            assert self.qrnn is not None
            hidden_BFC = self.qrnn(frames_BFC.transpose(1, 2)).transpose(1, 2)
        out: Tensor = self.out(hidden_BFC)
        return out
