"""Logs as one JSON object a line on standard error. Texts are never written unless the settings ask for it."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

LOGGER = logging.getLogger("deepvoice.server")
_OURS = ("deepvoice.server", "uvicorn", "uvicorn.error", "uvicorn.access", "wyoming", "asyncio")


class JsonFormatter(logging.Formatter):
    """One JSON object a record, with the fields that were passed as `extra={"fields": {...}}`."""

    def __init__(self, log_text: bool) -> None:
        super().__init__()
        self._log_text = log_text

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        entry.update(fields)
        if record.exc_info and record.exc_info[0] is not None:
            entry["exception"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            entry["frames"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
            if self._log_text:  # the message of an exception may quote the text
                entry["message"] = str(record.exc_info[1])
        return json.dumps(entry, ensure_ascii=True, default=str)


def configure(level: str, log_text: bool) -> None:
    """Send the logs of the server and of the libraries below it to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(log_text))
    handler.addFilter(_is_news)
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").handlers = []  # the access line is ours: it has the request's id


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line says something: connections that we break off are no errors of the server."""
    return not (record.exc_info and record.exc_info[0] is not None and record.exc_info[0].__name__ == "BrokenOffError")


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write one line."""
    LOGGER.log(level, event, exc_info=error, extra={"fields": fields})
