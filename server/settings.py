"""What a server is told: by flags, by environment variables, or by the caller of `create_app`.

Every field is a flag of `deepvoice serve` (`--max-body`) and a variable (`DEEPVOICE_MAX_BODY`); a flag wins.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from deepvoice.errors import ConfigError

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def _setting(default: Any, text: str, low: float | None = None, high: float | None = None) -> Any:
    return field(default=default, metadata={"help": text, "low": low, "high": high})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to serve. Values outside their limits raise ConfigError."""

    host: str = _setting("127.0.0.1", "address to listen on; 0.0.0.0 for all (set --api-key then)")
    port: int = _setting(8080, "port to listen on; 0 takes a free one", 0, 65535)
    voice: tuple[str, ...] = _setting((), "voice to serve, by name or folder; repeatable; default: all of the package")
    api_key: tuple[str, ...] = _setting((), "key that clients must send as a bearer token; repeatable")
    cors_origin: tuple[str, ...] = _setting((), "web origin that may call the API from a browser, or *; repeatable")
    allowed_host: tuple[str, ...] = _setting(
        (), "host name that requests may be addressed to, or *; repeatable; default: this machine's names, or any"
    )
    workers: int = _setting(1, "worker processes; more than 1 adds a front process", 1, 256)
    threads: int = _setting(0, "threads that run the networks, in each worker; 0: one per core", 0, 256)
    slots: int = _setting(
        0, "requests whose samples are computed together, in each worker; 0: 16, or all that a device holds", 0, 1024
    )
    max_speaking: int = _setting(32, "requests that are worked on at a time, in each worker", 1, 1024)
    max_waiting: int = _setting(64, "requests that wait for their turn, in each worker; more are refused", 0, 65536)
    max_characters: int = _setting(4096, "longest text of a request", 1, 10_000_000)
    max_body: int = _setting(1 << 20, "most bytes of a request's body", 1024, 1 << 30)
    max_connections: int = _setting(1000, "most requests under way at a time, in each worker", 1, 1_000_000)
    max_lexicon: int = _setting(10_000, "most entries of the lexicon of the server", 0, 10_000_000)
    request_timeout: float = _setting(900.0, "most seconds for one request", 0.1, 86400)
    receive_timeout: float = _setting(20.0, "most seconds for a client to send headers, and then its body", 0.1, 3600)
    stall_timeout: float = _setting(30.0, "seconds until a client that reads nothing is dropped", 0.1, 3600)
    shutdown_timeout: float = _setting(60.0, "seconds that requests under way have to end at shutdown", 0, 3600)
    strict: bool = _setting(False, "refuse requests with unknown fields instead of naming them in a header")
    lexicon: str = _setting("", "file of the server's pronunciations (TOML), edited through the API")
    log_text: bool = _setting(False, "write the texts into the log")
    log_level: str = _setting("info", "debug, info, warning or error")
    wyoming: str = _setting("", "also serve the Wyoming protocol at HOST:PORT (Home Assistant)")

    def __post_init__(self) -> None:
        for item in fields(self):
            value, low, high = getattr(self, item.name), item.metadata["low"], item.metadata["high"]
            if low is not None and not low <= value <= high:
                raise ConfigError(f"{item.name} is {value!r}; expected a number from {low:g} to {high:g}")
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise ConfigError(f"log_level is {self.log_level!r}; expected debug, info, warning or error")
        if any(len(key) < 8 or not key.isascii() or not key.isprintable() for key in self.api_key):
            raise ConfigError("an API key is too short or has odd characters; use 8 or more printable ASCII characters")
        if self.wyoming:
            split_address(self.wyoming)
        if self.lexicon and not Path(self.lexicon).absolute().parent.is_dir():
            raise ConfigError(f"the folder of the lexicon {self.lexicon!r} does not exist; create it first")


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def hosts(settings: Settings) -> frozenset[str]:
    """Return the names that a request may be addressed to; empty for any.

    A server that only this machine can reach answers only to this machine's names: otherwise a web page whose own name
    is made to point here could use it as its own (DNS rebinding). Elsewhere the names are not known, so any is taken.
    """
    names = {name.lower().strip("[]") for name in settings.allowed_host}
    if "*" in names:
        return frozenset()
    listens = settings.host.lower().strip("[]")
    if not names and listens not in _LOOPBACK and not listens.startswith("127."):
        return frozenset()
    return frozenset((*names, *_LOOPBACK, listens))


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT; raises ConfigError."""
    host, _, port = address.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f"the address is {address!r}; expected HOST:PORT, such as 127.0.0.1:10200")
    return host.strip("[]") or "127.0.0.1", int(port)


def settings_from(flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return settings from flags (those that are not None) over DEEPVOICE_* variables over the defaults.

    Lists are separated by commas. Raises ConfigError that names the variable.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for item in fields(Settings):
        variable = f"DEEPVOICE_{item.name.upper()}"
        if flags is not None and flags.get(item.name) is not None:
            given = flags[item.name]
            values[item.name] = _listed(",".join(given)) if isinstance(item.default, tuple) else given
        elif environment.get(variable, "").strip():
            values[item.name] = _convert(variable, environment[variable].strip(), item.default)
    return Settings(**values)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _convert(variable: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        raise ConfigError(f"{variable} is {text!r}; expected true or false")
    if isinstance(default, tuple):
        return _listed(text)
    if isinstance(default, str):
        return text
    try:
        return type(default)(text)
    except ValueError:
        raise ConfigError(f"{variable} is {text!r}; expected a number") from None
