"""Recordings and texts to alignments: the whole way in one screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.confidence import ConfidenceRule
from deepvoice.alignment.decode import Segments, decode, place_boundaries
from deepvoice.alignment.describe import describe
from deepvoice.alignment.edges import EdgeRule
from deepvoice.alignment.graph import GraphWeights, compose
from deepvoice.alignment.result import Alignment
from deepvoice.alignment.scores import SPEC, ScoreWeights, Sound, analyse, class_scores, run_network
from deepvoice.alignment.transcript import Transcript, read_transcript
from deepvoice.audio.mel import FloatArray
from deepvoice.audio.resample import resample
from deepvoice.errors import AudioError
from deepvoice.networks.segmentation import SegmentationNetwork, SegmentationScores
from deepvoice.pipeline import build_front_end
from deepvoice.text.frontend import FrontEnd
from deepvoice.text.user_lexicon import UserLexicon
from deepvoice.voice import TEXT, load_voice

_SILENT = 1e-4  # largest amplitude of a recording that holds nothing
_CLIPPED = 0.999  # amplitude at which a sample counts as cut off
_MAX_CLIPPED = 0.01  # share of such samples


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignerSettings:
    """Everything that is weighed; the defaults are fitted to the network of the package."""

    graph: GraphWeights = field(default_factory=GraphWeights)
    scores: ScoreWeights = field(default_factory=ScoreWeights)
    edges: EdgeRule = field(default_factory=EdgeRule)
    confidence: ConfidenceRule = field(default_factory=ConfidenceRule)


class Aligner:
    """Aligns recordings with their texts. It only reads after loading, so one object serves any number of threads."""

    def __init__(
        self,
        front_end: FrontEnd,
        network: Callable[[FloatArray], SegmentationScores],
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

        Raises VoiceError where there is none, or it is damaged.
        """
        folder = load_voice(model, modules=("segmentation", *TEXT))
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
        transcript = self.transcript(text, lexicon)
        sound = self.analyse(samples_T, sample_rate)
        return self.align_sound(sound, transcript, clipped_share(samples_T))

    def transcript(self, text: str | Sequence[str], lexicon: UserLexicon | None = None) -> Transcript:
        """Read a text; raises TextError where nothing can be spoken."""
        return read_transcript(self.front_end, text if isinstance(text, str) else " ".join(text), lexicon)

    def analyse(self, samples_T: NDArray[np.float32], sample_rate: int) -> Sound:
        """Return the features of a recording at any rate; raises AudioError where it holds nothing."""
        return analyse(resample(usable(samples_T), sample_rate, SPEC.sample_rate))

    def scores(self, sound: Sound) -> SegmentationScores:
        """Return what the network reads in a recording."""
        return run_network(self._network, sound.mel_FM, self._stack)

    def align_sound(self, sound: Sound, transcript: Transcript, clipped: float = 0.0) -> Alignment:
        """Align a recording whose features are there; clipped: share of samples that are cut off."""
        settings = self.settings
        scores = class_scores(self.scores(sound), len(sound.mel_FM), settings.scores)
        graph = compose(transcript.words, settings.graph)
        segments: Segments | None = decode([scores], [graph])[0]
        if segments is None:
            raise AudioError(
                f"{len(sound.mel_FM) * SPEC.hop / SPEC.sample_rate:.2f} s of sound cannot hold "
                f"{len(transcript.words)} words; expected a recording of the whole text"
            )
        boundaries = place_boundaries(segments, graph, scores, sound.energy_F, settings.edges)
        reasons = ("clipped",) if clipped > _MAX_CLIPPED else ()
        return describe(transcript, graph, segments, boundaries, scores, settings.confidence, reasons)


def usable(samples_T: NDArray[np.float32]) -> FloatArray:
    """Return one channel of finite samples; raises AudioError where there is no sound in it."""
    samples_T = np.asarray(samples_T, np.float32)
    if samples_T.ndim == 2:
        samples_T = samples_T.mean(axis=1, dtype=np.float32)
    if samples_T.ndim != 1:
        raise AudioError(f"the samples have the shape {samples_T.shape}; expected [T] or [T, channels]")
    if not len(samples_T):
        raise AudioError("the recording is empty; expected at least one sample")
    if not np.isfinite(samples_T).all():
        raise AudioError("the recording has samples that are not numbers; decode it again")
    if np.abs(samples_T).max() < _SILENT:
        raise AudioError("the recording is silent; check the channel and the level")
    return samples_T


def clipped_share(samples_T: NDArray[np.float32]) -> float:
    """Return the share of samples at full scale."""
    return float(np.mean(np.abs(samples_T) >= _CLIPPED))
