"""The times of a speech as plain values, at the rate of the voice or of the file that was written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from deepvoice.speech import Phone, SpokenMark, SpokenSentence, Word

_Timed = TypeVar("_Timed", Word, Phone, SpokenSentence)


class Timed(Protocol):
    """What has times: a Speech, or a SpeechStream that has ended."""

    @property
    def sample_rate(self) -> int:
        """In Hz."""
        ...

    @property
    def words(self) -> Sequence[Word]:
        """Spoken words in order."""
        ...

    @property
    def phones(self) -> Sequence[Phone]:
        """Phones and silences in order; they cover every sample."""
        ...

    @property
    def sentences(self) -> Sequence[SpokenSentence]:
        """Sentences in order."""
        ...

    @property
    def marks(self) -> Sequence[SpokenMark]:
        """Marks in order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The times of a speech; phones cover [0, num_samples) without gap or overlap."""

    sample_rate: int
    num_samples: int
    words: tuple[Word, ...]
    phones: tuple[Phone, ...]
    sentences: tuple[SpokenSentence, ...]
    marks: tuple[SpokenMark, ...]

    @classmethod
    def of(cls, timed: Timed) -> "Timeline":
        """Take the times of a speech; those of a stream that goes on from another begin at 0 again."""
        first = timed.phones[0].samples[0] if timed.phones else 0
        last = timed.phones[-1].samples[1] if timed.phones else 0
        timeline = cls(
            sample_rate=timed.sample_rate,
            num_samples=last,
            words=tuple(timed.words),
            phones=tuple(timed.phones),
            sentences=tuple(timed.sentences),
            marks=tuple(timed.marks),
        )
        return timeline.moved(-first) if first else timeline

    def at_rate(self, rate: int) -> "Timeline":
        """Return the times in samples of a file at another rate: n samples become ceil(n rate / sample_rate)."""
        if rate == self.sample_rate:
            return self
        return self._mapped(lambda sample: -(-sample * rate // self.sample_rate), rate)

    def moved(self, samples: int) -> "Timeline":
        """Return the times of the same speech after so many samples of something else."""
        return self._mapped(lambda sample: sample + samples, self.sample_rate)

    def _mapped(self, change: "_Change", rate: int) -> "Timeline":
        def item(old: _Timed) -> _Timed:
            start, end = change(old.samples[0]), change(old.samples[1])
            return replace(old, start=start / rate, end=end / rate, samples=(start, end))

        marks = tuple(replace(mark, time=change(mark.sample) / rate, sample=change(mark.sample)) for mark in self.marks)
        return Timeline(
            sample_rate=rate,
            num_samples=change(self.num_samples),
            words=tuple(map(item, self.words)),
            phones=tuple(map(item, self.phones)),
            sentences=tuple(map(item, self.sentences)),
            marks=marks,
        )


class _Change(Protocol):
    """Where a sample goes."""

    def __call__(self, sample: int) -> int: ...
