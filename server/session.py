"""Text that arrives in pieces: sentences are spoken as they become complete, with the samples of the whole text."""

import queue
import time
from collections.abc import AsyncIterator
from typing import Any

from deepvoice.audio import encoders
from deepvoice.errors import TextError
from deepvoice.pipeline import SpeechStream
from deepvoice.server.bridge import Bridge
from deepvoice.server.engine import Engine, ServedVoice
from deepvoice.server.errors import ApiError
from deepvoice.server.pace import Pace
from deepvoice.server.speaking import AHEAD_SECONDS, Part, Result, parts
from deepvoice.text.streaming import Splitter


class SentenceFeed:
    """Cuts a growing text where a sentence has ended and the next one has begun.

    The white space between two pieces goes with the second: a blank line is how it is known to open a paragraph.
    """

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._space = ""
        self._held = 0  # characters

    def __len__(self) -> int:
        return self._held

    def add(self, text: str) -> str:
        """Append text and return the sentences that are complete now, perhaps none."""
        self._held += len(text)
        return self._take("".join(part.text for part in self._splitter.feed(text)), last=False)

    def flush(self) -> str:
        """Return all that is left."""
        return self._take("".join(part.text for part in self._splitter.finish()), last=True)

    def _take(self, ready: str, last: bool) -> str:
        ready = self._space + ready
        text = ready if last else ready.rstrip()
        self._space = ready[len(text) :]
        self._held -= len(text)
        return text


class TextSession:
    """One text that grows while it is spoken. The caller holds a turn from `start` to `close`."""

    def __init__(
        self,
        engine: Engine,
        voice: ServedVoice,
        options: dict[str, Any],
        *,
        file_format: str,
        sample_rate: int | None,
        times: bool,
        limit: int,
    ) -> None:
        """Prepare; raises AudioError when the format is not available.

        limit: characters that may wait to be spoken
        """
        self.result = Result()
        self.characters = 0
        self._engine = engine
        self._voice = voice
        self._options = options
        self._times = times
        self._limit = limit
        self._encoder = encoders.open_encoder(file_format, voice.voice.sample_rate, rate=sample_rate)
        self.result.sample_rate = self._encoder.sample_rate
        self._feed = SentenceFeed()
        self._texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._waiting = 0  # characters handed to the thread and not begun
        self._bridge: Bridge[Part] = Bridge(AHEAD_SECONDS)

    def start(self) -> None:
        """Let the thread begin."""
        self._engine.start(self._bridge, self._speak)

    def add(self, text: str) -> None:
        """Append text. Raises ApiError when too much waits already."""
        self.characters += len(text)
        if len(self._feed) + len(text) + self._waiting > self._limit:
            message = f"more than {self._limit} characters wait to be spoken; the limit of this server"
            raise ApiError(400, message, param="text", code="string_above_max_length")
        self._pass_on(self._feed.add(text))

    def flush(self) -> None:
        """Speak what is there, without waiting for the end of the sentence."""
        self._pass_on(self._feed.flush())

    def finish(self) -> None:
        """Say that there is no more text."""
        self.flush()
        self._texts.put(None)

    def close(self) -> None:
        """Stop at once, or clean up at the end; it may be called again."""
        self._bridge.abandon()
        self._texts.put(None)
        self._encoder.close()

    def parts(self) -> AsyncIterator[Part]:
        """Yield audio and times until `finish` was called and everything has been spoken."""
        return self._bridge.__aiter__()

    def _pass_on(self, text: str) -> None:
        if text:
            self._waiting += len(text)
            self._texts.put(text)

    def _speak(self, bridge: Bridge[Part]) -> None:
        """Speak until the end of the text: the session's thread."""
        before: SpeechStream | None = None
        refused: TextError | None = None
        silent = ""  # pieces with nothing speakable, which are dropped as in a whole text
        metrics = self._engine.metrics
        try:
            while (text := self._texts.get()) is not None:
                arrived = time.perf_counter()
                self._waiting -= len(text)
                try:
                    with self._engine.paces.stream(bridge) as pace:
                        before = self._speak_piece(silent + text, before, bridge, pace, arrived)
                    silent = ""
                except TextError as error:
                    refused, silent = error, silent + text
            if before is None:
                raise refused or TextError("the text is empty; send at least one word")
            bridge.put(Part(audio=self._encoder.finish()), 0.0)
        finally:
            self._encoder.close()
            metrics.audio_seconds.inc(self.result.seconds)

    def _speak_piece(
        self, text: str, before: SpeechStream | None, bridge: Bridge[Part], pace: Pace, arrived: float
    ) -> SpeechStream:
        voice, dispatcher = self._voice.voice, self._voice.dispatcher
        stream = voice.stream(text, times=self._times, dispatcher=dispatcher, after=before, **self._options)
        self.result.seed = stream.report.seed
        first = True
        try:
            for part, seconds in parts(stream, self._encoder, self._times, pace):
                if first and part.audio:
                    self._engine.metrics.first_audio.observe(time.perf_counter() - arrived)
                    first = False
                self.result.seconds += seconds
                bridge.put(part, seconds)
        finally:
            stream.close()
        return stream
