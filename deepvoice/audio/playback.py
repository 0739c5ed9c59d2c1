"""Playing speech as it is made, through whatever player this machine has.

An interrupt stops the sound at once: a player program is killed with what it holds, a device drops its buffer.
"""

import contextlib
import importlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.io import AudioWriter, open_stream, open_writer
from deepvoice.errors import AudioError

PLAYER = "DEEPVOICE_PLAYER"  # environment variable: a command that plays a wav from its standard input
_STREAMING = (  # players that read a wav from standard input
    ("aplay", "-q", "-"),
    ("paplay",),
    ("ffplay", "-loglevel", "error", "-nodisp", "-autoexit", "-"),
)
_FAILURES = ("audio open failed", "Failed to open file")  # ffplay ends with status 0 all the same
_REMEDY = "write a file instead: deepvoice say ... -o speech.wav"


def players() -> dict[str, str | None]:
    """Return what could play, best first: None when it can be used, else the reason why not."""
    found: dict[str, str | None] = {}
    if command := os.environ.get(PLAYER):
        found[command] = None if shutil.which(shlex.split(command)[0]) else "the command is not in PATH"
    found["sounddevice"] = _sounddevice_trouble()
    for name in (*(command[0] for command in _STREAMING), "afplay"):
        found[name] = None if shutil.which(name) else "not in PATH"
    return found


def find_player() -> str | None:
    """Return what will play: the command in DEEPVOICE_PLAYER, the package sounddevice, a program, or None."""
    if command := os.environ.get(PLAYER):
        return command
    return next((name for name, trouble in players().items() if trouble is None), None)


@contextlib.contextmanager
def open_player(sample_rate: int) -> Iterator[AudioWriter]:
    """Play what is written, until the end of the block.

    Raises AudioError, which suggests a file, when there is no player or it has no device.
    """
    player = find_player()
    if player is None:
        known = ", ".join(players())
        raise AudioError(f"there is no audio player (looked for {known}; `pip install deepvoice[play]`); {_REMEDY}")
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
        known_command = next((command for command in _STREAMING if command[0] == player), None)
        with _program(known_command or tuple(shlex.split(player)), sample_rate) as writer:
            yield writer


@contextlib.contextmanager
def _program(command: tuple[str, ...], sample_rate: int) -> Iterator[AudioWriter]:
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:  # bufsize 0: nothing to flush at its end
        process = subprocess.Popen(command, stdin=pipe, stdout=nowhere, stderr=pipe, bufsize=0)
    except OSError as error:
        raise AudioError(f"{command[0]} cannot be started ({error.strerror}); {_REMEDY}") from None
    with process:
        stdin, stderr = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stderr)
        try:
            # A player that cannot open its device ends early; its own message then says more than the broken pipe.
            with contextlib.suppress(BrokenPipeError):
                with open_stream(stdin, sample_rate, "wav") as writer:
                    yield writer
                stdin.close()
            message = stderr.read()  # until it has played everything
        except BaseException:
            process.kill()
            raise
        _check(subprocess.CompletedProcess(command, process.wait(), b"", message), command[0])


def _check(result: "subprocess.CompletedProcess[bytes]", player: str) -> None:
    message = result.stderr.decode(errors="replace").strip()
    if result.returncode or any(failure in message for failure in _FAILURES):
        lines = message.splitlines() or ["no message"]
        reason = next((line for line in lines if _FAILURES[0] in line), lines[-1])
        raise AudioError(f"{player} cannot play ({reason}); {_REMEDY}")


class _DeviceWriter:
    """Samples to an open sounddevice stream."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def write(self, samples_T: NDArray[np.float32]) -> None:
        self._device.write(np.ascontiguousarray(samples_T, np.float32).reshape(-1, 1))


def _sounddevice_trouble() -> str | None:
    """Say why the package sounddevice cannot be used; None when it can."""
    if importlib.util.find_spec("sounddevice") is None:
        return "not installed; pip install deepvoice[play]"
    try:
        importlib.import_module("sounddevice")
    except Exception as error:  # noqa: BLE001 - OSError when PortAudio is missing, and whatever a binding raises
        return f"{error}; on Debian: apt-get install libportaudio2"
    return None


@contextlib.contextmanager
def _sounddevice(sample_rate: int) -> Iterator[AudioWriter]:
    try:
        sounddevice = importlib.import_module("sounddevice")
        device = sounddevice.OutputStream(samplerate=sample_rate, channels=1, dtype="float32")
        device.start()
    except Exception as error:  # noqa: BLE001 - PortAudio raises its own types
        raise AudioError(f"sounddevice cannot play ({error}); {_REMEDY}") from None
    try:
        yield _DeviceWriter(device)
        device.stop()  # after the last sample
    except BaseException:
        device.abort()  # at once
        raise
    finally:
        device.close()
