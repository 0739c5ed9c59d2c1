"""A progress bar with ETA on standard error; a line every 10 s where standard error is not a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

T = TypeVar("T")


def format_seconds(seconds: float) -> str:
    """Write a duration as h:mm:ss."""
    whole = max(0, int(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def progress(items: Iterable[T], label: str, total: int = 0) -> Iterator[T]:
    """Yield items and show how many are done and the time left; total: their number where they have no length."""
    total = len(items) if isinstance(items, Sized) else total
    start = shown = time.monotonic()
    terminal = sys.stderr.isatty()
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if done == total or now - shown >= (0.2 if terminal else 10.0):
            shown = now
            left = (now - start) / done * (total - done) if total else 0.0
            text = f"{label} {done}/{total or '?'} elapsed {format_seconds(now - start)} left {format_seconds(left)}"
            sys.stderr.write(f"\r{text}\x1b[K" if terminal and done != total else f"{text}\n")
            sys.stderr.flush()
