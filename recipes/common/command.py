"""The command lines and tables that the recipes of the modules share."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from deepvoice.errors import DeepVoiceError


def reported(work: Callable[[], int]) -> int:
    """Return the exit status of a command's work; an error that a user can mend becomes a line and status 1."""
    try:
        return work()
    except (DeepVoiceError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def training_parser(description: str, manifest: bool = False) -> argparse.ArgumentParser:
    """Return the arguments of a recipe that trains from a folder its prepare step wrote, or from a manifest."""
    parser = argparse.ArgumentParser(
        prog="train", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if manifest:
        parser.add_argument("data", type=Path, metavar="MANIFEST", help="corpus, with features/ beside it")
    else:
        parser.add_argument(
            "--data", type=Path, required=True, metavar="DIR", help="folder written by the prepare step"
        )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings (default: the recipe's)")
    add_run_arguments(parser)
    return parser


def add_run_arguments(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """Add what every training run can be told; `launch_of` reads it."""
    parser.add_argument("--out", type=Path, required=required, metavar="DIR", help="run folder: checkpoints and logs")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), metavar="N", help="stop, with a checkpoint, after this long"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="steps in all, counted from the very first start")
    parser.add_argument("--learning-rate", type=float, metavar="X", help="also changes that of a run that goes on")
    parser.add_argument("--warm-start", type=Path, metavar="FILE", help="weights to begin from, without a checkpoint")
    parser.add_argument(
        "--reset-optimizer", action="store_true", help="go on from the checkpoint's weights with a new optimiser"
    )
    parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="parts of a batch, for want of memory")
    parser.add_argument("--float32", action="store_true", help="compute without bfloat16")
    parser.add_argument("--spike", type=float, default=0.0, metavar="X", help="go back when the loss stays X times up")
    parser.add_argument(
        "--checkpoint-seconds", type=_seconds_or_auto, metavar="S",
        help="seconds between checkpoints (default: 90), or auto: from the measured time of writing one and the "
        "rate of failures, by the square-root rule",
    )  # fmt: skip
    parser.add_argument("--log-every", type=int, metavar="N", help="steps between rows of the log")
    parser.add_argument("--evaluate-every", type=int, metavar="N", help="steps between readings on held-out data")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu or cuda:N (default: the GPU if any)")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="S", help="seconds to wait for a process")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of each process")


def _seconds_or_auto(word: str) -> float:
    if word == "auto":
        return -1.0  # options.AUTO
    try:
        seconds = float(word)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"{word} is no time; expected seconds from 0, or auto")
    return seconds


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
