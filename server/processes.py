"""A worker process as the front sees it: started, watched, replaced when it dies."""

import asyncio
import contextlib
import sys
import time
from pathlib import Path

from deepvoice.errors import ConfigError
from deepvoice.server import relay
from deepvoice.server.logs import log
from deepvoice.server.settings import Settings
from deepvoice.server.worker import dump

_START_SECONDS = 60.0  # a worker that is not ready by then is replaced
_PAUSE = (0.1, 5.0)  # seconds before a worker is started again: the first time, and at most
_QUICK = 10.0  # a worker that lives shorter than this many seconds counts as failing


class Worker:
    """One worker process."""

    def __init__(self, number: int, path: Path, settings: Settings) -> None:
        """Prepare; `path` is that of its local socket."""
        self.number = number
        self.path = str(path)
        self.key = settings.api_key[0] if settings.api_key else ""
        self.ready = False
        self.active = 0  # requests it has
        self.process: asyncio.subprocess.Process | None = None
        self._settings = settings
        self._first = asyncio.Event()  # it has been ready once, or has failed at once
        self._failure = ""

    async def wait_ready(self) -> None:
        """Wait until it has started for the first time. Raises ConfigError when it ends instead."""
        await self._first.wait()
        if self._failure:
            raise ConfigError(self._failure)

    async def keep_running(self) -> None:
        """Start the process, and start it again whenever it ends."""
        pause = _PAUSE[0]
        while True:
            started = time.monotonic()
            await self._run_once()
            if not self._first.is_set():
                self._failure = f"worker {self.number} ended before it was ready; its log says why"
                self._first.set()
                return
            lived = time.monotonic() - started
            pause = _PAUSE[0] if lived > _QUICK else min(2 * pause, _PAUSE[1])
            await asyncio.sleep(pause)

    async def _run_once(self) -> None:
        Path(self.path).unlink(missing_ok=True)
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "deepvoice.server.worker", self.path),
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,  # the terminal's Ctrl-C is for the front, which stops its workers in its own time
        )
        assert self.process.stdin is not None
        self.process.stdin.write(f"{dump(self._settings)}\n".encode())
        ended = asyncio.create_task(self.process.wait())
        starting = asyncio.create_task(self._probe())
        try:
            await asyncio.wait({ended, starting}, timeout=_START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if starting.done() and not ended.done():
                self.ready = True
                self._first.set()
                status = await ended
                log("a worker ended", level=30, worker=self.number, status=status)
            elif not ended.done():
                self.process.kill()
                await ended
        finally:
            self.ready = False
            starting.cancel()
            ended.cancel()

    async def _probe(self) -> None:
        """Return when the worker answers that it is ready."""
        while True:
            with contextlib.suppress(OSError, relay.BrokenError):
                if (await relay.fetch(self.path, "/ready"))[0] == 200:
                    return
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Let the process finish what it is doing, and end it."""
        process = self.process
        if process is None or process.returncode is not None:
            return
        assert process.stdin is not None
        process.stdin.close()  # it ends when its standard input does
        try:
            await asyncio.wait_for(process.wait(), self._settings.shutdown_timeout + 1.0)
        except TimeoutError:
            process.kill()
            await process.wait()
