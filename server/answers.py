"""Answers with speech in them: a stream of audio, events, or one piece with its length.

Nothing is sent before the first audio exists, so whatever is wrong with a request becomes an error object. After that
an error can only break the connection off.
"""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from deepvoice.audio import encoders
from deepvoice.errors import AudioError, ConfigError, DeepVoiceError, TextError
from deepvoice.server.bridge import Bridge, ClientLeftError, while_connected
from deepvoice.server.engine import Engine
from deepvoice.server.errors import ApiError
from deepvoice.server.logs import log
from deepvoice.server.speaking import AHEAD_SECONDS, Part, Result, Task, speak
from deepvoice.speech import Speech

_EVENTS = "text/event-stream"
_NO_BUFFER = {"cache-control": "no-store", "x-accel-buffering": "no"}


class SpeechAnswer(Response):
    """Speaks a task while its client listens; all of the work happens when the answer is sent."""

    def __init__(
        self, engine: Engine, task: Task, *, sse: bool, timeout: float, entry: dict[str, Any], headers: dict[str, str]
    ) -> None:
        super().__init__(headers=headers)
        self._engine = engine
        self._task = task
        self._sse = sse
        self._timeout = timeout
        self._entry = entry
        self._extra = headers
        self._result = Result()
        self._began = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        arrived = time.perf_counter()
        try:
            async with while_connected(receive), asyncio.timeout(self._timeout), self._engine.turns.turn():
                self._entry["waited"] = round(time.perf_counter() - arrived, 4)
                await self._speak(arrived, send, scope, receive)
        except ClientLeftError:
            self._engine.metrics.cancellations.inc()
            self._entry["cancelled"] = True
        except TimeoutError:
            self._fail(ApiError(504, f"the speech was not ready within {self._timeout:g} s", code="timeout"))
        except DeepVoiceError as error:
            self._fail(speech_error(error))
        finally:
            self._entry["audio_seconds"] = round(self._result.seconds, 3)

    async def _speak(self, arrived: float, send: Send, scope: Scope, receive: Receive) -> None:
        bridge: Bridge[Part] = Bridge(AHEAD_SECONDS)
        task, result, engine = self._task, self._result, self._engine
        engine.start(bridge, lambda bridge: speak(task, bridge, result, engine, arrived))
        try:
            if self._sse:
                await self._send_stream(self._events(bridge), _EVENTS, send)
            elif task.times:
                await self._send_timed(bridge, send, scope, receive)
            elif task.whole:
                audio = b"".join([part.audio async for part in bridge])
                answer = Response(audio, media_type=encoders.CONTENT_TYPES[task.format], headers=self._extra)
                await answer(scope, receive, send)
            else:
                chunks = (part.audio async for part in bridge if part.audio)
                await self._send_stream(chunks, encoders.CONTENT_TYPES[task.format], send)
        finally:
            bridge.abandon()

    async def _send_stream(self, chunks: AsyncIterator[bytes], content_type: str, send: Send) -> None:
        """Send chunks as they come; the status goes out with the first."""
        async for chunk in chunks:
            if not self._began:
                self._began = True
                answer = Response(media_type=content_type, headers={**self._extra, **_NO_BUFFER})
                headers = [item for item in answer.raw_headers if item[0] != b"content-length"]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self, bridge: Bridge[Part]) -> AsyncIterator[bytes]:
        async for part in bridge:
            if part.phones:
                yield event("speech.audio.timestamps", **times(part))
            if part.audio:
                yield event("speech.audio.delta", audio=base64.b64encode(part.audio).decode())
        yield event("speech.audio.done", usage=self._result.usage(len(self._task.text)))

    async def _send_timed(self, bridge: Bridge[Part], send: Send, scope: Scope, receive: Receive) -> None:
        audio = b"".join([part.audio async for part in bridge])
        result = self._result
        body = {
            "audio": base64.b64encode(audio).decode(),
            "format": self._task.format,
            "sample_rate": result.sample_rate,
            "seconds": round(result.seconds, 6),
            "seed": result.seed,
            "usage": result.usage(len(self._task.text)),
            **times(result),
        }
        encode: Callable[[], JSONResponse] = lambda: JSONResponse(body, headers=self._extra)  # noqa: E731
        await (await self._engine.call(encode))(scope, receive, send)

    def _fail(self, error: ApiError) -> NoReturn:
        if self._began:
            log("speech broke off", level=30, request_id=self._entry.get("request_id"), reason=error.code)
        raise error


def event(kind: str, **fields: Any) -> bytes:
    """Return one server-sent event."""
    body = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return f"event: {kind}\ndata: {body}\n\n".encode()


def times(part: Part | Result | Speech) -> dict[str, Any]:
    """Return words and phones for JSON."""
    return {
        "words": [
            {"text": word.text, "start": round(word.start, 4), "end": round(word.end, 4), "span": list(word.span)}
            for word in part.words
        ],
        "phones": [
            {
                "symbol": phone.symbol,
                "start": round(phone.start, 4),
                "end": round(phone.end, 4),
                "f0": round(phone.f0, 2),
            }
            for phone in part.phones
        ],
    }


def speech_error(error: DeepVoiceError) -> ApiError:
    """Return what a refusal of the package means for a request."""
    if isinstance(error, TextError):
        return ApiError(400, str(error), param="input", code="invalid_text")
    if isinstance(error, ConfigError):
        return ApiError(400, str(error), code="invalid_value")
    if isinstance(error, AudioError):
        return ApiError(400, str(error), param="response_format", code="format_unavailable")
    log("the voice failed", level=40, error=error)
    return ApiError(500, "the voice failed; the log of the server says why", code="internal")
