"""Recordings of made-up sounds: loud and quiet parts like speech, another for each seed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile


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
