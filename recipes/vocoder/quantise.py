"""Calibrate a trained WaveNet for int8.

    python -m deepvoice.recipes.vocoder.quantise MANIFEST --checkpoint RUNS/vocoder/last.pt

int8 needs to know how large the inputs of each large matrix become. This command runs the averaged weights over
training utterances and writes these limits beside the checkpoint (calibration.json), where `recipes/voice/pack` finds
them. It prints what int8 costs on held-out utterances in bits a sample. To win that back, train on for a few thousand
steps with `train.py --quantised RUNS/vocoder/calibration.json`: weights and inputs are rounded as the kernels round
them, gradients pass as if they were not. The network keeps the limits that it was finished with:
`--limits RUNS/vocoder/calibration.json`.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from deepvoice.config import from_dict
from deepvoice.configs import VocoderConfig
from deepvoice.models.vocoder import WaveNet
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.data import split
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.vocoder.data import Batch, SegmentSource, usable
from deepvoice.recipes.vocoder.objective import held_out_batches, loss_on
from deepvoice.recipes.vocoder.rounding import quantise

CALIBRATION = "calibration.json"  # beside the checkpoint that it belongs to
_FRAMES = 200  # of each utterance


def bits(model: WaveNet, batches: Iterable[Batch]) -> float:
    """Mean cross-entropy in bits a sample, without training noise."""
    with torch.no_grad():
        values = [float(loss_on(model, batch, None)) for batch in batches]
    return sum(values) / len(values)


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


def run(manifest: Path, checkpoint: Path, batches: int, limits: list[float] | None = None) -> dict[str, Any]:
    """Calibrate a checkpoint and measure what int8 costs; returns what calibration.json holds.

    limits: those that the network was finished with; None measures them
    """
    model, state = load_model(checkpoint)
    cache = FeatureCache(manifest.parent / "features", model.config.mel)
    parts = split(manifest)
    dev = held_out_batches(cache, [row["id"] for row in parts.dev][:40], model.config)
    exact = bits(model, dev)
    if limits is None:
        source = SegmentSource(
            cache=cache, utterances=usable(cache, [row["id"] for row in parts.train], _FRAMES),
            config=model.config, batch_size=8, frames=_FRAMES,
        )  # fmt: skip
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
    parser.add_argument("--limits", type=Path, metavar="FILE", help="calibration.json whose limits are kept")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    limits = json.loads(arguments.limits.read_text(encoding="utf-8"))["limits"] if arguments.limits else None
    result = run(arguments.manifest, arguments.checkpoint, arguments.batches, limits)
    out = arguments.out or arguments.checkpoint.with_name(CALIBRATION)
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    found = result["held_out_bits"]
    print(f"held-out bits a sample: float32 {found['float32']:.4f}, int8 {found['int8']:.4f}; limits in {out}")


if __name__ == "__main__":
    main()
