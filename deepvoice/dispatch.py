"""Many sentences at once: worker threads that render whatever is waiting, side by side.

Batch Dispatch (Deep Speech 2: Amodei et al., 2015) with slots: a worker that becomes free takes every sentence that
waits, up to `slots`, and makes one piece of each in one call of the kernel, without a timer that would wait for more.
Sentences join and leave between pieces. The more there is to do the larger the batches become by themselves.

    dispatcher = Dispatcher(synthesizer, threads=2)
    job = dispatcher.submit(plan, prosody, seed, sentence)
    for samples in job: ...

A sentence has the samples that `Synthesizer.render` gives it, bit for bit, whatever is rendered beside it.
"""

import itertools
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice.errors import ConfigError, DeepVoiceError
from deepvoice.kernels.wavenet import Generated, Piece
from deepvoice.rendering import FIRST_FRAMES, MOST_FRAMES, Rendering
from deepvoice.synthesis import Prosody, SentencePlan

FloatArray = NDArray[np.float32]

_FRAMES = 2 * MOST_FRAMES  # of a piece: what Python does for one, the others wait for
_TURN_SECONDS = 0.08  # the longest that a batch should take: what waits or is cancelled waits no longer
_LIMITS = {"threads": (1, 1024), "slots": (1, 1024)}


class Renderer(Protocol):
    """What a dispatcher needs of a `Synthesizer`."""

    sample_rate: int

    def rendering(self, plan: SentencePlan, prosody: Prosody, seed: int, sentence: int) -> Rendering:
        """Prepare a sentence."""
        ...

    def generate(self, pieces: Sequence[Piece]) -> list[Generated]:
        """Make a piece of each of several sentences."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherStats:
    """What a dispatcher is doing and has done.

    slots: sentences that fit into one batch
    busy: sentences that are being rendered now
    waiting: sentences that wait for a worker
    paused: sentences so far ahead of their readers that they rest
    pieces: pieces made so far
    batches: how many batches there were of each size, smallest first
    """

    slots: int
    busy: int
    waiting: int
    paused: int
    pieces: int
    batches: tuple[tuple[int, int], ...]


@dataclass(slots=True, kw_only=True, eq=False)
class _Task:
    """A sentence inside the dispatcher; every field is guarded by the dispatcher's lock."""

    number: int
    samples: int  # of the whole sentence
    urgent: bool
    changed: threading.Condition  # there is something to read, or the end
    begin: Callable[[], Rendering] | None
    rendering: Rendering | None = None
    pieces: deque[FloatArray] = field(default_factory=deque)
    buffered: int = 0  # samples in `pieces`
    begun: bool = False  # a piece has been made
    running: bool = False
    paused: bool = False
    ended: bool = False
    error: BaseException | None = None

    def rank(self) -> tuple[bool, int, int]:
        """Order of service: first sounds that someone waits for, then whoever has least to read, then the oldest."""
        return not self.first_sound, self.buffered, self.number

    @property
    def first_sound(self) -> bool:
        return self.urgent and not self.begun


class RenderJob:
    """A sentence that is being rendered: an iterator of float32 samples, for one reader.

    Errors of this sentence are raised where it is read. A job that is dropped is cancelled.
    """

    def __init__(self, engine: "_Engine", task: _Task) -> None:
        self._engine = engine
        self._task = task

    def __iter__(self) -> Iterator[FloatArray]:
        return self

    def __next__(self) -> FloatArray:
        """Wait for the next piece. Raises DeepVoiceError when the job is cancelled or the dispatcher closed."""
        return self._engine.read(self._task)

    def cancel(self) -> None:
        """Stop at once; reading then raises DeepVoiceError. An ended or cancelled job stays as it is."""
        self._engine.cancel(self._task)

    def __del__(self) -> None:
        self._engine.cancel(self._task)


class Dispatcher:
    """Renders sentences side by side in threads of its own. Used by any number of threads; close it, or use `with`."""

    def __init__(
        self, synthesizer: Renderer, *, threads: int = 1, slots: int = 16, ahead_seconds: float = 10.0
    ) -> None:
        """Start the worker threads.

        threads: workers, each on a core of its own where there is one
        slots: sentences of one batch
        ahead_seconds: a job that is so far ahead of its reader rests until half of it has been read
        Raises ConfigError for a number outside its range.
        """
        for name, value in (("threads", threads), ("slots", slots)):
            low, high = _LIMITS[name]
            if type(value) is not int or not low <= value <= high:
                raise ConfigError(f"{name} is {value!r}; expected a whole number from {low} to {high}")
        if not ahead_seconds > 0:
            raise ConfigError(f"ahead_seconds is {ahead_seconds!r}; expected a time above 0")
        self.slots = slots
        self.renderer = synthesizer
        self._engine = _Engine(synthesizer, slots, ahead_seconds)
        workers = [
            threading.Thread(target=self._engine.work, name=f"deepvoice-render-{i}", daemon=True)
            for i in range(threads)
        ]
        # Runs once: in close, when the dispatcher is dropped, or when Python ends.
        self._finalizer = weakref.finalize(self, _shut, self._engine, workers)
        for worker in workers:
            worker.start()

    def submit(
        self, plan: SentencePlan, prosody: Prosody, seed: int, sentence: int, *, urgent: bool = True
    ) -> RenderJob:
        """Queue a sentence; the first three arguments and `sentence` are those of `Synthesizer.render`.

        urgent: whether someone waits for its first sound; a job that is read becomes urgent
        Raises DeepVoiceError when the dispatcher is closed.
        """
        return RenderJob(self._engine, self._engine.add(plan, prosody, seed, sentence, urgent))

    def stats(self) -> DispatcherStats:
        """Return what it is doing now and has done so far."""
        return self._engine.stats()

    def close(self) -> None:
        """Cancel every job and end the threads. May be called again."""
        self._finalizer()

    def __enter__(self) -> "Dispatcher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _shut(engine: "_Engine", workers: Sequence[threading.Thread]) -> None:
    engine.close()
    for worker in workers:
        if worker is not threading.current_thread():  # a worker may drop the last reference
            worker.join()


class _Engine:
    """The state that workers, readers and the dispatcher share.

    Its lock can be taken again by the thread that has it, since a job may be dropped, and so cancelled, at any moment.
    """

    def __init__(self, renderer: Renderer, slots: int, ahead_seconds: float) -> None:
        self._renderer = renderer
        self._slots = slots
        self._ahead = ahead_seconds * renderer.sample_rate  # samples
        self._most_held = slots * self._ahead  # samples of the sentences that have begun: each keeps what it is made of
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)  # for idle workers
        self._numbers = itertools.count()
        self._tasks: set[_Task] = set()  # not ended
        self._idle = 0  # workers
        self._closed = False
        self._pieces = 0
        self._batches: Counter[int] = Counter()
        self._cost: float | None = None  # seconds a frame of one sentence takes in a batch

    def add(self, plan: SentencePlan, prosody: Prosody, seed: int, sentence: int, urgent: bool) -> _Task:
        def begin() -> Rendering:
            return self._renderer.rendering(plan, prosody, seed, sentence)

        with self._lock:
            if self._closed:
                raise DeepVoiceError("the dispatcher is closed; make a new one")
            task = _Task(
                number=next(self._numbers),
                samples=plan.num_samples,
                urgent=urgent,
                changed=threading.Condition(self._lock),
                begin=begin,
            )
            self._tasks.add(task)
            self._work.notify()
        return task

    def read(self, task: _Task) -> FloatArray:
        with self._lock:
            if not task.urgent:  # it may begin now, however many others have
                task.urgent = True
                self._work.notify()
            while not task.pieces:
                if task.error is not None:
                    raise task.error
                if task.ended:
                    raise StopIteration
                task.changed.wait()
            samples_T = task.pieces.popleft()
            task.buffered -= len(samples_T)
            if task.paused and 2 * task.buffered <= self._ahead:
                task.paused = False
                self._work.notify()
            return samples_T

    def cancel(self, task: _Task) -> None:
        with self._lock:
            if task in self._tasks:
                self._stop(task, DeepVoiceError("the sentence was cancelled while it was being spoken"))
                task.pieces.clear()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for task in list(self._tasks):
                self._stop(task, DeepVoiceError("the dispatcher was closed before the sentence was spoken"))
            self._work.notify_all()

    def stats(self) -> DispatcherStats:
        with self._lock:
            busy = sum(task.running for task in self._tasks)
            paused = sum(task.paused for task in self._tasks)
            return DispatcherStats(
                slots=self._slots,
                busy=busy,
                waiting=len(self._tasks) - busy - paused,
                paused=paused,
                pieces=self._pieces,
                batches=tuple(sorted(self._batches.items())),
            )

    def work(self) -> None:
        """Render until the dispatcher is closed: the loop of a worker thread."""
        while True:
            with self._lock:
                self._idle += 1
                while not (self._closed or (batch := self._choose())):
                    self._work.wait()
                self._idle -= 1
                if self._closed:
                    return
            self._render(batch)
            del batch  # or the last sentence would live until the next one comes

    def _choose(self) -> list[_Task]:
        """Take the sentences of one batch out of those that wait.

        First sounds go before everything else, by themselves. At most one sentence of a batch has yet to begin, which
        takes as long as a piece or two. Those that nobody waits for begin only when the ones that have begun are not
        too much for the memory. Several idle workers share what there is.
        """
        held = sum(t.samples for t in self._tasks if t.begin is None or t.running)
        may_begin = held < self._most_held
        waiting = sorted(
            (t for t in self._tasks if not (t.running or t.paused) and (may_begin or t.urgent or t.begin is None)),
            key=_Task.rank,
        )
        ready = [task for task in waiting if task.first_sound] or waiting
        starter = next((task for task in ready if task.begin is not None), None)
        ready = [task for task in ready if task.begin is None or task is starter]
        batch = ready[: min(self._slots, -(-len(ready) // max(1, self._idle)))]
        for task in batch:
            task.running = True
        if len(waiting) > len(batch):
            self._work.notify()
        return batch

    def _render(self, batch: Sequence[_Task]) -> None:
        """Make one piece of each sentence."""
        begun = [(task, rendering) for task in batch if (rendering := self._begin(task)) is not None]
        if not begun:
            return
        frames = self._frames(begun)
        started = time.perf_counter()
        asked: list[tuple[_Task, Rendering, Piece]] = []
        for task, rendering in begun:
            try:
                asked.append((task, rendering, rendering.ask(frames)))
            except Exception as error:  # noqa: BLE001 - as in _begin
                self._stop(task, error)
        made = self._generate([piece for _, _, piece in asked])
        self._cost = (time.perf_counter() - started) / (frames * len(begun))
        taken = [self._take(*pair) for pair in zip(asked, made, strict=True)]
        with self._lock:  # all at once: readers that wake up would only wait for this thread in between
            for (task, rendering, _), samples_T in zip(asked, taken, strict=True):
                if samples_T is not None:
                    self._deliver(task, rendering, samples_T)
            self._batches[len(asked)] += 1
            self._work.notify()

    def _begin(self, task: _Task) -> Rendering | None:
        """Return the sentence's rendering, begun if it was not; None where that failed or the sentence has ended."""
        with self._lock:
            begin, rendering = task.begin, task.rendering
        if begin is not None:
            try:
                rendering = begin()
            except Exception as error:  # noqa: BLE001 - whatever it is belongs to the reader of this sentence
                self._stop(task, error)
        with self._lock:
            if task.ended or rendering is None or not rendering.frames_left:
                self._stop(task)
                return None
            task.begin, task.rendering = None, rendering
            return rendering

    def _frames(self, begun: Sequence[tuple[_Task, Rendering]]) -> int:
        """Return how many frames the next pieces should have, from what the last ones cost."""
        frames = FIRST_FRAMES if any(task.first_sound for task, _ in begun) else _FRAMES
        if self._cost is None:
            return FIRST_FRAMES
        return max(1, min(frames, int(_TURN_SECONDS / (self._cost * len(begun)))))

    def _generate(self, pieces: Sequence[Piece]) -> Sequence[Generated | Exception]:
        """Generate a piece of each; where that fails, one after the other: an error belongs to its own sentence."""
        try:
            return self._renderer.generate(pieces)
        except Exception as error:  # noqa: BLE001 - as in _begin
            if len(pieces) == 1:
                return [error]
        return [self._generate([piece])[0] for piece in pieces]

    def _take(self, asked: tuple[_Task, Rendering, Piece], made: Generated | Exception) -> FloatArray | None:
        """Return the samples of what was made, None where it is an error, which the reader gets."""
        task, rendering, _ = asked
        try:
            if isinstance(made, Exception):
                raise made
            return rendering.take(made)
        except Exception as error:  # noqa: BLE001 - as in _begin
            self._stop(task, error)
            return None

    def _deliver(self, task: _Task, rendering: Rendering, samples_T: FloatArray) -> None:
        """Give the reader what was made; the caller holds the lock."""
        task.running = False
        if task.ended:
            return
        self._pieces += 1
        task.begun = True
        task.pieces.append(samples_T)
        task.buffered += len(samples_T)
        task.paused = task.buffered >= self._ahead
        task.changed.notify()
        if not rendering.frames_left:
            self._stop(task)

    def _stop(self, task: _Task, error: BaseException | None = None) -> None:
        """Let the reader have what is there, and then the error or the end."""
        with self._lock:
            task.running = task.paused = False
            self._tasks.discard(task)
            self._work.notify()  # there may be room for another one to begin
            if not task.ended:
                task.ended, task.error = True, error
                task.begin = task.rendering = None
                task.changed.notify_all()


__all__ = ["Dispatcher", "DispatcherStats", "RenderJob"]
