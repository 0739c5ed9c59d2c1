"""Running the app in this process: sockets, signals, and an end that lets requests finish."""

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from deepvoice.errors import ConfigError
from deepvoice.server.app import create_app
from deepvoice.server.engine import Voices
from deepvoice.server.logs import configure, log
from deepvoice.server.middleware import ServerState
from deepvoice.server.protocol import make_protocols
from deepvoice.server.settings import Settings, split_address

_SWITCH_SECONDS = 0.001  # how long a thread may keep Python to itself: the event loop must not wait for many
_BACKLOG = 2048


class Server(uvicorn.Server):
    """uvicorn, which refuses new requests from the moment it is told to stop."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop in order when a signal comes, and end with success then: uvicorn would raise the signal once more."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second signal stops at once."""
        self._state.draining = True
        super().handle_exit(sig, frame)


def listen(settings: Settings) -> socket.socket:
    """Return the listening socket; raises ConfigError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError as error:
        sock.close()
        address = f"{settings.host}:{settings.port}"
        raise ConfigError(f"cannot listen on {address}: {error.strerror or error}; choose another --port") from None
    sock.listen(_BACKLOG)
    return sock


def make_server(app: ASGIApp, settings: Settings, state: ServerState, uds: str | None = None) -> Server:
    """Return a server for an app and the state that it reads.

    uds: path of a local socket to listen on, for a worker; None leaves it to the caller of `serve`
    """
    protocol, socket_protocol = make_protocols(settings)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws=socket_protocol,
        ws_max_size=settings.max_body,
        uds=uds,
        lifespan="on" if isinstance(app, FastAPI) else "off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_timeout)),
        h11_max_incomplete_event_size=64 * 1024,
    )
    config.load()
    return Server(config, state)


def serve(settings: Settings, voices: Voices | None = None) -> None:
    """Serve until a signal comes. Raises ConfigError or VoiceError for what is wrong at the start."""
    configure(settings.log_level, settings.log_text)
    voices = voices or Voices.load(settings.voice)
    if settings.wyoming:  # whose server starts later, where an error could not be told as one
        host, port = split_address(settings.wyoming)
        listen(replace(settings, host=host, port=port)).close()
    with contextlib.closing(listen(settings)) as sock, quick_switches():
        app = create_app(settings, voices)
        address = sock.getsockname()
        log("listening", url=f"http://{settings.host}:{address[1]}", voices=list(voices.table))
        server = make_server(app, settings, app.state.server)
        asyncio.run(server.serve(sockets=[sock]))
        log("stopped")


@contextlib.contextmanager
def quick_switches() -> Iterator[None]:
    """Let Python's threads take turns more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


__all__ = ["Server", "listen", "make_server", "quick_switches", "serve"]
