"""Pitch and gain of every frame: styles of parts, emphasis, and the rise of yes/no questions.

Contours are drawn in semitones over frames of 5 ms and smoothed over some tens of milliseconds at the edges of words,
so that nothing jumps; the F0 model's own contour is under them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deepvoice.prosody.durations import Timing
from deepvoice.prosody.styles import SymbolStyles
from deepvoice.synthesis import Prosody
from deepvoice.text.phones import stress

FloatArray = NDArray[np.float64]

PITCH = (-12.0, 12.0)  # semitones, of the call and the styles together
F0_RANGE = (30.0, 1000.0)  # Hz
_GAIN_LIMIT = 10.0
_PITCH_EDGE = 0.06  # seconds over which one pitch changes into the next
_GAIN_EDGE = 0.02
_EXCURSION = {-1: 0.75, 0: 1.0, 1: 1.3, 2: 1.6}  # factor on the deviation from the mean of the sentence
_PEAK = {-1: -0.5, 0: 0.0, 1: 1.5, 2: 3.0}  # semitones added on stressed vowels
_EMPHASIS_GAIN = {-1: 0.8, 0: 1.0, 1: 1.2, 2: 1.4}


def level(prosody: Prosody, neutral: Prosody) -> Prosody:
    """Return the prosody at the median pitch of the same sentence at rate 1: a rate changes the tune, not its level."""
    if not prosody.voiced_F.any() or not neutral.voiced_F.any():
        return prosody
    here = float(np.median(prosody.f0_F[prosody.voiced_F]))
    there = float(np.median(neutral.f0_F[neutral.voiced_F]))
    return shifted(prosody, np.full(len(prosody.f0_F), 12.0 * np.log2(there / here)))


def shape_pitch(
    prosody: Prosody, timing: Timing, styles: SymbolStyles | None, pitch: float, frames_per_second: float
) -> Prosody:
    """Shift F0 by the pitch of each word and by its emphasis.

    pitch: semitones that `prosody` is shifted by already; styles add to it, within PITCH
    """
    if styles is None:
        return prosody
    durations_P = timing.plan.durations_P
    shift_P = np.clip(pitch + styles.pitch_P, *PITCH) - pitch
    excursion_P = np.array([_EXCURSION[int(emphasis)] for emphasis in styles.emphasis_P])
    peak_P = np.array(
        [
            _PEAK[int(emphasis)] * (stress(symbol) == 1)
            for symbol, emphasis in zip(timing.plan.sequence.symbols, styles.emphasis_P, strict=True)
        ]
    )
    level_F = 12.0 * np.log2(prosody.f0_F.astype(np.float64))
    mean = float(level_F[prosody.voiced_F].mean()) if prosody.voiced_F.any() else float(level_F.mean())
    size = frames_per_second * _PITCH_EDGE
    excursion_F = smooth(np.repeat(excursion_P - 1.0, durations_P), size)
    added_F = smooth(np.repeat(shift_P + peak_P, durations_P), size) + excursion_F * (level_F - mean)
    return shifted(prosody, added_F)


def shifted(prosody: Prosody, semitones_F: FloatArray) -> Prosody:
    """Return the prosody with F0 shifted frame by frame."""
    f0_F = np.clip(prosody.f0_F * np.exp2(semitones_F / 12.0), *F0_RANGE).astype(np.float32)
    return replace(prosody, f0_F=f0_F)


def gains(timing: Timing, styles: SymbolStyles | None, frames_per_second: float) -> FloatArray | None:
    """Return the gain at every frame edge, float64 [F + 1], or None when it is 1 throughout."""
    if styles is None:
        return None
    emphasis_P = np.array([_EMPHASIS_GAIN[int(emphasis)] for emphasis in styles.emphasis_P])
    gain_P = np.clip(styles.gain_P * emphasis_P, 0.0, _GAIN_LIMIT)
    if np.all(gain_P == 1.0):
        return None
    gain_F = smooth(np.repeat(gain_P, timing.plan.durations_P), frames_per_second * _GAIN_EDGE)
    return np.concatenate([gain_F[:1], 0.5 * (gain_F[1:] + gain_F[:-1]), gain_F[-1:]])


def gain_of_samples(gain_E: FloatArray, start: int, count: int, hop: int) -> NDArray[np.float32]:
    """Return the gain of samples start .. start + count: straight lines between frame edges, float32 [count]."""
    at_T = np.arange(start, start + count) / hop
    return np.interp(at_T, np.arange(len(gain_E)), gain_E).astype(np.float32)


def smooth(value_F: FloatArray, size: float) -> FloatArray:
    """Smooth with a raised-cosine window of `size` frames; constant input comes back unchanged."""
    half = max(1, round(size / 2))
    if len(value_F) == 0 or np.all(value_F == value_F[0]):
        return value_F
    window = np.hanning(2 * half + 3)[1:-1]
    padded = np.concatenate([np.full(half, value_F[0]), value_F, np.full(half, value_F[-1])])
    return np.convolve(padded, window / window.sum(), mode="valid")
