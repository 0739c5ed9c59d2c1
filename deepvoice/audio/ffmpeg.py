"""The program ffmpeg: the encoder of aac, m4a and g722, which no library that we may use has."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.encoders import to_pcm16
from deepvoice.errors import AudioError

REMEDY = "install it (Debian: apt-get install ffmpeg, macOS: brew install ffmpeg, Windows: winget install ffmpeg)"
_QUIET = ("-nostdin", "-hide_banner", "-loglevel", "error", "-y")
_EXACT = ("-flush_packets", "1", "-fflags", "+bitexact", "-flags:a", "+bitexact")  # at once, and without dates
_AAC = ("-c:a", "aac", "-b:a", "64k")
_ARGUMENTS = {
    "aac": (*_AAC, "-f", "adts"),
    "m4a": (*_AAC, "-f", "ipod", "-movflags", "+faststart"),
    "g722": ("-c:a", "g722", "-f", "g722"),
}
_TO_FILE = {"m4a"}  # its index comes first and is made last; the form for streams does not name the encoder's delay
_PATIENCE = 5.0  # seconds for a program that no longer takes input to end
_ADTS_LENGTH = slice(3, 6)  # bytes of an ADTS header with the 13 bits of the frame's length, header and all


def find_program(name: str = "ffmpeg") -> str:
    """Return the path of a program of ffmpeg; raises AudioError, which says how to install it."""
    found = shutil.which(name)
    if found is None:
        raise AudioError(f"the program {name} is not installed, or not in PATH; {REMEDY}, or write wav, flac or mp3")
    return found


def run(arguments: Sequence[str], program: str = "ffmpeg") -> bytes:
    """Run ffmpeg or ffprobe and return what it prints; raises AudioError with its own words when it fails."""
    quiet = _QUIET if program == "ffmpeg" else ("-hide_banner", "-loglevel", "error")
    result = subprocess.run([find_program(program), *quiet, *arguments], capture_output=True, check=False)
    if result.returncode:
        raise AudioError(f"{program} failed: {_last_line(result.stderr)}")
    return result.stdout


class ProgramEncoder:
    """aac, m4a or g722 by ffmpeg; see `deepvoice.audio.encoders.Encoder`."""

    def __init__(self, name: str, sample_rate: int, path: str | None = None) -> None:
        """Start the program; m4a is written to `path`, or without one returned by `finish`."""
        self.sample_rate = sample_rate
        self.patches: list[tuple[int, bytes]] = []
        self._name = name
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if name in _TO_FILE and path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="deepvoice-")
            path = str(Path(self._folder.name) / f"speech.{name}")
        to_file = name in _TO_FILE
        source = ("-probesize", "32", "-f", "s16le", "-ar", str(sample_rate), "-ac", "1", "-i", "pipe:0")
        target = (*_ARGUMENTS[name], f"file:{path}" if to_file else "pipe:1")
        command = [find_program(), *_QUIET, *source, *_EXACT]
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the program
        self._process = subprocess.Popen(
            [*command, *target],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if to_file else subprocess.PIPE,
            stderr=self._messages,
            bufsize=0,
            start_new_session=os.name == "posix",  # an interrupt is ours to handle
        )
        self._lock = threading.Lock()
        self._ready = bytearray()
        self._skip_frame = name == "aac"  # the first frame is the encoder's delay, which this container cannot declare
        self._reader = threading.Thread(target=self._read, daemon=True)
        if not to_file:
            self._reader.start()

    def write(self, samples_T: NDArray[np.float32]) -> bytes:
        """See Encoder."""
        data = memoryview(to_pcm16(samples_T).tobytes())
        try:
            while data:
                data = data[cast(BinaryIO, self._process.stdin).write(data) :]
        except (OSError, ValueError):  # it has ended, or was closed
            raise AudioError(f"ffmpeg stopped encoding {self._name}: {self._reason()}; is the disk full?") from None
        return self._take()

    def finish(self) -> bytes:
        """See Encoder."""
        with contextlib.suppress(OSError):
            cast(BinaryIO, self._process.stdin).close()
        status = self._process.wait()
        if self._reader.ident is not None:
            self._reader.join()
        reason = self._reason()
        data = self._take()
        if not status and self._folder is not None:
            data = (Path(self._folder.name) / f"speech.{self._name}").read_bytes()
        self.close()
        if status:
            raise AudioError(f"ffmpeg could not encode {self._name}: {reason}; is the disk full?")
        return data

    def close(self) -> None:
        """See Encoder."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._reader.ident is not None and self._reader is not threading.current_thread():
            self._reader.join()
        if self._folder is not None:
            self._folder.cleanup()
        for stream in (self._process.stdin, self._process.stdout, self._messages):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        """Collect what the program writes, so that it never waits for a reader."""
        with contextlib.suppress(OSError, ValueError):
            while data := cast(BinaryIO, self._process.stdout).read(1 << 16):
                with self._lock:
                    self._ready += data

    def _take(self) -> bytes:
        with self._lock:
            if self._skip_frame:
                length = int.from_bytes(self._ready[_ADTS_LENGTH], "big") >> 5 & 0x1FFF
                if len(self._ready) < 7 or len(self._ready) < length:
                    return b""
                del self._ready[:length]
                self._skip_frame = False
            data = bytes(self._ready)
            self._ready.clear()
            return data

    def _reason(self) -> str:
        if self._messages.closed:
            return "it was closed"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)  # its last words come when it ends
        self._messages.seek(0)
        return _last_line(self._messages.read())


def _last_line(message: bytes) -> str:
    lines = message.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it gave no reason"
