"""Pictures for a run folder."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from deepvoice.audio.mel import FloatArray


def plot_spectra(spectra: Mapping[str, FloatArray], path: Path) -> None:
    """Write a PNG of log-mel spectra [F, bands], one below the other; nothing without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:  # plots are a convenience; the numbers are in the log
        return
    figure = Figure(figsize=(10.0, 2.5 * len(spectra)), layout="constrained")
    rows = np.atleast_1d(figure.subplots(len(spectra), 1, sharex=True))
    for axes, (name, mel_FM) in zip(rows, spectra.items(), strict=True):
        axes.imshow(np.asarray(mel_FM, np.float32).T, origin="lower", aspect="auto", vmin=-15, vmax=5, cmap="magma")
        axes.set_title(name, fontsize=9)
    rows[-1].set_xlabel("frames of 5 ms")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)
