"""The Wyoming protocol of Home Assistant: one connection, events both ways, text in pieces if wanted."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event, Eventable, async_read_event, async_write_event
from wyoming.info import Attribution, Describe, Info, TtsProgram, TtsVoice
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

from deepvoice import __version__
from deepvoice.errors import DeepVoiceError
from deepvoice.server.answers import speech_error
from deepvoice.server.bridge import Bridge
from deepvoice.server.engine import DEFAULT, ServedVoice
from deepvoice.server.errors import ApiError
from deepvoice.server.logs import log
from deepvoice.server.protocol import drop, limit_buffer
from deepvoice.server.routes import Context
from deepvoice.server.session import TextSession
from deepvoice.server.settings import split_address
from deepvoice.server.speaking import AHEAD_SECONDS, Part, Result, Task, speak

_QUEUED = 64  # events of a client that may wait
_FORMAT = "pcm"
_CREDIT = Attribution(name="deepvoice", url="https://github.com/deepvoice/deepvoice")


@contextlib.asynccontextmanager
async def wyoming_server(have: Context) -> AsyncIterator[None]:
    """Serve the protocol while the block runs."""
    host, port = split_address(have.settings.wyoming)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _Connection(have, reader, writer).run()

    shared = have.settings.workers > 1
    server = await asyncio.start_server(serve, host, port, reuse_port=shared or None, limit=have.settings.max_body)
    log("listening", protocol="wyoming", host=host, port=server.sockets[0].getsockname()[1])
    async with server:
        have.wyoming_port = server.sockets[0].getsockname()[1]
        yield


class _Bounded:
    """A reader for the package `wyoming`, which would believe any length that a client declares."""

    def __init__(self, reader: asyncio.StreamReader, limit: int) -> None:
        self._reader = reader
        self._limit = limit

    async def readline(self) -> bytes:
        return await self._reader.readline()

    async def readexactly(self, count: int) -> bytes:
        if not isinstance(count, int) or count > self._limit:
            raise ValueError(f"an event has {count} bytes; the limit is {self._limit}")
        return await self._reader.readexactly(count)


class _Connection:
    """One client. Its events are handled one after the other, but its leaving is noticed at once."""

    def __init__(self, have: Context, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._have = have
        self._reader: Any = _Bounded(reader, have.settings.max_body)
        self._writer = writer
        self._events: asyncio.Queue[Event] = asyncio.Queue(_QUEUED)
        self._session: TextSession | None = None
        self._sender: asyncio.Task[None] | None = None
        self._deadline = 0.0  # of the text that comes in pieces, by the loop's clock

    async def run(self) -> None:
        """Serve until the client leaves."""
        worker = asyncio.create_task(self._work())
        limit_buffer(self._writer.transport)
        try:
            while (event := await async_read_event(self._reader)) is not None and not worker.done():
                await self._events.put(event)
        except (OSError, EOFError, AttributeError, TypeError, KeyError, ValueError, RecursionError):
            pass  # what is no event ends the connection
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
            self._writer.close()

    async def _work(self) -> None:
        try:
            while True:
                try:
                    event = await self._next()
                    async with asyncio.timeout(self._have.settings.request_timeout):
                        await self._handle(event)
                except ApiError as error:
                    await self._end_session()
                    await self._write(Error(text=error.message, code=error.code))
                except (KeyError, TypeError, AttributeError):
                    await self._write(Error(text=f"the event {event.type!r} lacks a field", code="invalid_event"))
        except OSError:  # it left, or it does not read or say anything
            drop(self._writer.transport)
        except Exception as error:  # noqa: BLE001 - the last resort, as for requests
            log("internal error", level=40, error=error, protocol="wyoming")
            drop(self._writer.transport)
        finally:
            await self._end_session()

    async def _next(self) -> Event:
        """Return the next event. In a text that comes in pieces the client has little time: others wait for its place.

        Raises ApiError when that text cannot be spoken or takes too long, OSError when the client does nothing.
        """
        settings, loop = self._have.settings, asyncio.get_running_loop()
        waiting = asyncio.create_task(self._events.get())
        watched: set[asyncio.Task[Any]] = {waiting}
        limit = settings.request_timeout
        if self._sender is not None:
            watched.add(self._sender)
            limit = min(settings.stall_timeout, max(0.0, self._deadline - loop.time()))
        try:
            await asyncio.wait(watched, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if self._sender is not None and self._sender.done():
                self._sender.result()
            if waiting.done():
                return waiting.result()
        finally:
            waiting.cancel()
        if self._sender is None:
            raise TimeoutError
        raise ApiError(408, f"no event came for {limit:g} seconds", code="timeout")

    async def _handle(self, event: Event) -> None:
        if Describe.is_type(event.type):
            await self._write(self._info())
        elif Ping.is_type(event.type):
            await self._write(Pong(text=Ping.from_event(event).text))
        elif SynthesizeStart.is_type(event.type):
            await self._begin(SynthesizeStart.from_event(event))
        elif SynthesizeChunk.is_type(event.type) and self._session is not None:
            text = SynthesizeChunk.from_event(event).text
            self._session.add(text)
            self._have.engine.metrics.characters.inc(len(text))
        elif SynthesizeStop.is_type(event.type) and self._session is not None:
            self._session.finish()
            assert self._sender is not None
            await self._sender
            await self._end_session()
            await self._write(SynthesizeStopped())
        elif Synthesize.is_type(event.type) and self._session is None:  # in a stream it repeats the text, for others
            await self._speak(Synthesize.from_event(event))

    def _info(self) -> Info:
        voices = self._have.engine.voices.table.values()
        common: dict[str, Any] = {"attribution": _CREDIT, "installed": True, "version": __version__}
        return Info(
            tts=[
                TtsProgram(
                    name="deepvoice",
                    description="Small neural voice on a CPU",
                    voices=[
                        TtsVoice(name=voice.name, description=voice.name, languages=[voice.manifest.language], **common)
                        for voice in voices
                    ],
                    supports_synthesize_streaming=True,
                    **common,
                )
            ]
        )

    def _voice(self, wanted: SynthesizeVoice | None) -> ServedVoice:
        return self._have.engine.voice((wanted.name if wanted else None) or DEFAULT)

    async def _speak(self, request: Synthesize) -> None:
        """Speak a text that is there."""
        limit = self._have.settings.max_characters
        if len(request.text) > limit:
            raise ApiError(400, f"the text has more than {limit} characters", code="string_above_max_length")
        options = await self._have.lexicon_option()
        if request.text_format == "ssml":
            options["ssml"] = True
        task = Task(voice=self._voice(request.voice), text=request.text, options=options, format=_FORMAT)
        engine, result, arrived = self._have.engine, Result(), time.perf_counter()
        engine.metrics.characters.inc(len(request.text))
        async with engine.turns.turn():
            bridge: Bridge[Part] = Bridge(AHEAD_SECONDS)
            engine.start(bridge, lambda bridge: speak(task, bridge, result, engine, arrived))
            try:
                await self._send(bridge.__aiter__(), result)
            finally:
                bridge.abandon()

    async def _begin(self, request: SynthesizeStart) -> None:
        """Begin a text that comes in pieces."""
        await self._end_session()
        if request.text_format == "ssml":
            raise ApiError(400, "SSML cannot come in pieces; send synthesize", code="invalid_value")
        voice, options = self._voice(request.voice), await self._have.lexicon_option()
        await self._have.engine.turns.enter()
        session = TextSession(
            self._have.engine,
            voice,
            options,
            file_format=_FORMAT,
            sample_rate=None,
            times=False,
            limit=self._have.settings.max_characters,
        )
        self._session = session
        self._deadline = asyncio.get_running_loop().time() + self._have.settings.request_timeout
        session.start()
        self._sender = asyncio.create_task(self._send(session.parts(), session.result))

    async def _end_session(self) -> None:
        """Stop what is being spoken, and give the turn back."""
        session, self._session = self._session, None
        if session is None:
            return
        session.close()
        sender, self._sender = self._sender, None
        assert sender is not None
        sender.cancel()
        try:
            await asyncio.gather(sender, return_exceptions=True)
        finally:  # this may be cancelled too, when the client leaves meanwhile
            self._have.engine.turns.leave()

    async def _send(self, parts: AsyncIterator[Part], result: Result) -> None:
        """Send audio; the first event waits until there is some, so that an error can come instead."""
        began, milliseconds = False, 0.0
        try:
            async for part in parts:
                if not began:
                    began = True
                    await self._write(AudioStart(rate=result.sample_rate, width=2, channels=1))
                if part.audio:
                    await self._write(
                        AudioChunk(
                            rate=result.sample_rate,
                            width=2,
                            channels=1,
                            audio=part.audio,
                            timestamp=round(milliseconds),
                        )
                    )
                    milliseconds += 500.0 * len(part.audio) / result.sample_rate
        except DeepVoiceError as error:
            raise speech_error(error) from None
        await self._write(AudioStop(timestamp=round(milliseconds)))

    async def _write(self, event: Eventable) -> None:
        async with asyncio.timeout(self._have.settings.stall_timeout):
            await async_write_event(event.event(), self._writer)
