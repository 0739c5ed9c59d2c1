"""Sentences cut into subtitles: at most two lines of 42 characters and seven seconds, at the words that suit best."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepvoice.speech import Word
from deepvoice.timings.timeline import Timeline

LINE = 42  # characters
LINES = 2
LONGEST = 7.0  # seconds
_SHORTEST = 1.0  # seconds that a subtitle stays if nothing follows at once


class Writing(NamedTuple):
    """What was written for one or more spoken words, and when they are heard, in samples."""

    text: str
    start: int
    end: int


class Cue(NamedTuple):
    """Subtitles that are shown together, and when, in samples."""

    writings: tuple[Writing, ...]
    start: int
    end: int

    @property
    def text(self) -> str:
        """What is shown, in one line."""
        return "".join(writing.text for writing in self.writings).strip()


def writings(words: Sequence[Word]) -> list[Writing]:
    """Join the spoken words of one writing, such as those of "42"."""
    joined: list[Writing] = []
    for word in words:
        if word.written or not joined:
            joined.append(Writing(word.written, *word.samples))
        else:
            joined[-1] = joined[-1]._replace(end=word.samples[1])
    return joined


def cues(timeline: Timeline) -> list[Cue]:
    """Return the subtitles of a speech; each stays until the next, but no longer than a second after its last word."""
    found = [
        Cue(tuple(part), part[0].start, part[-1].end)
        for sentence in timeline.sentences
        for part in _parts(writings(timeline.words[slice(*sentence.words)]), timeline.sample_rate)
    ]
    shown = []
    for i, cue in enumerate(found):
        limit = found[i + 1].start if i + 1 < len(found) else timeline.num_samples
        end = max(cue.end, cue.start + round(_SHORTEST * timeline.sample_rate))
        shown.append(cue._replace(end=min(end, limit)))
    return shown


def wrap(text: str) -> list[str]:
    """Break a subtitle into lines of about the same length, none longer than LINE where words allow it."""
    if len(text) <= LINE:
        return [text]
    words = text.split()
    best = min(
        range(1, len(words)) if len(words) > 1 else [1],
        key=lambda i: max(len(" ".join(words[:i])), len(" ".join(words[i:]))),
    )
    return [line for line in (" ".join(words[:best]), " ".join(words[best:])) if line]


def _parts(words: list[Writing], rate: int) -> Iterator[list[Writing]]:
    """Cut a sentence where it gets too long: after the best punctuation, or else in the middle."""
    length = sum(len(word.text) for word in words)
    seconds = (words[-1].end - words[0].start) / rate
    if len(words) == 1 or (length <= LINE * LINES and seconds <= LONGEST):
        yield words
        return
    at = 0
    scores: list[tuple[float, int]] = []
    for i, word in enumerate(words[:-1], 1):
        at += len(word.text)
        mark = word.text.rstrip()[-1:]
        bonus = 0.35 if mark in ".!?…" else 0.25 if mark in ",;:—)" else 0.0
        scores.append((abs(at / max(length, 1) - 0.5) - bonus, i))
    cut = min(scores)[1]
    yield from _parts(words[:cut], rate)
    yield from _parts(words[cut:], rate)
