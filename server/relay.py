"""Requests passed on to a worker over its local socket, and answers passed back as they come."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import h11
from starlette.types import Message, Receive, Scope, Send

from deepvoice.server.errors import BrokenOffError
from deepvoice.server.logs import log

_PIECE = 1 << 16  # bytes read at a time
_HOP_HEADERS = (b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"expect", b"content-length", b"te")


class BrokenError(Exception):
    """The worker ended, or closed the connection in the middle of its answer."""


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of a request; the layer above limits it."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def forward(path: str, scope: Scope, body: bytes, send: Send) -> bool:
    """Let the worker behind `path` answer a request; False when it failed before any of the answer came.

    Raises BrokenOffError when it fails later: what has been sent cannot be taken back.
    """
    began = False
    try:
        async with _exchange(path, scope, body) as events:
            async for event in events:
                if isinstance(event, h11.Response):
                    began = True
                    await send(_start(event))
                elif isinstance(event, h11.Data):
                    await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
    except (OSError, BrokenError, h11.RemoteProtocolError):
        if not began:
            return False
        log("a worker ended while it was answering", level=30, request_id=scope["state"]["log"]["request_id"])
        raise BrokenOffError from None
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return True


async def fetch(path: str, target: str, key: str = "") -> tuple[int, bytes]:
    """Get something from a worker. Raises OSError or BrokenError."""
    headers = [(b"host", b"worker")]
    if key:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    scope: Scope = {"method": "GET", "raw_path": target.encode(), "query_string": b"", "headers": headers}
    status, body = 0, b""
    async with _exchange(path, scope, b"") as events:
        async for event in events:
            if isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
    return status, body


@asynccontextmanager
async def _exchange(path: str, scope: Scope, body: bytes) -> AsyncIterator[AsyncIterator[Any]]:
    """Send a request and give the events of the answer; leaving the block closes the connection."""
    reader, writer = await asyncio.open_unix_connection(path, limit=_PIECE)
    try:
        connection = h11.Connection(h11.CLIENT)
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        writer.write(
            (connection.send(h11.Request(method=scope["method"], target=target, headers=_headers(scope, body))) or b"")
            + (connection.send(h11.Data(data=body)) or b"")
            + (connection.send(h11.EndOfMessage()) or b"")
        )
        await writer.drain()
        yield _events(connection, reader)
    finally:
        writer.close()


async def _events(connection: h11.Connection, reader: asyncio.StreamReader) -> AsyncIterator[Any]:
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            data = await reader.read(_PIECE)
            if not data and connection.their_state is not h11.SEND_BODY:
                raise BrokenError("the worker closed the connection")
            connection.receive_data(data)
        elif isinstance(event, h11.EndOfMessage):
            return
        elif isinstance(event, h11.ConnectionClosed):
            raise BrokenError("the worker closed the connection")
        else:
            yield event


def _headers(scope: Scope, body: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers for the worker: those of the client, its id, one request a connection."""
    kept = [(name, value) for name, value in scope["headers"] if name not in (*_HOP_HEADERS, b"x-request-id")]
    if not any(name == b"host" for name, _ in kept):  # HTTP/1.0 needs none
        kept.append((b"host", b"worker"))
    request_id = scope.get("state", {}).get("log", {}).get("request_id")
    if request_id:
        kept.append((b"x-request-id", request_id.encode()))
    return [*kept, (b"content-length", str(len(body)).encode()), (b"connection", b"close")]


def _start(event: h11.Response) -> Message:
    headers = [(name, value) for name, value in event.headers if name not in _HOP_HEADERS[:4] and name != b"date"]
    return {"type": "http.response.start", "status": event.status_code, "headers": headers}


async def answer(send: Send, status: int, content_type: str, body: bytes) -> None:
    """Send a small answer of the front's own."""
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def answer_json(send: Send, status: int, body: Any) -> None:
    """Send JSON of the front's own."""
    await answer(send, status, "application/json", json.dumps(body).encode())


async def forward_socket(path: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Connect a client's WebSocket with a worker's; either side that closes closes the other."""
    from websockets.asyncio.client import unix_connect
    from websockets.exceptions import InvalidStatus

    await receive()  # websocket.connect
    wanted = (b"authorization", b"x-api-key", b"origin")
    headers = [(name.decode(), value.decode("latin-1")) for name, value in scope["headers"] if name in wanted]
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "worker")
    try:
        uri = f"ws://{host}{scope['path']}"
        upstream = await unix_connect(path, uri, additional_headers=headers, max_size=None, compression=None)
    except (OSError, InvalidStatus):
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "websocket.accept"})

    async def up() -> None:
        while (message := await receive())["type"] == "websocket.receive":
            text = message.get("text")
            await upstream.send(message.get("bytes", b"") if text is None else text)

    async def down() -> None:
        async for message in upstream:
            await send({"type": "websocket.send", "text" if isinstance(message, str) else "bytes": message})

    going_up, coming_down = asyncio.create_task(up()), asyncio.create_task(down())
    try:
        await asyncio.wait({going_up, coming_down}, return_when=asyncio.FIRST_COMPLETED)
        client_left = going_up.done() and not coming_down.done()
    finally:
        for task in (going_up, coming_down):
            task.cancel()
        await asyncio.gather(going_up, coming_down, return_exceptions=True)
        await upstream.close()
    if not client_left:
        code = upstream.close_code or 1000
        await send({"type": "websocket.close", "code": 1011 if code == 1006 else code})
