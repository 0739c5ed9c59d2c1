"""What the WaveNet is trained on, and the held-out speech that it is read on."""

from collections.abc import Mapping
from typing import Any

import torch

from deepvoice.configs import VocoderConfig
from deepvoice.models.losses import output_entropy
from deepvoice.models.share import uniform
from deepvoice.models.vocoder import WaveNet, noisy_signals
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.vocoder.data import CONTEXT, Batch, collate, segment, usable
from deepvoice.recipes.vocoder.rounding import QuantisedLinear

_BITS = 1.4426950408889634  # bits in a nat
_HELD_OUT_FRAMES = 200  # of each held-out utterance


def loss_on(model: WaveNet, batch: Batch, noise: float | None) -> torch.Tensor:
    """Mean cross-entropy in bits a sample; `noise` None means clean history (for evaluation)."""
    device = batch.signal_BT.device
    levels = None if noise is None else noise * uniform((batch.signal_BT.shape[0], 1), device)
    with torch.autocast(device.type, enabled=False):
        signals, codes = noisy_signals(batch.signal_BT, batch.lpc_BFK, model.config, levels)
    hidden = model.hidden(signals, batch.frames_BFC, batch.pulses_BNQ, CONTEXT).flatten(0, 1)
    codes, weight = codes.flatten(), batch.weight_BT.flatten()
    output = model.output
    if isinstance(output, QuantisedLinear):
        hidden, matrix = output.rounded(hidden), output.rounded_weight()
    else:
        matrix = output.weight
    return output_entropy(hidden, matrix, output.bias, codes, weight) * _BITS


def held_out_batches(
    cache: FeatureCache, ids: list[str], config: VocoderConfig, spectra: Mapping[str, Any] | None = None
) -> list[Batch]:
    """The first second of every held-out utterance, in batches of 10."""
    long = [u for u in usable(cache, ids, _HELD_OUT_FRAMES + 20) if spectra is None or u in spectra]
    mels = [spectra[u] if spectra is not None else None for u in long]
    segments = [segment(cache, u, 20, _HELD_OUT_FRAMES, config, mel) for u, mel in zip(long, mels, strict=True)]
    return [collate(segments[i : i + 10]) for i in range(0, len(segments), 10)]
