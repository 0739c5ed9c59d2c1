"""Check an aligned corpus and write what the duration model trains on: sentences with their durations.

    python -m deepvoice.recipes.duration.prepare MANIFEST --out DIR [--alignments FILE]

The alignments come from `deepvoice.recipes.segmentation`; their lengths are checked against the feature cache of
`deepvoice.recipes.common.features`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from deepvoice.recipes.common.sentences import build


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="prepare", description="Write the sentences of an aligned corpus.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--alignments", type=Path, help="default: alignments.jsonl beside the manifest")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args(argv)
    alignments = arguments.alignments or arguments.manifest.parent / "alignments.jsonl"
    counts = build(arguments.manifest, alignments, arguments.out)
    print(", ".join(f"{count} sentences {part}" for part, count in counts.items()), "->", arguments.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
