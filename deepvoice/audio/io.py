"""Audio files: wav, flac, mp3, ogg (Vorbis) and opus, written piece by piece and complete or not at all.

A writer takes float32 samples in [-1, 1] as they are made. A file appears under its name only when it is complete: the
bytes go to a hidden file beside it first, which is renamed at the end and removed on any error.
"""

import contextlib
import os
import secrets
import shutil
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice.errors import AudioError

if TYPE_CHECKING:
    from types import ModuleType

FORMATS = ("wav", "flac", "mp3", "ogg", "opus")
_SOUNDFILE = {  # name -> (libsndfile format, subtype)
    "flac": ("FLAC", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
}
_WAV_LIMIT = 2**32 - 1 - 64  # bytes of samples that the header's 32-bit sizes can name
_UNKNOWN_SIZE = 0xFFFFFFFF  # what a streamed wav declares when its length is not known in advance
_KEPT_NAME = 40  # characters, of up to 4 bytes, of the name in that of the unfinished file: 255 bytes are the limit
_BLOCK = 1 << 16  # samples handed to an encoder at once: libsndfile's Vorbis encoder overflows its stack on long arrays


class AudioWriter(Protocol):
    """Takes samples in order."""

    def write(self, samples_T: NDArray[np.float32]) -> None:
        """Append samples, float32 [T]; values outside [-1, 1] are clipped."""


def to_pcm16(samples_T: NDArray[np.float32]) -> NDArray[np.int16]:
    """Convert to 16-bit samples: clipped to [-1, 1], rounded, -1 -> -32767, so that nothing wraps around."""
    return np.rint(np.clip(samples_T, -1.0, 1.0) * np.float32(32767)).astype("<i2")


def wav_header(sample_rate: int, num_samples: int | None) -> bytes:
    """Return the 44 bytes before 16-bit mono samples; None declares an unknown length, for streams."""
    size = _UNKNOWN_SIZE if num_samples is None else 2 * num_samples
    riff = _UNKNOWN_SIZE if num_samples is None else 36 + size
    fields = (b"RIFF", riff, b"WAVE", b"fmt ", 16, 1, 1, sample_rate, 2 * sample_rate, 2, 16, b"data", size)
    return struct.pack("<4sI4s4sIHHIIHH4sI", *fields)


def format_of(path: Path | str, explicit: str | None = None) -> str:
    """Return the format name, from `explicit` or else from the file's suffix; an unknown one raises AudioError."""
    if not isinstance(path, (str, Path)):
        raise AudioError(f"the path is {path!r}; expected a string or a Path, such as 'speech.wav'")
    if not isinstance(explicit, (str, type(None))):
        raise AudioError(f"the format is {explicit!r}; expected a string such as 'flac', or None for the suffix")
    name = explicit if explicit is not None else Path(path).suffix.removeprefix(".")
    if name.lower() not in FORMATS:
        what = f"the format {name!r}" if name else f"{str(path)!r} has no suffix, so its format"
        raise AudioError(f"{what} is unknown; use a name ending in one of .{' .'.join(FORMATS)} or pass the format")
    return name.lower()


@contextlib.contextmanager
def open_writer(path: Path | str, sample_rate: int, file_format: str | None = None) -> Iterator[AudioWriter]:
    """Write an audio file that appears under its name only when the block ends without an error.

    path: the file; devices and pipes are written in place
    file_format: one of FORMATS; None takes it from the suffix
    Raises AudioError for an unknown format, an unwritable folder, a full disk.
    """
    name = format_of(path, file_format)
    with _audio_errors(path):
        mode = _existing_mode(Path(path))
        if (mode is not None and stat.S_ISDIR(mode)) or str(path).endswith(("/", os.sep)):
            raise AudioError(f"{path} is a folder; name a file in it, such as {Path(path) / ('speech.' + name)}")
        if mode is not None and not stat.S_ISREG(mode):
            # by the name given: that of a pipe behind /dev/stdout resolves to none
            with Path(path).open("wb", buffering=0) as handle, open_stream(handle, sample_rate, name) as writer:
                yield writer
            return
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".{target.name[:_KEPT_NAME]}.{secrets.token_hex(4)}.part")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            with _file_writer(temporary, sample_rate, name) as writer:
                yield writer
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def open_stream(
    handle: BinaryIO, sample_rate: int, file_format: str, num_samples: int | None = None
) -> Iterator[AudioWriter]:
    """Write audio to an open binary stream that may not be able to seek.

    wav goes out as it is made; its header names `num_samples`, or an unknown length when that is None. The other
    formats need to seek back, so they are encoded in a temporary file and copied when complete.
    """
    if file_format == "wav":
        handle.write(wav_header(sample_rate, num_samples))
        yield _WavStream(handle)
        handle.flush()
        return
    with tempfile.TemporaryDirectory(prefix="deepvoice-") as folder:
        encoded = Path(folder) / f"speech.{file_format}"
        with _file_writer(encoded, sample_rate, file_format) as writer:
            yield writer
        with encoded.open("rb") as source:
            shutil.copyfileobj(source, handle)
        handle.flush()


class _WavStream:
    """16-bit samples to a binary stream."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self.num_samples = 0

    def write(self, samples_T: NDArray[np.float32]) -> None:
        self.num_samples += len(samples_T)
        if 2 * self.num_samples > _WAV_LIMIT:
            raise AudioError("a wav file holds 4 GB (about 24 hours); split the text or write flac")
        data = memoryview(to_pcm16(samples_T).tobytes())
        while data:  # an unbuffered stream may take a part only
            data = data[self._handle.write(data) :]


class _EncodedFile:
    """Samples to an encoder of libsndfile."""

    def __init__(self, sound: Any, lossless: bool) -> None:
        self._sound = sound
        self._lossless = lossless

    def write(self, samples_T: NDArray[np.float32]) -> None:
        for start in range(0, len(samples_T), _BLOCK):
            block = samples_T[start : start + _BLOCK]
            self._sound.write(to_pcm16(block) if self._lossless else np.clip(block, -1.0, 1.0))


@contextlib.contextmanager
def _file_writer(path: Path, sample_rate: int, file_format: str) -> Iterator[AudioWriter]:
    """Write to a regular file, in place."""
    if file_format == "wav":
        with path.open("wb") as handle:
            handle.write(wav_header(sample_rate, 0))
            writer = _WavStream(handle)
            yield writer
            handle.seek(0)
            handle.write(wav_header(sample_rate, writer.num_samples))
        return
    soundfile = _soundfile(file_format)
    container, subtype = _SOUNDFILE[file_format]
    try:
        with soundfile.SoundFile(path, "w", sample_rate, 1, subtype, format=container) as sound:
            yield _EncodedFile(sound, file_format == "flac")
    except (soundfile.SoundFileError, AssertionError) as error:  # a short write is an assertion in soundfile
        reason = str(error) or "the file could not be written completely; is the disk full?"
        raise AudioError(f"cannot write {file_format}: {reason}") from None


def _soundfile(file_format: str) -> "ModuleType":
    """Import soundfile, only when a format needs it; its shared library may be missing on rare systems."""
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise AudioError(f"{file_format} needs the package soundfile ({error}); install it, or write wav") from None
    container, subtype = _SOUNDFILE[file_format]
    if subtype not in soundfile.available_subtypes(container):
        raise AudioError(
            f"libsndfile {soundfile.__libsndfile_version__} cannot write {file_format}; "
            "install soundfile 0.12 or newer from PyPI, or write wav or flac"
        )
    return soundfile


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
