"""Check an aligned corpus and write what the F0 model trains on: sentences with durations and tracked F0.

    python -m deepvoice.recipes.f0.prepare MANIFEST --out DIR [--alignments FILE] [--features DIR]

The features come from `deepvoice.recipes.common.features`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.features import Features
from deepvoice.recipes.common.sentences import build
from deepvoice.recipes.f0.voicing import heard


def heard_f0(features: Features) -> NDArray[np.float32]:
    """Return the tracked F0 of an utterance, with frames unvoiced in which it is no longer heard."""
    spec = MelSpec()
    return heard(np.array(features.f0_F), features.audio_T.astype(np.float32) / 32767, spec.sample_rate, spec.hop)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="prepare", description="Write the sentences of an aligned corpus with F0.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--alignments", type=Path, help="default: alignments.jsonl beside the manifest")
    parser.add_argument("--features", type=Path, help="default: features/ beside the manifest")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args(argv)
    folder = arguments.manifest.parent
    counts = build(
        arguments.manifest,
        arguments.alignments or folder / "alignments.jsonl",
        arguments.out,
        arguments.features,
        heard_f0,
    )
    print(", ".join(f"{count} sentences {part}" for part, count in counts.items()), "->", arguments.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
