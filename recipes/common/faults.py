"""What ends a training run, each with what to do about it."""

import errno
from collections.abc import Mapping
from typing import Any

from deepvoice.errors import TrainingError


class NotFiniteError(TrainingError, FloatingPointError):
    """Gradients stayed unusable, or the weights are not numbers."""


class DataError(TrainingError, ValueError):
    """The data of a run are missing, damaged, too little, or do not fit together."""


class DamagedCheckpointError(TrainingError):
    """A checkpoint cannot be read, or its hash does not fit its contents."""


class ForeignCheckpointError(TrainingError, ValueError):
    """A checkpoint was made for other features, phones or sizes."""


class LostPeerError(TrainingError, ConnectionError):
    """Another process of the run has gone, or never came."""


class DiskFullError(TrainingError, OSError):
    """A checkpoint was not written, for want of space."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.errno = errno.ENOSPC

    def __str__(self) -> str:
        return str(self.args[0])


def differences(found: Any, wanted: Any, where: str = "") -> list[str]:
    """Return a line for each plain value that differs between two trees of them; keys `found` lacks are skipped."""
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        lines = []
        for key, value in wanted.items():
            if key in found:
                lines += differences(found[key], value, f"{where}.{key}" if where else str(key))
        return lines
    if isinstance(found, list | tuple) and isinstance(wanted, list | tuple) and len(found) == len(wanted):
        return [
            line
            for i, (a, b) in enumerate(zip(found, wanted, strict=True))
            for line in differences(a, b, f"{where}[{i}]")
        ]
    return [] if found == wanted else [f"{where}: {_short(found)} in the checkpoint, {_short(wanted)} here"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
