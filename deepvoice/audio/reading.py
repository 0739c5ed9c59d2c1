"""Reading recordings of any format and length, piece by piece: by libsndfile, or by ffmpeg what that does not know."""

import contextlib
import os
import struct
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.ffmpeg import find_program
from deepvoice.errors import AudioError

FloatArray = NDArray[np.float32]
_BLOCK = 1 << 19  # samples a piece, 22 s at 24 kHz
_HEADER = 24  # bytes of an .au header
_CANCELLED = 0.1  # power of the mix beside that of the loudest channel, under which channels cancel each other
_BY_FFMPEG = frozenset({".g722", ".m4a", ".aac", ".mp4", ".wma", ".amr", ".webm", ".mka", ".mkv"})


@contextlib.contextmanager
def open_recording(path: Path) -> Iterator[tuple[int, Iterator[FloatArray]]]:
    """Open a recording: its sample rate in Hz, and its samples as pieces of one channel, float32 [T].

    Raises AudioError, naming the file, when it is missing, empty or cannot be decoded, then or while reading.
    """
    if not path.is_file():
        raise AudioError(f"{path} is missing; check the path")
    if not path.stat().st_size:
        raise AudioError(f"{path} is an empty file; record it again or remove it")
    import soundfile

    sound = None
    if path.suffix.lower() not in _BY_FFMPEG:
        with contextlib.suppress(soundfile.SoundFileError):
            sound = soundfile.SoundFile(path)
    if sound is None:
        with contextlib.closing(_from_ffmpeg(path)) as pieces:
            rate = int(next(pieces)[0])
            yield rate, pieces
        return
    with sound:
        yield int(sound.samplerate), _from_library(sound, path)


def one_channel(samples_TC: FloatArray) -> FloatArray:
    """Mix channels into one, float32 [T]; of channels that cancel each other the loudest is taken."""
    if samples_TC.shape[1] == 1:
        return np.ascontiguousarray(samples_TC[:, 0])
    mixed_T = samples_TC.mean(axis=1, dtype=np.float32)
    power_C = np.mean(samples_TC**2, axis=0)
    loudest = int(np.argmax(power_C)) if len(samples_TC) else 0
    cancelled = len(samples_TC) and float(np.mean(mixed_T**2)) < _CANCELLED * float(power_C[loudest])
    return np.ascontiguousarray(samples_TC[:, loudest]) if cancelled else mixed_T


def _from_library(sound: "object", path: Path) -> Iterator[FloatArray]:
    import soundfile

    opened = cast(soundfile.SoundFile, sound)
    try:
        while len(samples_TC := opened.read(_BLOCK, dtype="float32", always_2d=True)):
            yield one_channel(samples_TC)
    except soundfile.SoundFileError as error:
        raise AudioError(f"{path} cannot be read to its end ({error}); encode it again") from None


def _from_ffmpeg(path: Path) -> Generator[FloatArray, None, None]:
    """Yield the sample rate as an array of one, then the pieces."""
    command = [find_program(), "-v", "error", "-nostdin", "-i", f"file:{path}", "-f", "au", "-ac", "1"]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            [*command, "-c:a", "pcm_f32be", "-"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=messages,
            start_new_session=os.name == "posix",  # an interrupt is ours to handle
        )
        try:
            output = cast(BinaryIO, process.stdout)
            header = output.read(_HEADER)
            if len(header) == _HEADER:
                offset, _, _, rate = struct.unpack(">4I", header[4:20])
                output.read(offset - _HEADER)
                yield np.array([rate], np.float32)
                while data := output.read(4 * _BLOCK):
                    yield np.frombuffer(data[: len(data) // 4 * 4], ">f4").astype(np.float32)
            if process.wait() or len(header) < _HEADER:
                messages.seek(0)
                lines = messages.read().decode(errors="replace").strip().splitlines()
                raise AudioError(f"{path} cannot be decoded: {lines[-1][:200] if lines else 'it holds no sound'}")
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            cast(BinaryIO, process.stdout).close()
