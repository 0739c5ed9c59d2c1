"""Stages of a long job: each is done once and leaves a marker, so that the job can be stopped and started again."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def select(names: Sequence[str], first: str | None = None, last: str | None = None) -> list[str]:
    """Return the names from `first` to `last`, both included; raises ValueError when there is none."""
    start, stop = names.index(first) if first else 0, names.index(last) if last else len(names) - 1
    if start > stop:
        raise ValueError(f"--from {first} comes after --to {last}; the order is {', '.join(names)}")
    return list(names[start : stop + 1])


def run_stages(
    stages: Mapping[str, Callable[[], None]], done: Path, first: str | None = None, last: str | None = None
) -> list[str]:
    """Do the stages that are not done yet, in order, and return their names; an error of a stage ends the job.

    done: folder of the markers
    first: begin with this stage, and do it and all after it again; last: end after this stage
    """
    names = list(stages)
    chosen = select(names, first, last)
    done.mkdir(parents=True, exist_ok=True)
    if first:
        for name in names[names.index(first) :]:
            (done / name).unlink(missing_ok=True)
    finished = []
    for name in chosen:
        if (done / name).exists():
            print(f"{name}: done before; remove {done / name} to do it again")
            continue
        started = time.monotonic()
        print(f"{name}: stage {names.index(name) + 1} of {len(names)}", flush=True)
        stages[name]()
        (done / name).write_text(f"{time.monotonic() - started:.0f} s\n")
        finished.append(name)
    return finished
