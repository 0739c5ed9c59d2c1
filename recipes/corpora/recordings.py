"""Recordings of any kind -> mono audio at the corpus rate with short, even margins of silence."""

import math
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.audio.resample import resample

FloatArray = NDArray[np.float32]
SAMPLE_RATE = 24000
_BLOCK = 120  # samples whose power decides what is silence, 5 ms
_SOUND_FILES = frozenset(f".{name.lower()}" for name in soundfile.available_formats()) | {".opus", ".aif"}
_CANCELLED = 0.3  # power of the mix beside that of the loudest channel; one silent channel of two gives 0.25
_AU_HEADER = 24  # bytes
_FADE = 120  # samples, 5 ms, at the ends of what is filled up with silence


class Sound(NamedTuple):
    """A recording as it is: samples [T, C], its rate in Hz, and how it was stored."""

    samples_TC: FloatArray
    rate: int
    encoding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimRule:
    """What counts as silence at the edges of a recording, and how much of it stays."""

    margin: float = 0.15  # seconds kept before the first and after the last sound
    below_peak: float = 42.0  # dB under the loud parts (the 95th percentile of block power) that is still sound
    floor: float = -70.0  # dB of full scale; nothing below it is sound


def read_sound(path: Path, longest: float = math.inf) -> Sound:
    """Read a recording of any format; what libsndfile does not know (such as g722) is decoded by ffmpeg.

    longest: seconds; a longer one is refused from its header, before it takes memory
    Raises ValueError beginning with the path.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing; every transcript needs its recording")
    if not path.stat().st_size:
        raise ValueError(f"{path} is an empty file; record it again or remove it")
    if path.suffix.lower() not in _SOUND_FILES:
        return _decode_with_ffmpeg(path, longest)
    try:
        with soundfile.SoundFile(path) as file:
            seconds = file.frames / file.samplerate
            if seconds > longest:
                raise ValueError(
                    f"{path} lasts {seconds:.1f} s; expected {longest:g} s at most: cut it into utterances"
                )
            samples_TC = file.read(dtype="float32", always_2d=True)
            return Sound(samples_TC, int(file.samplerate), f"{file.format} {file.subtype}")
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{path} cannot be read as audio ({error.error_string.rstrip('.')})") from None
    except (OSError, MemoryError) as error:
        raise ValueError(f"{path} cannot be read ({error})") from None


def read_audio(path: Path) -> tuple[FloatArray, int]:
    """Read a recording as mono float32 [T] and its own sample rate; raises ValueError naming the file."""
    sound = read_sound(path)
    return to_mono(sound.samples_TC)[0], sound.rate


def to_mono(samples_TC: FloatArray) -> tuple[FloatArray, str]:
    """Mix the channels, float32 [T], and say what was unusual.

    Where mixing would cancel the voice (one channel inverted) or halve it (one channel silent), the loudest one counts.
    """
    if samples_TC.shape[1] == 1 or not len(samples_TC):
        return samples_TC.mean(axis=1, dtype=np.float32), ""
    mixed_T = samples_TC.mean(axis=1, dtype=np.float32)
    power_C = np.mean(np.square(samples_TC, dtype=np.float64), axis=0)
    loudest = int(np.argmax(power_C))
    if np.mean(np.square(mixed_T, dtype=np.float64)) >= power_C[loudest] * _CANCELLED:
        return mixed_T, ""
    what = "all but one channel are silent" if np.sort(power_C)[-2] < power_C[loudest] * 1e-4 else "channels cancel"
    return np.ascontiguousarray(samples_TC[:, loudest]), f"{what}; channel {loudest + 1} of {len(power_C)} is used"


def _decode_with_ffmpeg(path: Path, longest: float) -> Sound:
    if shutil.which("ffmpeg") is None:
        raise ValueError(f"{path} needs ffmpeg to be decoded; install ffmpeg")
    limit = [] if math.isinf(longest) else ["-t", f"{longest + 1:g}"]
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), *limit, "-f", "au", "-c:a", "pcm_f32be", "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or len(done.stdout) < _AU_HEADER:
        raise ValueError(f"{path} cannot be decoded: {done.stderr.decode(errors='replace').strip()[:200]}")
    # the header of an .au stream needs no length
    offset, _, _, rate, channels = struct.unpack(">5I", done.stdout[4:_AU_HEADER])
    samples_TC = np.frombuffer(done.stdout, ">f4", offset=offset).astype(np.float32).reshape(-1, channels)
    if len(samples_TC) > longest * rate:
        raise ValueError(f"{path} is longer than {longest:g} s; cut it into utterances")
    return Sound(samples_TC, int(rate), path.suffix.removeprefix(".").lower())


def to_rate(samples_T: FloatArray, rate: int, target: int = SAMPLE_RATE) -> FloatArray:
    """Resample with a low-pass filter; the duration stays, only the number of samples changes."""
    return samples_T if rate == target else resample(samples_T, rate, target)


def speech_span(samples_T: FloatArray, rule: TrimRule) -> tuple[int, int]:
    """Return the first sample with sound and the one after the last; (0, 0) where all is silence."""
    blocks = len(samples_T) // _BLOCK
    if not blocks:
        return 0, 0
    power = np.mean(samples_T[: blocks * _BLOCK].reshape(blocks, _BLOCK).astype(np.float64) ** 2, axis=1)
    level_db = 10 * np.log10(power + 1e-20)
    loud = np.flatnonzero(level_db > max(rule.floor, np.percentile(level_db, 95) - rule.below_peak))
    return (int(loud[0]) * _BLOCK, (int(loud[-1]) + 1) * _BLOCK) if len(loud) else (0, 0)


def trim(samples_T: FloatArray, rule: TrimRule) -> FloatArray:
    """Cut the silence at both ends down to the margin, never inside; all silence gives an empty array."""
    first, last = speech_span(samples_T, rule)
    if first == last:
        return samples_T[:0]
    margin = round(rule.margin * SAMPLE_RATE)
    return samples_T[max(0, first - margin) : last + margin]


def with_margins(samples_T: FloatArray, rule: TrimRule) -> FloatArray:
    """Cut or fill the silence at both ends so that it lasts exactly the margin; all silence gives an empty array.

    A network that learns from recordings that begin now at once, now after a while, cannot tell when to begin.
    """
    first, last = speech_span(samples_T, rule)
    if first == last:
        return samples_T[:0]
    margin = round(rule.margin * SAMPLE_RATE)
    before, after = max(0, margin - first), max(0, last + margin - len(samples_T))
    cut = samples_T[max(0, first - margin) : last + margin].copy()
    if not (before or after):
        return cut
    ramp = np.linspace(0.0, 1.0, min(_FADE, len(cut)), dtype=np.float32)
    if before:
        cut[: len(ramp)] *= ramp
    if after:
        cut[len(cut) - len(ramp) :] *= ramp[::-1]
    return np.pad(cut, (before, after))
