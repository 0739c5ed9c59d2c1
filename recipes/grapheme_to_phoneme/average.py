"""Average the weights of networks that were trained on from the same one.

    python -m deepvoice.recipes.grapheme_to_phoneme.average first/last.pt second/last.pt .. --out DIR

Such networks still lie in one valley, so that their mean reads like all of them together at the price of one.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from deepvoice.config import from_dict, to_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import ConfigError
from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint
from deepvoice.recipes.common.command import reported


def settings(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a checkpoint's network, those too that it is older than."""
    return to_dict(from_dict(GraphemeToPhonemeConfig, state["config"]))


def put(state: dict[str, Any], folder: Path, what: str) -> int:
    """Write a checkpoint into a folder as a run would, and say what it is; returns the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    save_checkpoint(state, folder / "last.pt")
    print(f"{folder / 'last.pt'}: {what}")
    return 0


def average(paths: Sequence[Path]) -> dict[str, Any]:
    """Return a checkpoint with the mean of the averaged weights; all else is the first one's.

    Raises ConfigError where the networks differ in their sizes or units.
    """
    states = [load_checkpoint(path) for path in paths]
    first = states[0]
    sizes = settings(first)
    for path, state in zip(paths, states, strict=True):
        odd = [name for name, value in settings(state).items() if name != "dropout" and value != sizes[name]]
        if odd or state["meta"] != first["meta"]:
            raise ConfigError(f"{path} differs from {paths[0]} in {odd or 'its phones'}; average what began as one")
    weights: Mapping[str, torch.Tensor] = first["ema"]
    mean = {name: torch.stack([state["ema"][name] for state in states]).mean(0) for name in weights}
    steps = sum(int(state["step"]) for state in states)
    return {"config": first["config"], "meta": first["meta"], "step": steps, "ema": mean, "model": mean}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="average", description="Average the weights of networks of one origin.")
    parser.add_argument("checkpoints", type=Path, nargs="+", metavar="FILE", help="last.pt of a run")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args(argv)

    paths = arguments.checkpoints
    return reported(lambda: put(average(paths), arguments.out, f"the mean of {len(paths)}"))


if __name__ == "__main__":
    raise SystemExit(main())
