"""Values of SSML attributes: times, rates, pitches, volumes. A value that is none raises ValueError with what is."""

import math
import re
from collections.abc import Mapping

MAX_BREAK = 60.0  # seconds
MAX_SILENCE = 3600.0  # seconds of all breaks together: a small text must not become days of silence
STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": 0.5, "strong": 0.8, "x-strong": 1.2}  # seconds
RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.35, "x-fast": 1.8}
PITCHES = {"x-low": -6.0, "low": -3.0, "medium": 0.0, "default": 0.0, "high": 3.0, "x-high": 6.0}  # semitones
VOLUMES = {  # dB
    "silent": -math.inf,
    "x-soft": -12.0,
    "soft": -6.0,
    "medium": 0.0,
    "default": 0.0,
    "loud": 4.0,
    "x-loud": 8.0,
}
EMPHASIS = {"strong": 2, "moderate": 1, "none": 0, "reduced": -1}

RATE_RANGE = (0.25, 4.0)
PITCH_RANGE = (-12.0, 12.0)  # semitones
GAIN_RANGE = (0.0, 10.0)

_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_TIME = re.compile(rf"\+?({_NUMBER})\s*(ms|s)", re.ASCII)
_VALUE = re.compile(rf"([+-]?)({_NUMBER})\s*(%|st|hz|db|)", re.ASCII | re.IGNORECASE)


def seconds(value: str, current: float = 0.0) -> float:
    """Read a time such as "500ms" or "1.5s"; there is no current one that counts."""
    match = _TIME.fullmatch(value.strip().lower())
    if not match:
        raise ValueError("expected a time with its unit, such as 500ms or 1.5s")
    result = float(match[1]) / (1000.0 if match[2] == "ms" else 1.0)
    if result > MAX_BREAK:
        raise ValueError(f"expected at most {MAX_BREAK:g}s; use several breaks for more")
    return result


def rate(value: str, current: float) -> float:
    """Return the speaking rate that a value stands for where the rate is `current`.

    Words are rates of their own; "150%" and "1.5" multiply the rate around them; "+20%" and "-20%" change it.
    """
    word = value.strip().lower()
    if word in RATES:
        return RATES[word]
    sign, number, unit = _value(word, RATES, "80%, +20% or 1.5", ("%", ""))
    if unit == "%":
        factor = 1.0 + number / 100.0 if sign else number / 100.0
    elif sign:
        factor = 1.0 + number
    else:
        factor = number
    if factor <= 0:
        raise ValueError("expected a rate above 0, such as 80% or +20%")
    return current * factor


def pitch(value: str, current: float, *, mean_hz: float) -> float:
    """Return the shift in semitones that a value stands for where the shift is `current`.

    Words and "180Hz" are pitches of their own; "+2st", "-10%" and "+20Hz" change the pitch around them. Hz count from
    the voice's mean pitch, `mean_hz`.
    """
    word = value.strip().lower()
    if word in PITCHES:
        return PITCHES[word]
    sign, number, unit = _value(word, PITCHES, "+2st, -10%, +20Hz or 180Hz", ("%", "st", "hz"))
    if unit == "st":
        return current + number
    if unit == "%":
        factor = 1.0 + number / 100.0 if sign else number / 100.0
        if factor <= 0:
            raise ValueError("expected a pitch above 0, such as +10% or -2st")
        return current + 12.0 * math.log2(factor)
    here = mean_hz * 2.0 ** (current / 12.0)
    hz = here + number if sign else number
    if hz <= 0:
        raise ValueError(f"expected a pitch above 0 Hz; the voice's mean is {mean_hz:.0f}Hz")
    return 12.0 * math.log2(hz / mean_hz)


def volume(value: str, current: float) -> float:
    """Return the linear gain that a value stands for where the gain is `current`.

    Words and numbers from 0 to 100 (the voice's own) are volumes of their own; "+6dB", "-10%" and "+10" change the one
    around them.
    """
    word = value.strip().lower()
    if word in VOLUMES:
        return 10.0 ** (VOLUMES[word] / 20.0)
    sign, number, unit = _value(word, VOLUMES, "-6dB, +10% or 50", ("db", "%", ""))
    if unit == "db":
        return current * 10.0 ** (number / 20.0)
    if unit == "%":
        return max(0.0, current * (1.0 + number / 100.0 if sign else number / 100.0))
    if sign:
        return max(0.0, current + number / 100.0)
    if number > 100:
        raise ValueError("expected a volume from 0 to 100, or a change such as +6dB")
    return number / 100.0


def within(value: float, limits: tuple[float, float]) -> float:
    """Return the nearest value within limits."""
    return min(max(value, limits[0]), limits[1])


def _value(word: str, names: Mapping[str, float], example: str, units: tuple[str, ...]) -> tuple[bool, float, str]:
    """Return whether a value has a sign, the signed number and the unit."""
    match = _VALUE.fullmatch(word)
    if not match or match[3] not in units:
        raise ValueError(f"expected {example}, or one of {', '.join(names)}")
    return bool(match[1]), float(match[1] + match[2]), match[3]
