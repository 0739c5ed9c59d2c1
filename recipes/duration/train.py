"""Train the duration model.

    python -m deepvoice.recipes.duration.train --data DIR --out DIR [--config FILE] [--minutes N]

Stop it at any time and start it again: it resumes exactly. `last.pt` in the output folder holds the averaged weights.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepvoice.audio.mel import MelSpec
from deepvoice.config import load_toml, require_range, to_dict
from deepvoice.configs import DurationConfig
from deepvoice.models.duration import Duration
from deepvoice.networks.duration import duration_features
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.data import meta_of
from deepvoice.recipes.common.distributed import Ratios, measure, ranks, weighted
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import DEFAULT, Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.plot import draw_alignment
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.sentences import LengthBatches, Sentence, load
from deepvoice.recipes.common.train_loop import Metrics, Trainer, train

FRAME_MS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """The schedule."""

    steps: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    ema: float
    evaluate_every: int  # steps
    seed: int

    def __post_init__(self) -> None:
        require_range("steps", self.steps, 1, 10_000_000)
        require_range("batch_size", self.batch_size, 1, 4096)
        require_range("evaluate_every", self.evaluate_every, 1, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What config.toml holds."""

    model: DurationConfig
    training: TrainingSettings


class Batch(NamedTuple):
    """Padded sentences.

    ids_BP: int64; features_BPX: float32; lengths_B: int64; durations_BP: float32 frames; mask_BP: float32
    """

    ids_BP: Tensor
    features_BPX: Tensor
    lengths_B: Tensor
    durations_BP: Tensor
    mask_BP: Tensor


def collate(sentences: Sequence[Sentence], features: Sequence[np.ndarray] | None = None) -> Batch:
    """Pad sentences to the longest; `features` are their duration features where they were computed before."""
    features = features or [duration_features(s.sequence, s.speed) for s in sentences]
    lengths = [len(s.sequence) for s in sentences]
    B, P = len(sentences), max(lengths)
    ids_BP = np.zeros((B, P), np.int64)
    features_BPX = np.zeros((B, P, features[0].shape[1]), np.float32)
    durations_BP, mask_BP = np.zeros((B, P), np.float32), np.zeros((B, P), np.float32)
    for b, (sentence, length) in enumerate(zip(sentences, lengths, strict=True)):
        ids_BP[b, :length] = sentence.sequence.ids_P
        features_BPX[b, :length] = features[b]
        durations_BP[b, :length] = sentence.durations_P
        mask_BP[b, :length] = 1.0
    arrays = (ids_BP, features_BPX, np.array(lengths), durations_BP, mask_BP)
    return Batch(*(torch.from_numpy(array) for array in arrays))


class SentenceBatches:
    """Batches of sentences, a function of the step."""

    def __init__(self, sentences: Sequence[Sentence], batch_size: int, seed: int) -> None:
        self._sentences = sentences
        self._features = [duration_features(s.sequence, s.speed) for s in sentences]
        self._order = LengthBatches([len(s.sequence) for s in sentences], batch_size, seed)

    def batch(self, step: int) -> Batch:
        """Return the batch of a step."""
        return self._collate(self._order.indices(step))

    def share(self, step: int, index: int, of: int) -> Batch | None:
        """Return every of-th sentence of a step, from `index` on; None where there is none."""
        indices = self._order.indices(step)[index::of]
        return self._collate(indices) if len(indices) else None

    def _collate(self, indices: NDArray[np.int64]) -> Batch:
        return collate([self._sentences[i] for i in indices], [self._features[i] for i in indices])

    def audio_seconds(self, step: int) -> float:
        """Return how much speech a step learns from."""
        frames = sum(int(self._sentences[i].durations_P.sum()) for i in self._order.indices(step))
        return frames * FRAME_MS / 1000


def loss_fn(model: nn.Module, batch: Batch) -> tuple[Tensor, Metrics]:
    """Ranked probability score in frames, and the absolute error of the median in milliseconds."""
    assert isinstance(model, Duration)
    logits_BPA = model(batch.ids_BP, batch.features_BPX, batch.lengths_B)
    loss = model.loss(logits_BPA, batch.durations_BP, batch.mask_BP)
    with torch.no_grad():
        error_BP = (model.median(logits_BPA) - batch.durations_BP).abs() * batch.mask_BP
        milliseconds = FRAME_MS * float(error_BP.sum() / batch.mask_BP.sum())
    return loss, {"error_ms": milliseconds}


def show(model: nn.Module, sentence: Sentence, samples: Samples) -> None:
    """Draw the aligned and the predicted durations of a sentence."""
    assert isinstance(model, Duration)
    device = next(model.parameters()).device
    batch = Batch(*(tensor.to(device) for tensor in collate([sentence])))
    with torch.no_grad():
        predicted_P = model.median(model(batch.ids_BP, batch.features_BPX, batch.lengths_B))[0].float().cpu().numpy()
    alignments = {"aligned": sentence.durations_P, "predicted": predicted_P[: len(sentence.durations_P)]}
    samples.picture("durations", draw_alignment(sentence.sequence.symbols, alignments))


def run(
    settings: Settings,
    data: Path,
    out: Path,
    minutes: float = float("inf"),
    warm_start: Path | None = None,
    launch: Launch = DEFAULT,
) -> Trainer:
    """Train, or continue to train, in `out`; `warm_start` names weights to begin from."""
    schedule = settings.training
    batches = SentenceBatches(load(data / "train.npz"), schedule.batch_size, schedule.seed)
    dev = load(data / "dev.npz")
    dev_batches = [collate(dev[i : i + 32]) for i in range(0, len(dev), 32)]
    torch.manual_seed(schedule.seed)
    model = Duration(settings.model)

    def evaluate(module: nn.Module, step: int) -> Metrics:
        def of(batch: Batch) -> Ratios:
            loss, metrics = loss_fn(module, batch)
            return weighted({"loss": float(loss), **metrics}, float(batch.mask_BP.sum()))

        values = measure(dev_batches, of, seconds=lambda batch: float(batch.durations_BP.sum()) * FRAME_MS / 1000)
        if ranks().first:
            show(module, dev[0], Samples(out, step))
        return values

    options = TrainOptions(
        out_dir=out,
        steps=schedule.steps,
        learning_rate=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
        ema=schedule.ema,
        evaluate_every=schedule.evaluate_every,
        warmup=min(200, schedule.steps // 5),
        log_every=100,
        seed=schedule.seed,
        minutes=minutes,
        warm_start=warm_start,
        best="held_out_error_ms",
    )
    return train(
        model,
        batches,
        loss_fn,
        launch.applied(options),
        config=to_dict(settings.model),
        meta=meta_of(MelSpec()),
        evaluate=evaluate,
        counts=lambda batch: [batch.mask_BP.sum()],
        origin=origin([data / "train.npz", data / "dev.npz"], MelSpec()),
    )


def default_config() -> Path:
    """Return the path of the recipe's config.toml."""
    return Path(__file__).with_name("config.toml")


def start(arguments: argparse.Namespace, launch: Launch) -> None:
    """Train as the command line says."""
    settings = load_toml(Settings, arguments.config or default_config())
    run(settings, arguments.data, arguments.out, launch=launch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return command(start, training_parser("Train the duration model."), argv)


if __name__ == "__main__":
    raise SystemExit(main())
