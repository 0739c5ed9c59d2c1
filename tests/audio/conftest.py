"""Decoding every format by a program that is not ours."""

import subprocess
from collections.abc import Callable

import numpy as np
import pytest

RAW = {  # formats without a header: what the decoder must be told
    "pcm": ("-f", "s16le", "-ar", "24000", "-ac", "1"),
    "g722": ("-f", "g722"),
}


@pytest.fixture(scope="session")
def decode() -> Callable[[bytes, str, int], np.ndarray]:
    """Return a function that decodes bytes of a format to float samples at a rate."""

    def run(data: bytes, name: str, rate: int) -> np.ndarray:
        command = ["ffmpeg", "-v", "error", *RAW.get(name, ()), "-i", "pipe:0", "-ar", str(rate), "-ac", "1"]
        result = subprocess.run([*command, "-f", "f32le", "pipe:1"], input=data, capture_output=True, check=True)
        assert result.stderr == b"", result.stderr.decode()
        return np.frombuffer(result.stdout, np.float32)

    return run


def pitch(samples: np.ndarray, rate: int) -> float:
    """Frequency of the strongest component, in Hz, between the bins too."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 8 * len(samples)))
    return float(np.argmax(spectrum) * rate / (8 * len(samples)))


@pytest.fixture(scope="session")
def measure_pitch() -> Callable[[np.ndarray, int], float]:
    """Return a function that measures the frequency of a tone."""
    return pitch
