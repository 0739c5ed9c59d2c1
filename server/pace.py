"""How far each stream is ahead of its listener, so that those who have enough let others go first."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deepvoice.server.bridge import Bridge

_PLENTY = 10.0  # seconds of speech sent beyond what can have been heard
_SCARCE = 1.0
_REST = 0.02  # seconds


class Pace:
    """One stream: speech made against time passed since its first sound."""

    def __init__(self, bridge: Bridge[Any], others: "Paces") -> None:
        self._bridge = bridge
        self._others = others
        self._begun: float | None = None
        self._spoken = 0.0

    def ahead(self) -> float:
        """Return the seconds of speech made beyond what can have been heard."""
        return 0.0 if self._begun is None else self._spoken - (time.perf_counter() - self._begun)

    def is_in_need(self) -> bool:
        """Whether its listener may soon hear nothing; one that does not read needs nothing."""
        return self.ahead() < _SCARCE and not self._bridge.is_full()

    def spoke(self, seconds: float) -> None:
        """Count speech; in the stream's thread. A stream far ahead rests while another is in need.

        Raises AbandonedError when nobody listens any more.
        """
        if self._begun is None:
            self._begun = time.perf_counter()
        self._spoken += seconds
        self._bridge.check()
        while self.ahead() > _PLENTY and self._others.is_any_in_need(self):
            self._bridge.rest(_REST)
            self._bridge.check()


class Paces:
    """The streams of a server."""

    def __init__(self) -> None:
        self._all: set[Pace] = set()

    @contextmanager
    def stream(self, bridge: Bridge[Any]) -> Iterator[Pace]:
        """Count a stream in while the block runs."""
        pace = Pace(bridge, self)
        self._all.add(pace)
        try:
            yield pace
        finally:
            self._all.discard(pace)

    def is_any_in_need(self, but: Pace) -> bool:
        """Whether another stream than this one is in need."""
        return any(pace is not but and pace.is_in_need() for pace in self._all.copy())
