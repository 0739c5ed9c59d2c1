"""JSON: everything in one object, or one event a line in the order of time."""

import json
from collections.abc import Iterator
from typing import Any

from deepvoice.timings.timeline import Timeline
from deepvoice.timings.visemes import visemes


def tables(timeline: Timeline) -> dict[str, Any]:
    """Return the times as plain data: a list of each kind, with seconds, samples and characters.

    "span" counts characters of the text as it was given, markup included; "word" and "words" are indexes into "words".
    """
    rate = timeline.sample_rate
    return {
        "sample_rate": rate,
        "samples": timeline.num_samples,
        "seconds": timeline.num_samples / rate,
        "sentences": [
            {"text": s.text, **_times(*s.samples, rate), "span": list(s.span), "words": list(s.words)}
            for s in timeline.sentences
        ],
        "words": [
            {"text": w.text, "written": w.written.rstrip(), **_times(*w.samples, rate), "span": list(w.span)}
            for w in timeline.words
        ],
        "phones": [
            {"symbol": p.symbol, **_times(*p.samples, rate), "f0": round(p.f0, 2), "word": p.word}
            for p in timeline.phones
        ],
        "visemes": [{"shape": v.shape, **_times(v.start, v.end, rate)} for v in visemes(timeline.phones)],
        "marks": [{"name": mark.name, "time": mark.time, "sample": mark.sample} for mark in timeline.marks],
    }


def events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """Yield everything in the order of time, the longer first: "type" is sentence, word, mark, viseme or phone."""
    rate = timeline.sample_rate
    spans = [word.span for word in timeline.words]
    found: list[tuple[int, int, dict[str, Any]]] = []
    for sentence in timeline.sentences:
        times = _times(*sentence.samples, rate)
        found.append((sentence.samples[0], 0, _event("sentence", sentence.text, times, sentence.span)))
    for word in timeline.words:
        found.append((word.samples[0], 1, _event("word", word.text, _times(*word.samples, rate), word.span)))
    for mark in timeline.marks:
        found.append((mark.sample, 2, _event("mark", mark.name, _times(mark.sample, mark.sample, rate), None)))
    for viseme in visemes(timeline.phones):
        found.append((viseme.start, 3, _event("viseme", viseme.shape, _times(viseme.start, viseme.end, rate), None)))
    for phone in timeline.phones:
        span = spans[phone.word] if phone.word >= 0 else None
        found.append((phone.samples[0], 4, _event("phone", phone.symbol, _times(*phone.samples, rate), span)))
    for _, _, event in sorted(found, key=lambda item: item[:2]):
        yield event


def json_text(timeline: Timeline) -> str:
    """One JSON object, a line for each word and so on."""
    parts = []
    for key, value in tables(timeline).items():
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value) if isinstance(value, list) else None
        body = json.dumps(value) if rows is None else f"[\n  {rows}\n ]" if rows else "[]"
        parts.append(f' "{key}": {body}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def json_lines(timeline: Timeline) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events(timeline))


def _event(kind: str, value: str, times: dict[str, Any], span: tuple[int, int] | None) -> dict[str, Any]:
    return {"type": kind, "value": value, **times, **({"span": list(span)} if span else {})}


def _times(start: int, end: int, rate: int) -> dict[str, Any]:
    return {"start": start / rate, "end": end / rate, "samples": [start, end]}
