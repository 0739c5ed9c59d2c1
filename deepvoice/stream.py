"""One text being spoken: sentences are read, timed and rendered as their samples are asked for."""

import tempfile
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.loudness import Meter, gain
from deepvoice.errors import ConfigError
from deepvoice.options import Options
from deepvoice.prosody.contours import gain_of_samples, gains, level, shape_pitch
from deepvoice.prosody.durations import Timing, time_sentence
from deepvoice.prosody.questions import lower_ending, raise_question
from deepvoice.prosody.styles import StyleMap, SymbolStyles
from deepvoice.speech import Note, Phone, Report, SpokenMark, SpokenSentence, Word
from deepvoice.synthesis import Prosody, SentencePlan, Synthesizer
from deepvoice.text.document import Document
from deepvoice.text.frontend import Normalised, ReportCollector, Sentence
from deepvoice.text.hygiene import Dropped
from deepvoice.times import Times

if TYPE_CHECKING:
    from deepvoice.dispatch import Dispatcher, RenderJob

FloatArray = NDArray[np.float32]

_SILENCE_PIECE = 4800  # samples; silence is streamed in pieces of at most this size
_MEMORY = 1 << 25  # bytes of samples that a loudness target keeps in memory; more go to a temporary file


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """A sentence that has been read but not rendered, and the samples of silence before it."""

    sentence: Sentence
    styles: SymbolStyles | None
    timing: Timing
    before: int


class SpeechStream:
    """One text being spoken: an iterator of samples that also collects times and the report.

    Sentences are read as they are needed, so that a book starts at once and needs no more memory than a note. `words`,
    `phones`, `sentences`, `marks` and `report` cover what has been rendered so far: everything, once the iteration has
    ended. With a loudness target nothing comes out before all of it is rendered.
    """

    def __init__(
        self,
        synthesizer: Synthesizer,
        text: str | Document,
        sentences: Iterator[Sentence],
        *,
        collector: ReportCollector,
        options: Options,
        seed: int,
        notes: tuple[Note, ...] = (),
        times: bool = True,
        dispatcher: "Dispatcher | None" = None,
        after: "SpeechStream | None" = None,
    ) -> None:
        """Begin with the first sentence; raises TextError when there is none.

        text: what the sentences are of
        after: an ended stream of the text before this one: everything goes on from there
        """
        if after is not None and not isinstance(after, SpeechStream):
            raise ConfigError(f"after is a {type(after).__name__}; expected the stream of the text before, or None")
        if after is not None and (after._waiting or after._read_next()):
            raise ConfigError("after is a stream that has not ended; read it to its end first")
        self.sample_rate = synthesizer.sample_rate
        self._synthesizer = synthesizer
        self._sentences = sentences
        self._collector = collector
        self._options = options
        self.seed = seed
        self._notes = notes
        self._collect_times = times
        self._dispatcher = dispatcher
        self._styles = StyleMap(text if isinstance(text, Document) else None)
        self._first: int = after._first + after._read if after else 0  # number of the first sentence
        self._offset: int = after._offset + after._length if after else 0  # characters of the texts before
        self._length: int = text.origin[-1] if isinstance(text, Document) and text.origin else len(_plain(text))
        self._begin: int = after._begin + after._planned if after else 0  # samples before
        self._times = Times(text, self.sample_rate, samples=self._begin, offset=self._offset)
        self._read: int = 0  # sentences
        self._planned: int = 0  # samples of the sentences read, with the silence before them
        self._waiting: deque[_Planned] = deque()  # read and planned, not yet rendered
        self._last: _Planned | None = after._last if after else None
        self._loudness: float | None = None
        self._read_next()
        self._pieces = self._levelled() if options.loudness is not None else self._render()

    def __iter__(self) -> Iterator[FloatArray]:
        return self

    def __next__(self) -> FloatArray:
        return next(self._pieces)

    @property
    def words(self) -> list[Word]:
        """Words of the sentences begun so far."""
        return self._times.words

    @property
    def phones(self) -> list[Phone]:
        """Phones and silences of the sentences begun so far."""
        return self._times.phones

    @property
    def sentences(self) -> list[SpokenSentence]:
        """Sentences begun so far."""
        return self._times.sentences

    @property
    def marks(self) -> list[SpokenMark]:
        """Marks of the sentences begun so far."""
        return self._times.marks

    @property
    def report(self) -> Report:
        """What became of the text that has been read so far."""
        found, offset = self._collector.report(), self._offset
        return Report(
            sentences=self._read,
            normalised=tuple(_moved(change, offset) for change in found.normalised),
            unknown=found.unknown,
            dropped=tuple(_moved(dropped, offset) for dropped in found.dropped),
            notes=tuple(_moved(note, offset) for note in self._notes),
            seed=self.seed,
            loudness=self._loudness,
        )

    def read_all(self, most: int | None = None) -> bool:
        """Read sentences ahead, up to `most` of them in all; returns whether that was the whole text."""
        while most is None or self._read < most:
            if not self._read_next():
                return True
        return False

    def count_samples(self) -> int:
        """Return how many samples this text will have; it reads and plans all of it."""
        self.read_all()
        return self._planned

    def skip_audio(self) -> int:
        """Collect the times of everything that has not been rendered, without samples; returns `count_samples`.

        The stream gives no samples afterwards.
        """
        for _ in self.contours():
            pass
        return self._planned

    def contours(self) -> Iterator[tuple[int, Prosody]]:
        """Yield, for each sentence that has not been rendered, its first sample and the pitch of its frames.

        It collects times as `skip_audio` does, without samples; a pause that is longer than the voice would make it
        (`<break>`) is not in the frames.
        """
        self.close()
        while self._waiting or self._read_next():
            planned = self._waiting.popleft()
            prosody = self._prosody(planned)
            self._note(planned, prosody)
            yield self._times.samples - planned.timing.num_samples, prosody

    def close(self) -> None:
        """End the stream; what was handed to a dispatcher is cancelled."""
        self._pieces.close()

    def _read_next(self) -> bool:
        sentence = next(self._sentences, None)
        if sentence is None:
            return False
        styles = self._styles.of(sentence)
        timing = time_sentence(self._synthesizer, sentence, self._options.speed, styles)
        planned = _Planned(
            sentence=sentence, styles=styles, timing=timing, before=self._silence_before(sentence, timing)
        )
        self._waiting.append(planned)
        self._last = planned
        self._planned += planned.before + timing.num_samples
        self._read += 1
        return True

    def _silence_before(self, sentence: Sentence, timing: Timing) -> int:
        """Return the samples of silence to insert before a sentence.

        A gap is what is heard between two words, so the silence that both sentences bring along counts.
        """
        lead_in = round(self._options.lead_in * self.sample_rate) if self._last is None else 0
        if sentence.gap is None:
            return lead_in if self._last is None else self._synthesizer.gap_samples
        hop = self._synthesizer.config.mel.hop
        inside = int(timing.plan.durations_P[0]) * hop
        if self._last is not None:
            inside += int(self._last.timing.plan.durations_P[-1]) * hop
        return lead_in + max(0, round(sentence.gap * self.sample_rate) - inside)

    def _levelled(self) -> Generator[FloatArray, None, None]:
        """Yield the samples with one gain that gives them the loudness asked for."""
        target = self._options.loudness
        assert target is not None
        meter = Meter(self.sample_rate)
        with tempfile.SpooledTemporaryFile(max_size=_MEMORY) as kept:
            with closing(self._render()) as pieces:
                for piece in pieces:
                    meter.write(piece)
                    kept.write(piece.tobytes())
            factor = np.float32(gain(meter, target))
            self._loudness = meter.integrated() + 20.0 * float(np.log10(factor))
            kept.seek(0)
            while data := kept.read(4 * _SILENCE_PIECE):
                yield np.frombuffer(data, np.float32) * factor

    def _render(self) -> Generator[FloatArray, None, None]:
        with closing(self._voiced()) as sentences:
            for planned, prosody, pieces in sentences:
                if self._collect_times:
                    self._note(planned, prosody)
                yield from _silence(planned.before)
                yield from self._finish(planned, pieces)

    def _voiced(self) -> Generator[tuple[_Planned, Prosody, Iterator[FloatArray]], None, None]:
        """Yield each sentence with its pitch and its samples, which a dispatcher makes ahead of time."""
        number = self._first
        if self._dispatcher is None:
            while self._waiting or self._read_next():
                planned = self._waiting.popleft()
                prosody = self._prosody(planned)
                yield planned, prosody, self._synthesizer.render(planned.timing.plan, prosody, self.seed, number)
                number += 1
            return
        queue = _Queue(self._dispatcher, self.seed, number)
        with closing(queue):
            while True:
                self._submit(queue)
                ready = queue.next()
                if not ready:
                    return
                planned, prosody, job = ready
                yield planned, prosody, self._keeping_busy(queue, job)

    def _submit(self, queue: "_Queue") -> bool:
        """Hand one more sentence to the dispatcher; returns whether there was one and room for it."""
        if queue.full or not (self._waiting or self._read_next()):
            return False
        planned = self._waiting.popleft()
        queue.add(planned, self._prosody(planned))
        return True

    def _keeping_busy(self, queue: "_Queue", job: "RenderJob") -> Iterator[FloatArray]:
        """Yield the pieces of a sentence, and hand on one more sentence after each of them."""
        for piece in job:
            yield piece
            self._submit(queue)

    def _prosody(self, planned: _Planned) -> Prosody:
        pitch = self._options.pitch
        timing = planned.timing
        prosody = self._tune(planned, timing.plan)
        if timing.neutral:
            prosody = level(prosody, self._tune(planned, timing.neutral))
        per_second = self.sample_rate / self._synthesizer.config.mel.hop
        prosody = shape_pitch(prosody, timing, planned.styles, pitch, per_second)
        if self._options.question_rise:
            prosody = raise_question(prosody, planned.sentence, timing)
        return prosody

    def _tune(self, planned: _Planned, plan: SentencePlan) -> Prosody:
        prosody = self._synthesizer.prosody(plan, self._options.pitch)
        return lower_ending(prosody, planned.sentence, plan.durations_P)

    def _finish(self, planned: _Planned, pieces: Iterator[FloatArray]) -> Iterator[FloatArray]:
        """Give the pieces of a sentence their gain, and insert the silence of its long pauses."""
        hop = self._synthesizer.config.mel.hop
        gain_E = gains(planned.timing, planned.styles, self.sample_rate / hop)
        volume = np.float32(self._options.volume)
        holes = deque(_holes(planned.timing, hop))
        at = 0
        for piece in pieces:
            if gain_E is not None:
                piece = piece * gain_of_samples(gain_E, at, len(piece), hop)
            loud = np.clip(piece * volume, -1.0, 1.0)
            first = 0
            while holes and holes[0][0] <= at + len(piece):
                place, size = holes.popleft()
                yield loud[first : place - at]
                yield from _silence(size)
                first = place - at
            if first < len(loud):
                yield loud[first:]
            at += len(piece)

    def _note(self, planned: _Planned, prosody: Prosody) -> None:
        self._times.silence(planned.before)
        self._times.sentence(planned.sentence, planned.timing, prosody, self._synthesizer.config.mel.hop)


class _Queue:
    """Sentences of one text that a dispatcher renders ahead of their reader, in order."""

    def __init__(self, dispatcher: "Dispatcher", seed: int, number: int) -> None:
        self._dispatcher = dispatcher
        self._seed = seed
        self._first = self._number = number
        self._jobs: deque[tuple[_Planned, Prosody, RenderJob]] = deque()
        self._running: tuple[_Planned, Prosody, RenderJob] | None = None

    @property
    def full(self) -> bool:
        return len(self._jobs) >= self._dispatcher.slots

    def add(self, planned: _Planned, prosody: Prosody) -> None:
        """Submit a sentence; only the first is urgent, for the others nobody waits yet."""
        urgent = self._number == self._first
        job = self._dispatcher.submit(planned.timing.plan, prosody, self._seed, self._number, urgent=urgent)
        self._jobs.append((planned, prosody, job))
        self._number += 1

    def next(self) -> "tuple[_Planned, Prosody, RenderJob] | None":
        self._running = self._jobs.popleft() if self._jobs else None
        return self._running

    def close(self) -> None:
        """Cancel what has not been rendered."""
        for _, _, job in (*([self._running] if self._running else []), *self._jobs):
            job.cancel()
        self._jobs.clear()


def _plain(text: str | Document) -> str:
    return text if isinstance(text, str) else text.text


_Place = TypeVar("_Place", Normalised, Dropped, Note)


def _moved(place: _Place, offset: int) -> _Place:
    """Return a place of a text as one of the texts before it and itself."""
    return place._replace(start=place.start + offset, end=place.end + offset) if offset else place


def _holes(timing: Timing, hop: int) -> Iterator[tuple[int, int]]:
    """Yield the sample of the sentence at which silence is inserted, and its length."""
    edges = np.concatenate([[0], np.cumsum(timing.plan.durations_P)])
    for index in np.flatnonzero(timing.held_P):
        yield int((edges[index] + edges[index + 1]) // 2) * hop, int(timing.held_P[index])


def _silence(samples: int) -> Iterator[FloatArray]:
    for start in range(0, samples, _SILENCE_PIECE):
        yield np.zeros(min(_SILENCE_PIECE, samples - start), np.float32)
