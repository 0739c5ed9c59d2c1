"""What aligning returns: words and phones with times, how sure each is, and whether the recording fits its text."""

from dataclasses import dataclass

from deepvoice.alignment.confidence import Fit


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPhone:
    """A phone or a silence; together they cover the recording.

    symbol: one of deepvoice.text.phones.SYMBOLS, "sil" for any silence, "spn" for speech that is not in the text
    start, end: seconds
    word: index of its word, -1 outside words
    goodness: mean over its frames of log p(this phone) - log p(likeliest sound), at most 0 (goodness of pronunciation)
    confidence: probability that its start lies within 20 ms of the true one, given its neighbours
    """

    symbol: str
    start: float
    end: float
    word: int
    goodness: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedWord:
    """A word of the text.

    text: as it is spoken ("forty" for the first word of "42")
    start, end: seconds; of a word that was not read, where it should have been
    span: characters of the text, [first, past the last)
    phones: indexes of its phones in the alignment, [first, past the last)
    confidence: probability that it was read
    read: False where something else, or nothing, was heard in its place
    fit: what the confidence follows from: mean goodness of its frames, goodness of its worst phone
    """

    text: str
    start: float
    end: float
    span: tuple[int, int]
    phones: tuple[int, int]
    confidence: float
    read: bool
    fit: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """A recording and its text.

    text: as it was given; seconds: length of the recording
    words, phones: in order
    sentences: (first word, past the last word, characters of the text) of each
    confidence: probability that the recording says the text
    accepted: whether it is good enough to learn from; reasons: why not
    extra: (start, end) in seconds of speech that is not in the text
    fit: what the confidence follows from
    """

    text: str
    seconds: float
    words: tuple[AlignedWord, ...]
    phones: tuple[AlignedPhone, ...]
    sentences: tuple[tuple[int, int, tuple[int, int]], ...]
    confidence: float
    accepted: bool
    reasons: tuple[str, ...]
    extra: tuple[tuple[float, float], ...]
    fit: Fit

    @property
    def unread(self) -> tuple[AlignedWord, ...]:
        """The words that were not read."""
        return tuple(word for word in self.words if not word.read)
