"""Playing speech as it is made, through whatever player this machine has."""

import contextlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.io import AudioWriter, open_stream, open_writer
from deepvoice.errors import AudioError

_STREAMING = (  # players that read a wav from standard input
    ("aplay", "-q", "-"),
    ("paplay",),
    ("ffplay", "-loglevel", "error", "-nodisp", "-autoexit", "-"),
)
_FAILURES = ("audio open failed", "Failed to open file")  # ffplay ends with status 0 all the same
_REMEDY = "write a file instead: deepvoice say ... -o speech.wav"


def find_player() -> str | None:
    """Name of the player that will be used: a program, the package sounddevice, or None."""
    for command in _STREAMING:
        if shutil.which(command[0]):
            return command[0]
    if shutil.which("afplay"):
        return "afplay"
    return "sounddevice" if importlib.util.find_spec("sounddevice") else None


@contextlib.contextmanager
def open_player(sample_rate: int) -> Iterator[AudioWriter]:
    """Play what is written, until the end of the block.

    Raises AudioError, which suggests a file, when there is no player or it has no device.
    """
    player = find_player()
    if player is None:
        raise AudioError(f"there is no audio player (looked for aplay, paplay, ffplay, afplay, sounddevice); {_REMEDY}")
    if player == "sounddevice":
        with _sounddevice(sample_rate) as writer:
            yield writer
    elif player == "afplay":  # reads files only
        with tempfile.TemporaryDirectory(prefix="deepvoice-") as folder:
            with open_writer(Path(folder) / "speech.wav", sample_rate) as writer:
                yield writer
            _check(
                subprocess.run([player, str(Path(folder) / "speech.wav")], stderr=subprocess.PIPE, check=False), player
            )
    else:
        command = next(command for command in _STREAMING if command[0] == player)
        with _program(command, sample_rate) as writer:
            yield writer


@contextlib.contextmanager
def _program(command: tuple[str, ...], sample_rate: int) -> Iterator[AudioWriter]:
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    # bufsize 0: nothing to flush at its end
    with subprocess.Popen(command, stdin=pipe, stdout=nowhere, stderr=pipe, bufsize=0) as process:
        stdin, stderr = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stderr)
        try:
            # A player that cannot open its device ends early; its own message then says more than the broken pipe.
            with contextlib.suppress(BrokenPipeError):
                with open_stream(stdin, sample_rate, "wav") as writer:
                    yield writer
                stdin.close()
        except BaseException:
            process.kill()
            raise
        message = stderr.read()
        _check(subprocess.CompletedProcess(command, process.wait(), b"", message), command[0])


def _check(result: "subprocess.CompletedProcess[bytes]", player: str) -> None:
    message = result.stderr.decode(errors="replace").strip()
    if result.returncode or any(failure in message for failure in _FAILURES):
        lines = message.splitlines() or ["no message"]
        reason = next((line for line in lines if _FAILURES[0] in line), lines[-1])
        raise AudioError(f"{player} cannot play ({reason}); {_REMEDY}")


class _DeviceWriter:
    """Samples to an open sounddevice stream."""

    def __init__(self, device: object) -> None:
        self._device = device

    def write(self, samples_T: NDArray[np.float32]) -> None:
        self._device.write(samples_T.reshape(-1, 1))  # type: ignore[attr-defined]


@contextlib.contextmanager
def _sounddevice(sample_rate: int) -> Iterator[AudioWriter]:
    try:
        sounddevice = importlib.import_module("sounddevice")
        device = sounddevice.OutputStream(samplerate=sample_rate, channels=1, dtype="float32")
        device.start()
    except Exception as error:  # noqa: BLE001 - PortAudio raises its own types, OSError when its library is missing
        raise AudioError(f"sounddevice cannot play ({error}); {_REMEDY}") from None
    try:
        yield _DeviceWriter(device)
        device.stop()
    finally:
        device.close()
        sys.stderr.flush()
