"""Praat's TextGrid, long text format: tiers of sentences, words, phones and visemes, and a tier of marks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from deepvoice.text.phones import is_silence
from deepvoice.timings.timeline import Timeline
from deepvoice.timings.visemes import SILENCE, visemes

_Interval = tuple[int, int, str]


class Extent(NamedTuple):
    """What a TextGrid covers, and how its times are counted."""

    sample_rate: int
    num_samples: int


def textgrid(timeline: Timeline) -> str:
    """Return the TextGrid; every tier covers all of the speech, silences have empty labels."""
    tiers = [
        ("sentences", [(*sentence.samples, sentence.text) for sentence in timeline.sentences]),
        ("words", [(*word.samples, word.text) for word in timeline.words]),
        ("phones", [(*p.samples, p.symbol) for p in timeline.phones if not is_silence(p.symbol)]),
        ("visemes", [(v.start, v.end, v.shape) for v in visemes(timeline.phones) if v.shape != SILENCE]),
    ]
    extent = Extent(timeline.sample_rate, timeline.num_samples)
    lines = _intervals(tiers, extent, len(tiers) + bool(timeline.marks))
    if timeline.marks:
        lines += _point_tier(len(tiers) + 1, timeline, extent)
    return "\n".join(lines) + "\n"


def interval_textgrid(tiers: Sequence[tuple[str, Sequence[_Interval]]], extent: Extent) -> str:
    """Return a TextGrid of named tiers of intervals (first sample, past the last, label), filled up with empty ones."""
    return "\n".join(_intervals(tiers, extent, len(tiers))) + "\n"


def _intervals(tiers: Sequence[tuple[str, Sequence[_Interval]]], extent: Extent, size: int) -> list[str]:
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {_seconds(extent.num_samples, extent)}",
        "tiers? <exists>",
        f"size = {size}",
        "item []:",
    ]
    for number, (name, intervals) in enumerate(tiers, 1):
        lines += _interval_tier(number, name, list(_filled(intervals, extent.num_samples)), extent)
    return lines


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


def _interval_tier(number: int, name: str, intervals: list[_Interval], extent: Extent) -> list[str]:
    lines = _head(number, "IntervalTier", name, f"intervals: size = {len(intervals)}", extent)
    for i, (start, stop, label) in enumerate(intervals, 1):
        lines += [
            f"        intervals [{i}]:",
            f"            xmin = {_seconds(start, extent)}",
            f"            xmax = {_seconds(stop, extent)}",
            f"            text = {_quoted(label)}",
        ]
    return lines


def _point_tier(number: int, timeline: Timeline, extent: Extent) -> list[str]:
    lines = _head(number, "TextTier", "marks", f"points: size = {len(timeline.marks)}", extent)
    for i, mark in enumerate(timeline.marks, 1):
        lines += [
            f"        points [{i}]:",
            f"            number = {_seconds(mark.sample, extent)}",
            f"            mark = {_quoted(mark.name)}",
        ]
    return lines


def _head(number: int, kind: str, name: str, size: str, extent: Extent) -> list[str]:
    return [
        f"    item [{number}]:",
        f'        class = "{kind}"',
        f'        name = "{name}"',
        "        xmin = 0",
        f"        xmax = {_seconds(extent.num_samples, extent)}",
        f"        {size}",
    ]


def _seconds(sample: int, extent: Extent) -> str:
    """Write a time; equal samples give equal numbers, and no number is written with an exponent."""
    return f"{sample / extent.sample_rate:.9f}".rstrip("0").rstrip(".")


def _quoted(label: str) -> str:
    return '"' + label.replace('"', '""') + '"'
