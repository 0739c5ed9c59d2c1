"""HTTP/1.1 below the app: uvicorn's protocol with limits on how long a client may take, and errors in our shape.

uvicorn waits for ever for the rest of a half-sent request and for a reader that reads nothing; here both are dropped.
"""

import asyncio
import json
import socket
import struct
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from deepvoice.server.settings import Settings

_SEND_BUFFER = 256 * 1024  # bytes the kernel may hold for a client; more would be speech that nobody listens to


class _Stalling:
    """The part of a connection that drops a client which does not read for too long."""

    stall_timeout = 30.0
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _stall_timer: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop("_stall_timer")
        super().connection_lost(exc)  # type: ignore[misc]

    def pause_writing(self) -> None:
        """Begin to wait: the client's buffers are full."""
        super().pause_writing()  # type: ignore[misc]
        self._stall_timer = self._stall_timer or self.loop.call_later(self.stall_timeout, self._drop)

    def resume_writing(self) -> None:
        """Forget about that: it reads again."""
        self._stop("_stall_timer")
        super().resume_writing()  # type: ignore[misc]

    def _drop(self) -> None:
        drop(self.transport)

    def _stop(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)


class LimitedSocket(_Stalling, WebSocketsSansIOProtocol):
    """One WebSocket."""


class LimitedProtocol(_Stalling, H11Protocol):
    """One connection; the limits are in seconds."""

    receive_timeout = 20.0
    most_connections = 1000
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the head of the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:  # one with a request would get an answer that says so
            self._drop()
            return
        limit_buffer(transport)
        self._head_timer = self.loop.call_later(self.receive_timeout, self._drop)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on; a head that has begun must become complete in time."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop("_head_timer")
        elif self._head_timer is None and self.timeout_keep_alive_task is None:
            self._head_timer = self.loop.call_later(self.receive_timeout, self._drop)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop("_head_timer")
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand over to the WebSocket."""
        self._stop("_head_timer")
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with an error object instead of a line of text."""
        body = error_bytes(msg, "invalid_request_error", "invalid_http")
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for part in (h11.Response(status_code=400, headers=headers, reason=b"Bad Request"), h11.Data(data=body)):
            self.transport.write(self.conn.send(part) or b"")
        self.transport.write(self.conn.send(h11.EndOfMessage()) or b"")
        self.transport.close()


def drop(transport: asyncio.WriteTransport) -> None:
    """Close at once; without lingering the kernel would go on to offer what it holds to a client that is stuck."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def limit_buffer(transport: asyncio.BaseTransport) -> None:
    """Keep the kernel from taking much more than the client reads."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)


def make_protocols(settings: Settings) -> tuple[type[LimitedProtocol], type[LimitedSocket]]:
    """Return protocol classes with the limits of the settings; uvicorn makes one object a connection."""
    stall = {"stall_timeout": settings.stall_timeout}
    # Room beyond the requests that may be under way, for those that are told so, and for probes.
    limits = {"receive_timeout": settings.receive_timeout, "most_connections": 2 * settings.max_connections, **stall}
    return type("Protocol", (LimitedProtocol,), limits), type("Socket", (LimitedSocket,), stall)


def error_bytes(message: str, kind: str, code: str) -> bytes:
    """Return an error object for those places that have no request yet."""
    error: dict[str, Any] = {"message": message, "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}).encode()
