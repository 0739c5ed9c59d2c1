"""Durations of a sentence with rates of its parts, emphasis and pauses that are given in seconds.

One rate for the whole sentence is the duration model's own input. Where words differ, the model predicts at their
geometric mean and each symbol is scaled from there. A long pause is spoken for 0.3 s only, since the models have
heard none that are much longer; the rest of it is digital silence, inserted in its middle when the samples are made.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepvoice.networks.duration import whole_frames
from deepvoice.prosody.styles import SymbolStyles
from deepvoice.synthesis import SentencePlan, Synthesizer
from deepvoice.text.frontend import Sentence
from deepvoice.text.phones import NUM_SILENCES, stress

RATE = (0.25, 4.0)  # of speed and styles together
_SPOKEN_PAUSE = 0.3  # seconds of a pause that the vocoder renders
_EMPHASIS_RATE = {-1: 1.12, 0: 1.0, 1: 0.9, 2: 0.8}  # of every phone of the word
_STRESSED_RATE = {-1: 1.0, 0: 1.0, 1: 0.88, 2: 0.78}  # in addition, of its stressed vowels


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When the symbols of a sentence are heard.

    plan: what the vocoder renders
    held_P: int64 [P], samples of digital silence inserted in the middle of each symbol
    """

    plan: SentencePlan
    held_P: NDArray[np.int64]

    @property
    def num_samples(self) -> int:
        """Samples of the sentence, with the inserted silence."""
        return self.plan.num_samples + int(self.held_P.sum())


def time_sentence(synthesizer: Synthesizer, sentence: Sentence, speed: float, styles: SymbolStyles | None) -> Timing:
    """Plan a sentence at a speed, with its styles and its pauses."""
    sequence = sentence.sequence
    hop = synthesizer.config.mel.hop
    held_P = np.zeros(len(sequence), np.int64)
    if styles is None and not sentence.breaks:
        return Timing(plan=synthesizer.plan(sequence, speed), held_P=held_P)
    rate_P = np.full(len(sequence), speed) if styles is None else _rates(sequence.symbols, speed, styles)
    base = float(np.clip(np.exp(np.log(rate_P).mean()), *RATE))
    plan = synthesizer.plan(sequence, base)
    durations_P = plan.durations_P.copy()
    inner = slice(1, -1)  # the edges of a sentence are not speech
    if not np.allclose(rate_P[inner], base):
        shortest_P = (sequence.ids_P >= NUM_SILENCES).astype(np.int64)
        durations_P[inner] = whole_frames((durations_P * base / rate_P)[inner], shortest_P[inner])
    for index, seconds in sentence.breaks:
        samples = round(seconds * synthesizer.sample_rate)
        if index < len(sequence) - 1:  # the last consonant needs what the sentence has after it
            spoken = min(samples, round(_SPOKEN_PAUSE * synthesizer.sample_rate))
            durations_P[index] = round(spoken / hop)
        missing = samples - int(durations_P[index]) * hop
        held_P[index] = missing if missing >= hop else 0
    return Timing(plan=replace(plan, durations_P=durations_P, num_samples=int(durations_P.sum()) * hop), held_P=held_P)


def _rates(symbols: tuple[str, ...], speed: float, styles: SymbolStyles) -> NDArray[np.float64]:
    """Return the rate of every symbol, speed and emphasis included."""
    rate_P = np.clip(speed * styles.rate_P, *RATE)
    for index in np.flatnonzero(styles.emphasis_P):
        emphasis = int(styles.emphasis_P[index])
        rate_P[index] *= _EMPHASIS_RATE[emphasis] * (_STRESSED_RATE[emphasis] if stress(symbols[index]) == 1 else 1.0)
    return rate_P
