"""Durations of a sentence at a rate, with rates of its parts, emphasis, and pauses that are given in seconds.

The duration model knows how speech changes with its rate (vowels give more than consonants) but not exactly how much
shorter it gets, so its durations at a rate are scaled to the length that the rate stands for: rate 2 takes half the
time of rate 1. Where words differ in rate, the model predicts at the geometric mean and each symbol is scaled from
there. A long pause is spoken for 0.3 s only, since the models have heard none that are much longer; the rest of it is
digital silence, inserted in its middle when the samples are made.
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
_TAIL = (0.05, 0.3)  # least and most seconds after the last phone, the latter at rate 1
_EMPHASIS_RATE = {-1: 1.12, 0: 1.0, 1: 0.9, 2: 0.8}  # of every phone of the word
_STRESSED_RATE = {-1: 1.0, 0: 1.0, 1: 0.88, 2: 0.78}  # in addition, of its stressed vowels


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When the symbols of a sentence are heard.

    plan: what the vocoder renders
    held_P: int64 [P], samples of digital silence inserted in the middle of each symbol
    neutral: the plan at rate 1 when `plan` is at another, from which the level of the pitch is taken; otherwise None
    """

    plan: SentencePlan
    held_P: NDArray[np.int64]
    neutral: SentencePlan | None = None

    @property
    def num_samples(self) -> int:
        """Samples of the sentence, with the inserted silence."""
        return self.plan.num_samples + int(self.held_P.sum())


def time_sentence(synthesizer: Synthesizer, sentence: Sentence, speed: float, styles: SymbolStyles | None) -> Timing:
    """Plan a sentence at a speed, with its styles and its pauses."""
    sequence = sentence.sequence
    hop = synthesizer.config.mel.hop
    neutral = synthesizer.plan(sequence, 1.0)
    rate_P = np.full(len(sequence), speed) if styles is None else _rates(sequence.symbols, speed, styles)
    changed = not np.all(rate_P == 1.0)
    durations_P = neutral.durations_P.copy()
    if changed:
        durations_P = _at_rates(synthesizer, neutral, rate_P)
    held_P = np.zeros(len(sequence), np.int64)
    for index, seconds in sentence.breaks:
        samples = round(seconds * synthesizer.sample_rate)
        if index < len(sequence) - 1:  # the last consonant needs what the sentence has after it
            spoken = min(samples, round(_SPOKEN_PAUSE * synthesizer.sample_rate))
            durations_P[index] = round(spoken / hop)
        missing = samples - int(durations_P[index]) * hop
        held_P[index] = missing if missing >= hop else 0
    plan = replace(neutral, durations_P=durations_P, num_samples=int(durations_P.sum()) * hop)
    return Timing(plan=plan, held_P=held_P, neutral=neutral if changed else None)


def _at_rates(synthesizer: Synthesizer, neutral: SentencePlan, rate_P: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the durations with a rate for every symbol, int64 [P]."""
    sequence = neutral.sequence
    per_second = synthesizer.sample_rate / synthesizer.config.mel.hop
    inner = slice(1, -1)  # the edges of a sentence are not speech
    base = float(np.clip(np.exp(np.log(rate_P[inner]).mean()), *RATE))
    wanted_P = synthesizer.plan(sequence, base).durations_P.astype(np.float64)
    wanted_P *= neutral.durations_P[inner].sum() / (base * max(wanted_P[inner].sum(), 1.0))
    shortest_P = (sequence.ids_P >= NUM_SILENCES).astype(np.int64)
    durations_P = neutral.durations_P.copy()
    durations_P[inner] = whole_frames((wanted_P * base / rate_P)[inner], shortest_P[inner])
    first, last = rate_P[0], rate_P[-1]
    durations_P[0] = round(durations_P[0] / max(first, 1.0))
    most = _TAIL[1] * per_second / min(last, 1.0)
    durations_P[-1] = round(min(max(durations_P[-1] / last, _TAIL[0] * per_second), most))
    return durations_P


def _rates(symbols: tuple[str, ...], speed: float, styles: SymbolStyles) -> NDArray[np.float64]:
    """Return the rate of every symbol, speed and emphasis included."""
    rate_P = np.clip(speed * styles.rate_P, *RATE)
    for index in np.flatnonzero(styles.emphasis_P):
        emphasis = int(styles.emphasis_P[index])
        rate_P[index] *= _EMPHASIS_RATE[emphasis] * (_STRESSED_RATE[emphasis] if stress(symbols[index]) == 1 else 1.0)
    return rate_P
