"""The server's own pronunciations: a file that every worker reads, edited through the API, replaced atomically."""

import contextlib
import fcntl
import json
import os
import threading
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deepvoice.audio.io import replacing
from deepvoice.errors import ConfigError, DeepVoiceError, TextError
from deepvoice.server.errors import ApiError
from deepvoice.server.logs import log
from deepvoice.text.user_lexicon import UserLexicon

Entries = dict[str, Any]  # written form -> pronunciation, as `UserLexicon.from_mapping` takes them


class LexiconStore:
    """Words and how they are said. Safe for any number of threads and processes with the same file."""

    def __init__(self, path: Path | None, most: int) -> None:
        """Read the file, if there is one; raises ConfigError when it cannot be used.

        path: TOML as `UserLexicon.load` reads it; None keeps the entries in memory only
        most: entries that it may have
        """
        self._path = path
        self._most = most
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None  # of the file: inode, size and time of the last change
        self._entries: Entries = {}
        self._lexicon: UserLexicon | None = None
        self._reason = ""  # why the file could not be read the last time
        try:
            self._read()
        except DeepVoiceError as error:
            raise ConfigError(f"the lexicon {path} cannot be used: {error}") from None

    def entries(self) -> Entries:
        """Return all entries."""
        with self._lock:
            self._refresh()
            return dict(self._entries)

    def merged(self, entries: Mapping[str, Any] | None) -> UserLexicon | None:
        """Return the lexicon for a request with entries of its own, which win; None when there is nothing in it.

        Raises ApiError for a pronunciation that is none.
        """
        with self._lock:
            self._refresh()
            ours = self._lexicon
        if not entries:
            return ours
        own = _parse(entries, "lexicon")
        return own if ours is None else ours.merged(own)

    def update(self, entries: Mapping[str, Any]) -> Entries:
        """Add or replace entries and return all. Raises ApiError for a pronunciation that is none, or too many."""
        _parse(entries, "entries")
        return self._change({**entries}, ())

    def remove(self, word: str) -> Entries:
        """Take one entry out and return the others. Raises ApiError 404 when it is not there."""
        return self._change({}, (word,))

    def _change(self, added: Mapping[str, Any], removed: tuple[str, ...]) -> Entries:
        with self._lock, self._saving(), self._alone():
            self._read()
            for word in removed:
                if word not in self._entries:
                    raise ApiError(404, f"the lexicon has no entry {word[:80]!r}", param="word", code="unknown_word")
            entries = {word: said for word, said in {**self._entries, **added}.items() if word not in removed}
            if len(entries) > self._most:
                message = f"the lexicon would have {len(entries)} entries; the limit of this server is {self._most}"
                raise ApiError(400, message, param="entries", code="lexicon_full")
            if self._path is not None:
                self._write(entries)
            self._take(entries)
            return dict(entries)

    @contextlib.contextmanager
    def _saving(self) -> Iterator[None]:
        """Say what is wrong with the file when a change is not possible; nothing has been changed then."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            log("the lexicon cannot be saved", level=40, reason=reason)
            message = f"the lexicon cannot be saved ({reason}); nothing was changed"
            raise ApiError(507, message, code="not_saved") from None
        except DeepVoiceError as error:
            raise ApiError(409, f"{error}; until then it cannot be changed", code="unreadable_lexicon") from None

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from changing the file."""
        if self._path is None:
            yield
            return
        lock = os.open(self._path.with_name(f".{self._path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _refresh(self) -> None:
        """Read the file again when it has changed. One that has become unreadable leaves the entries as they were."""
        try:
            self._read()
            self._reason = ""
        except DeepVoiceError as error:
            if self._reason != str(error):
                self._reason = str(error)
                log("the lexicon cannot be read again; its last entries stay", level=40, reason=self._reason)

    def _read(self) -> None:
        """Read the file if it has changed. Raises TextError when that is not possible."""
        if self._path is None:
            return
        try:
            found = self._path.stat()
            seen = (found.st_ino, found.st_size, found.st_mtime_ns)
            if seen == self._seen:
                return
            table = tomllib.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            table, seen = {}, None
        except (OSError, ValueError, RecursionError) as error:
            raise TextError(f"{self._path.name} cannot be read: {error}; mend or remove it") from None
        self._take(table)
        self._seen = seen

    def _take(self, entries: Mapping[str, Any]) -> None:
        self._lexicon = UserLexicon.from_mapping(entries) if entries else None
        self._entries = dict(entries)

    def _write(self, entries: Mapping[str, Any]) -> None:
        """Replace the file: a reader sees the old one or the new one."""
        assert self._path is not None
        lines = [f"{_toml(word)} = {_toml(said)}" for word, said in sorted(entries.items())]
        with replacing(self._path) as temporary, temporary.open("w", encoding="utf-8") as handle:
            handle.writelines(f"{line}\n" for line in lines)
            handle.flush()
            os.fsync(handle.fileno())
        found = self._path.stat()
        self._seen = (found.st_ino, found.st_size, found.st_mtime_ns)


def _toml(value: Any) -> str:
    """Return a value of JSON as one of TOML; strings differ in one character only."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse(entries: Mapping[str, Any], param: str) -> UserLexicon:
    try:
        return UserLexicon.from_mapping(entries)
    except DeepVoiceError as error:
        raise ApiError(400, str(error), param=param, code="invalid_pronunciation") from None
