"""The event log of a run: what a report on reliability needs to know, one JSON object a line, only ever appended.

A line is one write to the end of the file, so that a process killed at any moment leaves at most one torn line, which
readers leave out and count. A line that the disk has no room for is kept and written before the next one. A process
that is killed writes nothing: readers see a start that follows no end.

    start       step, workers, resumed (whether from a checkpoint), write_every (seconds between checkpoints), pid, host
    progress    step, seconds a step, seconds of audio a second
    checkpoint  step, seconds it took, bytes
    skipped     step, cause: a step whose gradient was not finite
    rollback    step, to (step), cause: back to a checkpoint within the same process
    fault       step, cause, message: the process ends with an error
    stop        step, reason: finished, minutes or interrupted
Every event also has `event`, `time` (seconds since 1970) and `rank`.
"""

import contextlib
import errno
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "events.jsonl"
FINISHED, MINUTES, INTERRUPTED = "finished", "minutes", "interrupted"  # reasons of a stop
KILLED = "killed"  # the cause of an end that left no event
_CAUSES = {  # of classes by name: this module is read by programs that never load torch
    "FloatingPointError": "not finite", "NotFiniteError": "not finite", "MemoryError": "out of memory",
    "OutOfMemoryError": "out of memory", "DiskFullError": "disk full", "LostPeerError": "lost worker",
    "DamagedCheckpointError": "damaged checkpoint", "ForeignCheckpointError": "other checkpoint",
    "ShardError": "missing or damaged shard",
}  # fmt: skip
_KEPT = 1000  # lines that wait for room on the disk
_LOST_WORKER = ("connection closed", "connection reset", "broken pipe", "gloo", "nccl", "timed out")


class EventLog:
    """Appends the events of one process to `events.jsonl` in a run folder; close it, or leave it to the end."""

    def __init__(self, folder: Path, *, rank: int = 0, now: Callable[[], float] = time.time) -> None:
        """Open the log; ranks other than 0 write their faults alone, everything else is rank 0's to tell."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.rank, self._now = folder / FILE, rank, now
        self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._handle).st_size
        self._torn = size > 0 and os.pread(self._handle, 1, size - 1) != b"\n"
        self._waiting: list[bytes] = []
        self._written = 0.0  # when
        self.lost = 0  # events for which there was no room, neither on the disk nor in memory

    def start(self, step: int, *, workers: int = 1, resumed: bool = False, write_every: float | None = None) -> None:
        """Note that training begins, at step 0 or at the step that a checkpoint was made."""
        about = {"pid": os.getpid(), "host": socket.gethostname()}
        self._write("start", step, workers=workers, resumed=resumed, write_every=write_every, **about)

    def progress(self, step: int, seconds_per_step: float, audio_per_second: float | None = None) -> None:
        """Note how far training has come, and how fast."""
        self._write("progress", step, seconds=round(seconds_per_step, 6), audio=audio_per_second)

    def beat(self, step: int, every: float = 10.0) -> None:
        """Note the step alone, unless something was written within so many seconds: call it after every step.

        What a killed process had done and when it died is then known to within that time.
        """
        if self._now() - self._written >= every:
            self._write("progress", step)

    def checkpoint(self, step: int, seconds: float, size: int) -> None:
        """Note a checkpoint that is whole on the disk, with the seconds that training stood still and its bytes."""
        self._write("checkpoint", step, sync=True, seconds=round(seconds, 6), bytes=size)

    def skipped(self, step: int, cause: str) -> None:
        """Note a step that changed nothing."""
        self._write("skipped", step, cause=cause)

    def rollback(self, step: int, to: int, cause: str) -> None:
        """Note a return to a checkpoint without a new process."""
        self._write("rollback", step, sync=True, to=to, cause=cause)

    def fault(self, step: int, cause: str, message: str = "") -> None:
        """Note the error that ends this process; every rank may."""
        self._write("fault", step, sync=True, every_rank=True, cause=cause, message=message[:500])

    def stop(self, step: int, reason: str = FINISHED) -> None:
        """Note an end that was meant."""
        self._write("stop", step, sync=True, reason=reason)

    @contextlib.contextmanager
    def recorded(self, step: Callable[[], int]) -> Iterator[None]:
        """Write a fault when the body raises, a stop when it is interrupted; the error goes on its way.

        step: tells the step at that moment
        """
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            self.stop(step(), INTERRUPTED)
            raise
        except BaseException as error:
            self.fault(step(), cause_of(error), str(error))
            raise

    def close(self) -> None:
        """Close the file; may be called again."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _write(self, event: str, step: int, *, sync: bool = False, every_rank: bool = False, **more: Any) -> None:
        if self.rank and not every_rank:
            return
        self._written = self._now()
        row = {"event": event, "step": step, "time": round(self._written, 6), "rank": self.rank}
        row |= {key: value for key, value in more.items() if value is not None}
        self._waiting.append(json.dumps(row).encode() + b"\n")
        if len(self._waiting) > _KEPT:
            self.lost += 1
            del self._waiting[0]
        try:
            while self._waiting:
                line = b"\n" + self._waiting[0] if self._torn else self._waiting[0]
                written = os.write(self._handle, line)
                self._torn = written < len(line)
                if self._torn:
                    return  # the disk is full: the rest of the line is of no use, it is written again with the next
                del self._waiting[0]
            if sync:
                os.fsync(self._handle)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise


def cause_of(error: BaseException) -> str:
    """Return the cause of a fault in the few words that the report counts by."""
    named = [_CAUSES[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in _CAUSES]
    if named:
        return named[0]
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "disk full"
    if isinstance(error, ConnectionError | TimeoutError) or (
        type(error).__name__.startswith("Dist") or any(words in str(error).lower() for words in _LOST_WORKER)
    ):
        return "lost worker"
    return type(error).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What a log holds: the events in the order they were written, and how many lines were torn."""

    rows: tuple[dict[str, Any], ...]
    torn: int


def read_events(path: Path) -> Events:
    """Read a log or the log of a run folder.

    Raises FileNotFoundError where there is none; lines that were torn by a kill or a full disk are counted.
    """
    path = path / FILE if path.is_dir() else path
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; expected the {FILE} of a run folder")
    rows: list[dict[str, Any]] = []
    torn = 0
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not ("event" in row and isinstance(row["step"], int) and isinstance(row["time"], int | float)):
                raise ValueError(line)
        except (ValueError, TypeError, KeyError):
            torn += 1
        else:
            rows.append(row)
    return Events(rows=tuple(rows), torn=torn)
