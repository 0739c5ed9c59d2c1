"""Join a network and one that reads from the last letter to the first into one checkpoint.

    python -m deepvoice.recipes.grapheme_to_phoneme.pair FIRST/last.pt REVERSE/last.pt --out DIR

The second comes from `train --config recipes/grapheme_to_phoneme/reverse.toml`. The first one's search finds the
readings of a word, and both weigh them.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepvoice.errors import ConfigError
from deepvoice.networks.grapheme_to_phoneme import REVERSE
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import reported
from deepvoice.recipes.grapheme_to_phoneme.average import put, settings

_FREE = ("dropout", "reverse")  # settings that the two may differ in


def pair(first: Path, reverse: Path) -> dict[str, Any]:
    """Return a checkpoint with both networks' averaged weights.

    Raises ConfigError where they differ in sizes or units, or where one is a pair already.
    """
    states = [load_checkpoint(path) for path in (first, reverse)]
    for path, state in zip((first, reverse), states, strict=True):
        if settings(state)["reverse"]:
            raise ConfigError(f"{path} is a pair already; name the two networks that it was made of")
    one, two = states
    sizes = settings(one)
    odd = [name for name, value in settings(two).items() if name not in _FREE and value != sizes[name]]
    if odd or two["meta"] != one["meta"]:
        raise ConfigError(f"{reverse} differs from {first} in {odd or 'its phones'}; train both with the same sizes")
    weights = one["ema"] | {REVERSE + name: value for name, value in two["ema"].items()}
    config = sizes | {"reverse": True}
    return {"config": config, "meta": one["meta"], "step": int(one["step"]), "ema": weights, "model": weights}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="pair", description="Join two networks that read in opposite directions.")
    parser.add_argument("first", type=Path, metavar="FIRST", help="last.pt of the network that searches")
    parser.add_argument("reverse", type=Path, metavar="REVERSE", help="last.pt of the one that reads backwards")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args(argv)
    return reported(lambda: put(pair(arguments.first, arguments.reverse), arguments.out, "both networks"))


if __name__ == "__main__":
    raise SystemExit(main())
