"""The WebSocket: text in pieces (as a language model writes it), audio back as sentences become complete.

The client's messages are JSON: `start` (options, once, first), `text`, `flush`, `end`. Audio comes as binary messages;
times, the end and errors as JSON.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, WebSocket
from pydantic import Field, TypeAdapter, ValidationError
from starlette.types import Message as WireMessage
from starlette.websockets import WebSocketDisconnect, WebSocketState

from deepvoice.errors import DeepVoiceError
from deepvoice.server import schemas
from deepvoice.server.answers import speech_error, times
from deepvoice.server.bridge import AbandonedError, ClientLeftError, while_connected
from deepvoice.server.errors import ApiError, validation_error
from deepvoice.server.logs import log
from deepvoice.server.routes import Context
from deepvoice.server.session import TextSession

router = APIRouter()

_POLICY, _TOO_LONG = 1008, 1009  # close codes


class Start(schemas.Manner):
    """The first message: how to speak."""

    type: Literal["start"]
    model: schemas.Name = "deepvoice"
    response_format: schemas.Format = "pcm"
    sample_rate: schemas.SampleRate | None = None
    timestamps: bool = False
    ssml: Literal[False] = Field(default=False, description="markup cannot be cut into pieces")
    api_key: str = Field(default="", max_length=1024)


class More(schemas.Strict):
    """A piece of the text."""

    type: Literal["text"]
    text: str


class Signal(schemas.Strict):
    """`flush` speaks what is there; `end` says that there is no more."""

    type: Literal["flush", "end"]


Message = TypeAdapter[Start | More | Signal](Annotated[Start | More | Signal, Field(discriminator="type")])


@router.websocket("/v1/audio/speech/ws")
async def speech_socket(socket: WebSocket) -> None:
    """Speak one text that arrives in pieces."""
    have: Context = socket.app.state.context
    entry: dict[str, Any] = socket.scope["state"]["log"]
    if not _same_origin(socket, have.settings.cors_origin):
        await socket.close(_POLICY)
        return
    started = time.perf_counter()
    await socket.accept()
    outcome = "ok"
    try:
        await _converse(socket, have)
    except (WebSocketDisconnect, AbandonedError, ClientLeftError):
        have.engine.metrics.cancellations.inc()
        outcome = "left"
    except ApiError as error:
        outcome = error.code or "error"
        have.engine.metrics.errors.labels(str(error.status)).inc()
        await _say(socket, "error", **error.body())
    except Exception as error:  # noqa: BLE001 - the last resort, as for requests
        log("internal error", level=40, error=error, **entry)
        outcome = "internal"
        await _say(socket, "error", **ApiError(500, "internal error", code="internal").body())
    log("socket", **entry, outcome=outcome, seconds=round(time.perf_counter() - started, 4))
    if socket.application_state is WebSocketState.CONNECTED:
        await socket.close()


async def _converse(socket: WebSocket, have: Context) -> None:
    """Hold a conversation to its end, or until its time is over."""
    inbox, limit = _Inbox(socket, have.settings.max_body), have.settings.request_timeout
    try:
        async with while_connected(inbox.receive), asyncio.timeout(limit):
            await _Conversation(socket, inbox, have).run()
    except TimeoutError:
        raise ApiError(504, f"the conversation did not end within {limit:g} seconds", code="timeout") from None
    except ClientLeftError:
        if inbox.is_full:
            message = f"more than {have.settings.max_body} bytes came before they could be taken"
            raise ApiError(413, message, code="body_too_large") from None
        raise


class _Inbox:
    """The client's messages, read as they come: it is noticed that it leaves, whatever the conversation waits for."""

    def __init__(self, socket: WebSocket, limit: int) -> None:
        """Read from a socket; `limit` is how many bytes may wait to be taken."""
        self._socket = socket
        self._limit = limit
        self._messages: asyncio.Queue[str] = asyncio.Queue()
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether more waits than may."""
        return self._size > self._limit

    async def receive(self) -> WireMessage:
        """Read a message; one that says so when there will be no more."""
        received = await self._socket.receive()
        if received["type"] == "websocket.disconnect":
            return {"type": "http.disconnect"}
        text = received.get("text") or ""  # a binary message is as wrong as an empty one
        self._size += len(text)
        self._messages.put_nowait(text)
        return {"type": "http.disconnect" if self.is_full else "http.request"}

    async def take(self) -> str:
        """Return the next message."""
        text = await self._messages.get()
        self._size -= len(text)
        return text


class _Conversation:
    """One connection: messages come in and audio goes out at the same time."""

    def __init__(self, socket: WebSocket, inbox: _Inbox, have: Context) -> None:
        self._socket = socket
        self._inbox = inbox
        self._have = have

    async def run(self) -> None:
        """Hold the conversation to its end."""
        start = await self._message()
        if not isinstance(start, Start):
            raise ApiError(400, "the first message must have the type 'start'", param="type", code="invalid_value")
        if not (self._socket.scope["state"].get("authorised") or self._have.state.allows(start.api_key)):
            raise ApiError(401, "the API key is missing or wrong; send it as api_key", code="invalid_api_key")
        if self._have.state.draining:
            raise ApiError(503, "the server is shutting down", code="shutting_down")
        voice = self._have.engine.voice(start.voice_name)
        options = await self._have.options(start)
        async with self._have.engine.turns.turn():
            try:
                session = TextSession(
                    self._have.engine,
                    voice,
                    options,
                    file_format=start.response_format,
                    sample_rate=start.sample_rate,
                    times=start.timestamps,
                    limit=self._have.settings.max_characters,
                )
            except DeepVoiceError as error:
                raise speech_error(error) from None
            try:
                await _say(self._socket, "session.started", sample_rate=session.result.sample_rate, voice=voice.name)
                session.start()
                await self._exchange(session)
            finally:
                session.close()

    async def _exchange(self, session: TextSession) -> None:
        """Read and send until the end; the first side that fails ends both."""
        reader = asyncio.create_task(self._read(session))
        sender = asyncio.create_task(self._send(session))
        try:
            await asyncio.wait({reader, sender}, return_when=asyncio.FIRST_EXCEPTION)
            for task in (reader, sender):
                if task.done() and task.exception() is not None:
                    task.result()
            await sender
        finally:
            for task in (reader, sender):
                task.cancel()
            await asyncio.gather(reader, sender, return_exceptions=True)

    async def _read(self, session: TextSession) -> None:
        """Take text until the end, and afterwards only notice whether the client leaves."""
        ended = False
        while True:
            message = await self._message(wait=not ended)
            if ended or isinstance(message, Start):
                raise ApiError(400, "this message cannot come here", param="type", code="invalid_value")
            if isinstance(message, More):
                session.add(message.text)
                self._have.engine.metrics.characters.inc(len(message.text))
            elif message.type == "flush":
                session.flush()
            else:
                session.finish()
                ended = True

    async def _send(self, session: TextSession) -> None:
        try:
            async for part in session.parts():
                if part.phones:
                    await _say(self._socket, "speech.audio.timestamps", **times(part))
                if part.audio:
                    await self._socket.send_bytes(part.audio)
        except DeepVoiceError as error:
            raise speech_error(error) from None
        await _say(self._socket, "speech.audio.done", usage=session.result.usage(session.characters))
        await self._socket.close()

    async def _message(self, wait: bool = True) -> Start | More | Signal:
        """Return the client's next message; a client that says nothing for long is dropped."""
        limit = self._have.settings.stall_timeout
        try:
            async with asyncio.timeout(limit if wait else None):
                text = await self._inbox.take()
        except TimeoutError:
            raise ApiError(408, f"no message came for {limit:g} seconds", code="timeout") from None
        try:
            return Message.validate_python(json.loads(text))
        except ValidationError as error:
            raise validation_error(error, skip=1) from None
        except (ValueError, RecursionError):
            raise ApiError(400, "the message is not a JSON object", code="invalid_json") from None


def _same_origin(socket: WebSocket, allowed: tuple[str, ...]) -> bool:
    """Whether a browser may connect: from our own page, or from an origin of the settings."""
    origin = socket.headers.get("origin")
    if origin is None or "*" in allowed or origin in allowed:
        return True
    return origin.partition("://")[2] == socket.headers.get("host")


async def _say(socket: WebSocket, kind: str, **fields: Any) -> None:
    """Send one JSON message, if the client is still there."""
    body: Mapping[str, Any] = {"type": kind, **fields}
    if socket.application_state is WebSocketState.CONNECTED and socket.client_state is WebSocketState.CONNECTED:
        try:
            await socket.send_text(json.dumps(body, separators=(",", ":")))
        except (RuntimeError, WebSocketDisconnect):
            return
