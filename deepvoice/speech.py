"""What speaking returns: samples with the times of sentences, words and phones, and a report of what happened."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.io import open_writer
from deepvoice.errors import AudioError
from deepvoice.text.frontend import Normalised
from deepvoice.text.hygiene import Dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A spoken word and when it is heard.

    text: the word as it is spoken ("forty" for the first word of "42")
    start, end: seconds from the start of the speech
    span: characters of the original text that it came from, [first, past the last)
    samples: the same time in samples, [first, past the last)
    written: what stands there without markup, up to the next word, with punctuation and at most one space behind it;
        empty for the second word of "42" and the like. Together they are the text of the sentence.
    """

    text: str
    start: float
    end: float
    span: tuple[int, int]
    samples: tuple[int, int]
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phone:
    """A phone or a silence and when it is heard; phones cover every sample of the speech.

    symbol: one of deepvoice.text.phones.SYMBOLS
    start, end: seconds from the start of the speech
    f0: mean pitch of its voiced frames in Hz, 0 if it has none
    samples: the same time in samples, [first, past the last)
    word: index of its word in the speech, -1 for a silence
    """

    symbol: str
    start: float
    end: float
    f0: float
    samples: tuple[int, int]
    word: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenSentence:
    """A sentence and when it is heard, from its first word to its last.

    text: what was written, without markup
    start, end: seconds from the start of the speech
    span: characters of the original text, [first, past the last)
    samples: the same time in samples, [first, past the last)
    words: indexes of its words in the speech, [first, past the last)
    """

    text: str
    start: float
    end: float
    span: tuple[int, int]
    samples: tuple[int, int]
    words: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenMark:
    """A named place of the text (`<mark name="..."/>`) and when it is reached: in seconds, and as a sample."""

    name: str
    time: float
    sample: int


class Note(NamedTuple):
    """Something of the original characters [start, end) that was understood but is not done, and why."""

    start: int
    end: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of the text; nothing happens to it silently.

    sentences: number of sentences spoken
    normalised: what is not read as it is written, such as numbers: (start, end, text, spoken) in the original text
    unknown: words that the lexicon does not have, read by the pronunciation model
    dropped: what is not spoken, such as other scripts: (start, end, text, reason) in the original text
    notes: instructions that are not carried out, such as another language: (start, end, text, reason)
    seed: seed of the random numbers; the same seed gives the same samples
    loudness: integrated loudness of the samples in LUFS when a target was asked for; above or below the target only
        where it would have clipped, or where there is nothing but silence
    """

    sentences: int = 0
    normalised: tuple[Normalised, ...] = ()
    unknown: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[Note, ...] = ()
    seed: int = 0
    loudness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Speech:
    """Finished speech. Compare `samples` to compare two: arrays have no single equality.

    samples: float32 [n] in [-1, 1]; none where only the times were asked for (`Voice.timings`)
    sample_rate: Hz
    """

    samples: NDArray[np.float32]
    sample_rate: int
    words: tuple[Word, ...] = ()
    phones: tuple[Phone, ...] = ()
    sentences: tuple[SpokenSentence, ...] = ()
    marks: tuple[SpokenMark, ...] = ()
    report: Report = field(default_factory=Report)

    @property
    def seconds(self) -> float:
        """Length of the speech; of one that `Voice.timings` made, the length that it would have."""
        return (len(self.samples) or self._planned) / self.sample_rate

    @property
    def _planned(self) -> int:
        """Samples that the phones cover."""
        return self.phones[-1].samples[1] if self.phones else 0

    def save(self, path: Path | str, file_format: str | None = None, *, rate: int | None = None) -> Path:
        """Write an audio file, in the format of its suffix or the one named; the file is complete or absent.

        file_format: one of deepvoice.audio.formats.FORMATS
        rate: sample rate of the file, from 8000 to 48000 Hz; None is what the format usually has
        Raises AudioError for an unknown format or rate, an unwritable place, a full disk, and times without
        samples.
        """
        if not len(self.samples) and self._planned:
            raise AudioError("this speech has times but no samples, as Voice.timings makes it; use Voice.speak")
        with open_writer(path, self.sample_rate, file_format, rate=rate) as writer:
            writer.write(self.samples)
        return Path(path)
