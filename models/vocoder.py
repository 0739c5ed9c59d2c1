"""The vocoder: an autoregressive WaveNet of the bunch family, conditioned on a spectrum and a pitch phase.

Data flow (paper section 3.5, with the departures listed in recipes/vocoder/README.md):

    log-mel, F0, voicing (frames) -> BiasNet -> a bias for every layer and frame
    past samples + pitch phase    -> trunk (dilated gated layers, one step for `bunch` samples) -> skip sum
    skip sum + samples drawn so far -> head of each sample of the bunch -> 256-way softmax of the prediction residual

The linear prediction comes from the same spectrum (deepvoice/audio/lpc.py), so the network codes the residual alone.
"""

from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from deepvoice.configs import VocoderConfig
from deepvoice.models.share import normal, uniform

MU = 255.0
_LOG256 = 5.545177444479562


class Signals(NamedTuple):
    """Teacher-forced signals of a batch of segments; the first `margin` samples only serve as history.

    past_BT: what the model sees as the signal so far (with training noise), pre-emphasised
    residual_BT: what it sees as the residual so far
    prediction_BT: linear prediction from past_BT
    """

    past_BT: torch.Tensor
    residual_BT: torch.Tensor
    prediction_BT: torch.Tensor


def compress(values: torch.Tensor, scale: float) -> torch.Tensor:
    """Mu-law compression to [-1, 1] (deepvoice/audio/companding.py)."""
    return torch.sign(values) * torch.log1p(MU * (values.abs() * scale).clamp(max=1.0)) / _LOG256


def encode(values: torch.Tensor, scale: float) -> torch.Tensor:
    """Nearest of the 256 levels, int64."""
    return ((compress(values, scale) + 1) * (MU / 2)).round().clamp(0, MU).long()


def predict(past_BT: torch.Tensor, lpc_BFK: torch.Tensor, hop: int) -> torch.Tensor:
    """Linear prediction of every sample after the first K.

    past_BT: [B, K + F*hop], lpc_BFK: [B, F, K] -> [B, F*hop]
    Summed tap by tap: a matrix product rounds differently in batches of different sizes, and a difference in the last
    bit moves a code here and there to its neighbour.
    """
    batch, frames, order = lpc_BFK.shape
    prediction_BFH = past_BT.new_zeros(batch, frames, hop)
    for k in range(order):
        delayed_BT = past_BT[:, order - 1 - k : past_BT.shape[1] - 1 - k]
        prediction_BFH += delayed_BT.reshape(batch, frames, hop) * lpc_BFK[:, :, k, None]
    return prediction_BFH.reshape(batch, frames * hop)


class BiasNet(nn.Module):
    """Spectrum, F0 and voicing of each frame -> biases of all layers and of the skip sum."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        width, taps = config.conditioner.bias_channels, config.conditioner.bias_kernel
        self.conv1 = nn.Conv1d(config.mel.bands + 2, width, taps, padding=taps // 2)
        self.conv2 = nn.Conv1d(width, width, taps, padding=taps // 2)
        self.out = nn.Linear(width, config.conditioning_width)
        nn.init.normal_(self.out.weight, std=0.5 / width**0.5)
        nn.init.zeros_(self.out.bias)

    def forward(self, frames_BFC: torch.Tensor) -> torch.Tensor:
        """frames_BFC: [B, F, bands + 2] (see deepvoice.networks.conditioner.frame_inputs) -> [B, F, L*2R + S]."""
        hidden = functional.relu(self.conv1(frames_BFC.transpose(1, 2)))  # BFC -> BCF for conv1d
        hidden = functional.relu(self.conv2(hidden))
        out: torch.Tensor = self.out(hidden.transpose(1, 2))
        return out


class _Gate(torch.autograd.Function):
    """tanh times sigmoid of both taps and the bias, with a backward pass that fills each buffer once."""

    @staticmethod
    def forward(ctx: Any, taps_BNZ: torch.Tensor, bias_BFZ: torch.Tensor, dilation: int, steps: int) -> torch.Tensor:
        """taps_BNZ: [B, N, 4R], the current tap's 2R then the past tap's; bias_BFZ: [B, F, 2R] -> [B, N, R]."""
        batch, total, four = taps_BNZ.shape
        z_BNZ = taps_BNZ[:, :, : four // 2].clone()
        if dilation < total:
            z_BNZ[:, dilation:] += taps_BNZ[:, : total - dilation, four // 2 :]
        z_BFNZ = z_BNZ.view(batch, -1, steps, four // 2).add_(bias_BFZ[:, :, None])
        tanh_BNR, sigmoid_BNR = torch.tanh(z_BNZ[..., : four // 4]), torch.sigmoid(z_BNZ[..., four // 4 :])
        ctx.save_for_backward(tanh_BNR, sigmoid_BNR)
        ctx.dilation, ctx.frames = dilation, z_BFNZ.shape[1]
        return tanh_BNR * sigmoid_BNR

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        tanh_BNR, sigmoid_BNR = ctx.saved_tensors
        batch, total, width = tanh_BNR.shape
        dilation = ctx.dilation
        taps_BNZ = tanh_BNR.new_empty(batch, total, 4 * width)
        z_BNZ = taps_BNZ[:, :, : 2 * width]
        backward = torch.ops.aten
        backward.tanh_backward.grad_input(gradients[0] * sigmoid_BNR, tanh_BNR, grad_input=z_BNZ[..., :width])
        backward.sigmoid_backward.grad_input(gradients[0] * tanh_BNR, sigmoid_BNR, grad_input=z_BNZ[..., width:])
        kept = max(0, total - dilation)
        taps_BNZ[:, :kept, 2 * width :] = z_BNZ[:, total - kept :]
        taps_BNZ[:, kept:, 2 * width :] = 0
        bias_BFZ = z_BNZ.reshape(batch, ctx.frames, -1, 2 * width).sum(2)
        return taps_BNZ, bias_BFZ, None, None


class GatedLayer(nn.Module):
    """One dilated layer: two taps, gate, residual and skip."""

    def __init__(self, config: VocoderConfig, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        width = config.residual
        self.taps = nn.Linear(width, 4 * width, bias=False)  # rows: 2R for the current step, 2R for the past one
        self.out = nn.Linear(width, width + config.skip, bias=False)  # rows: R residual, S skip
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(
        self, hidden_BNR: torch.Tensor, bias_BFZ: torch.Tensor, steps: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """hidden_BNR: [B, N, R]; bias_BFZ: [B, F, 2R], N = F * steps -> next hidden, skip contribution [B, N, S]."""
        gated: torch.Tensor = _Gate.apply(self.taps(hidden_BNR), bias_BFZ, self.dilation, steps)  # type: ignore[no-untyped-call]
        width = hidden_BNR.shape[2]
        residual, skip = self.out(gated).split([width, self.out.out_features - width], dim=2)
        return hidden_BNR + residual + self.bias.to(residual.dtype), skip


class WaveNet(nn.Module):
    """Trunk, heads and bias network; `logits` is the teacher-forced pass over whole segments."""

    def __init__(self, config: VocoderConfig) -> None:
        super().__init__()
        self.config = config
        self.bias_net = BiasNet(config)
        self.input = nn.Linear(config.input_width, config.residual)
        self.layers = nn.ModuleList([GatedLayer(config, dilation) for dilation in config.dilations])
        self.skip_to_heads = nn.Linear(config.skip, config.bunch * config.head)
        self.head_input = nn.Linear(config.head_input_width, config.head, bias=False)
        self.output = nn.Linear(config.head, config.levels)

    def _views(self, signals: Signals, count: int, margin: int, stride: int) -> torch.Tensor:
        """The last `count` values before every stride-th sample after the margin, in three views, [B, N, 3*count]."""
        gain, scale = self.config.signal_gain, self.config.code_scale
        past = signals.past_BT
        three = torch.stack([past * gain, compress(past, scale), compress(signals.residual_BT, scale)], dim=1)
        windows = three[:, :, margin - count : -1].unfold(2, count, stride)  # B, 3, N, count
        return windows.permute(0, 2, 1, 3).flatten(2)

    def logits(
        self, signals: Signals, frames_BFC: torch.Tensor, pulses_BNQ: torch.Tensor, context: int
    ) -> torch.Tensor:
        """Return teacher-forced logits, [B, T, A]; the arguments are those of `hidden`."""
        logits: torch.Tensor = self.output(self.hidden(signals, frames_BFC, pulses_BNQ, context))
        return logits

    def hidden(
        self, signals: Signals, frames_BFC: torch.Tensor, pulses_BNQ: torch.Tensor, context: int
    ) -> torch.Tensor:
        """Return what the output layer sees of every sample, teacher-forced.

        signals: [B, margin + T], margin = history; T = F * hop samples
        frames_BFC: spectrum, F0, voicing of the F frames with `context` more on either side
        pulses_BNQ: [B, T / bunch, 2Q]
        Returns [B, T, H].
        """
        config = self.config
        steps = config.mel.hop // config.bunch
        biases = self.bias_net(frames_BFC)[:, context : frames_BFC.shape[1] - context]
        *layer_biases, skip_bias = biases.split([2 * config.residual] * len(config.dilations) + [config.skip], dim=2)
        margin = config.history
        trunk_in = torch.cat([self._views(signals, config.history, margin, config.bunch), pulses_BNQ], dim=2)
        hidden = torch.tanh(self.input(trunk_in))
        batch, total = hidden.shape[:2]
        skip = skip_bias[:, :, None].expand(-1, -1, steps, -1).reshape(batch, total, config.skip)
        for layer, bias in zip(self.layers, layer_biases, strict=True):
            hidden, contribution = layer(hidden, bias, steps)
            skip = skip + contribution
        per_sample = self.skip_to_heads(functional.relu(skip)).reshape(batch, total * config.bunch, config.head)
        prediction = signals.prediction_BT[..., None]
        head_in = torch.cat(
            [prediction * config.signal_gain, compress(prediction, config.code_scale),
             self._views(signals, config.head_history, margin, 1)], dim=2,
        )  # fmt: skip
        return functional.relu(per_sample + self.head_input(head_in))


def noisy_signals(
    signal_BT: torch.Tensor, lpc_BFK: torch.Tensor, config: VocoderConfig, noise_levels: torch.Tensor | None
) -> tuple[Signals, torch.Tensor]:
    """Make the model's inputs from a clean segment, and the codes that lead back to it (LPCNet's training noise).

    signal_BT: clean pre-emphasised signal, [B, history + lpc_order + T]
    lpc_BFK: coefficients of the T / hop frames after the margin; the margin uses the first frame's
    noise_levels: [B, 1] standard deviation in quantiser steps on top of the quantiser's own noise; None for no noise
    Returns Signals [B, history + T] and target codes [B, T].
    """
    hop, order, margin = config.mel.hop, config.lpc_order, config.history
    if order == 0:
        clean_prediction = torch.zeros_like(signal_BT)
    else:
        clean_prediction = _predict_with_margin(signal_BT, lpc_BFK, hop, margin)
    clean_residual = signal_BT[:, order:] - clean_prediction
    past = signal_BT[:, order:]
    if noise_levels is not None:
        step = (clean_residual.abs().clamp(max=1 / config.code_scale) + 1 / (MU * config.code_scale)) * (
            _LOG256 / 127.5
        )
        noise = (uniform(step.shape, step.device) - 0.5) + noise_levels * normal(step.shape, step.device)
        past = past + step * noise
    full_past = torch.cat([signal_BT[:, :order], past], dim=1)
    prediction = _predict_with_margin(full_past, lpc_BFK, hop, margin) if order else torch.zeros_like(past)
    codes = encode(signal_BT[:, order + margin :] - prediction[:, margin:], config.code_scale)
    signals = Signals(past_BT=past, residual_BT=past - prediction, prediction_BT=prediction[:, margin:])
    return signals, codes


def _predict_with_margin(signal_BT: torch.Tensor, lpc_BFK: torch.Tensor, hop: int, margin: int) -> torch.Tensor:
    """Prediction of all samples after the first K, where the `margin` samples before frame 0 use frame 0's filter."""
    order = lpc_BFK.shape[2]
    before = predict(signal_BT[:, : order + margin], lpc_BFK[:, :1], margin)
    return torch.cat([before, predict(signal_BT[:, margin:], lpc_BFK, hop)], dim=1)
