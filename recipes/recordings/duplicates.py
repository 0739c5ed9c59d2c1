"""The same recording twice, in whatever format, and the same text twice."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deepvoice.recipes.recordings.examine import Examined
from deepvoice.recipes.recordings.measure import differing_bits

_SAME = 0.16  # share of a fingerprint's bits that may differ; MP3 changes up to 0.14, others have 0.22 or more
_LENGTHS = 0.03  # seconds by which the same sound may be longer in another format
_OFTEN = 3  # times that one text may be read before it is noted


def find_duplicates(examined: Sequence[Examined]) -> list[str]:
    """Refuse recordings that repeat one before them, note texts that are read very often, and say how many there are.

    Where the same sound has two texts, both are refused: nobody knows which of them is right.
    """
    repeated = _same_sounds(examined)
    remarks = [f"{repeated} recordings are the same sound as another"] if repeated else []
    texts = Counter(_words(found) for found in examined if not found.reasons)
    often = {text for text, count in texts.items() if count > _OFTEN}
    for found in examined:
        if _words(found) in often and not found.reasons:
            found.notes.append(f"one of {texts[_words(found)]} recordings of this text")
    twice = sum(count - 1 for count in texts.values())
    if twice:
        remarks.append(f"{twice} recordings read a text that another reads too; they are kept")
    return remarks


def _words(found: Examined) -> str:
    return " ".join(found.row["words"]).lower() if found.row else found.text.casefold()


def _same_sounds(examined: Sequence[Examined]) -> int:
    """Refuse repetitions; each recording is compared with those of about its length before it."""
    heard = [found for found in examined if not found.reasons and found.fingerprint and found.measures]
    if not heard:
        return 0
    prints_ND = np.stack([np.frombuffer(bytes.fromhex(found.fingerprint), np.uint8) for found in heard])
    seconds_N = np.array([found.measures["speech"] for found in heard if found.measures])
    before: dict[int, list[int]] = defaultdict(list)
    count = 0
    for number, found in enumerate(heard):
        place = int(seconds_N[number] / _LENGTHS)
        near = sorted(other for step in (-1, 0, 1) for other in before[place + step])
        before[place].append(number)
        if not near:
            continue
        bits_M = differing_bits(prints_ND[near], prints_ND[number])
        close_M = (np.abs(seconds_N[near] - seconds_N[number]) <= _LENGTHS) & (bits_M <= _SAME * 8 * prints_ND.shape[1])
        if not close_M.any():
            continue
        first = heard[near[int(np.argmax(close_M))]]
        count += 1
        found.reasons.append(f"the same sound as {Path(first.source).name}{_other_text(first, found)}")
        if _words(first) != _words(found):
            first.reasons.append(f"the same sound as {Path(found.source).name}{_other_text(found, first)}")
    return count


def _other_text(one: Examined, other: Examined) -> str:
    return "" if _words(one) == _words(other) else f" with another text: {one.text[:80]!r}"
