"""Praat's TextGrid, long text format: tiers of sentences, words, phones and visemes, and a tier of marks."""

from collections.abc import Iterable, Iterator

from deepvoice.text.phones import is_silence
from deepvoice.timings.timeline import Timeline
from deepvoice.timings.visemes import SILENCE, visemes

_Interval = tuple[int, int, str]


def textgrid(timeline: Timeline) -> str:
    """Return the TextGrid; every tier covers all of the speech, silences have empty labels."""
    tiers = [
        ("sentences", [(*sentence.samples, sentence.text) for sentence in timeline.sentences]),
        ("words", [(*word.samples, word.text) for word in timeline.words]),
        ("phones", [(*p.samples, p.symbol) for p in timeline.phones if not is_silence(p.symbol)]),
        ("visemes", [(v.start, v.end, v.shape) for v in visemes(timeline.phones) if v.shape != SILENCE]),
    ]
    end = _seconds(timeline.num_samples, timeline)
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {end}",
        "tiers? <exists>",
    ]
    lines += [f"size = {len(tiers) + bool(timeline.marks)}", "item []:"]
    for number, (name, intervals) in enumerate(tiers, 1):
        lines += _interval_tier(number, name, list(_filled(intervals, timeline.num_samples)), timeline)
    if timeline.marks:
        lines += _point_tier(len(tiers) + 1, timeline)
    return "\n".join(lines) + "\n"


def _filled(intervals: Iterable[_Interval], end: int) -> Iterator[_Interval]:
    """Put empty intervals between the others; those without length are left out, as Praat refuses them."""
    at = 0
    for start, stop, label in intervals:
        if stop <= start:
            continue
        if start > at:
            yield at, start, ""
        yield start, stop, label
        at = stop
    if at < end:
        yield at, end, ""


def _interval_tier(number: int, name: str, intervals: list[_Interval], timeline: Timeline) -> list[str]:
    lines = _head(number, "IntervalTier", name, f"intervals: size = {len(intervals)}", timeline)
    for i, (start, stop, label) in enumerate(intervals, 1):
        lines += [
            f"        intervals [{i}]:",
            f"            xmin = {_seconds(start, timeline)}",
            f"            xmax = {_seconds(stop, timeline)}",
            f"            text = {_quoted(label)}",
        ]
    return lines


def _point_tier(number: int, timeline: Timeline) -> list[str]:
    lines = _head(number, "TextTier", "marks", f"points: size = {len(timeline.marks)}", timeline)
    for i, mark in enumerate(timeline.marks, 1):
        lines += [
            f"        points [{i}]:",
            f"            number = {_seconds(mark.sample, timeline)}",
            f"            mark = {_quoted(mark.name)}",
        ]
    return lines


def _head(number: int, kind: str, name: str, size: str, timeline: Timeline) -> list[str]:
    return [
        f"    item [{number}]:",
        f'        class = "{kind}"',
        f'        name = "{name}"',
        "        xmin = 0",
        f"        xmax = {_seconds(timeline.num_samples, timeline)}",
        f"        {size}",
    ]


def _seconds(sample: int, timeline: Timeline) -> str:
    """Write a time; equal samples give equal numbers, and no number is written with an exponent."""
    return f"{sample / timeline.sample_rate:.9f}".rstrip("0").rstrip(".")


def _quoted(label: str) -> str:
    return '"' + label.replace('"', '""') + '"'
