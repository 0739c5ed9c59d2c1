"""One run folder, one run: a second one would remove and replace the files that the first is writing."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from deepvoice.errors import TrainingError
from deepvoice.recipes.common.distributed import from_first

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE = ".lock"
_held: set[Path] = set()  # of this process, to which the system gives its own lock a second time


class FolderInUseError(TrainingError):
    """Another process trains into the run folder."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a run folder for this run; the first of its processes holds the lock, which ends with it, however it ends.

    Raises FolderInUseError, in every process of the run, where another run has it. A file system that knows no locks is
    taken as free.
    """
    handles: list[int] = []
    from_first(lambda: handles.extend(_take(folder)))
    try:
        yield
    finally:
        for handle in handles:
            _held.discard(folder.resolve())
            os.close(handle)


def _take(folder: Path) -> list[int]:
    """Return the open file that holds the lock, or nothing where the system has no locks."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.resolve() in _held:
        raise FolderInUseError(f"{folder} is trained into by this very process; give every run a folder of its own")
    if fcntl is None:
        return []
    handle = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # children do not inherit it, so they cannot outlive it
    except (BlockingIOError, PermissionError):
        holder = os.pread(handle, 200, 0).decode(errors="replace").strip()
        os.close(handle)
        raise FolderInUseError(
            f"{folder} is in use by another training run ({holder or 'unknown process'}); wait for it, stop it, or "
            "give another folder"
        ) from None
    except OSError:
        os.close(handle)
        return []
    _held.add(folder.resolve())
    with contextlib.suppress(OSError):  # a full disk: the lock holds without a name in it
        os.truncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    return [handle]
