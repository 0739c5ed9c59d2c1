"""Keeps the time of a speech while it is made: words, phones, sentences and marks, counted in samples."""

from bisect import bisect_left
from itertools import pairwise

import numpy as np

from deepvoice.prosody.durations import Timing
from deepvoice.speech import Phone, SpokenMark, SpokenSentence, Word
from deepvoice.synthesis import Prosody
from deepvoice.text.document import Document
from deepvoice.text.frontend import Sentence
from deepvoice.text.frontend import Word as SentenceWord
from deepvoice.text.phones import START


class Times:
    """Collects times; `samples` is the length so far, and the phones cover all of it."""

    def __init__(self, text: str | Document, sample_rate: int, *, samples: int = 0, offset: int = 0) -> None:
        """Begin at a sample; `offset` is added to the positions of characters."""
        self.words: list[Word] = []
        self.phones: list[Phone] = []
        self.sentences: list[SpokenSentence] = []
        self.marks: list[SpokenMark] = []
        self.samples = samples
        self._offset = offset
        self._rate = sample_rate
        self._text = text

    def silence(self, samples: int) -> None:
        """Append digital silence."""
        if samples:
            self._phone(START, self.samples, self.samples + samples, 0.0, -1)
            self.samples += samples

    def mark(self, name: str, sample: int | None = None) -> None:
        """Append a mark, here or at a sample."""
        sample = self.samples if sample is None else sample
        self.marks.append(SpokenMark(name=name, time=sample / self._rate, sample=sample))

    def sentence(self, sentence: Sentence, timing: Timing, prosody: Prosody, hop: int) -> None:
        """Append a sentence."""
        plan = timing.plan
        frames = np.concatenate([[0], np.cumsum(plan.durations_P)])
        edges = self.samples + np.concatenate([[0], np.cumsum(plan.durations_P * hop + timing.held_P)])
        first_word = len(self.words)
        heard: dict[int, tuple[int, int]] = {}
        for i, (symbol, place) in enumerate(zip(plan.sequence.symbols, plan.sequence.word_of, strict=True)):
            inside = slice(frames[i], frames[i + 1])
            voiced = prosody.voiced_F[inside]
            f0 = float(prosody.f0_F[inside][voiced].mean()) if voiced.any() else 0.0
            start, end = int(edges[i]), int(edges[i + 1])
            self._phone(symbol, start, end, f0, first_word + place if place >= 0 else -1)
            if place >= 0:
                heard[place] = (heard.get(place, (start, 0))[0], end)
        written = self._written(sentence)
        for number, word in enumerate(sentence.words):
            self._word(word, heard[number], written[number])
        for index, name in sentence.marks:
            self.mark(name, int(edges[index]))
        self._sentence(sentence, first_word)
        self.samples = int(edges[-1])

    def _phone(self, symbol: str, start: int, end: int, f0: float, word: int) -> None:
        rate = self._rate
        self.phones.append(
            Phone(symbol=symbol, start=start / rate, end=end / rate, f0=f0, samples=(start, end), word=word)
        )

    def _word(self, word: SentenceWord, samples: tuple[int, int], written: str) -> None:
        start, end = samples
        self.words.append(
            Word(
                text=word.text,
                start=start / self._rate,
                end=end / self._rate,
                span=(word.start + self._offset, word.end + self._offset),
                samples=samples,
                written=written,
            )
        )

    def _sentence(self, sentence: Sentence, first_word: int) -> None:
        words = self.words[first_word:]
        start, end = words[0].samples[0], words[-1].samples[1]
        self.sentences.append(
            SpokenSentence(
                text="".join(word.written for word in words).rstrip(),
                start=start / self._rate,
                end=end / self._rate,
                span=(sentence.start + self._offset, sentence.end + self._offset),
                samples=(start, end),
                words=(first_word, len(self.words)),
            )
        )

    def _written(self, sentence: Sentence) -> list[str]:
        """Return what was written for each word: all of the sentence's text, cut where words begin."""
        first: list[int] = []  # words that begin a writing; others, such as "two" of "42", belong to the one before
        starts: list[int] = []
        past = -1
        for number, word in enumerate(sentence.words):
            if word.start >= past:
                first.append(number)
                starts.append(word.start)
            else:
                starts[-1] = min(starts[-1], word.start)
            past = max(past, word.end)
        edges = [min(sentence.start, starts[0]), *starts[1:], max(sentence.end, past)]
        written = [""] * len(sentence.words)
        opening = ""  # quotes and brackets that belong to the word after them
        for number, (start, end) in zip(first, pairwise(edges), strict=True):
            text, opening = _without_opening(opening + self._plain(start, end))
            if number == first[-1]:
                text += opening
            written[number] = " ".join(text.split()) + (" " if text[-1:].isspace() else "")
        return written

    def _plain(self, start: int, end: int) -> str:
        """Return what was written between two characters of the original, without markup."""
        if isinstance(self._text, str):
            return self._text[start:end]
        origin = self._text.origin
        if not origin:
            return self._text.text[start:end]
        return self._text.text[bisect_left(origin, start) : bisect_left(origin, end)]


def _without_opening(text: str) -> tuple[str, str]:
    """Split off what stands at the end, behind a space, without a letter or digit."""
    length = len(text) - len(text.split()[-1]) if text.strip() and not text[-1].isspace() else len(text)
    tail = text[length:]
    return (text[:length], tail) if length and not any(char.isalnum() for char in tail) else (text, "")
