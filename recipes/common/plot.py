"""Pictures of speech: spectra, alignments, contours and tables, drawn the same way for every module."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray

FRAME_SECONDS = 0.005
_SHOWN = {"origin": "lower", "aspect": "auto", "vmin": -15, "vmax": 5, "cmap": "magma"}


def _figure(width: float, height: float) -> Any | None:
    """Return an empty figure, None where matplotlib is not installed: pictures are a convenience."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(width, height), layout="constrained")


def draw_spectra(spectra: Mapping[str, FloatArray]) -> Any | None:
    """Draw log-mel spectra [F, bands], one below the other; the keys are titles."""
    figure = _figure(10.0, 2.5 * len(spectra))
    if figure is None:
        return None
    rows = np.atleast_1d(figure.subplots(len(spectra), 1, sharex=True))
    for axes, (name, mel_FM) in zip(rows, spectra.items(), strict=True):
        axes.imshow(np.asarray(mel_FM, np.float32).T, **_SHOWN)
        axes.set_title(name, fontsize=9)
    rows[-1].set_xlabel("frames of 5 ms")
    return figure


def draw_alignment(
    symbols: Sequence[str], alignments: Mapping[str, NDArray[Any]], mel_FM: FloatArray | None = None
) -> Any | None:
    """Draw where the sounds of a sentence begin and end, in one or more alignments of it, each a strip of phones.

    alignments: frames of 5 ms per symbol, whole or not, by title; mel_FM: the spectrum above the strips
    """
    seconds = max(float(np.sum(durations)) for durations in alignments.values()) * FRAME_SECONDS
    upper = 0 if mel_FM is None else 1
    figure = _figure(max(8.0, 4.0 * seconds), 1.0 + len(alignments) + 2.5 * upper)
    if figure is None:
        return None
    heights = [2.5] * upper + [1.0] * len(alignments)
    rows = np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    if mel_FM is not None:
        extent = (0.0, len(mel_FM) * FRAME_SECONDS, 0.0, mel_FM.shape[1])
        rows[0].imshow(np.asarray(mel_FM, np.float32).T, extent=extent, **_SHOWN)
    for axes, (name, durations_P) in zip(rows[upper:], alignments.items(), strict=True):
        edges = np.concatenate([[0.0], np.cumsum(durations_P)]) * FRAME_SECONDS
        axes.vlines(edges, 0.0, 1.0, linewidth=0.6)
        for symbol, start, end in zip(symbols, edges[:-1], edges[1:], strict=True):
            if end > start:
                axes.text((start + end) / 2, 0.5, symbol, ha="center", va="center", fontsize=6)
        axes.set_title(name, fontsize=9)
        axes.set_yticks([])
        if mel_FM is not None:
            rows[0].vlines(edges, 0, mel_FM.shape[1], colors="white", linewidth=0.5)
    rows[-1].set_xlim(0.0, seconds)
    rows[-1].set_xlabel("seconds")
    return figure


def draw_contours(contours: Mapping[str, FloatArray]) -> Any | None:
    """Draw contours in Hz [F], 0 where unvoiced, over each other."""
    figure = _figure(10.0, 3.5)
    if figure is None:
        return None
    axes = figure.subplots()
    frames = max(len(contour_F) for contour_F in contours.values())
    for name, contour_F in contours.items():
        times = np.arange(len(contour_F)) * FRAME_SECONDS
        axes.plot(times, np.where(contour_F > 0, contour_F, np.nan), label=name, linewidth=1.5)
    axes.set_xlim(0.0, frames * FRAME_SECONDS)
    axes.set_xlabel("seconds")
    axes.set_ylabel("Hz")
    axes.legend(loc="upper right", fontsize=8)
    return figure


def draw_table(values_RC: FloatArray, rows: Sequence[str], columns: Sequence[str]) -> Any | None:
    """Draw numbers from 0 to 1 as shades; rows and columns: their names."""
    figure = _figure(1.5 + 0.35 * len(columns), 1.0 + 0.3 * len(rows))
    if figure is None:
        return None
    axes = figure.subplots()
    axes.imshow(np.asarray(values_RC, np.float32), vmin=0.0, vmax=1.0, cmap="magma", aspect="auto")
    axes.set_xticks(range(len(columns)), columns, fontsize=7, rotation=90)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    return figure


def plot_spectra(spectra: Mapping[str, FloatArray], path: Path) -> None:
    """Write a PNG of log-mel spectra [F, bands], one below the other; nothing without matplotlib."""
    figure = draw_spectra(spectra)
    if figure is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=80)
