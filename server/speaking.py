"""One request to speak: options in, pieces of encoded audio and times out. This part runs in a thread."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from deepvoice.audio import encoders
from deepvoice.audio.encoders import Encoder
from deepvoice.pipeline import SpeechStream
from deepvoice.server.bridge import Bridge
from deepvoice.server.engine import Engine, ServedVoice
from deepvoice.server.metrics import Metrics
from deepvoice.server.pace import Pace
from deepvoice.speech import Phone, Word

AHEAD_SECONDS = 10.0  # speech that may wait for a client before its thread does
_KNOWN_SENTENCES = 24  # up to here the length is computed before the first sample, and headers tell it
_TOKEN_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be spoken and how; `options` are keywords of `Voice.stream`.

    whole: no byte is sent before the end, so everything about the length may be computed first
    """

    voice: ServedVoice
    text: str
    options: dict[str, Any]
    format: str
    sample_rate: int | None = None
    times: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Something to send: encoded audio, or words and phones that begin in the audio that follows."""

    audio: bytes = b""
    words: tuple[Word, ...] = ()
    phones: tuple[Phone, ...] = ()


@dataclass(slots=True)
class Result:
    """What is known when everything has been spoken."""

    seconds: float = 0.0
    seed: int = 0
    sample_rate: int = 0
    words: list[Word] = field(default_factory=list)
    phones: list[Phone] = field(default_factory=list)

    def usage(self, characters: int) -> dict[str, int]:
        """Tokens for OpenAI's clients: characters in, pieces of 50 ms out."""
        out = math.ceil(self.seconds / _TOKEN_SECONDS)
        return {"input_tokens": characters, "output_tokens": out, "total_tokens": characters + out}


def open_stream(task: Task) -> SpeechStream:
    """Begin a text: its first sentence is read, so that an unspeakable text raises here."""
    served = task.voice
    return served.voice.stream(task.text, times=task.times, dispatcher=served.dispatcher, **task.options)


def speak(task: Task, bridge: Bridge[Part], result: Result, engine: Engine, arrived: float) -> None:
    """Speak into a bridge, in its thread. `arrived` is when the request came, by `time.perf_counter`."""
    with engine.paces.stream(bridge) as pace:
        _speak(task, bridge, result, engine.metrics, pace, arrived)


def _speak(task: Task, bridge: Bridge[Part], result: Result, metrics: Metrics, pace: Pace, arrived: float) -> None:
    stream = open_stream(task)
    known = stream.count_samples() if stream.read_all(None if task.whole else _KNOWN_SENTENCES) else None
    encoder = encoders.open_encoder(task.format, stream.sample_rate, rate=task.sample_rate, num_samples=known)
    result.seed, result.sample_rate = stream.report.seed, encoder.sample_rate
    heard = False
    try:
        for part, seconds in parts(stream, encoder, task.times, pace):
            if not heard and part.audio:
                metrics.first_audio.observe(time.perf_counter() - arrived)
                heard = True
            result.seconds += seconds
            result.words += part.words
            result.phones += part.phones
            bridge.put(part, seconds)
        bridge.put(Part(audio=encoder.finish()), 0.0)
    finally:
        encoder.close()
        stream.close()
        metrics.audio_seconds.inc(result.seconds)
    spent = time.perf_counter() - arrived
    metrics.real_time_factor.observe(result.seconds / spent if spent else 0.0)


def parts(stream: SpeechStream, encoder: Encoder, with_times: bool, pace: Pace) -> Iterator[tuple[Part, float]]:
    """Yield what a stream gives, encoded, with the seconds of speech in each part; the encoder is not finished."""
    words = phones = 0
    for piece in stream:
        pace.spoke(len(piece) / stream.sample_rate)
        if with_times and len(stream.phones) > phones:
            yield Part(words=tuple(stream.words[words:]), phones=tuple(stream.phones[phones:])), 0.0
            words, phones = len(stream.words), len(stream.phones)
        yield Part(audio=encoder.write(piece)), len(piece) / stream.sample_rate
    if with_times and len(stream.phones) > phones:
        yield Part(words=tuple(stream.words[words:]), phones=tuple(stream.phones[phones:])), 0.0
