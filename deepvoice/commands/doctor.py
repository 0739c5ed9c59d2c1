"""`deepvoice doctor`: what this installation can do, and what is wrong with it."""

import argparse
import importlib.metadata
import platform
import sys
import time
from collections.abc import Callable, Iterator

_SENTENCE = "The ferry leaves at dawn."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Print one line a check; returns 1 when one of them fails."""
    checks: tuple[Callable[[], Iterator[str]], ...] = (_system, _kernels, _formats, _player, _voices, _speech)
    failures = 0
    for check in checks:
        name = check.__name__.removeprefix("_")
        try:
            for line in check():
                print(f"ok       {name}: {line}")
        except Exception as error:  # noqa: BLE001 - a doctor reports whatever is broken and goes on
            failures += 1
            print(f"PROBLEM  {name}: {error}")
    print(f"{failures} problem{'' if failures == 1 else 's'} found")
    return 1 if failures else 0


def _system() -> Iterator[str]:
    from deepvoice import __version__

    packages = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "safetensors", "soundfile")]
    yield f"deepvoice {__version__}, Python {platform.python_version()}, {', '.join(packages)}"
    yield f"{platform.platform()}, {sys.executable}"


def _kernels() -> Iterator[str]:
    import warnings

    from deepvoice import kernels

    for backend, reason in kernels.available().items():
        yield f"{backend}: {reason or 'available'}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the line above has the reason
        yield f"used: {kernels.resolve()}"


def _formats() -> Iterator[str]:
    import soundfile

    kinds = {"wav": "WAV", "flac": "FLAC", "mp3": "MP3", "ogg": "OGG"}
    known = soundfile.available_formats()
    have = [name for name, container in kinds.items() if container in known]
    have += ["opus"] if "OPUS" in soundfile.available_subtypes("OGG") else []
    missing = sorted({*kinds, "opus"} - set(have))
    yield f"libsndfile {soundfile.__libsndfile_version__} writes {', '.join(have)}"
    if missing:
        yield f"without {', '.join(missing)}: install soundfile 0.12 or newer from PyPI"


def _player() -> Iterator[str]:
    from deepvoice.audio.playback import find_player

    yield find_player() or "none; `deepvoice say` needs -o FILE here"


def _voices() -> Iterator[str]:
    from deepvoice.errors import VoiceError
    from deepvoice.voice import MODULES, VOICES, load_voice, voice_names

    if not voice_names():
        raise VoiceError(f"there are no voices in {VOICES}; reinstall deepvoice")
    for name in voice_names():
        folder = load_voice(name, tuple(MODULES))
        size = sum(file.stat().st_size for file in folder.path.iterdir() if file.is_file())
        yield f"{name}, {size / 1e6:.1f} MB, all hashes and tensors right"


def _speech() -> Iterator[str]:
    from deepvoice.pipeline import Voice

    started = time.perf_counter()
    voice = Voice.load()
    loaded = time.perf_counter()
    speech = voice.speak(_SENTENCE)
    taken = time.perf_counter() - loaded
    yield (
        f"loaded in {loaded - started:.2f} s, spoke {speech.seconds:.2f} s in {taken:.2f} s "
        f"({speech.seconds / taken:.1f} times real time)"
    )
