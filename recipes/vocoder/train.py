"""Train the vocoder's WaveNet on segments of a corpus.

    python -m deepvoice.recipes.vocoder.train MANIFEST --out RUN_DIR [--config recipes/vocoder/config.toml]

First pass: spectra of the recordings. Second pass (`--spectra FILE`, `--warm-start`): the conditioner's predicted
spectra, so that the WaveNet learns to speak from what it will be given.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
from torch import nn

from deepvoice.audio.mel import log_mel
from deepvoice.config import load_toml, to_dict
from deepvoice.configs import VocoderConfig
from deepvoice.models.losses import cross_entropy
from deepvoice.models.vocoder import WaveNet, noisy_signals
from deepvoice.recipes.common.data import meta_of, split
from deepvoice.recipes.common.features import FeatureCache, Features
from deepvoice.recipes.common.plot import plot_spectra
from deepvoice.recipes.common.train_loop import Metrics, TrainOptions, train
from deepvoice.recipes.vocoder.data import CONTEXT, Batch, SegmentSource, collate, segment, usable
from deepvoice.recipes.vocoder.evaluate import Sampling, free_run, spectral_distance, without_conditioner
from deepvoice.recipes.vocoder.quantise import quantise
from deepvoice.recipes.vocoder.spectra import PredictedSpectra

_BITS = 1.4426950408889634  # bits in a nat
_HELD_OUT_FRAMES = 200  # of each held-out utterance
_SAMPLING = Sampling(voiced=0.1, unvoiced=0.5)  # of the samples that a run writes


@dataclass(frozen=True, slots=True, kw_only=True)
class VocoderTraining:
    """The TOML file of the recipe: sizes and how to train them."""

    vocoder: VocoderConfig = field(default_factory=VocoderConfig)
    steps: int = 60000
    learning_rate: float = 2e-3
    batch_size: int = 8
    segment_frames: int = 60
    noise_levels: float = 1.0  # largest standard deviation of the training noise, in quantiser steps
    ema: float = 0.9995
    evaluate_every: int = 1000


def loss_on(model: WaveNet, batch: Batch, noise: float | None) -> torch.Tensor:
    """Mean cross-entropy in bits a sample; `noise` None means clean history (for evaluation)."""
    levels = None if noise is None else noise * torch.rand(batch.signal_BT.shape[0], 1)
    with torch.autocast("cpu", enabled=False):
        signals, codes = noisy_signals(batch.signal_BT, batch.lpc_BFK, model.config, levels)
    logits = model.logits(signals, batch.frames_BFC, batch.pulses_BNQ, CONTEXT)
    return cross_entropy(logits.flatten(0, 1), codes.flatten(), batch.weight_BT.flatten()) * _BITS


def held_out_batches(
    cache: FeatureCache, ids: list[str], config: VocoderConfig, spectra: Mapping[str, Any] | None = None
) -> list[Batch]:
    """The first second of every held-out utterance, in batches of 10."""
    long = [u for u in usable(cache, ids, _HELD_OUT_FRAMES + 20) if spectra is None or u in spectra]
    mels = [spectra[u] if spectra is not None else None for u in long]
    segments = [segment(cache, u, 20, _HELD_OUT_FRAMES, config, mel) for u, mel in zip(long, mels, strict=True)]
    return [collate(segments[i : i + 10]) for i in range(0, len(segments), 10)]


def write_sample(model: WaveNet, features: Features, path: Path) -> float:
    """Speak an utterance freely from its recorded spectrum into a wav and a picture; returns its spectral distance, dB.

    path: without suffix
    """
    config = model.config
    weights = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    mel_FM = np.asarray(features.mel_FM, np.float32)
    speech = free_run(without_conditioner(weights, config), features, mel_FM, _SAMPLING, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path.with_suffix(".wav"), speech, config.mel.sample_rate, subtype="PCM_16")
    plot_spectra({"recording": mel_FM, "free-running": log_mel(speech, config.mel)}, path.with_suffix(".png"))
    return spectral_distance(speech, features, config)


def run(
    manifest: Path,
    training: VocoderTraining,
    options: TrainOptions,
    spectra: Mapping[str, Any] | None = None,
    limits: list[float] | None = None,
) -> None:
    """Train (or resume) on a manifest whose features are cached beside it.

    limits: of a calibration, for a finish in which weights and inputs are rounded to int8
    """
    config = training.vocoder
    cache = FeatureCache(manifest.parent / "features", config.mel)
    parts = split(manifest)
    ids = [row["id"] for row in parts.train if spectra is None or row["id"] in spectra]
    source = SegmentSource(
        cache=cache, utterances=usable(cache, ids, training.segment_frames),
        config=config, batch_size=training.batch_size, frames=training.segment_frames, spectra=spectra,
    )  # fmt: skip
    held_out = held_out_batches(cache, [row["id"] for row in parts.dev][:40], config, spectra)

    sample = next(row["id"] for row in parts.dev if row["id"] in cache)

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[torch.Tensor, Metrics]:
        assert isinstance(model, WaveNet)
        loss = loss_on(model, batch, training.noise_levels)
        return loss, {}

    def evaluate(model: nn.Module, step: int) -> Metrics:
        assert isinstance(model, WaveNet)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            values = [float(loss_on(model, batch, None)) for batch in held_out]
        distance = write_sample(model, cache[sample], options.out_dir / "samples" / f"{step:06d}")
        return {"held_out_bits": sum(values) / len(values), "sample_distance_db": distance}

    torch.manual_seed(options.seed)
    model = WaveNet(config)
    if limits is not None:
        quantise(model, limits)
    train(model, source, loss_fn, options, config=to_dict(config), meta=meta_of(config.mel), evaluate=evaluate)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="run folder: checkpoints, logs")
    parser.add_argument("--config", type=Path, help="TOML of VocoderTraining; default: the values in the code")
    parser.add_argument("--warm-start", type=Path, help="weights to begin from")
    parser.add_argument("--spectra", type=Path, help="folder of predicted spectra (recipes/vocoder/spectra.py)")
    parser.add_argument(
        "--quantised", type=Path, help="calibration.json: round weights and inputs to int8, for a finish"
    )
    parser.add_argument("--steps", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after this much time, with a checkpoint"
    )
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    training = load_toml(VocoderTraining, arguments.config) if arguments.config else VocoderTraining()
    if arguments.steps:
        training = replace(training, steps=arguments.steps)
    if arguments.learning_rate:
        training = replace(training, learning_rate=arguments.learning_rate)
    options = TrainOptions(
        out_dir=arguments.out, steps=training.steps, learning_rate=training.learning_rate, ema=training.ema,
        evaluate_every=training.evaluate_every, warm_start=arguments.warm_start, minutes=arguments.minutes,
    )  # fmt: skip
    spectra = PredictedSpectra(arguments.spectra, training.vocoder.mel.bands) if arguments.spectra else None
    limits = json.loads(arguments.quantised.read_text())["limits"] if arguments.quantised else None
    run(arguments.manifest, training, options, spectra, limits)


if __name__ == "__main__":
    main()
