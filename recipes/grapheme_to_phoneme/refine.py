"""Train a network on what it is asked for: that the reading it chooses, with the memory's help, is a listed one.

    python -m deepvoice.recipes.grapheme_to_phoneme.refine --data HYPOTHESES.npz --out DIR --start FILE
        [--config FILE] [--seed N] [--minutes N]

Minimum expected error over the readings of the hypotheses step: the words that it would say wrong, were it to draw
among them by their probabilities. Unlike the cross-entropy it wastes nothing on words that no rule explains, and any
listed pronunciation counts as right. A little cross-entropy keeps stress and the probabilities of letters in place.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from deepvoice.config import from_dict, load_toml, require_range, to_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import ConfigError
from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme, expected_error
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import DEFAULT, Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.train_loop import Trainer, train
from deepvoice.recipes.grapheme_to_phoneme.batches import LengthPlan
from deepvoice.recipes.grapheme_to_phoneme.hypotheses import Hypotheses, load
from deepvoice.text.phones import phone_set_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineSettings:
    """The schedule."""

    steps: int
    letters_per_batch: int
    learning_rate: float
    weight_decay: float
    ema: float
    clip: float
    dropout: float
    likelihood: float  # weight of the cross-entropy per letter beside the expected error
    seed: int

    def __post_init__(self) -> None:
        require_range("letters_per_batch", self.letters_per_batch, 1, 1_000_000)
        require_range("dropout", self.dropout, 0.0, 0.9)
        require_range("likelihood", self.likelihood, 0.0, 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What refine.toml holds."""

    training: RefineSettings


class HypothesisBatch(NamedTuple):
    """letters_BG, units_BKG: int64; memory_BK: float32; listed_BK, taught_BK: bool (see `Hypotheses`)."""

    letters_BG: torch.Tensor
    units_BKG: torch.Tensor
    memory_BK: torch.Tensor
    listed_BK: torch.Tensor
    taught_BK: torch.Tensor


class HypothesisBatches:
    """Every word in doubt once an epoch, in batches of one length; a function of the step alone.

    In doubt are words with a reading that is listed and one that is not.
    """

    def __init__(self, hypotheses: Mapping[int, Hypotheses], letters_per_batch: int, seed: int) -> None:
        """Choose the words; raises DataError where none is in doubt."""
        self._lengths = {length: chosen for length, row in hypotheses.items() if len((chosen := _doubtful(row))[0])}
        if not self._lengths:
            raise DataError("no word has both a listed reading and another; find hypotheses of the whole dictionary")
        counts = {length: len(row.letters_WG) for length, row in self._lengths.items()}
        self._plan = LengthPlan(counts, letters_per_batch, seed)
        self.steps_per_epoch = self._plan.steps_per_epoch

    def batch(self, step: int) -> HypothesisBatch:
        """Return the batch of a step."""
        length, chosen_B = self._plan.at(step)
        return HypothesisBatch(*(torch.from_numpy(array[chosen_B]) for array in self._lengths[length]))


def _doubtful(row: Hypotheses) -> Hypotheses:
    real_WK = np.isfinite(row.memory_WK)
    chosen_W = (row.listed_WK & real_WK).any(1) & (~row.listed_WK & real_WK).any(1) & row.taught_WK.any(1)
    return Hypotheses(*(array[chosen_W] for array in row))


def default_config() -> Path:
    """Return the path of the recipe's refine.toml."""
    return Path(__file__).with_name("refine.toml")


def run(
    settings: Settings,
    data: Path,
    out: Path,
    start: Path,
    minutes: float = float("inf"),
    launch: Launch = DEFAULT,
) -> Trainer:
    """Train, or continue to train, in `out`.

    data: file of the hypotheses step
    start: checkpoint of the network to refine
    minutes: stop, with a checkpoint, after this long
    """
    schedule = settings.training
    batches = HypothesisBatches(load(data), schedule.letters_per_batch, schedule.seed)
    config = from_dict(GraphemeToPhonemeConfig, load_checkpoint(start)["config"])
    config = dataclasses.replace(config, dropout=schedule.dropout)
    torch.manual_seed(schedule.seed)
    options = TrainOptions(
        out_dir=out,
        steps=schedule.steps,
        learning_rate=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
        warmup=100,
        ema=schedule.ema,
        clip=schedule.clip,
        seed=schedule.seed,
        minutes=minutes,
        warm_start=start,
    )

    def loss_fn(module: nn.Module, batch: HypothesisBatch) -> tuple[torch.Tensor, dict[str, float]]:
        assert isinstance(module, GraphemeToPhoneme)
        return expected_error(module, *batch, schedule.likelihood)

    return train(
        GraphemeToPhoneme(config),
        batches,
        loss_fn,
        launch.applied(options),
        config=to_dict(config),
        meta={"phones": phone_set_hash()},
        counts=lambda batch: [torch.tensor(float(len(batch.letters_BG)))],
        origin=origin([data], None),
    )


def start(arguments: argparse.Namespace, launch: Launch) -> None:
    """Train as the command line says."""
    if launch.warm_start is None:
        raise ConfigError("there is nothing to refine; name the network's checkpoint with --start")
    settings = load_toml(Settings, arguments.config or default_config())
    if arguments.seed is not None:
        settings = Settings(training=dataclasses.replace(settings.training, seed=arguments.seed))
    run(settings, arguments.data, arguments.out, launch.warm_start, launch=launch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = training_parser("Teach a grapheme-to-phoneme network to choose among readings.")
    parser.add_argument(
        "--start", type=Path, dest="warm_start", metavar="FILE", help="last.pt of the network; as --warm-start"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="another than the settings', for a run to average with")
    return command(start, parser, argv)


if __name__ == "__main__":
    raise SystemExit(main())
