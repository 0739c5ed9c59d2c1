"""What every request passes on its way in: an id, the key, limits on size and time, and the line in the log."""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepvoice.server.errors import ApiError, BrokenOffError, shown
from deepvoice.server.logs import log
from deepvoice.server.metrics import Metrics
from deepvoice.server.settings import Settings, hosts

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OPEN = ("/", "/health", "/ready")  # paths without a key; so are those below /static/
_QUIET = ("/health", "/ready", "/metrics")  # paths that the log mentions only at level debug
_DRAIN = 64 << 20  # bytes of a body over the limit that are read and dropped, so that the client sees the answer
_DRAIN_SECONDS = 5.0


@dataclass(slots=True)
class ServerState:
    """What middleware, handlers and the process share."""

    draining: bool = False
    requests: int = 0  # under way
    key_hashes: list[bytes] = field(default_factory=list)

    def set_keys(self, keys: tuple[str, ...]) -> None:
        """Keep hashes of the API keys: equal lengths make the comparison constant in time."""
        self.key_hashes = [hashlib.sha256(key.encode()).digest() for key in keys]

    def allows(self, key: str) -> bool:
        """Whether the key is one of ours; every key is compared, whatever the result."""
        found = hashlib.sha256(key.encode("utf-8", "replace")).digest()
        matches = [hmac.compare_digest(found, known) for known in self.key_hashes]
        return not matches or any(matches)


class Gate:
    """The outermost layer: nothing below it can leave a client without an answer or the log without a line."""

    def __init__(self, app: ASGIApp, *, settings: Settings, state: ServerState, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._state = state
        self._metrics = metrics
        self._hosts = hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or WebSocket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else f"req_{secrets.token_hex(12)}"
        entry: dict[str, Any] = {"request_id": request_id}
        scope.setdefault("state", {})["log"] = entry
        if scope["type"] == "websocket":
            if not self._known_host(headers):
                await send({"type": "websocket.close", "code": 1008})
                return
            self._require_key_later(scope, headers)
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as GET; what is below the app leaves the body out
            scope = {**scope, "method": "GET"}
        exchange = _Exchange(scope, receive, send, request_id, self._settings)
        started = time.perf_counter()
        self._state.requests += 1
        try:
            self._admit(scope, headers)
            await self._app(scope, exchange.receive, exchange.send)
        except ApiError as error:
            if exchange.status:
                raise BrokenOffError from None
            await exchange.answer(error)
        except BrokenOffError:
            raise
        except Exception as error:  # noqa: BLE001 - the last resort: whatever it is, the client gets an error object
            log("internal error", level=40, error=error, request_id=request_id)
            if exchange.status:
                raise BrokenOffError from None
            await exchange.answer(ApiError(500, f"internal error; the log has it under {request_id}", code="internal"))
        finally:
            self._state.requests -= 1
            self._note(scope, exchange, entry, time.perf_counter() - started)

    def _admit(self, scope: Scope, headers: Headers) -> None:
        path, settings = scope["path"], self._settings
        if not self._known_host(headers):
            message = f"this server is not {shown(headers.get('host', ''))}; the setting allowed_host names what it is"
            raise ApiError(403, message, code="host_not_allowed", headers={"connection": "close"})
        if self._state.draining and path not in _QUIET:
            message = "the server is shutting down; send the request again"
            raise ApiError(503, message, code="shutting_down", headers={"retry-after": "2", "connection": "close"})
        if self._state.requests > settings.max_connections and path not in _QUIET:
            message = f"{settings.max_connections} requests are under way; try again"
            raise ApiError(503, message, code="too_many_connections", headers={"retry-after": "1"})
        if not self._open(scope) and not self._state.allows(bearer(headers)):
            message = "the API key is missing or wrong; send it as Authorization: Bearer KEY"
            raise ApiError(401, message, code="invalid_api_key", headers={"www-authenticate": "Bearer"})

    def _known_host(self, headers: Headers) -> bool:
        """Whether a request is addressed to this server, by a name without the port; browsers always say one."""
        host = headers.get("host")
        if host is None or not self._hosts:
            return True
        name = host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        return name.strip("[]").rstrip(".").lower() in self._hosts

    def _open(self, scope: Scope) -> bool:
        """Whether a request needs no key: the page, the probes, and the questions browsers ask before a request."""
        return scope["path"] in _OPEN or scope["path"].startswith("/static/") or scope["method"] == "OPTIONS"

    def _require_key_later(self, scope: Scope, headers: Headers) -> None:
        """Browsers cannot send headers with a WebSocket, so its first message may bring the key."""
        scope["state"]["authorised"] = self._state.allows(bearer(headers))

    def _note(self, scope: Scope, exchange: "_Exchange", entry: MutableMapping[str, Any], seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        status = exchange.status or 499  # as nginx has it: the client left before the answer
        self._metrics.requests.labels(route, str(status)).inc()
        if status >= 400 and status != 499:
            self._metrics.errors.labels(str(status)).inc()
        client = (scope.get("client") or ("",))[0]
        facts = {"method": scope["method"], "path": scope["path"][:200], "status": status, "client": client}
        level = 10 if scope["path"] in _QUIET else 20
        log("request", level=level, **entry, **facts, seconds=round(seconds, 4), bytes=exchange.sent)


class _Exchange:
    """One request and its answer: counts bytes both ways and holds the limits."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, request_id: str, settings: Settings) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._request_id = request_id
        self._limit = settings.max_body
        self._timeout = settings.receive_timeout
        self._headers = Headers(scope=scope)
        self._deadline = asyncio.get_running_loop().time() + self._timeout
        self._read = 0
        self._complete = False  # the body has been read
        self.status = 0
        self.sent = 0

    async def receive(self) -> Message:
        """Return the next part of the body; ApiError when it is too large or too slow."""
        if self._complete:
            return await self._receive()  # only a disconnect can come
        declared = self._headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > self._limit:
            await self._refuse_body()
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            text = f"the body did not arrive within {self._timeout:g} seconds"
            raise ApiError(408, text, code="timeout", headers={"connection": "close"}) from None
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._read > self._limit:
                await self._refuse_body()
        return message

    async def _refuse_body(self) -> None:
        """Raise 413, after reading what a well-meaning client is still sending, or it would not see the answer."""
        waits = self._headers.get("expect", "").lower() == "100-continue" and not self._read
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not waits and not self._complete and self._read < _DRAIN:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        break
                    self._read += len(message.get("body", b""))
                    self._complete = not message.get("more_body", False)
        except TimeoutError:
            pass
        text = f"the body has more than {self._limit} bytes, the limit of this server"
        raise ApiError(413, text, code="body_too_large", headers={"connection": "close"})

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on, with our headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self._request_id
            headers["x-content-type-options"] = "nosniff"
        elif message["type"] == "http.response.body":
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def answer(self, error: ApiError) -> None:
        """Send an error as the whole answer."""
        await error.response()(self._scope, self.receive, self.send)


def bearer(headers: Headers) -> str:
    """Return the key of a request, from Authorization: Bearer or from x-api-key."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
