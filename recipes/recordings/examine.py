"""One recording: read, measured, labelled, trimmed, written, or refused with every reason that there is."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from deepvoice.alignment import Aligner
from deepvoice.alignment.transcript import NEVER_SAID, unspoken
from deepvoice.audio.io import replacing
from deepvoice.config import require_range
from deepvoice.errors import AudioError, TextError
from deepvoice.recipes.corpora.labels import Label, label_with_report, voice_front_end
from deepvoice.recipes.corpora.recordings import (
    SAMPLE_RATE,
    FloatArray,
    Sound,
    TrimRule,
    read_sound,
    speech_span,
    to_mono,
    to_rate,
    with_margins,
)
from deepvoice.recipes.recordings.layouts import Recording
from deepvoice.recipes.recordings.measure import Measures, fingerprint, measure
from deepvoice.text.frontend import FrontEnd
from deepvoice.text.phones import SILENCES

_SHOWN_POINTS = 200  # of a waveform in the report


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is refused, and what is only noted. Changing any of them makes `prepare` look at everything again."""

    margin: float = 0.15  # seconds of silence at both ends of what is written
    shortest: float = 0.25  # seconds with sound
    longest: float = 30.0  # seconds
    lowest_rate: int = 8000  # Hz
    clipped: float = 0.005  # share of samples
    range: float = 10.0  # dB between speech and what is heard in its pauses
    noted_range: float = 25.0
    noted_offset: float = 0.005
    noted_bandwidth: float = 7000.0  # Hz
    fastest: float = 30.0  # phones a second that no one can say
    slowest: float = 1.5  # phones a second of one who reads the text
    confidence: float = 0.3  # of the aligner, that the text is what is said
    missing: float = 0.25  # share of the words that were not read, three of them at least: a recording that was cut

    def __post_init__(self) -> None:
        require_range("margin", self.margin, 0.0, 2.0)
        require_range("shortest", self.shortest, 0.05, 10.0)
        require_range("longest", self.longest, 1.0, 60.0)
        require_range("lowest_rate", self.lowest_rate, 1000, 48000)
        require_range("clipped", self.clipped, 0.0, 1.0)
        require_range("range", self.range, 0.0, 60.0)
        require_range("fastest", self.fastest, 1.0, 100.0)
        require_range("slowest", self.slowest, 0.0, self.fastest)
        require_range("confidence", self.confidence, 0.0, 1.0)
        require_range("missing", self.missing, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker needs to examine a recording and write it below `out`."""

    recording: Recording
    out: Path
    limits: Limits
    voice: str | None = None  # whose front end reads the text, and whose aligner listens
    listen: bool = True  # whether to compare the text with what is heard


@dataclass(slots=True, kw_only=True)
class Examined:
    """What was found: reasons to refuse it, notes, figures, and the manifest row of what is kept."""

    id: str
    source: str  # the file
    place: str  # of its text
    text: str
    reasons: list[str]
    notes: list[str]
    measures: dict[str, Any] | None = None
    row: dict[str, Any] | None = None
    fingerprint: str = ""
    confidence: float | None = None  # of the aligner, that the text is what is said
    doubts: list[str] | None = None  # why the aligner would not accept it
    missing: int = 0  # words that the aligner does not hear
    waveform: list[int] | None = None  # largest magnitudes of equal parts, in percent

    @property
    def seconds(self) -> float:
        """Length of the recording, 0 where it could not be read."""
        return float(self.measures["seconds"]) if self.measures else 0.0


@lru_cache(maxsize=2)
def _speaker(voice: str | None) -> FrontEnd:
    return voice_front_end(voice)


def examine(job: Job) -> dict[str, Any]:
    """Examine one recording; returns `Examined` as a plain dictionary. Never raises for what the recording is."""
    recording, limits = job.recording, job.limits
    found = Examined(
        id=recording.id, source=str(recording.path), place=recording.place, text=recording.text, reasons=[], notes=[]
    )
    label = _label(_speaker(job.voice), recording.text, found)
    try:
        sound = read_sound(recording.path, limits.longest)
    except ValueError as error:
        found.reasons.append(str(error).removeprefix(f"{recording.path} "))
        return asdict(found)
    samples_T = _checked(sound, found, limits)
    if samples_T is not None and label is not None:
        _check_pace(label, len(samples_T) / SAMPLE_RATE - 2 * limits.margin, found, limits)
    if samples_T is not None and label is not None and not found.reasons:
        if job.listen:
            _listen(samples_T, job, found)
        _write(samples_T, label, job, found)
    return asdict(found)


@lru_cache(maxsize=2)
def _aligner(voice: str | None) -> Aligner:
    return Aligner.load(voice)


def _listen(samples_T: FloatArray, job: Job, found: Examined) -> None:
    """Ask the aligner whether the text is what is said; `prepare` judges its answers all together."""
    try:
        alignment = _aligner(job.voice).align(samples_T, SAMPLE_RATE, job.recording.text)
    except (AudioError, TextError) as error:
        found.confidence, found.doubts = 0.0, [str(error)]
        return
    found.confidence = round(alignment.confidence, 4)
    found.doubts = [] if alignment.accepted else list(alignment.reasons)
    found.missing = sum(not word.read for word in alignment.words)


def _label(speaker: FrontEnd, text: str, found: Examined) -> Label | None:
    """Return the phones of the text; what it has that cannot be spoken is a reason or a note."""
    try:
        label, report = label_with_report(speaker, text)
    except TextError as error:
        found.reasons.append(f"text: {error}")
        return None
    if silent := [piece for piece in report.dropped if piece.reason in NEVER_SAID]:
        found.notes.append(f"not spoken: {_quoted([piece.text for piece in silent])}")
    if lost := unspoken(text, report):
        found.reasons.append(f"text: {_quoted(lost)} cannot be spoken; write what is said")
    if report.unknown:
        found.notes.append(f"read by the model: {', '.join(report.unknown[:8])}")
    return label


def _quoted(pieces: Sequence[str]) -> str:
    return ", ".join(repr(piece[:40]) for piece in pieces[:5])


def _checked(sound: Sound, found: Examined, limits: Limits) -> FloatArray | None:
    """Measure a recording and return it trimmed at the corpus rate, or None where nothing of it can be used."""
    if not len(sound.samples_TC):
        found.reasons.append("no samples: the file has a header alone")
        return None
    if not np.isfinite(sound.samples_TC).all():
        found.reasons.append("samples that are not numbers")
        return None
    mono_T, note = to_mono(sound.samples_TC)
    found.notes += [note] if note else []
    centred_T = mono_T - np.float32(mono_T.mean(dtype=np.float64))
    resampled_T = to_rate(centred_T, sound.rate)
    rule = TrimRule(margin=limits.margin)
    first, last = speech_span(resampled_T, rule)
    speech = (last - first) / SAMPLE_RATE
    channels = sound.samples_TC.shape[1]
    measures = measure(mono_T, sound.rate, channels, sound.encoding, speech)
    found.measures = asdict(measures)
    if first == last:
        found.reasons.append("silent")
        return None
    found.reasons += list(_reasons(measures, limits))
    found.notes += list(_notes(measures, limits))
    cut_T = with_margins(resampled_T, rule)
    found.fingerprint = fingerprint(resampled_T[first:last])
    parts = np.array_split(np.abs(resampled_T), min(_SHOWN_POINTS, len(resampled_T)))
    found.waveform = [min(100, round(100 * float(part.max()))) for part in parts]
    return np.clip(cut_T, -1.0, 1.0)


def _reasons(measures: Measures, limits: Limits) -> list[str]:
    """Why a recording is refused for its sound."""
    reasons = []
    if measures.rate < limits.lowest_rate:
        reasons.append(f"sample rate {measures.rate} Hz; expected {limits.lowest_rate} or more")
    if measures.speech < limits.shortest:
        reasons.append(f"{measures.speech:.2f} s of sound; expected {limits.shortest:g} or more")
    if measures.clipped > limits.clipped:
        reasons.append(f"clipped: {100 * measures.clipped:.1f} % of the samples; record with less gain")
    if measures.range < limits.range:
        reasons.append(f"noise: speech stands out by {measures.range:.0f} dB; expected {limits.range:.0f} or more")
    return reasons


def _notes(measures: Measures, limits: Limits) -> list[str]:
    """What a reader of the report should know about a recording that may be used."""
    notes = []
    if 0 < measures.clipped <= limits.clipped:
        notes.append(f"clipped a little: {100 * measures.clipped:.2f} % of the samples")
    if limits.range <= measures.range < limits.noted_range:
        notes.append(f"noisy: speech stands out by {measures.range:.0f} dB")
    if abs(measures.offset) > limits.noted_offset:
        notes.append(f"offset {measures.offset:+.3f} taken out")
    if measures.bandwidth < limits.noted_bandwidth:
        notes.append(f"nothing above {measures.bandwidth / 1000:.1f} kHz")
    if measures.rate != SAMPLE_RATE:
        notes.append(f"resampled from {measures.rate} Hz")
    return notes


def _check_pace(label: Label, seconds: float, found: Examined, limits: Limits) -> None:
    """Refuse a text that cannot be what is heard in so many seconds."""
    phones = sum(symbol not in SILENCES for symbol in label.phones.split())
    pace = phones / max(seconds, 0.01)
    if pace > limits.fastest:
        found.reasons.append(f"the text has {phones} phones for {seconds:.2f} s of sound; is it that of another file?")
    elif pace < limits.slowest:
        found.reasons.append(f"the text has only {phones} phones for {seconds:.1f} s of sound; is something missing?")


def _write(samples_T: FloatArray, label: Label, job: Job, found: Examined) -> None:
    name = f"wav/{job.recording.id}.flac"
    with replacing(job.out / name) as temporary:
        soundfile.write(temporary, samples_T, SAMPLE_RATE, subtype="PCM_16", format="FLAC")
    found.row = label.row(job.recording.id, name, len(samples_T) / SAMPLE_RATE)
