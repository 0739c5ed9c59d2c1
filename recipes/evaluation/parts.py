"""The parts of the suite: each speaks its sentences and returns figures.

`words` and `rates` set a voice beside its teacher saying the same text; the others need no reference.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.audio.io import replacing
from deepvoice.audio.mel import FloatArray
from deepvoice.errors import ConfigError
from deepvoice.pipeline import Voice
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.evaluation.bursts import detector
from deepvoice.recipes.evaluation.listen import words_of
from deepvoice.recipes.evaluation.listener import Listener, Scored, mean_of, paired, scored
from deepvoice.recipes.evaluation.measures import LongTermSpectrum, Signal, measure, silences_of

TEACHER_RATE = 24000  # Hz
PITCHES = (-4.0, 4.0)  # semitones
RATES = (0.5, 2.0)


class Teacher(Protocol):
    """What this recipe needs of hibari-tts."""

    def __call__(self, text: str, *, speed: float, seed: int) -> NDArray[np.float32]:
        """Speak a text at 24 kHz."""


class Recordings:
    """The teacher's recordings of sentences, made when they are asked for and kept in a folder."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; the teacher is loaded when a recording is missing."""
        self._folder = folder
        self._teacher: Teacher | None = None

    def samples(self, set_name: str, number: int, text: str, speed: float) -> FloatArray:
        """Return float32 samples at TEACHER_RATE."""
        path = self._folder / f"{set_name}-{speed:g}" / f"{number:03d}.flac"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = np.clip(self._speaker()(text, speed=speed, seed=number), -1.0, 1.0)
            with replacing(path) as temporary:
                soundfile.write(temporary, made, TEACHER_RATE, subtype="PCM_16", format="FLAC")
        samples, rate = soundfile.read(path, dtype="float32")
        if rate != TEACHER_RATE:
            raise ConfigError(f"{path} is at {rate} Hz; expected {TEACHER_RATE}: remove it, it is made again")
        return np.asarray(samples, np.float32)

    def _speaker(self) -> Teacher:
        if self._teacher is None:
            try:
                from hibari import Hibari
            except ImportError:
                raise ConfigError(
                    "the reference is spoken by hibari-tts, which is missing: pip install hibari-tts"
                ) from None
            self._teacher = Hibari()
        return self._teacher


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all parts share.

    prompts: sentences of a corpus that no module saw; varied: those of this recipe
    filler: further sentences, for the hour; small: how many of the prompts suffice for rates and pitches
    """

    voice: Voice
    listener: Listener
    recordings: Recordings
    prompts: Sequence[str]
    varied: Sequence[str]
    filler: Sequence[str]
    small: int = 60


def words(bench: Bench, name: str, sentences: Sequence[str], speed: float = 1.0) -> dict[str, Any]:
    """Word errors and predicted quality of a set of sentences beside the teacher's; the worst ones with their texts."""
    ours = list(_ours(bench, sentences, {"speed": speed}, name))
    theirs = []
    for number, text in enumerate(progress(sentences, f"{name}, teacher")):
        samples_T = bench.recordings.samples(name, number, text, speed)
        theirs.append(_scored(bench, text, samples_T, TEACHER_RATE))
    above = sorted(range(len(ours)), key=lambda i: theirs[i].errors - ours[i].errors)
    rows = [
        {"number": i, "text": sentences[i], "ours": ours[i].text, "teacher": theirs[i].text,
         "errors": [ours[i].errors, theirs[i].errors], "distillmos": [ours[i].quality, theirs[i].quality]}
        for i in above
    ]  # fmt: skip
    return paired(ours, theirs) | {"rows": rows}


def rates(bench: Bench) -> dict[str, Any]:
    """Half and double speed beside the teacher at the same speed."""
    sentences = spread(bench.prompts, bench.small)
    return {f"{rate:g}": words(bench, f"prompts{bench.small}", sentences, rate) for rate in RATES}


def pitches(bench: Bench) -> dict[str, Any]:
    """Predicted quality at other pitches, and how far it falls below that at pitch 0."""
    sentences = spread(bench.prompts, bench.small)
    plain = _qualities(bench, sentences, 0.0)
    found: dict[str, Any] = {"sentences": len(sentences), "0": {"distillmos": asdict(mean_of(plain))}}
    for pitch in PITCHES:
        scores = _qualities(bench, sentences, pitch)
        fall = mean_of([a - b for a, b in zip(plain, scores, strict=True)])
        found[f"{pitch:+g}"] = {"distillmos": asdict(mean_of(scores)), "fall": asdict(fall)}
    return found


def hour(bench: Bench, seconds: float = 3600.0) -> dict[str, Any]:
    """Bursts and clipped samples of at least so many seconds of speech, every sentence another one."""
    spoken, clipped, sentences = 0.0, 0, 0
    found = []
    for text, speech in zip(_all(bench), bench.voice.speak_many(_all(bench)), strict=False):
        spoken, sentences = spoken + speech.seconds, sentences + 1
        clipped += int(np.count_nonzero(np.abs(speech.samples) >= 32767 / 32768))
        found += [
            {"text": text, "time": burst.time, "logit": burst.logit}
            for burst in detector().find(speech.samples, speech.sample_rate)
        ]
        if spoken >= seconds:
            break
    return {"sentences": sentences, "seconds": spoken, "clipped_samples": clipped, "bursts": found}


def signal(bench: Bench) -> dict[str, Any]:
    """Silence, offset, edges and lines of the varied sentences."""
    spectrum = LongTermSpectrum(bench.voice.sample_rate)
    rows: list[Signal] = []
    for speech in bench.voice.speak_many(progress(bench.varied, "signal")):
        spectrum.add(speech.samples)
        rows.append(measure(speech.samples, speech.sample_rate, silences_of(speech)))
    step = int(bench.voice.manifest.modules["vocoder"].config.get("bunch", 1))
    floors = [row.noise_floor for row in rows if row.noise_floor is not None]
    return {
        "sentences": len(rows),
        "noise_floor_dbfs": max(floors) if floors else None,
        "offset_dbfs": max(row.offset for row in rows),
        "edges_dbfs": max(row.edges for row in rows),
        "lines_db": {f"{hertz:.0f}": value for hertz, value in spectrum.lines(step).items()},
    }


def spread(sentences: Sequence[str], count: int) -> list[str]:
    """Take so many sentences, evenly spread."""
    count = min(count, len(sentences))
    return [sentences[i * len(sentences) // count] for i in range(count)]


def _all(bench: Bench) -> Iterator[str]:
    yield from bench.varied
    yield from bench.filler


def _qualities(bench: Bench, sentences: Sequence[str], pitch: float) -> list[float]:
    speeches = bench.voice.speak_many(progress(sentences, f"pitch {pitch:+g}"), pitch=pitch)
    return [bench.listener.quality(speech.samples, speech.sample_rate) for speech in speeches]


def _ours(bench: Bench, sentences: Sequence[str], options: dict[str, float], name: str) -> Iterator[Scored]:
    speeches = bench.voice.speak_many(sentences, **options)
    for text, speech in zip(progress(sentences, name), speeches, strict=True):
        yield _scored(bench, text, speech.samples, speech.sample_rate)


def _scored(bench: Bench, text: str, samples_T: FloatArray, rate: int) -> Scored:
    listened = bench.listener.listen(samples_T, rate)
    return scored(words_of(bench.voice, text), words_of(bench.voice, listened.text), listened)
