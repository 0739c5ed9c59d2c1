"""From a thread that makes things to the event loop that sends them, with a bound on how far the thread runs ahead."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

from starlette.types import Receive

Item = TypeVar("Item")


class AbandonedError(Exception):
    """Raised in the thread, at its next `put`, when nobody waits for it any more."""


class ClientLeftError(Exception):
    """Raised in the event loop when the client has closed its connection."""


class Bridge(Generic[Item]):
    """A queue between one thread and one task. Its weights are in whatever unit the thread counts."""

    def __init__(self, limit: float) -> None:
        """Make a queue in which items of a total weight of about `limit` may wait; call it in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._items: deque[tuple[Item, float]] = deque()
        self._weight = 0.0
        self._changed = threading.Condition()
        self._ready = asyncio.Event()
        self._ended = False
        self._error: BaseException | None = None
        self.abandoned = False

    def start(self, executor: Executor, work: Callable[["Bridge[Item]"], None]) -> None:
        """Run `work(self)` in a thread."""
        executor.submit(self._run, work)

    def put(self, item: Item, weight: float) -> None:
        """Hand an item over, in the thread; waits while the queue is full. Raises AbandonedError."""
        with self._changed:
            self._changed.wait_for(lambda: self.abandoned or self._weight < self._limit)
            if self.abandoned:
                raise AbandonedError
            self._items.append((item, weight))
            self._weight += weight
        self._wake()

    def check(self) -> None:
        """Raise AbandonedError in the thread when nobody waits for it any more."""
        if self.abandoned:
            raise AbandonedError

    def is_full(self) -> bool:
        """Whether `put` would wait."""
        return self._weight >= self._limit

    def rest(self, seconds: float) -> None:
        """Wait in the thread, less when nobody waits for it any more."""
        with self._changed:
            self._changed.wait_for(lambda: self.abandoned, seconds)

    def abandon(self) -> None:
        """Tell the thread to stop; safe to call at any time."""
        with self._changed:
            self.abandoned = True
            self._items.clear()
            self._changed.notify_all()

    async def next(self) -> Item | None:
        """Return the next item, None after the last; raises what the thread raised."""
        while True:
            with self._changed:
                if self._items:
                    item, weight = self._items.popleft()
                    self._weight -= weight
                    self._changed.notify_all()
                    return item
                if self._ended:
                    if self._error is not None:
                        raise self._error
                    return None
                self._ready.clear()
            await self._ready.wait()

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Yield the items until the last."""
        while (item := await self.next()) is not None:
            yield item

    def _run(self, work: Callable[["Bridge[Item]"], None]) -> None:
        error: BaseException | None = None
        try:
            self.check()
            work(self)
        except BaseException as raised:  # noqa: BLE001 - the other side raises it
            error = raised
        with self._changed:
            self._ended = True
            self._error = error
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._ready.set)


@contextlib.asynccontextmanager
async def while_connected(receive: Receive) -> AsyncIterator[None]:
    """Run a block of the current task until the client leaves; then it ends with ClientLeftError.

    The body of the request must have been read: what `receive` returns is dropped.
    """
    task = asyncio.current_task()
    assert task is not None
    left = False
    cancels = task.cancelling()

    async def watch() -> None:
        nonlocal left
        while (await receive())["type"] != "http.disconnect":
            pass
        left = True
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if left and task.uncancel() <= cancels:
            raise ClientLeftError from None
        raise
    finally:
        watcher.cancel()
