"""Recordings of made-up sounds: loud and quiet parts like speech, another for each seed."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from deepvoice.audio.mel import MelSpec

WORDS = "one two three four five six seven eight nine ten".split()


def speechlike(seconds: float, rate: int, seed: int = 0, level: float = 0.3) -> np.ndarray:
    """Harmonics of a moving pitch in bursts of a few hundred milliseconds, float32 [T]."""
    random = np.random.default_rng(seed)
    time = np.arange(round(seconds * rate)) / rate
    pitch = random.uniform(110, 220) * (1 + 0.1 * np.sin(2 * np.pi * random.uniform(0.5, 2) * time))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    weights = random.uniform(0.1, 1.0, 12)
    voice = sum(w * np.sin(k * phase + k) for k, w in enumerate(weights, 1))
    knots = random.uniform(0.0, 1.0, max(3, round(seconds * 7)))
    knots[::3] = 0.0
    envelope = np.interp(time, np.linspace(0, max(seconds, 0.01), len(knots)), knots)
    signal = voice * envelope
    return (level * signal / max(1e-9, np.abs(signal).max())).astype(np.float32)


@pytest.fixture
def speech() -> Callable[..., np.ndarray]:
    return speechlike


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Path]:
    """Write a made-up recording below tmp_path/takes and return its path."""

    def write(name: str, samples: np.ndarray | None = None, rate: int = 24000, **how: object) -> Path:
        path = tmp_path / "takes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        subtype = how.pop("subtype", None)
        if samples is None:
            options = {"seconds": 1.5, "seed": sum(name.encode()), **how}
            samples = speechlike(rate=rate, **options)  # type: ignore[arg-type]
        soundfile.write(path, samples, rate, subtype=subtype)
        return path

    return write


@pytest.fixture
def small_voice(tmp_path: Path, tiny_voice: Path) -> Path:
    """The miniature voice, with the spectrum that every recipe computes."""
    from deepvoice.voice import MODULES, SynthesisDefaults, expected_shapes, load_voice
    from deepvoice.voice_writer import write_voice

    pytest.importorskip("torch")
    from deepvoice.recipes.common.data import meta_of

    source = load_voice(tiny_voice, tuple(MODULES))
    configs = dict(source.configs)
    configs["vocoder"] = dataclasses.replace(configs["vocoder"], mel=MelSpec(), calibrated=False)
    random = np.random.default_rng(0)
    tensors = dict(source.tensors)
    shapes = expected_shapes("vocoder", configs["vocoder"])
    tensors["vocoder"] = {n: (0.1 * random.standard_normal(s)).astype(np.float32) for n, s in shapes.items()}
    folder = tmp_path / "small"
    write_voice(
        folder, name="small", features=meta_of(MelSpec())["features"], module_configs=configs, tensors=tensors,
        licence="Apache-2.0", provenance="made up", synthesis=SynthesisDefaults(), scores={}, training={},
    )  # fmt: skip
    return folder


@pytest.fixture
def takes(tmp_path: Path, record: Callable[..., Path]) -> Path:
    """Twenty-four recordings, each of three words."""
    lines = []
    for number in range(24):
        record(f"{number:02d}.wav", seconds=1.4, rate=16000, seed=number)
        said = " ".join(WORDS[(number + k * k) % 10] for k in range(3))
        lines.append(f"{number:02d}.wav\t{said.capitalize()}.\n")
    (tmp_path / "takes" / "texts.tsv").write_text("".join(lines))
    return tmp_path / "takes"
