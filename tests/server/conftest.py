"""A server on loopback, in a thread of the test process; each module's settings get one of their own."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import deepvoice
from deepvoice.server.app import create_app
from deepvoice.server.engine import Voices
from deepvoice.server.run import listen, make_server, quick_switches
from deepvoice.server.settings import Settings

TEXT = "The ferry leaves at dawn. Nobody was late, and the sea was calm."
BODY = {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": "wav"}


class Running:
    """A server that answers at `url`."""

    def __init__(self, settings: Settings, voices: Voices) -> None:
        self._socket = listen(settings)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.app = create_app(settings, voices)
        self.server = make_server(self.app, settings, self.app.state.server)
        self.loop: asyncio.AbstractEventLoop
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._started.wait(60) and self.server.started
        self.client = httpx.Client(base_url=self.url, timeout=60, trust_env=False)

    def _run(self) -> None:
        async def main() -> None:
            self.loop = asyncio.get_running_loop()
            serving = asyncio.create_task(self.server.serve(sockets=[self._socket]))
            while not self.server.started and not serving.done():
                await asyncio.sleep(0.01)
            self._started.set()
            await serving

        try:
            with quick_switches():
                asyncio.run(main())
        finally:
            self._started.set()

    def post(self, path: str = "/v1/audio/speech", **fields: Any) -> httpx.Response:
        """Post the usual body with some fields changed; None takes one out."""
        body = {key: value for key, value in {**BODY, **fields}.items() if value is not None}
        return self.client.post(path, json=body)

    def raw(self) -> socket.socket:
        """Open a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels."""
        lines = self.client.get("/metrics").text.splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.split("{")[0].split(" ")[0] == name)

    def stop(self) -> None:
        """End the server; what it is speaking finishes."""
        self.client.close()
        self.server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive()


@pytest.fixture(scope="session")
def tiny(voice: Any) -> Voices:
    """The tiny voice, as servers hold it."""
    return Voices({"tiny": voice})


@pytest.fixture(scope="session")
def heart() -> Voices:
    """The voice of the package."""
    return Voices({"heart": deepvoice.load()})


@pytest.fixture(scope="session")
def start(tiny: Voices) -> Callable[..., contextlib.AbstractContextManager[Running]]:
    """Return a function that runs a server, with the tiny voice unless another is passed, while a block runs."""

    @contextlib.contextmanager
    def run(voices: Voices | None = None, **settings: Any) -> Iterator[Running]:
        running = Running(Settings(**{"port": 0, "threads": 2, **settings}), voices or tiny)
        try:
            yield running
        finally:
            running.stop()

    return run


@pytest.fixture(scope="session")
def server(start: Any) -> Iterator[Running]:
    """A server with the tiny voice and the usual settings."""
    with start() as running:
        yield running


@pytest.fixture(scope="session")
def speaker(start: Any, heart: Voices) -> Iterator[Running]:
    """A server with the voice of the package."""
    with start(heart) as running:
        yield running
