"""Train the vocoder's WaveNet on segments of a corpus.

    python -m deepvoice.recipes.vocoder.train MANIFEST --out RUN_DIR [--config recipes/vocoder/config.toml]

First pass: spectra of the recordings. Second pass (`--spectra FILE`, `--warm-start`): the conditioner's predicted
spectra, so that the WaveNet learns to speak from what it will be given.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from deepvoice.audio.mel import log_mel
from deepvoice.config import load_toml, to_dict
from deepvoice.models.vocoder import WaveNet
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.data import meta_of, split
from deepvoice.recipes.common.distributed import Ratios, from_first, measure, weighted
from deepvoice.recipes.common.features import FeatureCache, Features
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.plot import draw_spectra
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.train_loop import Metrics, Trainer, train
from deepvoice.recipes.vocoder.data import Batch, SegmentSource, usable
from deepvoice.recipes.vocoder.evaluate import Sampling, free_run, spectral_distance, without_conditioner
from deepvoice.recipes.vocoder.objective import held_out_batches, loss_on
from deepvoice.recipes.vocoder.rounding import quantise
from deepvoice.recipes.vocoder.settings import VocoderTraining
from deepvoice.recipes.vocoder.spectra import PredictedSpectra

_SAMPLING = Sampling(voiced=0.1, unvoiced=0.5)  # of the samples that a run writes


def write_sample(model: WaveNet, features: Features, samples: Samples) -> Metrics:
    """Speak an utterance freely from its recorded spectrum into a wav and a picture.

    Returns its spectral distance in dB, and the real-time factor of speaking it.
    """
    config = model.config
    weights = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    mel_FM = np.asarray(features.mel_FM, np.float32)
    network = without_conditioner(weights, config)
    started = time.perf_counter()
    speech = free_run(network, features, mel_FM, _SAMPLING, 0)
    speed = (time.perf_counter() - started) * config.mel.sample_rate / len(speech)
    samples.audio("free-running", speech, config.mel.sample_rate)
    spectra = {"recording": mel_FM, "free-running": log_mel(speech, config.mel)}
    samples.picture("free-running", draw_spectra(spectra))
    return {"sample_distance_db": spectral_distance(speech, features, config), "rtf": speed}


def run(
    manifest: Path,
    training: VocoderTraining,
    options: TrainOptions,
    spectra: Mapping[str, Any] | None = None,
    limits: list[float] | None = None,
) -> Trainer:
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

        def of(batch: Batch) -> Ratios:
            with torch.autocast(batch.signal_BT.device.type, torch.bfloat16):
                return weighted({"bits": float(loss_on(model, batch, None))}, len(batch.signal_BT))

        samples = Samples(options.out_dir, step)
        return {**measure(held_out, of), **from_first(lambda: write_sample(model, cache[sample], samples))}

    torch.manual_seed(options.seed)
    model = WaveNet(config)
    if limits is not None:
        quantise(model, limits)
    return train(
        model,
        source,
        loss_fn,
        options,
        config=to_dict(config),
        meta=meta_of(config.mel),
        evaluate=evaluate,
        counts=lambda batch: [batch.weight_BT.sum().clamp(min=1.0)],
        origin=origin([manifest], config.mel),
    )


def start(arguments: argparse.Namespace, launch: Launch) -> None:
    """Train as the command line says."""
    training = load_toml(VocoderTraining, arguments.config) if arguments.config else VocoderTraining()
    options = TrainOptions(
        out_dir=arguments.out, steps=training.steps, learning_rate=training.learning_rate, ema=training.ema,
        evaluate_every=training.evaluate_every, best="sample_distance_db",
    )  # fmt: skip
    spectra = PredictedSpectra(arguments.spectra, training.vocoder.mel.bands) if arguments.spectra else None
    limits = json.loads(arguments.quantised.read_text())["limits"] if arguments.quantised else None
    run(arguments.data, training, launch.applied(options), spectra, limits)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = training_parser(__doc__, manifest=True)
    parser.add_argument("--spectra", type=Path, help="folder of predicted spectra (recipes/vocoder/spectra.py)")
    parser.add_argument(
        "--quantised", type=Path, help="calibration.json: round weights and inputs to int8, for a finish"
    )
    return command(start, parser, argv)


if __name__ == "__main__":
    raise SystemExit(main())
