"""`deepvoice doctor`: what this installation can do, what it cannot and why, and what is wrong with it."""

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator

_SENTENCE = "The ferry leaves at dawn."
_EXTRAS = {  # extra -> what it adds, and the packages that show it is there
    "server": ("deepvoice serve", ("fastapi", "uvicorn")),
    "play": ("playing through PortAudio", ("sounddevice",)),
    "book": ("books from PDF", ("pypdf",)),
    "ray": ("books and serving on a Ray cluster", ("ray",)),
    "train": ("training", ("torch", "librosa")),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Print one line a check; returns 1 when one of them fails. What is only not there is no failure."""
    checks: tuple[Callable[[], Iterator[str]], ...] = (
        _system, _kernels, _cuda, _formats, _ffmpeg, _player, _extras, _voices, _speech
    )  # fmt: skip
    failures = 0
    for check in checks:
        name = check.__name__.removeprefix("_")
        try:
            for line in check():
                missing = line.startswith("no: ")
                print(f"{'missing ' if missing else 'ok      '} {name}: {line.removeprefix('no: ')}")
        except Exception as error:  # noqa: BLE001 - a doctor reports whatever is broken and goes on
            failures += 1
            print(f"PROBLEM  {name}: {error}")
    print(f"{failures} problem{'' if failures == 1 else 's'} found")
    return 1 if failures else 0


def _system() -> Iterator[str]:
    from deepvoice import __version__
    from deepvoice.machine import usable_cores

    packages = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "safetensors", "soundfile")]
    yield f"deepvoice {__version__}, Python {platform.python_version()}, {', '.join(packages)}"
    yield f"{platform.platform()}, {usable_cores()} cores for this process, {sys.executable}"
    given = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("DEEPVOICE_"))
    if given:
        hidden = (item if "KEY" not in item.split("=")[0] else item.split("=")[0] + "=..." for item in given)
        yield f"environment: {' '.join(hidden)}"


def _kernels() -> Iterator[str]:
    import warnings

    from deepvoice import kernels

    reasons = {name: reason for name, reason in kernels.available().items() if name != "cuda"}  # which has its own line
    for backend, reason in reasons.items():
        yield f"{backend}: available" if reason is None else f"no: {backend}: {reason}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the line above has the reason
        used = kernels.resolve()
    if used == "cpu":
        yield f"used: cpu with the instructions {kernels.isa()}; this machine has {', '.join(kernels.supported_isas())}"
    elif used == "cuda":
        yield "used: cuda, as the environment asks"
    else:
        yield f"used: {used}, which is slow; install a C++17 compiler and reinstall deepvoice"


def _cuda() -> Iterator[str]:
    from pathlib import Path

    from deepvoice.kernels import cuda

    reason = cuda.why_unavailable()
    if reason is not None:
        driver = "has an NVIDIA driver" if Path("/proc/driver/nvidia/version").exists() else "has no NVIDIA driver"
        yield f"no: {reason} (this machine {driver})"
        return
    device = cuda.device()
    how = "clusters of blocks" if device.clusters else "blocks by themselves"
    yield (
        f"{device.name}, compute capability {'.'.join(map(str, device.capability))}, {device.multiprocessors} "
        f"multiprocessors, {device.memory_bytes / 1e9:.0f} GB, runs {how}; used where backend='cuda' or "
        "DEEPVOICE_KERNELS=cuda asks for it"
    )


def _formats() -> Iterator[str]:
    import soundfile

    kinds = {"flac": "FLAC", "mp3": "MP3", "ogg": "OGG"}
    known = soundfile.available_formats()
    have = [name for name, container in kinds.items() if container in known]
    have += ["opus"] if "OPUS" in soundfile.available_subtypes("OGG") else []
    missing = sorted({*kinds, "opus"} - set(have))
    yield f"wav, pcm, mulaw, alaw; by libsndfile {soundfile.__libsndfile_version__}: {', '.join(have)}"
    if missing:
        yield f"no: {', '.join(missing)}: install soundfile 0.12 or newer from PyPI"


def _ffmpeg() -> Iterator[str]:
    from deepvoice.audio import ffmpeg
    from deepvoice.errors import AudioError

    for program, use in (("ffmpeg", "aac, m4a, m4b, g722"), ("ffprobe", "recognising finished books")):
        try:
            path = ffmpeg.find_program(program)
        except AudioError:
            yield f"no: {program}, for {use}: {ffmpeg.REMEDY}"
            continue
        yield f"{path} ({ffmpeg.run(['-version'], program).decode(errors='replace').split(' Copyright')[0]}): {use}"


def _player() -> Iterator[str]:
    from deepvoice.audio.playback import find_player, players

    for name, trouble in players().items():
        yield f"{name}: can be used" if trouble is None else f"no: {name}: {trouble}"
    used = find_player()
    yield f"used: {used}" if used else "no: nothing to play with; `deepvoice say` needs -o FILE here"
    yield from _devices()


def _devices() -> Iterator[str]:
    """Say whether the system has a sound card, where it is known how to ask."""
    from pathlib import Path

    cards = Path("/proc/asound/cards")
    if cards.exists():
        lines = cards.read_text(errors="replace").splitlines()
        named = [line.split("]:")[1].strip() for line in lines if "]:" in line]
        yield f"sound cards: {', '.join(named)}" if named else "no: a sound card; ALSA finds none"
    elif sys.platform.startswith("linux"):
        yield "no: a sound card; ALSA is not there, as in most containers"


def _extras() -> Iterator[str]:
    for extra, (use, packages) in _EXTRAS.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages if name not in missing)
        yield f"no: {use}: pip install 'deepvoice[{extra}]'" if missing else f"{use}: {found}"


def _voices() -> Iterator[str]:
    from deepvoice import kernels
    from deepvoice.errors import VoiceError
    from deepvoice.voice import VOICES, load_voice, voice_names

    if not voice_names():
        raise VoiceError(f"there are no voices in {VOICES}; reinstall deepvoice")
    for name in voice_names():
        folder = load_voice(name, None)
        size = sum(file.stat().st_size for file in folder.path.iterdir() if file.is_file())
        calibrated = folder.configs["vocoder"].calibrated
        precision = kernels.choose_precision(calibrated=calibrated)
        why = "" if calibrated else "; it is not calibrated for int8"
        yield f"{name}, {size / 1e6:.1f} MB, all hashes and tensors right, speaks in {precision}{why}"


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
