"""Several worker processes behind one port: this process takes the requests and hands each to a worker.

A worker that dies takes with it only what it was sending. A request of which nothing was sent yet is run again by
another worker, and the dead one is replaced.
"""

import asyncio
import contextlib
import os
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from pathlib import Path

from starlette.types import Receive, Scope, Send

from deepvoice.machine import usable_cores
from deepvoice.server import relay
from deepvoice.server.bridge import ClientLeftError, while_connected
from deepvoice.server.errors import ApiError
from deepvoice.server.logs import configure, log
from deepvoice.server.metrics import CONTENT_TYPE, Metrics, merge
from deepvoice.server.middleware import Gate, ServerState
from deepvoice.server.processes import Worker
from deepvoice.server.run import listen, make_server
from deepvoice.server.settings import Settings

_TRIES = 3  # workers that a request may be given to: one that kills three would kill all
_PATIENCE = 30.0  # seconds that a request waits for a worker to come up


class Front:
    """The app of the front process."""

    def __init__(self, workers: list[Worker], metrics: Metrics, state: ServerState) -> None:
        self.workers = workers
        self._metrics = metrics
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let a worker answer."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        path = scope["path"]
        if path == "/health":
            await relay.answer_json(send, 200, {"status": "ok", "voices": []})
        elif path == "/ready":
            await self._ready(send)
        elif path == "/metrics":
            await self._exposition(send)
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await relay.read_body(receive)
        failed: set[Process | None] = set()  # a dead process may not have been noticed yet
        try:
            async with while_connected(receive):
                for attempt in range(_TRIES):
                    async with self._worker(failed) as worker:
                        failed.add(worker.process)
                        if await relay.forward(worker.path, scope, body, send):
                            return
                    self._metrics.reruns.inc()
                    log("a worker failed", level=30, request_id=scope["state"]["log"]["request_id"], attempt=attempt)
        except ClientLeftError:
            self._metrics.cancellations.inc()
            return
        raise ApiError(500, f"{_TRIES} workers failed with this request", code="worker_failed")

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._worker() as worker:
            await relay.forward_socket(worker.path, scope, receive, send)

    @contextlib.asynccontextmanager
    async def _worker(self, failed: Collection[Process | None] = ()) -> AsyncIterator[Worker]:
        """Choose the worker with the least to do, none of the processes that have failed; wait when none is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE
        while not (ready := [worker for worker in self.workers if worker.ready and worker.process not in failed]):
            if loop.time() > deadline:
                raise ApiError(503, "no worker is up; see the log", code="not_ready", headers={"retry-after": "5"})
            await asyncio.sleep(0.02)
        worker = min(ready, key=lambda worker: worker.active)
        worker.active += 1
        try:
            yield worker
        finally:
            worker.active -= 1

    async def _ready(self, send: Send) -> None:
        if self._state.draining or not any(worker.ready for worker in self.workers):
            raise ApiError(503, "no worker is ready", code="not_ready", headers={"retry-after": "1"})
        ready = next(worker for worker in self.workers if worker.ready)
        status, body = await relay.fetch(ready.path, "/ready")
        await relay.answer(send, status, "application/json", body)

    async def _exposition(self, send: Send) -> None:
        """Return the metrics of all workers, each with its number, and those of the front."""
        found = {"front": self._metrics.exposition()}
        for worker in self.workers:
            if worker.ready:
                with contextlib.suppress(OSError, relay.BrokenError):
                    status, body = await relay.fetch(worker.path, "/metrics", worker.key)
                    if status == 200:
                        found[str(worker.number)] = body
        await relay.answer(send, 200, CONTENT_TYPE, merge(found))


def worker_settings(settings: Settings, folder: Path) -> Settings:
    """Return what each worker is told: its share of the cores, and files instead of memory for what they share."""
    threads = settings.threads or max(1, usable_cores() // settings.workers)
    lexicon = settings.lexicon or str(folder / "lexicon.toml")
    level = _at_least_warning(settings.log_level)
    return replace(settings, threads=threads, lexicon=lexicon, log_level=level, allowed_host=("*",))  # the front checks


def _at_least_warning(level: str) -> str:
    return level if level in ("debug", "error") else "warning"  # the front writes the line of each request


@contextlib.asynccontextmanager
async def running_workers(settings: Settings) -> AsyncIterator[list[Worker]]:
    """Keep the workers running while the block runs."""
    with tempfile.TemporaryDirectory(prefix="deepvoice-") as name:
        told = worker_settings(settings, Path(name))
        workers = [Worker(number, Path(name) / f"worker-{number}", told) for number in range(settings.workers)]
        keepers = [asyncio.create_task(worker.keep_running()) for worker in workers]
        try:
            await asyncio.gather(*(worker.wait_ready() for worker in workers))
            yield workers
        finally:
            for keeper in keepers:
                keeper.cancel()
            await asyncio.gather(*keepers, return_exceptions=True)
            await asyncio.gather(*(worker.stop() for worker in workers))


def serve_workers(settings: Settings) -> None:
    """Serve until a signal comes. Raises ConfigError for what is wrong at the start."""
    configure(settings.log_level, settings.log_text)
    metrics, state = Metrics(), ServerState()
    state.set_keys(settings.api_key)
    with contextlib.closing(listen(settings)) as sock:

        async def main() -> None:
            async with running_workers(settings) as workers:
                gate = Gate(Front(workers, metrics, state), settings=settings, state=state, metrics=metrics)
                server = make_server(gate, settings, state=state)
                log("listening", url=f"http://{settings.host}:{sock.getsockname()[1]}", workers=len(workers))
                await server.serve(sockets=[sock])

        asyncio.run(main())
    log("stopped", process=os.getpid())
