"""Tasks in several processes that end with this one, whatever ends it.

The standard pools leave workers behind when their parent is killed, and finish what is running when it is interrupted.
Here each worker reads its tasks from a pipe: it ends when the pipe does, and when it is asked to it leaves by the
ordinary way out, so that unfinished files are removed.
"""

import contextlib
import multiprocessing
import re
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Generic, NamedTuple, TypeVar

from deepvoice.errors import AudioError, DeepVoiceError

_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}\.part")  # as audio.io.replacing names them
Task = TypeVar("Task")
Value = TypeVar("Value")


class Outcome(NamedTuple, Generic[Value]):
    """What became of a task: its number, and a value or what went wrong."""

    number: int
    value: Value | None
    error: Exception | None


def run_tasks(
    function: Callable[[Task], Value], tasks: Iterable[Task], jobs: int
) -> Generator[Outcome[Value], None, None]:
    """Call a function for each task, several at a time, and yield the outcomes as they come.

    function: at the top level of a module, so that another process finds it; it may keep what it loads
    tasks: read as they are needed
    jobs: processes; with 1 it all happens in this one
    Close the generator (contextlib.closing) to stop the workers. Raises DeepVoiceError when a worker dies.
    """
    if jobs == 1:
        for number, task in enumerate(tasks):
            yield _attempt(function, number, task)
        return
    crew = _Crew(function, enumerate(tasks))
    try:
        while len(crew.busy) < jobs and crew.hire():
            pass
        while crew.busy:
            for connection in wait(list(crew.busy)):
                assert isinstance(connection, Connection)
                yield crew.collect(connection)
    finally:
        crew.dismiss()


class _Crew(Generic[Task, Value]):
    """Worker processes, each with its end of a pipe."""

    def __init__(self, function: Callable[[Task], Value], tasks: Iterator[tuple[int, Task]]) -> None:
        self._function, self._tasks = function, tasks
        self.busy: dict[Connection, BaseProcess] = {}
        self._idle: dict[Connection, BaseProcess] = {}

    def hire(self) -> bool:
        """Start a worker with the next task; returns whether there was one."""
        task = next(self._tasks, None)
        if task is None:
            return False
        context = multiprocessing.get_context("spawn")  # a copy of this process may hold locks for ever
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._function), daemon=True)
        with _without_interrupts():
            process.start()
        theirs.close()
        self.busy[ours] = process
        ours.send(task)
        return True

    def collect(self, connection: Connection) -> Outcome[Value]:
        """Return what a worker has done, and give it the next task."""
        try:
            outcome: Outcome[Value] = connection.recv()
            task = next(self._tasks, None)
            if task is not None:
                connection.send(task)
        except (EOFError, ConnectionError):  # killed while it waits, or in the middle of a message
            process = self.busy[connection]
            process.join()
            raise DeepVoiceError(
                f"a worker process ended with status {process.exitcode} (out of memory?); run the command again to go "
                "on, with fewer --jobs if it happens again"
            ) from None
        if task is None:
            self._idle[connection] = self.busy.pop(connection)
        return outcome

    def dismiss(self) -> None:
        """End all workers, in the middle of their work if they have any."""
        for connection, process in self._idle.items():
            connection.close()
            process.join()
        for connection, process in self.busy.items():
            connection.close()
            process.terminate()
        for process in self.busy.values():
            process.join()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold interrupts back: a process started inside never gets one, not even while it loads; this one has it later."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(connection: Connection, function: Callable[[Any], Any]) -> None:
    """Do tasks until the pipe ends; runs in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent has it too and decides, where it was not held back
    signal.signal(signal.SIGTERM, _leave)
    with contextlib.suppress(EOFError, OSError):
        while True:
            number, task = connection.recv()
            connection.send(_attempt(function, number, task))


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _attempt(function: Callable[[Task], Value], number: int, task: Task) -> Outcome[Value]:
    try:
        return Outcome(number, function(task), None)
    except DeepVoiceError as error:
        return Outcome(number, None, error)
    except Exception as error:  # noqa: BLE001 - one task that fails must not end the others
        return Outcome(number, None, DeepVoiceError(f"{type(error).__name__}: {error}"))


@contextlib.contextmanager
def exclusive(folder: Path, name: str) -> Iterator[None]:
    """Make a folder and hold it for this process alone, by a lock that ends with the process.

    Files that an earlier process left unfinished are removed. Raises AudioError when another process holds the folder,
    or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / name).open("a")
    except OSError as error:
        raise AudioError(f"cannot use the folder {folder}: {error.strerror}; choose a writable place") from None
    with handle:
        try:
            import fcntl  # not on Windows, where two of us must not be started by hand

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            raise AudioError(f"another deepvoice is at work in {folder}; wait for it, or stop it") from None
        remove_unfinished(folder.iterdir())
        yield


def remove_unfinished(paths: Iterable[Path]) -> None:
    """Remove, of some files, those that a process left unfinished; nobody may be writing them any more."""
    for path in paths:
        if _UNFINISHED.fullmatch(path.name):
            path.unlink(missing_ok=True)
