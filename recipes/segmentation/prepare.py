"""Check a corpus and compute its features.

    python -m deepvoice.recipes.segmentation.prepare MANIFEST

Reads audio and phones only. Every row needs known phones, a start and an end; what is wrong is named by its id.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.data import sequence_of
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.features import build_cache, read_manifest
from deepvoice.recipes.segmentation.corpus import open_corpus
from deepvoice.text.phones import PHONES, base


def check(manifest: Path) -> Counter[str]:
    """Check every row of a manifest; returns how often each phone (without stress) occurs."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for row in read_manifest(manifest):
        if row["id"] in seen:
            raise DataError(f"{manifest}: id {row['id']!r} occurs twice; give every utterance its own")
        seen.add(row["id"])
        try:
            sequence = sequence_of(row)
            sequence.ids_P  # noqa: B018 - raises for a symbol outside the set
        except ValueError as error:
            raise DataError(f"{manifest}: utterance {row['id']}: {error}") from None
        counts.update(base(symbol) for symbol in sequence.symbols)
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Check a corpus and compute its features.")
    parser.add_argument("manifest", type=Path)
    arguments = parser.parse_args(argv)
    counts = check(arguments.manifest)
    features = arguments.manifest.parent / "features"
    if not (features / "index.json").exists():
        build_cache(arguments.manifest, features, MelSpec())
    corpus = open_corpus(arguments.manifest)
    utterances = corpus.utterances([*corpus.rows.train, *corpus.rows.dev, *corpus.rows.test])
    hours = sum(u.frames for u in utterances) * corpus.cache.spec.hop / corpus.cache.spec.sample_rate / 3600
    rare = sorted({base(phone) for phone in PHONES if counts[base(phone)] < 20})
    print(f"{len(utterances)} utterances, {hours:.2f} h, {sum(counts.values())} symbols")
    if rare:
        print(f"phones seen fewer than 20 times, whose boundaries will be poor: {' '.join(rare)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
