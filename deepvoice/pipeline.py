"""The data flow in one screen: text -> sentences of phones -> durations, F0, conditioning -> samples.

`Voice` is what users hold. `SpeechStream` is one text being spoken: it yields samples as soon as they are made and
collects words, phones and the report on the way; `Voice.speak` is that stream, gathered.
"""

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.errors import ConfigError, TextError
from deepvoice.networks.grapheme_to_phoneme import GraphemeToPhonemeNetwork
from deepvoice.speech import Phone, Report, Speech, Word
from deepvoice.synthesis import Prosody, SentencePlan, Synthesizer
from deepvoice.text.frontend import Analysis, FrontEnd, ReportCollector, Sentence
from deepvoice.text.lexicon import Lexicon
from deepvoice.voice import VoiceFolder, VoiceManifest, load_voice

FloatArray = NDArray[np.float32]

SPEED = (0.25, 4.0)  # rate, 1 is the voice's own
PITCH = (-12.0, 12.0)  # semitones
VOLUME = (0.0, 10.0)  # linear gain
SEED = (0, 2**63 - 1)
_SILENCE_PIECE = 4800  # samples; silence is streamed in pieces of at most this size


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to speak one text; see `Voice.speak`. Values outside their ranges raise ConfigError."""

    speed: float = 1.0
    pitch: float = 0.0
    volume: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name, (low, high) in (("speed", SPEED), ("pitch", PITCH), ("volume", VOLUME), ("seed", SEED)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
                raise ConfigError(f"{name} is {value!r}; expected a number from {low} to {high}")
        if not isinstance(self.seed, int):
            raise ConfigError(f'seed is {self.seed!r}; expected a whole number, None or "random"')


class Voice:
    """A voice that is ready to speak.

    It loads everything once and only reads afterwards: one object serves any number of texts and threads.
    """

    def __init__(self, folder: VoiceFolder, *, backend: str = "auto", threads: int | None = None) -> None:
        """Prepare a loaded voice folder; `deepvoice.load` is the usual way here.

        backend: "auto", "reference" or "cpu"; one that is named and unavailable raises KernelUnavailableError
        threads: sentences that `speak_many` renders at a time; None uses every core this process may use
        """
        if threads is not None and (type(threads) is not int or not 1 <= threads <= 1024):
            raise ConfigError(f"threads is {threads!r}; expected a whole number from 1 to 1024, or None for all cores")
        self.manifest: VoiceManifest = folder.manifest
        self.backend = kernels.resolve(backend)
        self.threads = threads or _cores()
        self._synthesizer = Synthesizer(folder, self.backend)
        self._front_end = _front_end(folder)

    @classmethod
    def load(cls, voice: str | Path | None = None, *, backend: str = "auto", threads: int | None = None) -> "Voice":
        """Load a voice by name or from a folder; None is the default voice. Raises VoiceError when it is damaged."""
        return cls(load_voice(voice), backend=backend, threads=threads)

    @property
    def name(self) -> str:
        """The voice's name."""
        return self.manifest.name

    @property
    def sample_rate(self) -> int:
        """Sample rate of everything this voice makes, in Hz."""
        return self.manifest.sample_rate

    def speak(
        self,
        text: str,
        *,
        speed: float = 1.0,
        pitch: float = 0.0,
        volume: float = 1.0,
        seed: int | Literal["random"] | None = None,
    ) -> Speech:
        """Speak a text.

        speed: rate, 2 is twice as fast
        pitch: shift in semitones
        volume: linear gain; samples are clipped to [-1, 1]
        seed: of the random numbers; None is the voice's fixed default, "random" a new one (named in the report)
        Raises TextError when there is nothing to speak, ConfigError for an option outside its range.
        """
        stream = self.stream(text, speed=speed, pitch=pitch, volume=volume, seed=seed)
        samples = np.concatenate(list(stream))
        return Speech(
            samples=samples,
            sample_rate=self.sample_rate,
            words=tuple(stream.words),
            phones=tuple(stream.phones),
            report=stream.report,
        )

    def stream(
        self,
        text: str,
        *,
        speed: float = 1.0,
        pitch: float = 0.0,
        volume: float = 1.0,
        seed: int | Literal["random"] | None = None,
        times: bool = True,
    ) -> "SpeechStream":
        """Return the same samples as `speak`, as an iterator of float32 arrays, each as soon as it is ready.

        times: whether to collect words and phones; without, memory does not grow with the text
        """
        options = Options(speed=speed, pitch=pitch, volume=volume, seed=self._seed(seed))
        collector = ReportCollector()
        return SpeechStream(self._synthesizer, self._sentences(text, collector), collector, options, times)

    def speak_many(
        self,
        texts: Iterable[str],
        *,
        speed: float = 1.0,
        pitch: float = 0.0,
        volume: float = 1.0,
        seed: int | Literal["random"] | None = None,
    ) -> Iterator[Speech]:
        """Yield the Speech of each text, in order, rendering several at a time; the samples equal those of `speak`.

        Raises, at once, ConfigError for an option outside its range and TextError when `texts` is one string.
        """
        if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
            raise TextError(f"texts is a {type(texts).__name__}; expected several texts: pass a list, or use speak")
        Options(speed=speed, pitch=pitch, volume=volume, seed=self._seed(seed))

        def speak(text: str) -> Speech:
            return self.speak(text, speed=speed, pitch=pitch, volume=volume, seed=seed)

        return self._in_parallel(speak, texts)

    def _in_parallel(self, speak: Callable[[str], Speech], texts: Iterable[str]) -> Iterator[Speech]:
        with ThreadPoolExecutor(self.threads) as pool:
            pending: deque[Future[Speech]] = deque()
            try:
                for text in texts:
                    pending.append(pool.submit(speak, text))
                    if len(pending) > self.threads:  # bounded: an endless iterable of texts must not fill the memory
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()

    def phonemes(self, text: str) -> tuple[Sentence, ...]:
        """Return the sentences with their words, character spans and phones, without making audio."""
        return self.analyse(text).sentences

    def analyse(self, text: str) -> Analysis:
        """Return what the front end makes of a text: the sentences, and what was normalised, unknown and dropped."""
        with kernels.using(self.backend):
            return self._front_end.analyse(text)

    def _sentences(self, text: str, collector: ReportCollector) -> Iterator[Sentence]:
        sentences = self._front_end.iterate(text, collector)
        while True:
            with kernels.using(self.backend):
                sentence = next(sentences, None)
            if sentence is None:
                return
            yield sentence

    def _seed(self, seed: int | Literal["random"] | None) -> int:
        if seed is None:
            return self.manifest.synthesis.seed
        return secrets.randbelow(SEED[1]) if seed == "random" else seed


class SpeechStream:
    """One text being spoken: an iterator of samples that also collects words, phones and the report.

    Sentences are read as they are needed, so that a book starts at once and needs no more memory than a note. `words`,
    `phones` and `report` cover what has been read so far: everything, once the iteration has ended.
    """

    def __init__(
        self,
        synthesizer: Synthesizer,
        sentences: Iterator[Sentence],
        collector: ReportCollector,
        options: Options,
        times: bool,
    ) -> None:
        """Begin with the first sentence; raises TextError when there is none."""
        self.words: list[Word] = []
        self.phones: list[Phone] = []
        self.sample_rate = synthesizer.sample_rate
        self._synthesizer = synthesizer
        self._sentences = sentences
        self._collector = collector
        self._options = options
        self._times = times
        self._read = 0  # sentences
        self._planned = 0  # samples of the sentences read
        self._waiting: deque[tuple[Sentence, SentencePlan]] = deque()  # read and planned, not yet rendered
        self._read_next()
        self._pieces = self._render()

    def __iter__(self) -> Iterator[FloatArray]:
        return self

    def __next__(self) -> FloatArray:
        return next(self._pieces)

    @property
    def report(self) -> Report:
        """What became of the text that has been read so far."""
        found = self._collector.report()
        return Report(
            sentences=self._read,
            normalised=found.normalised,
            unknown=found.unknown,
            dropped=found.dropped,
            seed=self._options.seed,
        )

    def read_all(self, most: int | None = None) -> bool:
        """Read sentences ahead, up to `most` of them in all; returns whether that was the whole text."""
        while most is None or self._read < most:
            if not self._read_next():
                return True
        return False

    def count_samples(self) -> int:
        """Return how many samples the text will have; it reads and plans all of it."""
        self.read_all()
        return self._planned + self._synthesizer.gap_samples * (self._read - 1)

    def _read_next(self) -> bool:
        sentence = next(self._sentences, None)
        if sentence is None:
            return False
        plan = self._synthesizer.plan(sentence.sequence, self._options.speed)
        self._waiting.append((sentence, plan))
        self._planned += plan.num_samples
        self._read += 1
        return True

    def _render(self) -> Iterator[FloatArray]:
        done = number = 0  # samples, sentences
        while self._waiting or self._read_next():
            sentence, plan = self._waiting.popleft()
            if number:
                yield from _silence(self._synthesizer.gap_samples)
                done += self._synthesizer.gap_samples
            prosody = self._synthesizer.prosody(plan, self._options.pitch)
            if self._times:
                self._note(sentence, plan, prosody, done)
            for piece in self._synthesizer.render(plan, prosody, self._options.seed, number):
                yield np.clip(piece * np.float32(self._options.volume), -1.0, 1.0)
            done += plan.num_samples
            number += 1

    def _note(self, sentence: Sentence, plan: SentencePlan, prosody: Prosody, done: int) -> None:
        """Append the words and phones of a sentence that starts at sample `done`."""
        frame_seconds = plan.num_samples / self.sample_rate / max(1, int(plan.durations_P.sum()))
        edges = np.concatenate([[0], np.cumsum(plan.durations_P)])
        seconds = [done / self.sample_rate + int(edge) * frame_seconds for edge in edges]
        heard: dict[int, tuple[float, float]] = {}
        for i, (symbol, place) in enumerate(zip(plan.sequence.symbols, plan.sequence.word_of, strict=True)):
            voiced = prosody.voiced_F[edges[i] : edges[i + 1]]
            f0 = float(prosody.f0_F[edges[i] : edges[i + 1]][voiced].mean()) if voiced.any() else 0.0
            self.phones.append(Phone(symbol=symbol, start=seconds[i], end=seconds[i + 1], f0=f0))
            if place >= 0:
                heard[place] = (heard.get(place, (seconds[i], 0.0))[0], seconds[i + 1])
        for number, word in enumerate(sentence.words):
            if number in heard:
                start, end = heard[number]
                self.words.append(Word(text=word.text, start=start, end=end, span=(word.start, word.end)))


def load_front_end(voice: str | Path | None = None) -> FrontEnd:
    """Load only the half of a voice that turns text into phones; None is the default voice."""
    return _front_end(load_voice(voice, ("grapheme_to_phoneme",)))


def _front_end(folder: VoiceFolder) -> FrontEnd:
    module = "grapheme_to_phoneme"
    return FrontEnd(Lexicon(), GraphemeToPhonemeNetwork(folder.tensors[module], folder.configs[module]))


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _silence(samples: int) -> Iterator[FloatArray]:
    for start in range(0, samples, _SILENCE_PIECE):
        yield np.zeros(min(_SILENCE_PIECE, samples - start), np.float32)


__all__ = ["PITCH", "SEED", "SPEED", "VOLUME", "Options", "SpeechStream", "Voice"]
