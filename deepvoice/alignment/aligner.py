"""Recordings and texts to alignments: the whole way in one screen."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.confidence import rule_of
from deepvoice.alignment.decode import decode, place_boundaries
from deepvoice.alignment.describe import describe
from deepvoice.alignment.graph import compose
from deepvoice.alignment.long import align_pieces
from deepvoice.alignment.result import Alignment
from deepvoice.alignment.scores import FRAME_SECONDS, SPEC, Network, Sound, analyse, class_scores, run_network
from deepvoice.alignment.settings import AlignerSettings
from deepvoice.alignment.transcript import Transcript, read_transcript
from deepvoice.audio.mel import FloatArray
from deepvoice.audio.reading import one_channel, open_recording
from deepvoice.audio.resample import Resampler
from deepvoice.errors import AudioError, TextError
from deepvoice.networks.segmentation import SegmentationNetwork, SegmentationScores
from deepvoice.pipeline import build_front_end
from deepvoice.text.frontend import FrontEnd
from deepvoice.text.user_lexicon import UserLexicon
from deepvoice.voice import TEXT, load_voice

_LONG = 100  # seconds above which a recording is cut at places that are certain
_SILENT = 1e-4  # largest amplitude of a recording that holds nothing
_CLIPPED = 0.999  # amplitude at which a sample counts as cut off
_MAX_CLIPPED = 0.01  # share of such samples


class Aligner:
    """Aligns recordings with their texts. It only reads after loading, so one object serves any number of threads."""

    def __init__(
        self,
        front_end: FrontEnd,
        network: Network,
        stack: int,
        settings: AlignerSettings | None = None,
    ) -> None:
        """Hold the parts; `Aligner.load` is the usual way here.

        network: reads a log-mel spectrum [F, M], F a multiple of `stack`
        """
        self.front_end, self.settings = front_end, settings or AlignerSettings()
        self._network, self._stack = network, stack

    @classmethod
    def load(cls, model: str | Path | None = None, settings: AlignerSettings | None = None) -> "Aligner":
        """Load the aligner of a voice by name or folder; `deepvoice align --adapt` writes such folders.

        settings: None are the defaults, with the confidences that were fitted to this aligner
        Raises VoiceError where there is none, or it is damaged.
        """
        folder = load_voice(model, modules=("segmentation", *TEXT))
        settings = settings or AlignerSettings(confidence=rule_of(folder.manifest.training))
        config = folder.configs["segmentation"]
        network = SegmentationNetwork(folder.tensors["segmentation"], config)
        return cls(build_front_end(folder.tensors, folder.configs), network, config.stack, settings)

    def align(
        self,
        samples_T: NDArray[np.float32],
        sample_rate: int,
        text: str | Sequence[str],
        *,
        lexicon: UserLexicon | None = None,
    ) -> Alignment:
        """Align a recording with what was read in it.

        samples_T: float32 [T], or [T, channels], in [-1, 1]
        text: the text, or its words
        lexicon: pronunciations that come before all others
        Raises AudioError for a recording that holds nothing, TextError for a text that cannot be spoken.
        """
        samples_T = usable(samples_T)
        return self._align(sample_rate, iter([samples_T]), self.transcript(text, lexicon))

    def align_file(self, path: Path, text: str | Sequence[str], *, lexicon: UserLexicon | None = None) -> Alignment:
        """Align a recording of any format and length; its memory does not grow with the recording.

        Raises AudioError and TextError as `align` does, and AudioError where the file cannot be read; all name it.
        """
        transcript = self.transcript(text, lexicon)
        try:
            with open_recording(path) as (rate, pieces):
                return self._align(rate, pieces, transcript)
        except AudioError as error:
            told = str(error)
            raise AudioError(told if told.startswith(str(path)) else f"{path}: {told}") from None

    def _align(self, rate: int, pieces: Iterator[FloatArray], transcript: Transcript) -> Alignment:
        check = _Check()
        resampled = _resampled(map(check.take, pieces), rate)
        beginning: list[FloatArray] = []
        while sum(map(len, beginning)) <= _LONG * SPEC.sample_rate and (piece := next(resampled, None)) is not None:
            beginning.append(piece)
        if sum(map(len, beginning)) <= _LONG * SPEC.sample_rate:
            check.end()
            found = self.align_sound(analyse(np.concatenate(beginning)), transcript)
        else:
            found = align_pieces(self._network, self._stack, chain(beginning, resampled), transcript, self.settings)
            check.end()
        return replace(found, accepted=False, reasons=(check.reason, *found.reasons)) if check.reason else found

    def transcript(self, text: str | Sequence[str], lexicon: UserLexicon | None = None) -> Transcript:
        """Read a text, or its words; raises TextError where nothing can be spoken."""
        words = [text] if isinstance(text, str) else text
        if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
            raise TextError(f"the text is {str(text)[:80]!r} ({type(text).__name__}); expected a string, or its words")
        return read_transcript(self.front_end, " ".join(words), lexicon)

    def scores(self, sound: Sound) -> SegmentationScores:
        """Return what the network reads in a recording."""
        return run_network(self._network, sound.mel_FM, self._stack)

    def align_sound(self, sound: Sound, transcript: Transcript) -> Alignment:
        """Align a recording of a few minutes at most, whose features are there."""
        settings, frames = self.settings, len(sound.mel_FM)
        scores = class_scores(self.scores(sound), frames, settings.scores)
        graph = compose(transcript.words, settings.graph)
        segments = decode([scores], [graph])[0]
        if segments is None:
            raise AudioError(
                f"{frames * FRAME_SECONDS:.2f} s of sound cannot hold {len(transcript.words)} words; expected a "
                "recording of the whole text"
            )
        boundaries = place_boundaries(segments, graph, scores, sound.energy_F, settings.edges)
        return describe(transcript, graph, segments, boundaries, scores, settings.confidence)


class _Check:
    """Looks at the pieces of a recording as they pass."""

    def __init__(self) -> None:
        self._samples = self._cut_off = 0
        self._peak = 0.0

    def take(self, samples_T: FloatArray) -> FloatArray:
        """Look at a piece; raises AudioError for samples that are not numbers."""
        if not np.isfinite(samples_T).all():
            raise AudioError("the recording has samples that are not numbers; decode it again")
        level_T = np.abs(samples_T)
        self._samples += len(samples_T)
        self._cut_off += int(np.count_nonzero(level_T >= _CLIPPED))
        self._peak = max(self._peak, float(level_T.max(initial=0.0)))
        return samples_T

    def end(self) -> None:
        """Raise AudioError where there was no sound."""
        if not self._samples:
            raise AudioError("the recording is empty; expected at least one sample")
        if self._peak < _SILENT:
            raise AudioError("the recording is silent; check the channel and the level")

    @property
    def reason(self) -> str | None:
        """What is wrong with the recording, None when nothing is."""
        share = self._cut_off / max(1, self._samples)
        return f"clipped: {100 * share:.1f} % of the samples are at full scale" if share > _MAX_CLIPPED else None


def usable(samples_T: NDArray[np.float32]) -> FloatArray:
    """Return one channel of samples, float32 [T], from [T] or [T, channels]; raises AudioError for whole numbers."""
    given = np.asarray(samples_T)
    if given.dtype.kind in "iu" and given.size:
        raise AudioError(f"the samples are {given.dtype}; expected floats in [-1, 1]: divide by their full scale")
    samples = given.astype(np.float32, copy=False)
    if samples.ndim not in (1, 2):
        raise AudioError(f"the samples have the shape {samples.shape}; expected [T] or [T, channels]")
    return samples if samples.ndim == 1 else one_channel(samples)


def _resampled(pieces: Iterable[FloatArray], rate: int) -> Iterator[FloatArray]:
    resampler = Resampler(rate, SPEC.sample_rate)
    for piece in pieces:
        yield resampler.write(piece)
    yield resampler.finish()
