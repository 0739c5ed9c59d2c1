"""Train the homographs module.

    python -m deepvoice.recipes.homographs.train SENTENCES.tsv --out DIR [--text FILE ...] [--config FILE]

SENTENCES.tsv has homograph, reading, sentence, first and last byte in each line (the training split of the Wikipedia
homograph data of Gorman, Mazovetskiy and Nikolaev, 2018). A tenth of it, by hash, is held out. The recipe adds its own
`sentences.txt`. --text names further plain text, one sentence a line, in which classes of words are found. `last.pt` in
the output folder is the checkpoint; training takes about a minute.
"""

import argparse
import dataclasses
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from deepvoice.config import load_toml, require_range, to_dict
from deepvoice.configs import HomographConfig
from deepvoice.errors import TrainingError
from deepvoice.models.homographs import Homographs, loss
from deepvoice.networks.homographs import HomographNetwork, Indices, indices_of
from deepvoice.recipes.common.checkpoint import save_checkpoint
from deepvoice.recipes.common.command import add_run_arguments
from deepvoice.recipes.common.distributed import ranks
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import Launch
from deepvoice.recipes.homographs.classes import ClassSettings, classify
from deepvoice.recipes.homographs.data import (
    Place,
    Reading,
    default_readings,
    own_sentences,
    places,
    read_own,
    read_readings,
    read_rows,
)
from deepvoice.recipes.homographs.score import score
from deepvoice.text.phones import phone_set_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Sizes of the tables."""

    shared_bits: int
    own_bits: int
    class_bits: int
    classes: int
    coarse: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """The schedule."""

    epochs: int
    batch: int
    learning_rate: float
    shared_decay: float
    own_decay: float
    own_repeats: int  # times that the recipe's own sentences count
    seed: int

    def __post_init__(self) -> None:
        require_range("epochs", self.epochs, 1, 1000)
        require_range("batch", self.batch, 1, 100_000)
        require_range("own_repeats", self.own_repeats, 0, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What config.toml holds."""

    model: ModelSettings
    training: TrainingSettings
    classes: ClassSettings


def default_config() -> Path:
    """Return the path of the recipe's config.toml."""
    return Path(__file__).with_name("config.toml")


def config_of(readings: dict[str, list[Reading]], sizes: ModelSettings) -> HomographConfig:
    """Return the config of the module."""
    return HomographConfig(
        words={word: tuple(f"{r.name} {r.phones}" for r in entry) for word, entry in readings.items()},
        shared=tuple(word for word, entry in readings.items() if [r.kind for r in entry] == ["N", "V"]),
        **to_dict(sizes),
    )


def train(
    settings: Settings, found: Sequence[Place], own: Sequence[Place], text: Sequence[Sequence[str]], out: Path
) -> Homographs:
    """Train on the places that are not held out, and on all of `own`; writes log.jsonl and last.pt into `out`.

    text: sentences in which classes of words are found, beside those of the places
    """
    started = time.monotonic()
    schedule, sizes = settings.training, settings.model
    readings = read_readings(default_readings())
    config = config_of(readings, sizes)
    model = Homographs(config)
    seen = [place for place in found if not place.held_out]
    sentences = [[spoken.text for spoken in place.words] for place in (*seen, *own)]
    classes_C, coarse_K = classify([*sentences, *text], settings.classes, sizes.class_bits, sizes.classes, sizes.coarse)
    model.classes.copy_(torch.from_numpy(classes_C))
    model.coarse.copy_(torch.from_numpy(coarse_K))
    examples: list[tuple[Indices, int]] = [
        (indices_of(place.words, place.index, config, classes_C, coarse_K), place.reading)
        for place in (*seen, *list(own) * schedule.own_repeats)
    ]
    optimiser = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate)
    order = random.Random(schedule.seed)
    out.mkdir(parents=True, exist_ok=True)
    steps = 0
    with (out / "log.jsonl").open("w", encoding="utf-8") as log:
        for epoch in range(schedule.epochs):
            order.shuffle(examples)
            total = 0.0
            optimiser.param_groups[0]["lr"] = schedule.learning_rate * (1 - epoch / schedule.epochs)
            for first in range(0, len(examples), schedule.batch):
                batch = examples[first : first + schedule.batch]
                target = torch.tensor([reading for _, reading in batch])
                decay = (schedule.shared_decay, schedule.own_decay)
                value = loss(model, [indices for indices, _ in batch], target, decay)
                optimiser.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += float(value.detach()) * len(batch)
                steps += 1
            figures = score(network_of(model), found, readings)
            row = {"step": steps, "train": total / len(examples), **figures.row(), "time": time.monotonic() - started}
            log.write(json.dumps(row) + "\n")
            print(f"epoch {epoch + 1}: loss {row['train']:.3f}, held out {figures.right:.2f} % {figures.mean:.2f} %")
    state = {"config": to_dict(config), "meta": {"phones": phone_set_hash()}, "step": steps, "ema": model.state_dict()}
    save_checkpoint(state, out / "last.pt")
    return model


def network_of(model: Homographs) -> HomographNetwork:
    """Return the speaking half with the weights as they are."""
    return HomographNetwork({name: value.numpy() for name, value in model.state_dict().items()}, model.config)


def start(arguments: argparse.Namespace, launch: Launch) -> None:
    """Train as the command line says, from the beginning: it takes a minute.

    Raises TrainingError in several processes, or for options that only longer trainings know.
    """
    if ranks().world > 1 or dataclasses.replace(launch, device="auto", timeout=Launch().timeout) != Launch():
        raise TrainingError("homographs train for a minute, in one process and without further options; see --help")
    settings = load_toml(Settings, arguments.config or default_config())
    readings = read_readings(default_readings())
    found = list(places(read_rows(arguments.data), readings))
    own = list(places(read_own(own_sentences()), readings))
    text = [
        line.rpartition("\t")[2].lower().replace(",", " , ").replace(".", " ").split()
        for path in arguments.text
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    torch.manual_seed(settings.training.seed)
    train(settings, found, own, text, arguments.out)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="SENTENCES")
    parser.add_argument("--text", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings (default: the recipe's)")
    add_run_arguments(parser)
    return command(start, parser, argv)


if __name__ == "__main__":
    raise SystemExit(main())
