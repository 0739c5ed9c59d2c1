"""Train the segmentation network.

    python -m deepvoice.recipes.segmentation.train MANIFEST --out DIR [--config FILE] [--minutes N]

Three stages, all from audio and phones alone: CTC over phone pairs; frames and boundaries on the alignment that the
pairs give; the same on the alignment that those frames give, with varied speed, voice, channel and noise. Further
rounds, where the settings ask for them, repeat the third on the alignment that the network before them gives. Stop at
any time and start again: each stage resumes exactly. `last.pt` in the output folder is the result.
"""

import argparse
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from deepvoice.config import load_toml, to_dict
from deepvoice.configs import SegmentationConfig
from deepvoice.models.segmentation import Segmentation, boundary_loss, frame_loss, pair_loss
from deepvoice.recipes.common.checkpoint import warm_start
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.data import meta_of, read_alignments
from deepvoice.recipes.common.distributed import Ratios, barrier, measure, ranks, weighted
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import DEFAULT, Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.train_loop import LossFunction, Metrics, train
from deepvoice.recipes.segmentation.align import write_alignments
from deepvoice.recipes.segmentation.augment import Augmentation
from deepvoice.recipes.segmentation.corpus import (
    Batch,
    Corpus,
    Utterance,
    UtteranceBatches,
    collate,
    open_corpus,
    typical_spectrum,
    whole_durations,
)
from deepvoice.recipes.segmentation.decode import boundaries_from_pairs, common_lag, durations_from_frames
from deepvoice.recipes.segmentation.model import load_model
from deepvoice.recipes.segmentation.plot import plot_boundaries
from deepvoice.recipes.segmentation.settings import AlignmentSettings, Settings, default_config

ALIGNED = "alignments.jsonl"  # what a stage leaves to the next one
_DEV_UTTERANCES = 24
_TYPICAL_UTTERANCES = 300


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of the training: where it writes, its loss, its schedule and what it learns from."""

    folder: Path
    loss_fn: LossFunction
    steps: int
    rate: float
    start: Path | None = None  # checkpoint to begin from
    alignments: dict[str, list[int]] | None = None
    augmentation: Augmentation | None = None


def start_of(
    config: SegmentationConfig, options: TrainOptions, corpus: Corpus, utterances: Sequence[Utterance]
) -> Segmentation:
    """Build the network that a run begins with.

    Its typical spectrum is that of the weights it begins from: they were trained with it. Without any it is measured.
    """
    model = Segmentation(config)
    last = options.out_dir / "last.pt"
    begin = last if last.exists() else options.warm_start
    if begin is None:
        model.typical.copy_(torch.from_numpy(typical_spectrum(corpus.cache, utterances[:_TYPICAL_UTTERANCES])))
    else:
        warm_start(model, begin)
    return model


def train_stage(
    corpus: Corpus, utterances: Sequence[Utterance], settings: Settings, stage: Stage, launch: Launch
) -> bool:
    """Train one stage to its end (or for `launch.minutes`); returns whether it is finished."""
    training, size = settings.training, settings.model.stack
    options = launch.applied(
        TrainOptions(
            out_dir=stage.folder, steps=stage.steps, learning_rate=stage.rate, evaluate_every=200,
            ema=training.ema, seed=training.seed, warmup=50, log_every=20,
        )
    )  # fmt: skip
    if stage.start is not None:
        options = dataclasses.replace(options, warm_start=stage.start)
    torch.manual_seed(training.seed)
    model = start_of(settings.model, options, corpus, utterances)
    typical_M = model.typical.numpy().copy()
    batches = UtteranceBatches(
        corpus.cache, utterances, training.batch_size, size, typical_M, stage.alignments, stage.augmentation,
        training.seed,
    )  # fmt: skip
    dev = corpus.utterances(corpus.rows.dev)[:_DEV_UTTERANCES]
    dev_batches = [collate(corpus.cache, dev[i : i + 8], size, typical_M) for i in range(0, len(dev), 8)]

    def evaluate(model: nn.Module, step: int) -> Metrics:
        def of(batch: Batch) -> Ratios:
            with torch.autocast(batch.mel_BFM.device.type, torch.bfloat16):
                loss, _ = loss_of_pairs(model, batch)
            return weighted({"pairs": float(loss)}, float(batch.pairs_B.sum()), "dev_")

        values = measure(dev_batches, of, lambda batch: corpus.cache.seconds(int(batch.steps_B.sum()) * size))
        if isinstance(model, Segmentation) and ranks().first:
            plot_boundaries(model, corpus.cache, dev[0], Samples(stage.folder, step))
        return values

    config, meta = to_dict(settings.model), meta_of(corpus.cache.spec)
    trainer = train(
        model, batches, stage.loss_fn, options, config=config, meta=meta, evaluate=evaluate,
        counts=counts_of_pairs if stage.alignments is None else counts_of_frames,
        origin=origin([corpus.manifest], corpus.cache.spec),
    )  # fmt: skip
    return trainer.step >= options.steps


def align_by_pairs(corpus: Corpus, utterances: Sequence[Utterance], checkpoint: Path, out: Path) -> None:
    """Write the alignment of the training utterances that the second stage learns from."""
    model = load_model(checkpoint)
    boundaries = boundaries_from_pairs(model, corpus.cache, utterances)
    lag = common_lag(boundaries, corpus.cache, utterances[:300])
    durations = {u.id: whole_durations(boundaries[u.id] + lag, u.frames) for u in utterances}
    print(f"aligned {len(durations)} utterances by pairs; boundaries moved by {lag} frames")
    write_alignments(durations, [u.id for u in utterances], out)


def align_by_frames(
    corpus: Corpus, utterances: Sequence[Utterance], checkpoint: Path, settings: AlignmentSettings, out: Path
) -> None:
    """Write the alignment of the training utterances that the next stage learns from."""
    durations = durations_from_frames(
        load_model(checkpoint), corpus.cache, utterances, settings.pair_weight, settings.passes, settings.least_frames
    )
    print(f"aligned {len(durations)} utterances by frames")
    write_alignments(durations, [u.id for u in utterances], out)


def plan_of(settings: Settings, out: Path) -> list[Stage]:
    """Return the stages in their order, without the alignments that they begin from; the last writes into `out`."""
    training, changes = settings.training, settings.augmentation
    plan = [("pairs", training.pair_steps, training.pair_rate), ("frames", training.frame_steps, training.frame_rate)]
    plan.append(("varied", training.varied_steps, training.varied_rate))
    plan += [(f"round{n + 1}", training.round_steps, training.round_rate) for n in range(training.rounds)]
    folders = [*(out / name for name, _, _ in plan[:-1]), out]
    return [
        Stage(
            folder=folder, loss_fn=loss_of_frames if number else loss_of_pairs, steps=steps, rate=rate,
            start=folders[number - 1] / "last.pt" if number else None, augmentation=changes if number > 1 else None,
        )
        for number, (folder, (_, steps, rate)) in enumerate(zip(folders, plan, strict=True))
    ]  # fmt: skip


def run(settings: Settings, manifest: Path, out: Path, minutes: float = math.inf, launch: Launch = DEFAULT) -> bool:
    """Train all stages, or continue; returns whether they are finished."""
    launch = dataclasses.replace(launch, minutes=min(minutes, launch.minutes))
    corpus = open_corpus(manifest)
    utterances = corpus.utterances(corpus.rows.train, settings.training.hours)
    stages = plan_of(settings, out)
    for before, stage in zip([None, *stages], stages, strict=False):
        aligned = stage.folder / ALIGNED
        if stage is not stages[-1] and aligned.exists():
            continue
        given = read_alignments(before.folder / ALIGNED) if before else None
        if not train_stage(corpus, utterances, settings, dataclasses.replace(stage, alignments=given), launch):
            return False
        if stage is not stages[-1]:
            if ranks().first and before is None:
                align_by_pairs(corpus, utterances, stage.folder / "last.pt", aligned)
            elif ranks().first:
                align_by_frames(corpus, utterances, stage.folder / "last.pt", settings.alignment, aligned)
            barrier()
    return True


def start(arguments: argparse.Namespace, launch: Launch) -> bool:
    """Train as the command line says; returns whether all stages are finished."""
    settings = load_toml(Settings, arguments.config or default_config())
    return run(settings, arguments.data, arguments.out, launch=launch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return command(start, training_parser("Train the segmentation network.", manifest=True), argv)


if __name__ == "__main__":
    raise SystemExit(main())
