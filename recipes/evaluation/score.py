"""Speak sentences with a voice and score every one of them."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.alignment import Aligner
from deepvoice.audio.mel import FloatArray
from deepvoice.audio.resample import resample
from deepvoice.errors import AudioError, TextError
from deepvoice.recipes.evaluation.compare import Distance, compare
from deepvoice.recipes.evaluation.listen import Recogniser, hear, word_errors, words_of
from deepvoice.recipes.evaluation.measures import LongTermSpectrum, Signal, measure, silences_of
from deepvoice.recipes.evaluation.sentences import Item
from deepvoice.recipes.grapheme_to_phoneme.score import edit_distance
from deepvoice.speech import Speech

if TYPE_CHECKING:
    from deepvoice.pipeline import Voice

Quality = Callable[[FloatArray, int], float]  # samples and their rate -> predicted mean opinion score


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What was heard in a recording.

    words, errors: of a recogniser, and how many are wrong; quality: predicted
    unread: words of the text that the aligner does not hear; goodness: of pronunciation, as it judges, 0 at best; None
        where it did not listen
    """

    words: str = ""
    errors: int = 0
    quality: float | None = None
    unread: tuple[str, ...] | None = None
    goodness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The figures of one sentence.

    seconds: of speech; work: seconds that it took to make; count: words
    ours, theirs: what was heard in the speech and in the recording of it, where there is one
    """

    item: Item
    seconds: float
    work: float
    count: int
    ours: Heard
    signal: Signal
    theirs: Heard | None = None
    distance: Distance | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Example:
    """A scored sentence with its sound, for whoever draws it.

    path: frames of 5 ms of the speech and of the recording that belong together, int64 [N, 2]
    """

    row: Row
    speech: Speech
    reference_T: FloatArray | None = None
    reference_rate: int = 0
    path: NDArray[np.int64] | None = field(default=None)


class Scorer:
    """Holds what is needed to score sentences; `examples` speaks and scores one after another."""

    def __init__(
        self,
        voice: "Voice",
        recogniser: Recogniser | None,
        quality: Quality | None,
        aligner: Aligner | None = None,
    ) -> None:
        """Prepare to score a voice; figures of a listener that is None are left out."""
        self._voice = voice
        self._recogniser, self._quality, self._aligner = recogniser, quality, aligner
        self.spectrum = LongTermSpectrum(voice.sample_rate)

    def examples(self, items: Sequence[Item], options: dict[str, Any]) -> Iterator[Example]:
        """Speak and score sentences, with keywords of `Voice.speak`."""
        self._voice.speak(items[0].text, **options)  # the first one pays for what is loaded once
        for item in items:
            yield self._example(item, options)

    def _example(self, item: Item, options: dict[str, Any]) -> Example:
        start = time.perf_counter()
        speech = self._voice.speak(item.text, **options)
        work = time.perf_counter() - start
        self.spectrum.add(speech.samples)
        words = words_of(self._voice, item.text)
        reference_T, rate, theirs, distance, path = None, 0, None, None, None
        if item.reference is not None:
            reference_T, rate = read_recording(item)
            theirs = self._heard(reference_T, rate, words, item.text)
            distance, path = compare(speech.samples, speech.sample_rate, speech.phones, reference_T, rate)
        row = Row(
            item=item, seconds=speech.seconds, work=work, count=len(words),
            ours=self._heard(speech.samples, speech.sample_rate, words, item.text),
            signal=measure(speech.samples, speech.sample_rate, silences_of(speech)),
            theirs=theirs, distance=distance,
        )  # fmt: skip
        return Example(row=row, speech=speech, reference_T=reference_T, reference_rate=rate, path=path)

    def _heard(self, samples_T: FloatArray, rate: int, words: Sequence[str], text: str) -> Heard:
        heard = Heard(quality=self._quality(samples_T, rate) if self._quality else None)
        if self._aligner is not None:
            unread, goodness = aligned(self._aligner, samples_T, rate, text)
            heard = replace(heard, unread=unread, goodness=goodness)
        if self._recogniser is None:
            return heard
        said = words_of(self._voice, hear(self._recogniser, samples_T, rate))
        return replace(heard, words=" ".join(said), errors=edit_distance(said, words))


def aligned(aligner: Aligner, samples_T: FloatArray, rate: int, text: str) -> tuple[tuple[str, ...], float | None]:
    """Return the words of a text that an aligner does not hear, and the goodness of pronunciation of the others.

    A recording that cannot be aligned has all words unread, and no goodness.
    """
    try:
        found = aligner.align(samples_T, rate, text)
    except (AudioError, TextError):
        return tuple(text.split()), None
    return tuple(word.text for word in found.unread), found.fit.mean


def read_recording(item: Item) -> tuple[FloatArray, int]:
    """Return the recording of a sentence, channels mixed: float32 samples and their rate."""
    assert item.reference is not None
    try:
        samples, rate = soundfile.read(item.reference, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise AudioError(f"{item.reference}: {error}; expected a sound file") from None
    if not len(samples):
        raise AudioError(f"{item.reference} has no samples; record it again")
    return np.ascontiguousarray(samples.mean(axis=1), np.float32), int(rate)


def distill_mos() -> Quality:
    """Return DistillMOS, a predictor of mean opinion scores from 1 to 5 ([eval] extra). Raises ImportError."""
    import torch
    from distillmos import ConvTransformerSQAModel

    model = ConvTransformerSQAModel().eval()

    def predict(samples_T: FloatArray, rate: int) -> float:
        at_rate = samples_T if rate == 16000 else resample(samples_T, rate, 16000)
        with torch.no_grad():
            return float(model(torch.from_numpy(np.asarray(at_rate, np.float32))[None]))

    return predict


def summary(rows: Sequence[Row], spectrum: LongTermSpectrum, step: int, heard_by: str | None) -> dict[str, Any]:
    """Return the figures of all sentences together.

    step: samples that the vocoder draws at a time; heard_by: name of the recogniser
    """
    seconds, work = sum(row.seconds for row in rows), sum(row.work for row in rows)
    floors = [row.signal.noise_floor for row in rows if row.signal.noise_floor is not None]
    found: dict[str, Any] = {
        "sentences": len(rows),
        "seconds": seconds,
        "times_real_time": seconds / work,
        "noise_floor_dbfs": max(floors) if floors else None,
        "noise_floor_median_dbfs": float(np.median(floors)) if floors else None,
        "offset_dbfs": max(row.signal.offset for row in rows),
        "edges_dbfs": max(row.signal.edges for row in rows),
        "peak_dbfs": max(row.signal.peak for row in rows),
        "clipped_samples": sum(row.signal.clipped for row in rows),
        "bursts": sum(len(row.signal.bursts) for row in rows),
        "lines_db": {f"{frequency:.0f} Hz": value for frequency, value in spectrum.lines(step).items()},
    }
    if heard_by is not None:
        found |= _words(rows, heard_by)
    for name, heard in (("", [row.ours for row in rows]), ("reference_", [row.theirs for row in rows])):
        scores = [one.quality for one in heard if one is not None and one.quality is not None]
        if scores:
            found[f"{name}distillmos"] = float(np.mean(scores))
        unread = [len(one.unread) for one in heard if one is not None and one.unread is not None]
        if unread and len(unread) == len(rows):
            found[f"{name}unread_words_percent"] = 100.0 * sum(unread) / max(1, sum(row.count for row in rows))
            known = [one.goodness for one in heard if one is not None and one.goodness is not None]
            found[f"{name}goodness"] = float(np.mean(known)) if known else None
    distances = [asdict(row.distance) for row in rows if row.distance is not None]
    if distances:
        columns = {key: [one[key] for one in distances if one[key] is not None] for key in distances[0]}
        found["distance"] = {key: float(np.mean(values)) for key, values in columns.items() if values}
    return found


def _words(rows: Sequence[Row], heard_by: str) -> dict[str, Any]:
    counts, ours = [row.count for row in rows], [row.ours.errors for row in rows]
    found: dict[str, Any] = {"heard_by": heard_by, "word_errors": asdict(word_errors(ours, counts))}
    theirs = [row.theirs.errors for row in rows if row.theirs is not None]
    if len(theirs) == len(rows):
        found["reference_word_errors"] = asdict(word_errors(theirs, counts))
        found["word_errors_above_reference"] = asdict(word_errors(ours, counts, theirs))
    return found


def table(figures: dict[str, Any]) -> str:
    """Return the figures as lines of text."""
    lines = []
    for key, value in figures.items():
        if isinstance(value, dict):
            inner = ", ".join(f"{name} {_number(part)}" for name, part in value.items())
            lines.append(f"{key}: {inner}")
        else:
            lines.append(f"{key}: {_number(value)}")
    return "\n".join(lines)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)
