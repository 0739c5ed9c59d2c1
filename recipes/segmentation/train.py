"""Train the segmentation network.

    python -m deepvoice.recipes.segmentation.train MANIFEST --out DIR [--config FILE] [--minutes N]

Two stages, both from audio and phones alone: CTC over phone pairs, then frames and boundaries on the alignment that the
pairs give. Stop at any time and start again: each stage resumes exactly. `last.pt` in the output folder is the result.
"""

import argparse
import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from deepvoice.config import from_dict, load_toml, to_dict
from deepvoice.configs import SegmentationConfig
from deepvoice.models.segmentation import Segmentation, boundary_loss, frame_loss, pair_loss
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.data import meta_of, read_alignments
from deepvoice.recipes.common.distributed import Ratios, barrier, measure, ranks, weighted
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import DEFAULT, Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.train_loop import LossFunction, Metrics, Trainer, train
from deepvoice.recipes.segmentation.corpus import Batch, Corpus, Utterance, UtteranceBatches, collate, open_corpus
from deepvoice.recipes.segmentation.decode import boundaries_from_pairs, common_lag, whole_durations
from deepvoice.recipes.segmentation.plot import plot_boundaries
from deepvoice.recipes.segmentation.settings import Settings, default_config

_DEV_UTTERANCES = 24


def loss_of_pairs(model: nn.Module, batch: Batch) -> tuple[Tensor, Metrics]:
    """CTC over pairs."""
    loss = pair_loss(model(batch.mel_BFM), batch.left_BU, batch.right_BU, batch.steps_B, batch.pairs_B)
    return loss, {}


def loss_of_frames(model: nn.Module, batch: Batch) -> tuple[Tensor, Metrics]:
    """Cross entropies of frames and boundaries."""
    if batch.phone_BF is None or batch.left_BT is None or batch.right_BT is None or batch.boundary_BT is None:
        raise ValueError("this loss needs batches with alignments")
    output = model(batch.mel_BFM)
    frames = frame_loss(output, batch.phone_BF)
    boundaries = boundary_loss(output, batch.left_BT, batch.right_BT, batch.boundary_BT)
    return frames + boundaries, {"frames": float(frames.detach()), "boundaries": float(boundaries.detach())}


def counts_of_pairs(batch: Batch) -> list[Tensor]:
    """Return what the loss of pairs divides by."""
    return [batch.pairs_B.sum()]


def counts_of_frames(batch: Batch) -> list[Tensor]:
    """Return what the losses of frames and boundaries divide by."""
    assert batch.phone_BF is not None and batch.boundary_BT is not None
    return [(batch.phone_BF >= 0).sum(), (batch.boundary_BT >= 0).sum()]


def train_stage(
    corpus: Corpus,
    utterances: Sequence[Utterance],
    settings: Settings,
    options: TrainOptions,
    loss_fn: LossFunction,
    alignments: dict[str, list[int]] | None,
    manifest: Path,
) -> Trainer:
    """Train one stage to its end (or for `options.minutes`)."""
    training = settings.training
    batches = UtteranceBatches(
        corpus.cache, utterances, training.batch_size, settings.model.stack, alignments, training.seed
    )
    dev = corpus.utterances(corpus.rows.dev)[:_DEV_UTTERANCES]
    dev_batches = [collate(corpus.cache, dev[i : i + 8], settings.model.stack) for i in range(0, len(dev), 8)]

    def evaluate(model: nn.Module, step: int) -> Metrics:
        def of(batch: Batch) -> Ratios:
            with torch.autocast(batch.mel_BFM.device.type, torch.bfloat16):
                loss, _ = loss_of_pairs(model, batch)
            return weighted({"pairs": float(loss)}, float(batch.pairs_B.sum()), "dev_")

        values = measure(
            dev_batches, of, lambda batch: corpus.cache.seconds(int(batch.steps_B.sum()) * settings.model.stack)
        )
        if isinstance(model, Segmentation) and ranks().first:
            plot_boundaries(model, corpus.cache, dev[0], Samples(options.out_dir, step))
        return values

    torch.manual_seed(training.seed)
    config, meta = to_dict(settings.model), meta_of(corpus.cache.spec)
    model = Segmentation(settings.model)
    return train(
        model,
        batches,
        loss_fn,
        options,
        config=config,
        meta=meta,
        evaluate=evaluate,
        counts=counts_of_pairs if alignments is None else counts_of_frames,
        origin=origin([manifest], corpus.cache.spec),
    )


def align_by_pairs(corpus: Corpus, utterances: Sequence[Utterance], checkpoint: Path, out: Path) -> None:
    """Write the alignment of the training utterances that the second stage learns from."""
    model = load_model(checkpoint)
    boundaries = boundaries_from_pairs(model, corpus.cache, utterances)
    lag = common_lag(boundaries, corpus.cache, utterances[:300])
    rows = []
    for utterance in utterances:
        durations = whole_durations(boundaries[utterance.id] + lag, utterance.frames).tolist()
        rows.append(json.dumps({"id": utterance.id, "durations": durations}))
    print(f"aligned {len(rows)} utterances by pairs; boundaries moved by {lag} frames")
    temporary = out.with_suffix(".part")
    temporary.write_text("\n".join(rows) + "\n", encoding="utf-8")
    temporary.replace(out)


def load_model(checkpoint: Path) -> Segmentation:
    """Build the network of a checkpoint with its averaged weights."""
    state = load_checkpoint(checkpoint)
    model = Segmentation(from_dict(SegmentationConfig, state["config"], "segmentation"))
    model.load_state_dict(state["ema"])
    return model.eval()


def run(settings: Settings, manifest: Path, out: Path, minutes: float = math.inf, launch: Launch = DEFAULT) -> bool:
    """Train both stages, or continue; returns whether they are finished."""
    corpus = open_corpus(manifest)
    training = settings.training
    utterances = corpus.utterances(corpus.rows.train, training.hours)
    first, aligned = out / "pairs", out / "pairs" / "alignments.jsonl"
    common = {"ema": training.ema, "seed": training.seed, "minutes": minutes, "warmup": 50, "log_every": 20}
    if not aligned.exists():
        options = TrainOptions(
            out_dir=first, steps=training.pair_steps, learning_rate=training.pair_rate, evaluate_every=100, **common
        )
        trainer = train_stage(corpus, utterances, settings, launch.applied(options), loss_of_pairs, None, manifest)
        if trainer.step < trainer.options.steps:
            return False
        if ranks().first:
            align_by_pairs(corpus, utterances, first / "last.pt", aligned)
        barrier()
    options = TrainOptions(
        out_dir=out, steps=training.frame_steps, learning_rate=training.frame_rate, evaluate_every=100, **common
    )  # fmt: skip
    options = dataclasses.replace(launch.applied(options), warm_start=first / "last.pt")
    trainer = train_stage(corpus, utterances, settings, options, loss_of_frames, read_alignments(aligned), manifest)
    return trainer.step >= options.steps


def start(arguments: argparse.Namespace, launch: Launch) -> bool:
    """Train as the command line says; returns whether both stages are finished."""
    settings = load_toml(Settings, arguments.config or default_config())
    return run(settings, arguments.data, arguments.out, launch=launch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return command(start, training_parser("Train the segmentation network.", manifest=True), argv)


if __name__ == "__main__":
    raise SystemExit(main())
