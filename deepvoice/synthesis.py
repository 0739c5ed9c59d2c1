"""One sentence of phones -> samples: durations, F0, conditioning, then the vocoder, piece by piece.

Nothing is kept between calls: `SentencePlan` holds what is known before the first sample, and a `Rendering` the
vocoder's state between two pieces, so that a stream gives the same samples as the whole, bit for bit.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.lpc import damped
from deepvoice.audio.pulses import interpolate_unvoiced, phase_from_f0, pulse_features
from deepvoice.errors import VoiceError
from deepvoice.kernels import Backend, choose_precision, using, wavenet
from deepvoice.kernels.wavenet import Generated, Piece
from deepvoice.networks.duration import DurationNetwork
from deepvoice.networks.f0 import F0Network
from deepvoice.networks.vocoder import VocoderNetwork
from deepvoice.rendering import FIRST_FRAMES, MOST_FRAMES, Rendering, Score
from deepvoice.text.sequence import PhoneSequence
from deepvoice.voice import VoiceFolder

FloatArray = NDArray[np.float32]

_FADE_SECONDS = 0.005  # ramp at both edges of a sentence
_LEAD_SECONDS = 0.1  # most silence before the first phone: the corpus has more, a listener should not wait for it
_TAIL_SECONDS = (0.05, 0.3)  # least and most silence after the last phone; final consonants need some to ring out
_F0_RANGE = (30.0, 1000.0)  # Hz, after the pitch shift
_LONGEST_SYMBOL = 1.0  # seconds, mean over a sentence at speed 1; more is a damaged duration model


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePlan:
    """A sentence before its first sample.

    durations_P: int64 [P], frames of each symbol
    num_samples: of the whole sentence
    """

    sequence: PhoneSequence
    durations_P: NDArray[np.int64]
    num_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prosody:
    """Pitch of a sentence: f0_F float32 [F] Hz, interpolated where unvoiced, and voiced_F bool [F]."""

    f0_F: FloatArray
    voiced_F: NDArray[np.bool_]


class Synthesizer:
    """Holds the networks of one voice and turns phone sequences into samples.

    It has two responsibilities: planning (how long, and so how many samples) and rendering (the samples, in pieces).
    Its methods only read, so several threads may share one.
    """

    def __init__(self, folder: VoiceFolder, backend: Backend, precision: str = "auto") -> None:
        """Prepare the networks; precision is the vocoder's, see `kernels.choose_precision`."""
        self._backend = backend
        self.settings = folder.manifest.synthesis
        self.sample_rate = folder.manifest.sample_rate
        self.config = folder.configs["vocoder"]
        self._duration = DurationNetwork(folder.tensors["duration"], folder.configs["duration"])
        self._f0 = F0Network(folder.tensors["f0"], folder.configs["f0"])
        self.precision = choose_precision(precision, calibrated=self.config.calibrated, backend=backend)
        self._vocoder = VocoderNetwork(folder.tensors["vocoder"], self.config, self.precision)

    @property
    def gap_samples(self) -> int:
        """Samples of silence between two sentences."""
        return round(self.settings.gap_seconds * self.sample_rate)

    @property
    def streams_at_once(self) -> int:
        """Sentences whose samples one call of `generate` makes side by side without one waiting for another."""
        return wavenet.streams_at_once(self._vocoder.weights, backend=self._backend)

    def plan(self, sequence: PhoneSequence, speed: float) -> SentencePlan:
        """Predict the durations of a sentence; speed 2 is twice as fast.

        Raises VoiceError when the durations are absurd.
        """
        with using(self._backend):
            durations_P = np.maximum(np.asarray(self._duration(sequence, speed), np.int64), 0)
        per_second = self.sample_rate / self.config.mel.hop
        least, most = (math.ceil(seconds * per_second) for seconds in _TAIL_SECONDS)
        durations_P[0] = min(int(durations_P[0]), math.ceil(_LEAD_SECONDS * per_second))
        durations_P[-1] = min(max(int(durations_P[-1]), least), most)
        frames = int(durations_P.sum())
        if frames > (len(sequence) + 2) * _LONGEST_SYMBOL * per_second / min(speed, 1.0):
            raise VoiceError(
                f"it gives {frames / per_second:.0f} s to {len(sequence)} phones; its duration model is damaged, "
                "reinstall deepvoice or train the module again"
            )
        return SentencePlan(sequence=sequence, durations_P=durations_P, num_samples=frames * self.config.mel.hop)

    def prosody(self, plan: SentencePlan, pitch: float) -> Prosody:
        """Predict F0 and voicing of every frame and shift F0 by `pitch` semitones."""
        with using(self._backend):
            f0_F, voiced_F = self._f0(plan.sequence, plan.durations_P)
        shifted = np.clip(f0_F * np.float32(2.0 ** (pitch / 12.0)), *_F0_RANGE)
        continuous_F = interpolate_unvoiced(np.where(voiced_F, shifted, 0.0).astype(np.float32))  # as in training
        return Prosody(f0_F=continuous_F, voiced_F=np.asarray(voiced_F, np.bool_))

    def rendering(self, plan: SentencePlan, prosody: Prosody, seed: int, sentence: int) -> Rendering:
        """Compute what the vocoder needs to know of the whole sentence, and return its rendering, not yet begun.

        seed, sentence: key of the random numbers
        """
        config, settings, vocoder = self.config, self.settings, self._vocoder
        f0_F, voiced_F = prosody.f0_F, prosody.voiced_F
        with using(self._backend):
            mel_FM = vocoder.spectrum(_quiet_end(plan.sequence), plan.durations_P, f0_F, voiced_F)
            hidden_FD = vocoder.hidden(mel_FM, f0_F, voiced_F)

        phase_E = phase_from_f0(f0_F, config.mel.hop, config.mel.sample_rate)

        def biases(first: int, last: int) -> FloatArray:
            with using(self._backend):
                return vocoder.project(hidden_FD[first:last])

        def pulses(first: int, last: int) -> FloatArray:
            edges_E, voiced = phase_E[first : last + 1], voiced_F[first:last]
            return pulse_features(edges_E, voiced, config.mel.hop, config.bunch, config.harmonics)

        score = Score(
            biases=biases,
            pulses=pulses,
            lpc_FK=damped(vocoder.predictor(mel_FM)),
            temperature_F=np.where(voiced_F, settings.temperature_voiced, settings.temperature_unvoiced).astype("f4"),
            hop=config.mel.hop,
            step=config.bunch,
            floor=settings.floor,
            ramp=round(_FADE_SECONDS * self.sample_rate),
            seed=seed,
            sentence=sentence,
        )
        return Rendering(score)

    def generate(self, pieces: Sequence[Piece]) -> list[Generated]:
        """Make one piece of each of several sentences, side by side."""
        with using(self._backend):
            return wavenet.generate_many(self._vocoder.weights, pieces)

    def render(self, plan: SentencePlan, prosody: Prosody, seed: int, sentence: int) -> Iterator[FloatArray]:
        """Yield the samples of a sentence in pieces, float32 in [-1, 1], faded at both edges.

        The pieces are short at first, for the first sound; the arguments are those of `rendering`.
        Raises VoiceError when the weights lead to values that are not numbers.
        """
        rendering, frames = self.rendering(plan, prosody, seed, sentence), FIRST_FRAMES
        while rendering.frames_left:
            (made,) = self.generate([rendering.ask(frames)])
            yield rendering.take(made)
            frames = min(2 * frames, MOST_FRAMES)


def _quiet_end(sequence: PhoneSequence) -> PhoneSequence:
    """Return the sequence with a full stop for an exclamation mark: in how a silence sounds they do not differ.

    Read speech has few exclamations (the corpus of `heart` one in 4,744 sentences), and a silence that a conditioner
    hardly knows hisses: at -38 dBFS, where those of full stops and questions stay below -62.
    """
    symbols = (*sequence.symbols[:-1], "." if sequence.symbols[-1] == "!" else sequence.symbols[-1])
    return replace(sequence, symbols=symbols)
