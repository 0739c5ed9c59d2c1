"""Readings of the training words that the refine step learns to choose among.

    python -m deepvoice.recipes.grapheme_to_phoneme.hypotheses --data DIR --teacher FILE --out FILE.npz

Of each word of the dictionary: what a network's search finds, and what is listed. The memory's opinion of them, the
joint n-gram model, comes from the words of other families, in ten parts: when the voice speaks, no word that it has to
guess is remembered.
"""

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.io import replacing
from deepvoice.networks.grapheme_to_phoneme import LETTERS, MAX_LETTERS, GraphemeToPhonemeNetwork
from deepvoice.recipes.grapheme_to_phoneme.evaluate import from_checkpoint
from deepvoice.recipes.grapheme_to_phoneme.graphones import Graphones, JointModel, training_words
from deepvoice.recipes.grapheme_to_phoneme.lexicon import word_families
from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, read
from deepvoice.text.phones import base

READINGS = 6  # kept of each word
PARTS = 10
MEMORY_WEIGHT = 0.3  # of the memory while the network learns; a refined network is surer of itself and wants more
FIELDS = ("letters", "units", "memory", "listed", "taught")


class Hypotheses(NamedTuple):
    """Words of one length. K readings; where a word has fewer, the last one again, with a memory of -inf.

    letters_WG: int64 [W, G]; units_WKG: int64 [W, K, G]; memory_WK: float32 [W, K], as it is added when speaking
    listed_WK: bool [W, K], the dictionary lists these phones, stress aside; taught_WK: it lists these very units
    """

    letters_WG: NDArray[np.int64]
    units_WKG: NDArray[np.int64]
    memory_WK: NDArray[np.float32]
    listed_WK: NDArray[np.bool_]
    taught_WK: NDArray[np.bool_]


def part_of(family: str) -> int:
    """Return which part a family belongs to, by hash."""
    return int.from_bytes(hashlib.sha256(f"part {family}".encode()).digest()[:4], "big") % PARTS


def gather(entries: Sequence[Entry], units: Sequence[str], network: GraphemeToPhonemeNetwork) -> dict[int, Hypotheses]:
    """Return the hypotheses by word length.

    entries: as the prepare step wrote them; training words of the dictionary with aligned units are used
    network: its search finds the readings
    """
    own = [e for e in entries if e.split == "train" and not e.extra and e.units and len(e.word) <= MAX_LETTERS]
    families = word_families(entry.word for entry in entries if not entry.extra)
    parts: list[list[Entry]] = [[] for _ in range(PARTS)]
    for entry in own:
        parts[part_of(families[entry.word])].append(entry)
    graphones = Graphones(units)
    rows: dict[int, list[Hypotheses]] = {}
    for part in parts:
        others = [entry for other in parts if other is not part for entry in other]
        if not part or not others:
            continue
        memory = JointModel(training_words(others, graphones, units))
        for entry in part:
            rows.setdefault(len(entry.word), []).append(_row(entry, units, network, graphones, memory))
    return {
        length: Hypotheses(*(np.stack(values) for values in zip(*members, strict=True)))
        for length, members in sorted(rows.items())
    }


def _row(
    entry: Entry, units: Sequence[str], network: GraphemeToPhonemeNetwork, graphones: Graphones, memory: JointModel
) -> Hypotheses:
    ids = {unit: i for i, unit in enumerate(units)}
    taught = list(dict.fromkeys(tuple(ids[unit] for unit in said) for said in entry.units))
    found = [reading for reading, _ in network.search(entry.word)][:READINGS]
    if not set(found) & set(taught):
        found = [*found[: READINGS - 1], taught[0]]
    listed = {tuple(map(base, said)) for said in entry.pronunciations}
    missing = READINGS - len(found)
    heard = [MEMORY_WEIGHT * memory.log_probability(graphones.encode(entry.word, reading)) for reading in found]
    right = [tuple(base(p) for u in reading for p in units[u].split()) in listed for reading in found]
    given = [reading in taught for reading in found]
    return Hypotheses(
        np.array([LETTERS.index(letter) for letter in entry.word]),
        np.array(found + found[-1:] * missing),
        np.array(heard + [-np.inf] * missing, np.float32),
        np.array(right + [False] * missing),
        np.array(given + [False] * missing),
    )


def write(hypotheses: Mapping[int, Hypotheses], path: Path) -> None:
    """Write them to a compressed file; it is complete or absent."""
    arrays = {
        f"{name} {length}": array.astype(np.uint8 if array.dtype == np.int64 else array.dtype)
        for length, row in hypotheses.items()
        for name, array in zip(FIELDS, row, strict=True)
    }
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(handle, **arrays)  # type: ignore[arg-type]


def load(path: Path) -> dict[int, Hypotheses]:
    """Read what `write` wrote."""
    with np.load(path) as arrays:
        lengths = sorted({int(name.split()[1]) for name in arrays.files})
        return {length: Hypotheses(*_widened(arrays, length)) for length in lengths}


def _widened(arrays: Mapping[str, NDArray[np.generic]], length: int) -> Iterator[NDArray[np.generic]]:
    for name in FIELDS:
        array = arrays[f"{name} {length}"]
        yield array.astype(np.int64) if array.dtype == np.uint8 else array


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="hypotheses", description="Find the readings of the training words.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder written by the prepare step")
    parser.add_argument("--teacher", type=Path, required=True, metavar="FILE", help="last.pt of a run")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args(argv)
    entries, units = read(arguments.data)
    found = gather(entries, units, from_checkpoint(arguments.teacher, beam=8))
    write(found, arguments.out)
    words = sum(len(row.letters_WG) for row in found.values())
    print(f"{arguments.out}: readings of {words} words")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
