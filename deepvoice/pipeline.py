"""The data flow in one screen: text -> sentences of phones -> durations, F0, conditioning -> samples.

`Voice` is what users hold. `SpeechStream` is one text being spoken: it yields samples as soon as they are made and
collects times and the report on the way; `Voice.speak` is that stream, gathered.
"""

import math
import secrets
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from deepvoice import kernels, ssml
from deepvoice.errors import ConfigError, TextError
from deepvoice.machine import usable_cores
from deepvoice.networks.grapheme_to_phoneme import GraphemeToPhonemeNetwork
from deepvoice.networks.homographs import HomographNetwork
from deepvoice.options import LEAD_IN, LOUDNESS, PITCH, SEED, SPEED, VOLUME, Options, OptionValues
from deepvoice.speech import Note, Speech
from deepvoice.stream import SpeechStream
from deepvoice.synthesis import Synthesizer
from deepvoice.text.analogy import Analogy
from deepvoice.text.document import Document
from deepvoice.text.frontend import Analysis, FrontEnd, ReportCollector, Sentence
from deepvoice.text.inline import parse_inline
from deepvoice.text.lexicon import Lexicon
from deepvoice.voice import TEXT, VoiceFolder, VoiceManifest, load_voice

if TYPE_CHECKING:
    from deepvoice.dispatch import Dispatcher

_TEXTS = 256  # most texts that speak_many reads at a time, each in a thread; else one batch (8 of 16: 2 to 11 % slower)


class Voice:
    """A voice that is ready to speak.

    It loads everything once and only reads afterwards: one object serves any number of texts and threads.
    """

    def __init__(
        self, folder: VoiceFolder, *, backend: str = "auto", threads: int | None = None, precision: str = "auto"
    ) -> None:
        """Prepare a loaded voice folder; `deepvoice.load` is the usual way here.

        backend: "auto", "reference", "cpu" or "cuda"; one that is named and unavailable raises KernelUnavailableError
        precision: of the vocoder: "auto", "float32", "bfloat16" or "int8"; see `kernels.choose_precision`
        threads: sentences that `speak_many` renders at a time; None uses every core this process may use
        """
        if threads is not None and (type(threads) is not int or not 1 <= threads <= 1024):
            raise ConfigError(f"threads is {threads!r}; expected a whole number from 1 to 1024, or None for all cores")
        self.manifest: VoiceManifest = folder.manifest
        self.backend = kernels.resolve(backend)
        self.threads = threads or usable_cores()
        self._synthesizer = Synthesizer(folder, self.backend, precision)
        self._front_end = _front_end(folder)
        self._mean_hz = math.exp(folder.configs["f0"].log_mean)

    @classmethod
    def load(
        cls,
        voice: str | Path | None = None,
        *,
        backend: str = "auto",
        threads: int | None = None,
        precision: str = "auto",
    ) -> "Voice":
        """Load a voice by name or from a folder; None is the default voice. Raises VoiceError when it is damaged."""
        return cls(load_voice(voice), backend=backend, threads=threads, precision=precision)

    @property
    def name(self) -> str:
        """The voice's name."""
        return self.manifest.name

    @property
    def sample_rate(self) -> int:
        """Sample rate of everything this voice makes, in Hz."""
        return self.manifest.sample_rate

    def dispatcher(self, threads: int | None = None, slots: int | None = None) -> "Dispatcher":
        """Return a new dispatcher, which renders sentences of many streams side by side; close it, or use `with`.

        threads: workers; None is the number that the voice was loaded with
        slots: sentences of one batch; None is what suits the backend: 16 on a processor, all that a device holds
        """
        from deepvoice.dispatch import Dispatcher

        chosen = slots or min(self._synthesizer.streams_at_once, 1024)
        return Dispatcher(self._synthesizer, threads=threads or self.threads, slots=chosen)

    def speak(self, text: str | Document, **options: Unpack[OptionValues]) -> Speech:
        """Speak a text, with the keywords that `Options` documents.

        Raises TextError when there is nothing to speak or the SSML is malformed, ConfigError for an option outside its
        range.
        """
        stream = self.stream(text, **options)
        return _gathered(stream, np.concatenate(list(stream)))

    def stream(
        self,
        text: str | Document,
        *,
        times: bool = True,
        dispatcher: "Dispatcher | None" = None,
        after: SpeechStream | None = None,
        **options: Unpack[OptionValues],
    ) -> SpeechStream:
        """Return the same samples as `speak`, as an iterator of float32 arrays, each as soon as it is ready.

        times: whether to collect words and phones; without, memory does not grow with the text
        dispatcher: renders the sentences, together with those of other streams; the samples are the same
        after: the ended stream of the text before this one, when a text comes in parts that end where sentences do: the
            samples, times and positions are then those of the whole text
        Raises what `speak` raises, at once; TextError for what only shows later while iterating; ConfigError for the
        dispatcher of another voice and a stream `after` which this cannot begin.
        """
        chosen = Options(**options)
        if dispatcher is not None and getattr(dispatcher, "renderer", None) is not self._synthesizer:
            raise ConfigError("dispatcher is not one of this voice; make it with the dispatcher() of the same Voice")
        source, notes = self._source(text, chosen)
        collector = ReportCollector()
        return SpeechStream(
            self._synthesizer,
            source,
            self._sentences(source, collector, chosen),
            collector=collector,
            options=chosen,
            seed=after.seed if after and chosen.seed == "random" else self._seed(chosen),
            notes=notes,
            times=times,
            dispatcher=dispatcher,
            after=after,
        )

    def timings(self, text: str | Document, **options: Unpack[OptionValues]) -> Speech:
        """Return when everything would be heard, without making samples (they are empty); much faster than `speak`."""
        stream = self.stream(text, **options)
        stream.skip_audio()
        return _gathered(stream, np.zeros(0, np.float32))

    def speak_many(self, texts: Iterable[str | Document], **options: Unpack[OptionValues]) -> Iterator[Speech]:
        """Yield the Speech of each text, in order, rendering several at a time; the samples equal those of `speak`.

        Raises, at once, ConfigError for an option outside its range and TextError when `texts` is one string.
        """
        if isinstance(texts, (str, bytes, Document)) or not isinstance(texts, Iterable):
            raise TextError(f"texts is a {type(texts).__name__}; expected several texts: pass a list, or use speak")
        Options(**options)
        return self._side_by_side(texts, options)

    def _side_by_side(self, texts: Iterable[str | Document], options: OptionValues) -> Iterator[Speech]:
        """Read texts in threads of their own; their sentences are rendered together."""
        dispatcher = self.dispatcher()
        together = min(dispatcher.slots, _TEXTS)
        with dispatcher, ThreadPoolExecutor(together) as pool:

            def speak(text: str | Document) -> Speech:
                stream = self.stream(text, dispatcher=dispatcher, **options)
                return _gathered(stream, np.concatenate(list(stream)))

            pending: deque[Future[Speech]] = deque()
            try:
                for text in texts:
                    pending.append(pool.submit(speak, text))
                    if len(pending) > together:  # bounded: an endless iterable of texts must not fill the memory
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()

    def phonemes(self, text: str | Document, **options: Unpack[OptionValues]) -> tuple[Sentence, ...]:
        """Return the sentences with their words, character spans and phones, without making audio."""
        return self.analyse(text, **options).sentences

    def analyse(self, text: str | Document, **options: Unpack[OptionValues]) -> Analysis:
        """Return what the front end makes of a text: the sentences, and what was normalised, unknown and dropped."""
        chosen = Options(**options)
        source, _ = self._source(text, chosen)
        with kernels.using(self.backend):
            return self._front_end.analyse(source, lexicon=chosen.lexicon, options=chosen.text_options)

    def _source(self, text: str | Document, options: Options) -> tuple[str | Document, tuple[Note, ...]]:
        """Parse SSML, if it is that, or the pronunciations inside plain text."""
        if not isinstance(text, str | Document):
            raise TextError(f"the text is {type(text).__name__}; expected a string: decode bytes, join a list")
        if not options.ssml:
            return parse_inline(text) if isinstance(text, str) else text, ()
        if isinstance(text, Document):
            raise TextError("the text is a Document, which is not SSML any more; pass it without ssml=True")
        read = ssml.read(text, voice=self.name, mean_hz=self._mean_hz)
        return read.document, read.notes

    def _sentences(self, text: str | Document, collector: ReportCollector, options: Options) -> Iterator[Sentence]:
        sentences = self._front_end.iterate(text, collector, lexicon=options.lexicon, options=options.text_options)
        while True:
            with kernels.using(self.backend):
                sentence = next(sentences, None)
            if sentence is None:
                return
            yield sentence

    def _seed(self, options: Options) -> int:
        if options.seed is None:
            return self.manifest.synthesis.seed
        return secrets.randbelow(SEED[1]) if options.seed == "random" else options.seed


def load_front_end(voice: str | Path | None = None) -> FrontEnd:
    """Load only the half of a voice that turns text into phones; None is the default voice."""
    return _front_end(load_voice(voice, TEXT))


def _front_end(folder: VoiceFolder) -> FrontEnd:
    return build_front_end(folder.tensors, folder.configs)


def build_front_end(
    tensors: Mapping[str, Mapping[str, "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"]], configs: Mapping[str, Any]
) -> FrontEnd:
    """Build the front end of the text modules, by their names: of a voice, or of checkpoints that label a corpus."""
    module, lexicon = "grapheme_to_phoneme", Lexicon()
    g2p = GraphemeToPhonemeNetwork(tensors[module], configs[module], memory=Analogy(lexicon))
    return FrontEnd(lexicon, g2p, HomographNetwork(tensors["homographs"], configs["homographs"]))


def _gathered(stream: SpeechStream, samples: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> Speech:
    return Speech(
        samples=samples,
        sample_rate=stream.sample_rate,
        words=tuple(stream.words),
        phones=tuple(stream.phones),
        sentences=tuple(stream.sentences),
        marks=tuple(stream.marks),
        report=stream.report,
    )


__all__ = ["LEAD_IN", "LOUDNESS", "PITCH", "SEED", "SPEED", "VOLUME", "Options", "SpeechStream", "Voice"]
