"""Audio files and streams in every format of `deepvoice.audio.formats`, written piece by piece, complete or not at all.

A writer takes float32 samples in [-1, 1] as they are made. A file appears under its name only when it is complete: the
bytes go to a hidden file beside it first, which is renamed at the end and removed on any error.
"""

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.encoders import Encoder, open_encoder, to_pcm16, wav_header
from deepvoice.audio.formats import FORMATS, TABLE, lookup
from deepvoice.errors import AudioError

_SUFFIXES = tuple(name for name in FORMATS if TABLE[name].content_type != "audio/wav" or name == "wav")
_KEPT_NAME = 40  # characters, of up to 4 bytes, of the name in that of the unfinished file: 255 bytes are the limit


class AudioWriter(Protocol):
    """Takes samples in order."""

    def write(self, samples_T: NDArray[np.float32]) -> None:
        """Append samples, float32 [T]; values outside [-1, 1] are clipped."""


def format_of(path: Path | str, explicit: str | None = None) -> str:
    """Return the format name, from `explicit` or else from the file's suffix; an unknown one raises AudioError."""
    if not isinstance(path, (str, Path)):
        raise AudioError(f"the path is {path!r}; expected a string or a Path, such as 'speech.wav'")
    if not isinstance(explicit, (str, type(None))):
        raise AudioError(f"the format is {explicit!r}; expected a string such as 'flac', or None for the suffix")
    name = explicit if explicit is not None else Path(path).suffix.removeprefix(".")
    known = lookup(name)
    if known is None:
        what = f"the format {name!r}" if name else f"{str(path)!r} has no suffix, so its format"
        raise AudioError(f"{what} is unknown; use a name ending in one of .{' .'.join(_SUFFIXES)}, or name the format")
    return known


@contextlib.contextmanager
def open_writer(
    path: Path | str, sample_rate: int, file_format: str | None = None, *, rate: int | None = None
) -> Iterator[AudioWriter]:
    """Write an audio file that appears under its name only when the block ends without an error.

    path: the file; devices and pipes are written in place
    sample_rate: of the samples that will be written, Hz
    file_format: one of FORMATS; None takes it from the suffix
    rate: of the file, from 8000 to 48000 Hz; None is what the format usually has
    Raises AudioError for an unknown format or rate, an unwritable folder, a full disk.
    """
    name = format_of(path, file_format)
    with _audio_errors(path):
        mode = _existing_mode(Path(path))
        if (mode is not None and stat.S_ISDIR(mode)) or str(path).endswith(("/", os.sep)):
            raise AudioError(f"{path} is a folder; name a file in it, such as {Path(path) / ('speech.' + name)}")
        if mode is not None and not stat.S_ISREG(mode):
            # by the name given: that of a pipe behind /dev/stdout resolves to none
            with (
                Path(path).open("wb", buffering=0) as handle,
                open_stream(handle, sample_rate, name, rate=rate) as writer,
            ):
                yield writer
            return
        with replacing(path) as temporary, _file_writer(temporary, sample_rate, name, rate) as writer:
            yield writer


@contextlib.contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Give a new hidden file beside `path`, which takes its place when the block ends and vanishes on an error.

    A link keeps its place and a file its permissions. The operating system's errors pass.
    """
    target = Path(os.path.realpath(path))
    mode = _existing_mode(target)
    temporary = target.with_name(f".{target.name[:_KEPT_NAME]}.{secrets.token_hex(4)}.part")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def open_stream(
    handle: BinaryIO, sample_rate: int, file_format: str, num_samples: int | None = None, *, rate: int | None = None
) -> Iterator[AudioWriter]:
    """Write audio to an open binary stream that may not be able to seek, as it is made.

    num_samples: how many samples will be written, at `sample_rate`; headers then name the length, or else leave it open
    rate: as for `open_writer`
    """
    encoder = open_encoder(file_format, sample_rate, rate, num_samples)
    with contextlib.closing(encoder):
        _put(handle, encoder.write(np.zeros(0, np.float32)))  # a header that is ready goes out before any work
        yield _EncodedStream(encoder, handle)
        _put(handle, encoder.finish())
        handle.flush()


class _EncodedStream:
    """Samples through an encoder into a binary stream."""

    def __init__(self, encoder: Encoder, handle: BinaryIO) -> None:
        self._encoder, self._handle = encoder, handle

    def write(self, samples_T: NDArray[np.float32]) -> None:
        _put(self._handle, self._encoder.write(samples_T))


def _put(handle: BinaryIO, data: bytes) -> None:
    """Write all of it: an unbuffered stream may take a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[handle.write(rest) :]


@contextlib.contextmanager
def _file_writer(path: Path, sample_rate: int, file_format: str, rate: int | None) -> Iterator[AudioWriter]:
    """Write to a regular file, in place; headers name the true length."""
    encoder = open_encoder(file_format, sample_rate, rate, path=str(path))
    with contextlib.closing(encoder), path.open("r+b") as handle:
        yield _EncodedStream(encoder, handle)
        _put(handle, encoder.finish())
        for offset, data in encoder.patches:
            handle.seek(offset)
            _put(handle, data)


def _existing_mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _audio_errors(path: Path | str) -> Iterator[None]:
    """Turn the operating system's errors about an output into AudioError with a remedy; broken pipes pass."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise AudioError(f"cannot write {path}: its folder does not exist; create it first") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise AudioError(f"cannot write {path}: {reason}; choose a writable place with free space") from None


def binary_stdout() -> BinaryIO:
    """Return stdout for bytes; on Windows its text mode would change line ends inside the audio."""
    return sys.stdout.buffer


__all__ = [
    "FORMATS",
    "AudioWriter",
    "binary_stdout",
    "format_of",
    "open_stream",
    "open_writer",
    "replacing",
    "to_pcm16",
    "wav_header",
]
