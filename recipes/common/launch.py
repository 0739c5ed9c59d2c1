"""Starting the training of a recipe: in this process, among those that torchrun started, or in several new ones."""

import argparse
import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from deepvoice.errors import DeepVoiceError, TrainingError
from deepvoice.recipes.common.distributed import joined
from deepvoice.recipes.common.options import Launch

Start = Callable[[argparse.Namespace, Launch], Any]
UNFINISHED = 3  # exit status of a run that --minutes ended before its last step, where the recipe tells


def launch_of(arguments: argparse.Namespace) -> Launch:
    """Return what the command line decides about a run."""
    names = [field.name for field in dataclasses.fields(Launch)]
    return Launch(**{name: getattr(arguments, name) for name in names})


@contextlib.contextmanager
def flushed_denormals() -> Iterator[None]:
    """Let this thread take denormal numbers for 0, as training wants it, and leave it as it was.

    What is computed afterwards in the same process must not depend on whether there was a training before it.
    """
    before = not np.float32(1e-40) * np.float32(1.0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def train_here(start: Start, arguments: argparse.Namespace) -> int:
    """Train in this process, joined with the others of its run; returns the exit status."""
    launch = launch_of(arguments)
    if launch.threads is not None:
        torch.set_num_threads(launch.threads)
    with flushed_denormals(), joined(launch.timeout, launch.device):
        return UNFINISHED if start(arguments, launch) is False else 0


def command(start: Start, parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Run the command line of a recipe; an error of ours becomes a line and status 1."""
    arguments = parser.parse_args(argv)
    try:
        return train_here(start, arguments)
    except DeepVoiceError as error:
        print(f"train: {error}", file=sys.stderr)
        return 1


def train_in_processes(words: Sequence[str], processes: int, restarts: int) -> int:
    """Run `deepvoice train` in new processes of this machine under torchrun; returns the exit status.

    words: of its command line; restarts: how often all begin again from the last checkpoint after one of them failed
    """
    options = ["--standalone", f"--nproc-per-node={processes}", f"--max-restarts={restarts}"]
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // processes)))
    try:
        torchrun.main([*options, "-m", "deepvoice", "train", *words])
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise TrainingError(
            f"process {rank} of {processes} ended with status {failure.exitcode} after {restarts} restarts; its "
            "message is above; the same command goes on from the last checkpoint"
        ) from None
    return 0
