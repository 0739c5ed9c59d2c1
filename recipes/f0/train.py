"""Train the F0 model.

    python -m deepvoice.recipes.f0.train --data DIR --out DIR [--config FILE] [--minutes N]

Stop it at any time and start it again: it resumes exactly. `last.pt` in the output folder holds the averaged weights.
"""

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepvoice.audio.mel import MelSpec
from deepvoice.audio.pulses import interpolate_unvoiced
from deepvoice.config import load_toml, require_range, to_dict
from deepvoice.configs import F0Config
from deepvoice.models.f0 import F0
from deepvoice.networks.f0 import f0_features
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.data import meta_of
from deepvoice.recipes.common.distributed import Ratios, measure, ranks, weighted
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import DEFAULT, Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.plot import draw_contours
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.sentences import LengthBatches, Sentence, load
from deepvoice.recipes.common.train_loop import Metrics, Trainer, train
from deepvoice.text.context import frame_features

FRAME_SECONDS = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """The schedule."""

    steps: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    ema: float
    voicing_weight: float  # weight of the cross-entropy of voicing beside the error of normalised log F0
    evaluate_every: int  # steps
    seed: int

    def __post_init__(self) -> None:
        require_range("steps", self.steps, 1, 10_000_000)
        require_range("batch_size", self.batch_size, 1, 4096)
        require_range("voicing_weight", self.voicing_weight, 0.0, 100.0)
        require_range("evaluate_every", self.evaluate_every, 1, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What config.toml holds."""

    model: F0Config
    training: TrainingSettings


class Batch(NamedTuple):
    """Padded sentences.

    ids_BP: int64; features_BPX: float32; lengths_B: int64, phones
    phone_BN: int64; frame_features_BNY: float32; steps_B: int64
    f0_BF: float32 [B, N * frame_step] Hz, negative where unvoiced; mask_BF: float32
    """

    ids_BP: Tensor
    features_BPX: Tensor
    lengths_B: Tensor
    phone_BN: Tensor
    frame_features_BNY: Tensor
    steps_B: Tensor
    f0_BF: Tensor
    mask_BF: Tensor


def signed_f0(f0_F: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return F0 where voiced, and minus the interpolated value where not."""
    return np.where(f0_F > 0, f0_F, -interpolate_unvoiced(f0_F)).astype(np.float32)


def _stack(arrays: Sequence[NDArray[np.generic]], size: int) -> Tensor:
    """Pad arrays with zeros to [size, ...] and stack them."""
    stacked = np.zeros((len(arrays), size, *arrays[0].shape[1:]), arrays[0].dtype)
    for row, array in zip(stacked, arrays, strict=True):
        row[: len(array)] = array
    return torch.from_numpy(stacked)


def collate(sentences: Sequence[Sentence], step: int) -> Batch:
    """Pad sentences to the longest; `step` is the frames that one step of the frame level covers."""
    phones = [len(s.sequence) for s in sentences]
    spread = [frame_features(s.durations_P, step) for s in sentences]
    steps = [len(phone_N) for phone_N, _ in spread]
    P, N = max(phones), max(steps)
    targets = [signed_f0(s.f0_F) for s in sentences]
    return Batch(
        ids_BP=_stack([s.sequence.ids_P for s in sentences], P),
        features_BPX=_stack([f0_features(s.sequence, s.durations_P) for s in sentences], P),
        lengths_B=torch.tensor(phones),
        phone_BN=_stack([phone_N for phone_N, _ in spread], N),
        frame_features_BNY=_stack([features_NY for _, features_NY in spread], N),
        steps_B=torch.tensor(steps),
        f0_BF=_stack(targets, N * step),
        mask_BF=_stack([np.ones(len(target), np.float32) for target in targets], N * step),
    )


class SentenceBatches:
    """Batches of sentences, a function of the step."""

    def __init__(self, sentences: Sequence[Sentence], batch_size: int, step: int, seed: int) -> None:
        self._sentences = sentences
        self._step = step
        self._order = LengthBatches([len(s.f0_F) for s in sentences], batch_size, seed)

    def batch(self, step: int) -> Batch:
        """Return the batch of a step."""
        return collate([self._sentences[i] for i in self._order.indices(step)], self._step)

    def share(self, step: int, index: int, of: int) -> Batch | None:
        """Return every of-th sentence of a step, from `index` on; None where there is none."""
        indices = self._order.indices(step)[index::of]
        return collate([self._sentences[i] for i in indices], self._step) if len(indices) else None

    def audio_seconds(self, step: int) -> float:
        """Return how much speech a step learns from."""
        return sum(len(self._sentences[i].f0_F) for i in self._order.indices(step)) * FRAME_SECONDS


def normalised(config: F0Config, sentences: Sequence[Sentence]) -> F0Config:
    """Set the mean and deviation of log F0 to those of the voiced frames of the sentences."""
    f0 = np.concatenate([s.f0_F for s in sentences])
    logarithms = np.log(f0[f0 > 0])
    if not len(logarithms):
        raise DataError("no frame of the corpus is voiced; check its audio and its features")
    return dataclasses.replace(config, log_mean=float(logarithms.mean()), log_deviation=float(logarithms.std()))


def loss_of(model: nn.Module, batch: Batch, voicing_weight: float) -> tuple[Tensor, Metrics]:
    """Weighted sum of the losses, and the figures that are read: Hz on voiced frames, percent of wrong voicing."""
    assert isinstance(model, F0)
    voicing_BF, pitch_BF = model(*batch[:6])
    voicing, pitch = model.loss(voicing_BF, pitch_BF, batch.f0_BF, batch.mask_BF)
    with torch.no_grad():
        hertz_BF = (pitch_BF * model.config.log_deviation + model.config.log_mean).exp()
        voiced_BF = batch.mask_BF * (batch.f0_BF > 0)
        hertz = float(((hertz_BF - batch.f0_BF).abs() * voiced_BF).sum() / voiced_BF.sum().clamp(min=1.0))
        wrong_BF = ((voicing_BF > 0) != (batch.f0_BF > 0)) * batch.mask_BF
        percent = 100 * float(wrong_BF.sum() / batch.mask_BF.sum())
    metrics = {"error_hz": hertz, "voicing_percent": percent, "pitch": pitch.item(), "voicing": voicing.item()}
    return pitch + voicing_weight * voicing, metrics


def show(model: nn.Module, sentence: Sentence, samples: Samples) -> None:
    """Draw the tracked and the predicted F0 of a sentence."""
    assert isinstance(model, F0)
    device = next(model.parameters()).device
    with torch.no_grad():
        inputs = collate([sentence], model.config.frame_step)[:6]
        voicing_BF, pitch_BF = model(*(tensor.to(device) for tensor in inputs))
    hertz_F = (pitch_BF[0].float() * model.config.log_deviation + model.config.log_mean).exp()
    predicted_F = torch.where(voicing_BF[0] > 0, hertz_F, 0.0).cpu().numpy()[: len(sentence.f0_F)]
    samples.picture("f0", draw_contours({"tracked": sentence.f0_F, "predicted": predicted_F}))


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
    sentences = load(data / "train.npz")
    config = normalised(settings.model, sentences)
    batches = SentenceBatches(sentences, schedule.batch_size, config.frame_step, schedule.seed)
    dev = sorted(load(data / "dev.npz"), key=lambda s: len(s.f0_F))
    dev_batches = [collate(dev[i : i + 16], config.frame_step) for i in range(0, len(dev), 16)]
    torch.manual_seed(schedule.seed)
    model = F0(config)

    def loss_fn(module: nn.Module, batch: Batch) -> tuple[Tensor, Metrics]:
        return loss_of(module, batch, schedule.voicing_weight)

    def evaluate(module: nn.Module, step: int) -> Metrics:
        def of(batch: Batch) -> Ratios:
            return weighted(loss_fn(module, batch)[1], float(batch.mask_BF.sum()))

        values = measure(dev_batches, of, seconds=lambda batch: float(batch.mask_BF.sum()) * FRAME_SECONDS)
        if ranks().first:
            show(module, dev[len(dev) // 2], Samples(out, step))
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
        best="held_out_error_hz",
    )
    return train(
        model,
        batches,
        loss_fn,
        launch.applied(options),
        config=to_dict(config),
        meta=meta_of(MelSpec()),
        evaluate=evaluate,
        counts=lambda batch: model.counts(batch.f0_BF, batch.mask_BF),
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
    return command(start, training_parser("Train the F0 model."), argv)


if __name__ == "__main__":
    raise SystemExit(main())
