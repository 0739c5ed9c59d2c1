"""`deepvoice train`: train a module from a corpus, in one process or several, or project how well that will go."""

import argparse
import importlib
import os
import sys
from pathlib import Path

from deepvoice.commands.arguments import UsageError
from deepvoice.errors import DeepVoiceError

MODULES = {  # the recipe of each, and what --data names
    "segmentation": ("segmentation.train", "a manifest"),
    "grapheme_to_phoneme": ("grapheme_to_phoneme.train", "the folder of its prepare step"),
    "homographs": ("homographs.train", "the file of sentences"),
    "duration": ("duration.train", "the folder of its prepare step"),
    "f0": ("f0.train", "the folder of its prepare step"),
    "conditioner": ("vocoder.train_conditioner", "a manifest"),
    "vocoder": ("vocoder.train", "a manifest"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from deepvoice.recipes.common.command import add_run_arguments
    from deepvoice.recipes.common.plan import add_plan_arguments

    parser.add_argument("module", nargs="?", choices=list(MODULES), metavar="MODULE", help=", ".join(MODULES))
    parser.add_argument("config", nargs="?", type=Path, metavar="CONFIG", help="TOML file (default: the recipe's)")
    parser.add_argument("--data", type=Path, metavar="PATH", help="manifest, or folder of the module's prepare step")
    parser.add_argument("--alignments", type=Path, metavar="FILE", help="conditioner: default, beside the manifest")
    parser.add_argument("--spectra", type=Path, metavar="DIR", help="vocoder: predicted spectra")
    parser.add_argument("--quantised", type=Path, metavar="FILE", help="vocoder: calibration, for a finish in int8")
    parser.add_argument("--text", type=Path, nargs="*", default=[], metavar="FILE", help="homographs: plain text")
    add_run_arguments(parser, required=False)
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="processes on this machine; several machines: torchrun"
    )
    parser.add_argument(
        "--max-restarts", type=int, default=3, metavar="N", help="with --processes: starts after a failed process"
    )
    parser.add_argument("--plan", action="store_true", help="project a run on many workers, see below")
    add_plan_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train, or print a projection; returns the exit status."""
    if arguments.plan:
        from deepvoice.recipes.common.plan import plan

        print(plan(arguments))
        return 0
    if arguments.module is None:
        raise UsageError(f"no module is named; expected one of {', '.join(MODULES)}, or --plan")
    recipe, data = MODULES[arguments.module]
    for name, meaning in (("data", data), ("out", "the run folder, for checkpoints and logs")):
        if getattr(arguments, name) is None:
            raise UsageError(f"--{name} is missing; expected {meaning}")
    if not 1 <= arguments.processes <= 1024:
        raise UsageError(f"--processes is {arguments.processes}; expected 1 to 1024")
    try:
        from deepvoice.recipes.common.launch import train_here, train_in_processes

        start = importlib.import_module(f"deepvoice.recipes.{recipe}").start
    except ImportError as error:
        raise DeepVoiceError(f"training needs {error.name}, which is missing: pip install 'deepvoice[train]'") from None
    if arguments.processes > 1 and "RANK" not in os.environ:
        words = sys.argv[sys.argv.index("train") + 1 :]
        return train_in_processes(words, arguments.processes, arguments.max_restarts)
    return train_here(start, arguments)
