"""Small pictures for the report, as SVG written by hand: no library is needed to draw or to read them."""

from collections.abc import Sequence
from html import escape

import numpy as np

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 360, 190, 36, 34
_BARS = 30
_MOST_DOTS = 3000


def histogram(values: Sequence[float], unit: str, title: str, limits: Sequence[float]) -> str:
    """Return bars of how many values lie where; limits are drawn as lines where they lie inside."""
    if not values:
        return ""
    low, high = float(min(values)), float(max(values))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    counts, _ = np.histogram(values, _BARS, (low, high))
    scale_x, scale_y = (_WIDTH - _LEFT) / _BARS, (_HEIGHT - _BOTTOM - 10) / counts.max()
    bars = "".join(
        f'<rect class="bar" x="{_LEFT + i * scale_x:.1f}" y="{_HEIGHT - _BOTTOM - count * scale_y:.1f}" '
        f'width="{scale_x - 1:.1f}" height="{count * scale_y:.1f}"/>'
        for i, count in enumerate(counts)
        if count
    )
    lines = "".join(
        f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{_HEIGHT - _BOTTOM}"/>'
        for x in (_LEFT + (limit - low) / (high - low) * (_WIDTH - _LEFT) for limit in limits if low <= limit <= high)
    )
    return _figure(bars + lines + _axes(low, high, 0, float(counts.max())), unit, title)


def scatter(points: Sequence[tuple[float, float, bool]], across: str, up: str, title: str) -> str:
    """Return a dot for each (x, y, refused)."""
    if not points:
        return ""
    shown = [points[int(i)] for i in np.unique(np.linspace(0, len(points) - 1, _MOST_DOTS).astype(int))]
    right, top = max(p[0] for p in points) * 1.05 + 1e-9, max(p[1] for p in points) * 1.05 + 1e-9
    dots = "".join(
        f'<circle class="{"bad" if refused else "dot"}" r="2" cx="{_LEFT + x / right * (_WIDTH - _LEFT):.1f}" '
        f'cy="{_HEIGHT - _BOTTOM - y / top * (_HEIGHT - _BOTTOM - 10):.1f}"/>'
        for x, y, refused in shown
    )
    return _figure(dots + _axes(0, right, 0, top), f"{across} (up: {up})", title)


def waveform(percents: Sequence[int]) -> str:
    """Return the outline of a recording; percents: largest magnitudes of equal parts."""
    top = max(1, *percents)
    path = "".join(f"M{i} {50 - 48 * p / top:.0f}V{50 + 48 * p / top:.0f}" for i, p in enumerate(percents))
    return f'<svg viewBox="0 0 {len(percents)} 100" preserveAspectRatio="none"><path class="wave" d="{path}"/></svg>'


def _axes(low: float, high: float, bottom: float, top: float) -> str:
    floor = _HEIGHT - _BOTTOM
    return (
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH}" y1="{floor}" y2="{floor}"/>'
        f'<text x="{_LEFT}" y="{floor + 14}">{_number(low)}</text>'
        f'<text x="{_WIDTH}" y="{floor + 14}" text-anchor="end">{_number(high)}</text>'
        f'<text x="{_LEFT - 4}" y="16" text-anchor="end">{_number(top)}</text>'
        f'<text x="{_LEFT - 4}" y="{floor}" text-anchor="end">{_number(bottom)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 or value == round(value) else f"{value:.2g}"


def _figure(inner: str, unit: str, title: str) -> str:
    label = f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">{escape(unit)}</text>'
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">{inner}{label}</svg>'
        f"<figcaption>{escape(title)}</figcaption></figure>"
    )
