"""The command lines and tables that the recipes of the modules share."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path


def training_parser(description: str) -> argparse.ArgumentParser:
    """Return the arguments of a recipe that trains from a folder its prepare step wrote."""
    parser = argparse.ArgumentParser(prog="train", description=description)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder written by the prepare step")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="run folder: checkpoints and logs")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings (default: the recipe's)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop, with a checkpoint, after this long")
    return parser


def scoring_parser(description: str) -> argparse.ArgumentParser:
    """Return the arguments of a recipe that scores a checkpoint or a packed voice on held-out data."""
    parser = argparse.ArgumentParser(prog="evaluate", description=description)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder written by the prepare step")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--checkpoint", type=Path, metavar="FILE", help="last.pt of a training run")
    source.add_argument("--voice", metavar="NAME|DIR", help="a packed voice")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    return parser


def add_truth(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the teacher's corpus."""
    parser.add_argument("--truth", type=Path, metavar="MANIFEST", help="teacher corpus with a truth/ folder beside it")


def markdown_table(first: str, heads: Sequence[str], rows: Mapping[str, Mapping[str, float]], digits: int) -> str:
    """Return rows of figures as a Markdown table.

    first: head of the column of names; heads: heads of the figures, in the order of each row's values
    """
    lines = [f"| {first} | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name, values in rows.items():
        lines.append("| " + " | ".join([name, *(f"{value:.{digits}f}" for value in values.values())]) + " |")
    return "\n".join(lines)
