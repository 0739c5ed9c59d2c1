"""Fixtures that several areas share; helpers are fixtures too, since the root is not on sys.path everywhere."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepvoice.audio.mel import MelSpec
from deepvoice.configs import (
    ConditionerConfig,
    DurationConfig,
    F0Config,
    GraphemeToPhonemeConfig,
    HomographConfig,
    SegmentationConfig,
    VocoderConfig,
)
from deepvoice.voice import MODULES, SynthesisDefaults, expected_shapes
from deepvoice.voice_writer import write_voice

TINY_CONFIGS: dict[str, Any] = {
    "segmentation": SegmentationConfig(channels=8, layers=1),
    "homographs": HomographConfig(
        words={"read": ("read_past R EH1 D", "read_present R IY1 D"), "use": ("use_nou Y UW1 S", "use_vrb Y UW1 Z")},
        shared=("use",),
        shared_bits=6,
        own_bits=6,
        class_bits=6,
        classes=4,
        coarse=2,
    ),
    "grapheme_to_phoneme": GraphemeToPhonemeConfig(
        units=("", "AH0", "T", "S", "EH1", "K S"),
        letter_dim=4,
        encoder_layers=1,
        encoder_dim=8,
        decoder_dim=8,
        unit_dim=4,
    ),
    "duration": DurationConfig(channels=8, layers=1, recurrent=8, hidden=8, buckets=12),
    "f0": F0Config(channels=8, layers=1, recurrent=8, frame_channels=8, frame_dilations=(1, 2)),
    "vocoder": VocoderConfig(
        dilations=(1, 2, 4),
        residual=8,
        skip=8,
        head=8,
        history=4,
        head_history=4,
        harmonics=2,
        lpc_order=4,
        mel=MelSpec(bands=20),
        conditioner=ConditionerConfig(
            phone_channels=8, phone_layers=1, frame_channels=8, frame_dilations=(1, 2), bias_channels=8
        ),
    ),
}


def random_tensors(module: str, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Small random weights of the right shapes: speech-like silence and noise, but every code path runs."""
    shapes = expected_shapes(module, TINY_CONFIGS[module])
    tensors = {name: (0.2 * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}
    if module == "homographs":  # numbers of classes
        tensors |= {name: random.integers(0, 3, shapes[name]).astype(np.float32) for name in ("classes", "coarse")}
    return tensors


# Read when torch is loaded: the networks of the tests are tiny, and two threads wait for each other on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def floating_point_stays_as_it_was() -> Iterator[None]:
    """No code leaves this thread with denormals flushed: everything after it would be computed otherwise."""
    yield
    assert np.float32(1e-40) * np.float32(1.0) > 0, "denormal numbers are flushed to 0 from now on"


@pytest.fixture(scope="session")
def make_tiny_voice() -> Callable[[Path], Path]:
    """Return a function that writes a voice with miniature random modules into a folder."""

    def make(folder: Path) -> Path:
        random = np.random.default_rng(7)
        write_voice(
            folder,
            name="tiny",
            features="0123456789abcdef",
            module_configs=TINY_CONFIGS,
            tensors={module: random_tensors(module, random) for module in MODULES},
            licence="Apache-2.0",
            provenance="random numbers",
            synthesis=SynthesisDefaults(gap_seconds=0.1),
        )
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_voice(tmp_path_factory: pytest.TempPathFactory, make_tiny_voice: Callable[[Path], Path]) -> Path:
    """A voice folder with miniature random modules; tests must not change it."""
    return make_tiny_voice(tmp_path_factory.mktemp("voices") / "tiny")


@pytest.fixture(scope="session")
def voice(tiny_voice: Path) -> Any:
    """The tiny voice, loaded."""
    import deepvoice

    return deepvoice.load(tiny_voice)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every attempt to open a connection fail."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    yield


@pytest.fixture(scope="session")
def run_python() -> Callable[..., "subprocess.CompletedProcess[bytes]"]:
    """Return a function that runs Python in a process of its own, in which the checkout does not hide the package."""

    def run(*arguments: str, cwd: Path | None = None, **options: Any) -> "subprocess.CompletedProcess[bytes]":
        environment = {**os.environ, "PYTHONSAFEPATH": "1", **options.pop("env", {})}
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            check=False,
            timeout=options.pop("timeout", 120),
            env=environment,
            cwd=cwd,
            **options,
        )

    return run
