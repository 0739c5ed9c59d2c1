"""Recordings of any kind -> mono audio at the corpus rate with short, even margins of silence."""

import shutil
import struct
import subprocess
from dataclasses import dataclass
from math import gcd
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from scipy.signal import resample_poly

FloatArray = NDArray[np.float32]
SAMPLE_RATE = 24000
_BLOCK = 120  # samples whose power decides what is silence, 5 ms
_SOUND_FILES = frozenset(f".{name.lower()}" for name in soundfile.available_formats()) | {".opus", ".aif"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimRule:
    """What counts as silence at the edges of a recording, and how much of it stays."""

    margin: float = 0.15  # seconds kept before the first and after the last sound
    below_peak: float = 42.0  # dB under the loud parts (the 95th percentile of block power) that is still sound
    floor: float = -70.0  # dB of full scale; nothing below it is sound


def read_audio(path: Path) -> tuple[FloatArray, int]:
    """Read a recording as mono float32 [T] and its own sample rate.

    Formats that libsndfile does not know (such as g722) are decoded by ffmpeg. Raises ValueError naming the file.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing; every transcript needs its recording")
    if path.suffix.lower() not in _SOUND_FILES:
        return _decode_with_ffmpeg(path)
    try:
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{path} cannot be read as audio ({error.error_string})") from None
    return samples.mean(axis=1, dtype=np.float32), int(rate)


def _decode_with_ffmpeg(path: Path) -> tuple[FloatArray, int]:
    if shutil.which("ffmpeg") is None:
        raise ValueError(f"{path} needs ffmpeg to be decoded; install ffmpeg")
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-f", "au", "-ac", "1", "-c:a", "pcm_f32be", "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"{path} cannot be decoded: {done.stderr.decode(errors='replace').strip()[:200]}")
    offset, _, _, rate = struct.unpack(">4I", done.stdout[4:20])  # the header of an .au stream needs no length
    return np.frombuffer(done.stdout, ">f4", offset=offset).astype(np.float32), int(rate)


def to_rate(samples_T: FloatArray, rate: int, target: int = SAMPLE_RATE) -> FloatArray:
    """Resample with a low-pass filter; the duration stays, only the number of samples changes."""
    if rate == target:
        return samples_T
    divisor = gcd(rate, target)
    return np.asarray(resample_poly(samples_T, target // divisor, rate // divisor), np.float32)


def trim(samples_T: FloatArray, rule: TrimRule) -> FloatArray:
    """Cut the silence at both ends down to the margin, never inside; all silence gives an empty array."""
    blocks = len(samples_T) // _BLOCK
    if not blocks:
        return samples_T[:0]
    power = np.mean(samples_T[: blocks * _BLOCK].reshape(blocks, _BLOCK).astype(np.float64) ** 2, axis=1)
    level_db = 10 * np.log10(power + 1e-20)
    loud = np.flatnonzero(level_db > max(rule.floor, np.percentile(level_db, 95) - rule.below_peak))
    if not len(loud):
        return samples_T[:0]
    margin = round(rule.margin * SAMPLE_RATE)
    return samples_T[max(0, loud[0] * _BLOCK - margin) : (loud[-1] + 1) * _BLOCK + margin]
