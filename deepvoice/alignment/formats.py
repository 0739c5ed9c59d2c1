"""Alignments as files: TextGrid (Praat, and other tools of phonetics), JSON with everything, CTM (NIST's tools)."""

import json
from collections.abc import Callable
from typing import Any

from deepvoice.alignment.result import Alignment
from deepvoice.text.phones import is_silence
from deepvoice.timings.textgrid import Extent, interval_textgrid

RATE = 24_000  # samples in which times are counted
UNREAD = "<unread>"  # label of what was heard in place of a word


def textgrid(alignment: Alignment, name: str) -> str:
    """Return a TextGrid with the tiers sentences, words and phones; what was not read is labelled so."""
    words = alignment.words
    tiers = [
        (
            "sentences",
            [
                (*_samples(words[first].start, words[past - 1].end), alignment.text[start:end].strip())
                for first, past, (start, end) in alignment.sentences
            ],
        ),
        ("words", [(*_samples(w.start, w.end), w.text if w.read else f"{UNREAD} {w.text}") for w in words]),
        ("phones", [(*_samples(p.start, p.end), p.symbol) for p in alignment.phones if not is_silence(p.symbol)]),
    ]
    return interval_textgrid(tiers, Extent(RATE, _samples(0, alignment.seconds)[1]))


def json_text(alignment: Alignment, name: str) -> str:
    """Return everything that is known, a line for each word and phone; "phones" of a word are indexes."""
    words = [
        {
            "text": w.text,
            **_times(w.start, w.end),
            "confidence": round(w.confidence, 3),
            "read": w.read,
            "span": list(w.span),
            "phones": list(w.phones),
        }
        for w in alignment.words
    ]
    phones = [
        {
            "symbol": p.symbol,
            **_times(p.start, p.end),
            "word": p.word,
            "goodness": round(p.goodness, 3),
            "confidence": round(p.confidence, 3),
        }
        for p in alignment.phones
    ]
    head = {
        "name": name,
        "text": alignment.text,
        "seconds": round(alignment.seconds, 4),
        "accepted": alignment.accepted,
        "confidence": round(alignment.confidence, 3),
        "reasons": list(alignment.reasons),
        "extra": [[round(start, 4), round(end, 4)] for start, end in alignment.extra],
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    for key, rows in (("words", words), ("phones", phones)):
        inner = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
        lines.append(f' "{key}": [\n  {inner}\n ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def ctm(alignment: Alignment, name: str) -> str:
    """Return a line for each word that was read: name, channel, start, length, word, confidence.

    Columns are parted by spaces, so those in names, and in words that are spelled ("p b x"), become underscores. Both
    ends are rounded to milliseconds, not the length, so no word ends after the next one begins.
    """
    lines = []
    for word in alignment.words:
        if word.read:
            start, end = round(1000 * word.start), round(1000 * word.end)
            times = f"{start / 1000:.3f} {(end - start) / 1000:.3f}"
            lines.append(f"{_joined(name) or 'recording'} 1 {times} {_joined(word.text)} {word.confidence:.3f}\n")
    return "".join(lines)


def _joined(text: str) -> str:
    return "_".join(text.split())


WRITERS: dict[str, Callable[[Alignment, str], str]] = {"TextGrid": textgrid, "json": json_text, "ctm": ctm}


def _samples(start: float, end: float) -> tuple[int, int]:
    return round(start * RATE), round(end * RATE)


def _times(start: float, end: float) -> dict[str, Any]:
    return {"start": round(start, 4), "end": round(end, 4)}
