"""One sentence of phones -> samples: durations, F0, conditioning, then the vocoder, piece by piece.

Nothing is kept between calls: `SentencePlan` holds what is known before the first sample, and the vocoder's state is
passed from piece to piece, so that a stream gives the same samples as the whole, bit for bit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.pulses import interpolate_unvoiced, phase_from_f0, pulse_features
from deepvoice.errors import VoiceError
from deepvoice.kernels import Backend, using, wavenet
from deepvoice.networks.duration import DurationNetwork
from deepvoice.networks.f0 import F0Network
from deepvoice.networks.vocoder import VocoderNetwork
from deepvoice.text.sequence import PhoneSequence
from deepvoice.voice import VoiceFolder

FloatArray = NDArray[np.float32]

_FADE_SECONDS = 0.005  # ramp at both edges of a sentence
_LEAD_SECONDS = 0.1  # most silence before the first phone: the corpus has more, a listener should not wait for it
_TAIL_SECONDS = (0.05, 0.3)  # least and most silence after the last phone; final consonants need some to ring out
_PIECES = (8, 16, 32)  # frames of the first pieces of a sentence: short, for the first sound; then the last size
_F0_RANGE = (30.0, 1000.0)  # Hz, after the pitch shift
_LONGEST_SYMBOL = 1.0  # seconds, mean over a sentence at speed 1; more is a damaged duration model
_PHILOX_WORDS = 4  # 64-bit numbers in one block of the counter


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


def uniforms(seed: int, sentence: int, start: int, count: int) -> FloatArray:
    """Return the random numbers of samples start .. start + count of a sentence, float32 [count] in [0, 1).

    Counter-based (Philox, keyed by seed and sentence), so any range can be drawn without the ones before it. They are
    made from raw bits rather than by numpy's Generator, whose streams may change between versions.
    """
    per_block = 2 * _PHILOX_WORDS  # samples, 32 bits each
    skip = start % per_block
    generator = np.random.Philox(key=np.array([seed, sentence], np.uint64))
    generator.advance(start // per_block)
    words = generator.random_raw(-(-(skip + count) // 2))
    halves = np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=1).reshape(-1)
    return ((halves[skip : skip + count] >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)).astype(np.float32)


class Synthesizer:
    """Holds the networks of one voice and turns phone sequences into samples.

    It has two responsibilities: planning (how long, and so how many samples) and rendering (the samples, in pieces).
    Its methods only read, so several threads may share one.
    """

    def __init__(self, folder: VoiceFolder, backend: Backend) -> None:
        self._backend = backend
        self.settings = folder.manifest.synthesis
        self.sample_rate = folder.manifest.sample_rate
        self.config = folder.configs["vocoder"]
        self._duration = DurationNetwork(folder.tensors["duration"], folder.configs["duration"])
        self._f0 = F0Network(folder.tensors["f0"], folder.configs["f0"])
        self._vocoder = VocoderNetwork(folder.tensors["vocoder"], self.config)

    @property
    def gap_samples(self) -> int:
        """Samples of silence between two sentences."""
        return round(self.settings.gap_seconds * self.sample_rate)

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

    def render(self, plan: SentencePlan, prosody: Prosody, seed: int, sentence: int) -> Iterator[FloatArray]:
        """Yield the samples of a sentence in pieces, float32 in [-1, 1], faded at both edges.

        seed, sentence: key of the random numbers
        Raises VoiceError when the weights lead to values that are not numbers.
        """
        config = self.config
        frames = plan.num_samples // config.mel.hop
        with using(self._backend):
            mel_FM = self._vocoder.spectrum(plan.sequence, plan.durations_P, prosody.f0_F, prosody.voiced_F)
        lpc_FK = self._vocoder.predictor(mel_FM)
        pulse_NQ = self._pulses(prosody)
        temperature_F = np.where(
            prosody.voiced_F, self.settings.temperature_voiced, self.settings.temperature_unvoiced
        ).astype(np.float32)
        envelope = _Envelope(plan.num_samples, round(_FADE_SECONDS * self.sample_rate))
        steps = config.mel.hop // config.bunch
        state = None
        for first, last in _pieces(frames):
            with using(self._backend):  # not around the yield: the caller must not run inside it
                samples_T, _, state = wavenet.generate(
                    self._vocoder.weights,
                    self._vocoder.biases(mel_FM, prosody.f0_F, prosody.voiced_F, first, last),
                    lpc_FK[first:last],
                    pulse_NQ[first * steps : last * steps],
                    uniforms(seed, sentence, first * config.mel.hop, (last - first) * config.mel.hop),
                    temperature_F[first:last],
                    self.settings.floor,
                    state,
                )
            if not np.isfinite(samples_T).all():
                raise VoiceError(
                    "the voice computed values that are not numbers; its weights are damaged: reinstall deepvoice"
                )
            yield np.clip(samples_T, -1.0, 1.0) * envelope.at(first * config.mel.hop, len(samples_T))

    def _pulses(self, prosody: Prosody) -> FloatArray:
        """Harmonics of the pitch phase at every step of the vocoder, float32 [N, 2Q]."""
        config = self.config
        phase_E = phase_from_f0(prosody.f0_F, config.mel.hop, config.mel.sample_rate)
        return pulse_features(phase_E, prosody.voiced_F, config.mel.hop, config.bunch, config.harmonics)


def _pieces(frames: int) -> Iterator[tuple[int, int]]:
    """Cut a number of frames into [first, last) pieces, short ones first."""
    first, number = 0, 0
    while first < frames:
        last = min(frames, first + _PIECES[min(number, len(_PIECES) - 1)])
        yield first, last
        first, number = last, number + 1


class _Envelope:
    """Raised-cosine ramps at both ends of a known number of samples, 1 in between."""

    def __init__(self, num_samples: int, ramp: int) -> None:
        self._num_samples = num_samples
        self._ramp = max(1, min(ramp, num_samples // 2))

    def at(self, start: int, count: int) -> FloatArray:
        index = np.arange(start, start + count, dtype=np.float32)
        edge = np.minimum(index, self._num_samples - 1 - index)
        closeness = np.clip(edge / np.float32(self._ramp), 0.0, 1.0)
        return (0.5 - 0.5 * np.cos(np.float32(np.pi) * closeness)).astype(np.float32)
