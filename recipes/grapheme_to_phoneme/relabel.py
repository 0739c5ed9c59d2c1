"""Give words from other lists the pronunciations that CMUdict would: a convention mapper and a distillation step.

    python -m deepvoice.recipes.grapheme_to_phoneme.relabel --data DIR --teacher FILE [--teacher FILE ..] --out DIR
        [--names]

Teachers (training checkpoints, the best one first) and a joint n-gram model read the words; for a word of the
teacher's lexicon, what that lexicon says counts as evidence through a channel, P(its unit | CMUdict's unit), counted
on the training words that both list. With `--names`, surnames and first names of the United States census of 1990
(inside the PyPI package `names`) join, as far as no held-out word is a relative. The new folder holds the same words
and these, with several weighted pronunciations where the teachers are in two minds; it trains like the old one.
"""

import argparse
import importlib.util
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from deepvoice.config import from_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import ConfigError
from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme, log_probability
from deepvoice.networks.grapheme_to_phoneme import LETTERS, MAX_LETTERS
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.grapheme_to_phoneme import teacher_lexicon
from deepvoice.recipes.grapheme_to_phoneme.align import align, fit
from deepvoice.recipes.grapheme_to_phoneme.evaluate import from_checkpoint
from deepvoice.recipes.grapheme_to_phoneme.graphones import Graphones, JointModel, training_words, without_stress
from deepvoice.recipes.grapheme_to_phoneme.lexicon import Pronunciation, Split, word_families
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, read, write

UNITS = tuple[int, ...]  # one unit per letter, by position
JOINT_WEIGHT = 0.35  # of the n-gram model's log probability beside the teachers' mean; chosen on the dev words
CHANNEL_WEIGHT = 0.8  # of the lexicon's evidence, likewise
VARIANTS = 3  # pronunciations kept for a word
MIN_SHARE = 0.1  # of the likeliest one's probability that another needs to be kept
NAME_FILES = ("dist.all.last", "dist.female.first", "dist.male.first")

_NAME = re.compile(rf"[a-z]{{2,{MAX_LETTERS}}}\Z")
_BATCH = 4096  # hypotheses scored at once


class Reading(NamedTuple):
    """A hypothesis: its units and the log probability that the first teacher's search gave it."""

    units: UNITS
    log_probability: float


class Channel:
    """log P(units of the lexicon | units of CMUdict), letter by letter, given the letter and the next one."""

    def __init__(self, pairs: Sequence[tuple[str, Sequence[str], Sequence[str]]]) -> None:
        """Count.

        pairs: word, CMUdict's units, the lexicon's units; stress is ignored
        """
        self._close: Counter[tuple[str, str, str, str]] = Counter()
        self._close_total: Counter[tuple[str, str, str]] = Counter()
        self._wide: Counter[tuple[str, str]] = Counter()
        self._wide_total: Counter[str] = Counter()
        for word, true, said in pairs:
            for letter, after, y, t in zip(word, word[1:] + " ", _plain(true), _plain(said), strict=True):
                self._close[letter, after, y, t] += 1
                self._close_total[letter, after, y] += 1
                self._wide[y, t] += 1
                self._wide_total[y] += 1

    def log_probability(self, word: str, true: Sequence[str], said: Sequence[str]) -> float:
        """Return the log probability that the lexicon writes `said` where CMUdict writes `true`."""
        total = 0.0
        for letter, after, y, t in zip(word, word[1:] + " ", _plain(true), _plain(said), strict=True):
            wide = (self._wide[y, t] + 1e-3) / (self._wide_total[y] + 0.2)
            total += math.log(
                (self._close[letter, after, y, t] + 5.0 * wide) / (self._close_total[letter, after, y] + 5.0)
            )
        return total


def _plain(units: Sequence[str]) -> list[str]:
    return [without_stress(unit) for unit in units]


def find_names() -> list[Path]:
    """Return the census files inside the installed package `names`; raises ConfigError when they are absent."""
    spec = importlib.util.find_spec("names")
    folders = (spec.submodule_search_locations or []) if spec else []
    found = [Path(folder) / name for folder in folders for name in NAME_FILES]
    if not found or not all(path.is_file() for path in found):
        raise ConfigError("the census names are not installed; run `pip install names` or leave --names out")
    return found


def read_names(paths: Sequence[Path]) -> list[str]:
    """Return the names in lower case, each once."""
    words = [line.split()[0].lower() for path in paths for line in path.read_text().splitlines() if line.strip()]
    return [word for word in dict.fromkeys(words) if _NAME.match(word)]


def unrelated_names(names: Sequence[str], splits: Mapping[str, Split]) -> list[str]:
    """Return the names that the data lacks and that no held-out word is a relative of."""
    families = word_families({*names, *splits})
    held_out = {families[word] for word, split in splits.items() if split != "train"}
    return [word for word in names if word not in splits and families[word] not in held_out]


def joint_model(entries: Sequence[Entry], units: Sequence[str]) -> tuple[Graphones, JointModel]:
    """Count the graphones of the training words."""
    graphones = Graphones(units)
    return graphones, JointModel(training_words(entries, graphones, units))


def channel(entries: Sequence[Entry], lexicon: Mapping[str, Pronunciation]) -> tuple[Channel, dict[str, Sequence[str]]]:
    """Return the channel counted on training words that both list, and the lexicon's units of the extra words."""
    own = [entry for entry in entries if entry.units and not entry.extra]
    table = fit([(entry.word, said) for entry in own for said in entry.pronunciations])
    shared = [entry for entry in own if entry.word in lexicon]
    pairs = []
    for entry, said in zip(shared, align(table, [(e.word, lexicon[e.word]) for e in shared]), strict=True):
        if said:
            plain = _plain(said)
            near = min(entry.units, key=lambda u: sum(a != b for a, b in zip(_plain(u), plain, strict=True)))
            pairs.append((entry.word, near, said))
    return Channel(pairs), {entry.word: entry.units[0] for entry in entries if entry.extra}


class Teachers:
    """Several networks that agree on the list of units."""

    def __init__(self, checkpoints: Sequence[Path], units: Sequence[str], beam: int = 8) -> None:
        """Load the averaged weights of training checkpoints."""
        self._search = from_checkpoint(checkpoints[0], beam)
        self._models = []
        for path in checkpoints[1:]:
            state = load_checkpoint(path)
            config = from_dict(GraphemeToPhonemeConfig, state["config"])
            if config.units != tuple(units):
                raise ConfigError(f"{path} has other units than the data; train the teachers on the same data")
            model = GraphemeToPhoneme(config)
            model.load_state_dict(state["ema"])
            self._models.append(model.eval())

    def readings(self, words: Sequence[str]) -> list[list[Reading]]:
        """Return the first teacher's hypotheses for each word."""
        return [[Reading(*found) for found in self._search.search(word)] for word in words]

    def mean(self, words: Sequence[str], readings: Sequence[Sequence[Reading]]) -> list[list[float]]:
        """Return the mean of the teachers' log probabilities of every hypothesis."""
        totals = [[reading.log_probability for reading in row] for row in readings]
        by_length: dict[int, list[tuple[int, int]]] = {}
        for i, row in enumerate(readings):
            by_length.setdefault(len(words[i]), []).extend((i, k) for k in range(len(row)))
        for places in by_length.values():
            for start in range(0, len(places), _BATCH):
                batch = places[start : start + _BATCH]
                letters_BG = torch.tensor([[LETTERS.index(letter) for letter in words[i]] for i, _ in batch])
                units_BG = torch.tensor([readings[i][k].units for i, k in batch])
                for model in self._models:
                    found = log_probability(model, letters_BG, units_BG).tolist()
                    for (i, k), value in zip(batch, found, strict=True):
                        totals[i][k] += value
        return [[value / (1 + len(self._models)) for value in row] for row in totals]


def choose(readings: Sequence[UNITS], scores: Sequence[float], plain_of: Sequence[int]) -> list[tuple[UNITS, float]]:
    """Return the best readings with weights that add up to 1: one, best stressed, for each way of saying the word.

    scores: log probabilities; plain_of: number of each unit without its stress
    """
    totals: dict[tuple[int, ...], float] = {}
    best: dict[tuple[int, ...], tuple[float, UNITS]] = {}
    for units, value in zip(readings, scores, strict=True):
        plain = tuple(plain_of[unit] for unit in units)
        totals[plain] = float(np.logaddexp(totals.get(plain, -np.inf), value))
        best[plain] = max(best.get(plain, (-np.inf, ())), (value, units))
    order = sorted(totals, key=lambda plain: (-totals[plain], plain))[:VARIANTS]
    shares = {plain: math.exp(totals[plain] - totals[order[0]]) for plain in order}
    kept = [plain for plain in order if shares[plain] >= MIN_SHARE]
    whole = sum(shares[plain] for plain in kept)
    return [(best[plain][1], shares[plain] / whole) for plain in kept]


def label(
    entries: Sequence[Entry],
    units: Sequence[str],
    words: Sequence[str],
    readings: Sequence[Sequence[Reading]],
    log_probabilities: Sequence[Sequence[float]],
    lexicon: Mapping[str, Pronunciation] | None = None,
) -> list[Entry]:
    """Return training entries for words, as CMUdict would write them.

    readings, log_probabilities: the teachers' hypotheses of each word and what they think of them
    lexicon: the other lexicon, from which the extra entries come
    """
    graphones, joint = joint_model(entries, units)
    said_as, evidence = channel(entries, lexicon) if lexicon else (Channel([]), {})
    made = []
    for word, row, values in zip(words, readings, log_probabilities, strict=True):
        scores = [
            value + JOINT_WEIGHT * joint.log_probability(graphones.encode(word, reading.units))
            for reading, value in zip(row, values, strict=True)
        ]
        if word in evidence:
            for k, reading in enumerate(row):
                true = [units[unit] for unit in reading.units]
                scores[k] += CHANNEL_WEIGHT * said_as.log_probability(word, true, evidence[word])
        chosen = choose([reading.units for reading in row], scores, graphones.plain_of)
        spelled = [tuple(units[unit] for unit in said) for said, _ in chosen]
        made.append(
            Entry(
                word=word,
                split="train",
                pronunciations=tuple(tuple(" ".join(said).split()) for said in spelled),
                units=tuple(spelled),
                weights=tuple(round(weight, 3) for _, weight in chosen),
                extra=True,
            )
        )
    return [entry for entry in made if all(entry.pronunciations)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="relabel", description="Say other lists' words as CMUdict would.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder written by the prepare step")
    parser.add_argument("--teacher", type=Path, required=True, action="append", metavar="FILE", help="last.pt of a run")
    parser.add_argument("--names", action="store_true", help="add census names (`pip install names`)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args(argv)
    entries, units = read(arguments.data)
    extra = [entry.word for entry in entries if entry.extra and len(entry.word) <= MAX_LETTERS]
    names = read_names(find_names()) if arguments.names else []
    words = [*extra, *unrelated_names(names, {entry.word: entry.split for entry in entries})]
    lexicon: dict[str, Pronunciation] = {}
    for path in teacher_lexicon.find_files() if extra else []:
        lexicon = teacher_lexicon.read_words(path) | lexicon
    teachers = Teachers(arguments.teacher, units)
    readings = teachers.readings(words)
    made = label(entries, units, words, readings, teachers.mean(words, readings), lexicon)
    own = [entry for entry in entries if not entry.extra]
    write([*own, *made], units, arguments.out)
    print(f"{len(own)} words of the dictionary, {len(made)} more labelled as it would")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
