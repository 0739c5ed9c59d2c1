"""Train the grapheme-to-phoneme model.

    python -m deepvoice.recipes.grapheme_to_phoneme.train --data DIR --out DIR [--config FILE] [--minutes N]
        [--start FILE]

Stop it at any time and start it again: it resumes exactly. `last.pt` in the output folder holds the averaged weights.
"""

import argparse
import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from deepvoice.config import load_toml, require_range, to_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme, loss
from deepvoice.networks.grapheme_to_phoneme import LETTERS, GraphemeToPhonemeNetwork
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.distributed import Ratios, measure, ranks
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import DEFAULT, Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.plot import draw_table
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.train_loop import Trainer, train
from deepvoice.recipes.grapheme_to_phoneme.batches import Batch, PhasedBatches, WordBatches
from deepvoice.recipes.grapheme_to_phoneme.lexicon import Pronunciation
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, read
from deepvoice.recipes.grapheme_to_phoneme.score import score
from deepvoice.text.phones import phone_set_hash

_SCORED = 256  # words that are read together


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Sizes of the network; the units come from the data."""

    letter_dim: int
    encoder_layers: int
    encoder_dim: int
    decoder_dim: int
    unit_dim: int
    dropout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """The schedule."""

    epochs: float  # times the number of batches of the dictionary's own words
    mixed: float  # share of the steps, from the start, that also draw the extra words
    letters_per_batch: int
    learning_rate: float
    weight_decay: float
    ema: float
    clip: float
    forget: float  # share of previous units hidden from the decoder
    smoothing: float  # label smoothing
    evaluate_every: int  # steps
    seed: int
    reverse: bool = False  # learn to read from the last letter to the first, to be joined by the `pair` step

    def __post_init__(self) -> None:
        require_range("epochs", self.epochs, 0.0, 10_000.0)
        require_range("mixed", self.mixed, 0.0, 1.0)
        require_range("letters_per_batch", self.letters_per_batch, 1, 1_000_000)
        require_range("forget", self.forget, 0.0, 1.0)
        require_range("smoothing", self.smoothing, 0.0, 0.5)
        require_range("evaluate_every", self.evaluate_every, 1, 1_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What config.toml holds."""

    model: ModelSettings
    training: TrainingSettings


def default_config() -> Path:
    """Return the path of the recipe's config.toml."""
    return Path(__file__).with_name("config.toml")


def mirrored(entry: Entry) -> Entry:
    """Return a word with its letters and units from the last to the first; its pronunciations stay as they are."""
    units = tuple(tuple(reversed(said)) for said in entry.units)
    return dataclasses.replace(entry, word=entry.word[::-1], units=units)


def read_mirrored(network: GraphemeToPhonemeNetwork, units: Sequence[str], words: Sequence[str]) -> list[Pronunciation]:
    """Return the pronunciations of mirrored words, from the first phone on."""
    found = [network.search(word)[0][0] for word in words]
    return [tuple(phone for unit in reversed(said) for phone in units[unit].split()) for said in found]


def held_out_error(model: nn.Module, entries: Sequence[Entry], reverse: bool = False) -> dict[str, float]:
    """Return PER and WER in percent on held-out words, stress ignored, greedy, and the words read in a second.

    reverse: the words are mirrored
    """
    tensors = {name: value.detach().cpu().float().numpy() for name, value in model.state_dict().items()}
    config = model.config
    assert isinstance(config, GraphemeToPhonemeConfig)
    network, units = GraphemeToPhonemeNetwork(tensors, config, beam=1), config.units

    def of(words: Sequence[Entry]) -> Ratios:
        started = time.perf_counter()
        spelled = [entry.word for entry in words]
        said = read_mirrored(network, units, spelled) if reverse else network(spelled)
        result = score([entry.pronunciations for entry in words], said)
        phones = sum(len(entry.pronunciations[0]) for entry in words)
        return {
            "dev_per": (result.phone_errors * phones, phones),
            "dev_wer": (result.word_errors * len(words), len(words)),
            "words_per_second": (len(words), time.perf_counter() - started),
        }

    return measure([entries[i : i + _SCORED] for i in range(0, len(entries), _SCORED)], of)


def show(model: nn.Module, word: str, samples: Samples) -> None:
    """Draw how likely each unit is at each letter of a word, given the likeliest units before it."""
    assert isinstance(model, GraphemeToPhoneme)
    units, device = model.config.units, next(model.parameters()).device
    letters_1G = torch.tensor([[LETTERS.index(letter) for letter in word]], device=device)
    units_1G = torch.zeros_like(letters_1G)
    with torch.no_grad():
        for place in range(len(word)):
            share_1GU = model(letters_1G, model.shift(units_1G)).float().softmax(-1)
            units_1G[0, place] = share_1GU[0, place].argmax()
    share_GU = share_1GU[0].cpu().numpy()
    likely = [unit for unit in range(len(units)) if share_GU[:, unit].max() > 0.1]
    samples.picture("letters", draw_table(share_GU[:, likely], list(word), [units[u] or "-" for u in likely]))


def run(
    settings: Settings,
    data: Path,
    out: Path,
    minutes: float = float("inf"),
    dev_words: int = 1000,
    start: Path | None = None,
    launch: Launch = DEFAULT,
) -> Trainer:
    """Train, or continue to train, in `out`.

    minutes: stop, with a checkpoint, after this long
    dev_words: roughly how many held-out words are read at every evaluation
    start: checkpoint of another run to begin with instead of random weights
    """
    entries, units = read(data)
    schedule = settings.training
    if schedule.reverse:
        entries = [mirrored(entry) for entry in entries]
    trained = [entry for entry in entries if entry.split == "train"]
    own = WordBatches([e for e in trained if not e.extra], units, schedule.letters_per_batch, schedule.seed)
    mixed = WordBatches(trained, units, schedule.letters_per_batch, schedule.seed)
    steps = max(1, round(schedule.epochs * own.steps_per_epoch))
    config = GraphemeToPhonemeConfig(units=units, **to_dict(settings.model))
    torch.manual_seed(schedule.seed)
    model = GraphemeToPhoneme(config)
    dev = [entry for entry in entries if entry.split == "dev"]
    dev = dev[:: max(1, len(dev) // dev_words)] if dev_words else []
    options = TrainOptions(
        out_dir=out,
        steps=steps,
        learning_rate=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
        ema=schedule.ema,
        clip=schedule.clip,
        evaluate_every=schedule.evaluate_every,
        seed=schedule.seed,
        minutes=minutes,
        warm_start=start,
        best="dev_wer",
    )

    def loss_fn(module: nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
        assert isinstance(module, GraphemeToPhoneme)
        return loss(module, *batch, schedule.forget, schedule.smoothing)

    def evaluate(module: nn.Module, step: int) -> dict[str, float]:
        if ranks().first:
            show(module, max((entry.word for entry in dev[:100]), key=len), Samples(out, step))
        return held_out_error(module, dev, schedule.reverse)

    return train(
        model,
        PhasedBatches(mixed, own, round(schedule.mixed * steps)),
        loss_fn,
        launch.applied(options),
        config=to_dict(config),
        meta={"phones": phone_set_hash()},
        evaluate=evaluate if dev else None,
        counts=lambda batch: [torch.tensor(float(batch.units_BG.numel()))],
        origin=origin([path for path in sorted(data.iterdir()) if path.is_file()], None),
    )


def start(arguments: argparse.Namespace, launch: Launch) -> None:
    """Train as the command line says."""
    run(load_toml(Settings, arguments.config or default_config()), arguments.data, arguments.out, launch=launch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = training_parser("Train the grapheme-to-phoneme model.")
    parser.add_argument(
        "--start", type=Path, dest="warm_start", metavar="FILE", help="last.pt of a run to begin with; as --warm-start"
    )
    return command(start, parser, argv)


if __name__ == "__main__":
    raise SystemExit(main())
