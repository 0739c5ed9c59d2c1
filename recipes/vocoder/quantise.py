"""Calibrate a trained WaveNet for int8, and the layers of a quantisation-aware finish.

    python -m deepvoice.recipes.vocoder.quantise MANIFEST --checkpoint RUNS/vocoder/last.pt

int8 needs to know how large the inputs of each large matrix become. This command runs the averaged weights over
training utterances and writes these limits beside the checkpoint (calibration.json), where `recipes/voice/pack` finds
them. It prints what int8 costs on held-out utterances in bits a sample. Where that is too much, train on for a few
hundred steps with `train.py --quantised RUNS/vocoder/calibration.json`: weights and inputs are rounded as the kernels
round them, gradients pass as if they were not.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from deepvoice.config import from_dict
from deepvoice.configs import VocoderConfig
from deepvoice.models.losses import cross_entropy
from deepvoice.models.vocoder import WaveNet, noisy_signals
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.data import split
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.vocoder.data import CONTEXT, Batch, SegmentSource, collate, segment, usable

CALIBRATION = "calibration.json"  # beside the checkpoint that it belongs to
_BITS = 1.4426950408889634  # bits in a nat
_FRAMES = 200  # of each held-out utterance


class QuantisedLinear(nn.Linear):
    """A linear layer as the int8 kernels compute it (kernels/reference/precision.py), with straight-through gradients.

    like: the layer whose parameters this one takes over
    limit: largest input; None measures it instead, without rounding anything
    rectified: inputs are 0 to limit in 255 steps, otherwise -limit to limit in 254
    taps: groups of rows that share their scales row by row (the current and the past tap of a gate)
    """

    def __init__(self, like: nn.Linear, *, limit: float | None, rectified: bool = False, taps: int = 1) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = like.in_features, like.out_features
        self.weight, self.bias = like.weight, like.bias
        self.limit, self.taps = limit, taps
        self.low, self.high = (0, 255) if rectified else (-127, 127)
        self.largest = 0.0  # input seen while measuring

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return W x + b with rounded W and x."""
        if self.limit is None:
            self.largest = max(self.largest, float(input.detach().abs().max()))
            return functional.linear(input, self.weight, self.bias)
        unit = self.limit / self.high
        clipped = input.float().clamp(self.low * unit, self.limit)
        rounded = clipped + ((clipped / unit).round() * unit - clipped).detach()
        return functional.linear(rounded, self._weight(), self.bias)

    def _weight(self) -> torch.Tensor:
        with torch.no_grad():
            most = self.weight.abs().amax(1).reshape(self.taps, -1).amax(0).repeat(self.taps)
            step = torch.where(most > 0, most / 127, torch.ones_like(most))[:, None]
            rounded = (self.weight / step).round().clamp(-127, 127) * step
        return self.weight + (rounded - self.weight).detach()


def quantise(model: WaveNet, limits: list[float] | None) -> list[QuantisedLinear]:
    """Make the large layers of a model behave as int8; the names of its parameters stay.

    limits: of the gates, of skip_to_heads, of output; None prepares the layers for measuring
    Returns the layers whose limits matter, in that order.
    """
    given: list[float | None] = [None] * (len(model.layers) + 2) if limits is None else list(limits)
    if len(given) != len(model.layers) + 2:
        raise ValueError(f"{len(given)} limits for {len(model.layers)} layers; expected two more than layers")
    layers = []
    for layer, limit in zip(model.layers, given, strict=False):
        layer.taps = QuantisedLinear(layer.taps, limit=limit, taps=2)
        layer.out = QuantisedLinear(layer.out, limit=None if limits is None else 1.0)  # tanh times sigmoid
        layers.append(layer.taps)
    model.skip_to_heads = QuantisedLinear(model.skip_to_heads, limit=given[-2], rectified=True)
    model.output = QuantisedLinear(model.output, limit=given[-1], rectified=True)
    return [*layers, model.skip_to_heads, model.output]


def bits(model: WaveNet, batches: Iterable[Batch]) -> float:
    """Mean cross-entropy in bits a sample, without training noise."""
    values = []
    with torch.no_grad():
        for batch in batches:
            signals, codes = noisy_signals(batch.signal_BT, batch.lpc_BFK, model.config, None)
            logits = model.logits(signals, batch.frames_BFC, batch.pulses_BNQ, CONTEXT)
            values.append(float(cross_entropy(logits.flatten(0, 1), codes.flatten(), batch.weight_BT.flatten())))
    return sum(values) / len(values) * _BITS


def calibrate(model: WaveNet, batches: Iterable[Batch]) -> list[float]:
    """Return the limits: the largest input of each layer over some batches."""
    layers = quantise(model, None)
    bits(model, batches)
    return [float(f"{layer.largest:.4g}") for layer in layers]


def load_model(checkpoint: Path) -> tuple[WaveNet, dict[str, Any]]:
    """Return the averaged weights of a checkpoint, as a voice holds them (float16), and the checkpoint."""
    state = load_checkpoint(checkpoint)
    model = WaveNet(from_dict(VocoderConfig, state["config"]))
    model.load_state_dict({name: value.half().float() for name, value in state["ema"].items()})
    return model.eval(), state


def held_out(cache: FeatureCache, ids: list[str], config: VocoderConfig) -> list[Batch]:
    """One second of each utterance, in batches of 10."""
    long = usable(cache, ids, _FRAMES + 20)
    segments = [segment(cache, u, 20, _FRAMES, config, None) for u in long]
    return [collate(segments[i : i + 10]) for i in range(0, len(segments), 10)]


def run(manifest: Path, checkpoint: Path, batches: int) -> dict[str, Any]:
    """Calibrate a checkpoint and measure what int8 costs; returns what calibration.json holds."""
    model, state = load_model(checkpoint)
    cache = FeatureCache(manifest.parent / "features", model.config.mel)
    parts = split(manifest)
    source = SegmentSource(
        cache=cache, utterances=usable(cache, [row["id"] for row in parts.train], _FRAMES),
        config=model.config, batch_size=8, frames=_FRAMES,
    )  # fmt: skip
    dev = held_out(cache, [row["id"] for row in parts.dev][:40], model.config)
    exact = bits(model, dev)
    limits = calibrate(model, (source.batch(step) for step in range(batches)))
    quantised, _ = load_model(checkpoint)
    quantise(quantised, limits)
    rounded = bits(quantised, dev)
    return {
        "step": int(state["step"]),
        "limits": limits,
        "held_out_bits": {"float32": round(exact, 4), "int8": round(rounded, 4)},
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--out", type=Path, help=f"default: {CALIBRATION} beside the checkpoint")
    parser.add_argument("--batches", type=int, default=16, help="of 8 seconds of speech (default %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    result = run(arguments.manifest, arguments.checkpoint, arguments.batches)
    out = arguments.out or arguments.checkpoint.with_name(CALIBRATION)
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    found = result["held_out_bits"]
    print(f"held-out bits a sample: float32 {found['float32']:.4f}, int8 {found['int8']:.4f}; limits in {out}")


if __name__ == "__main__":
    main()
