"""A picture of one held-out utterance: its spectrum with the boundaries that the network sees at this moment."""

from pathlib import Path

import numpy as np

from deepvoice.models.segmentation import Segmentation
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.segmentation.corpus import Utterance
from deepvoice.recipes.segmentation.decode import boundaries_from_pairs
from deepvoice.text.phones import BASES


def plot_boundaries(model: Segmentation, cache: FeatureCache, utterance: Utterance, path: Path) -> None:
    """Write a PNG; does nothing where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:  # plots are a convenience; the numbers are in the log
        return
    boundaries = boundaries_from_pairs(model, cache, [utterance])[utterance.id]
    mel_FM = np.asarray(cache[utterance.id].mel_FM, np.float32)
    figure = Figure(figsize=(max(8.0, utterance.frames / 60), 4.0), layout="constrained")
    axes = figure.add_subplot()
    seconds = utterance.frames * cache.spec.hop / cache.spec.sample_rate
    axes.imshow(mel_FM.T, origin="lower", aspect="auto", cmap="magma", extent=(0.0, seconds, 0.0, mel_FM.shape[1]))
    edges = np.concatenate([[0.0], boundaries * cache.spec.hop / cache.spec.sample_rate, [seconds]])
    axes.vlines(edges[1:-1], 0, mel_FM.shape[1], colors="white", linewidth=0.7)
    for base, left, right in zip(utterance.bases_P, edges[:-1], edges[1:], strict=True):
        axes.text((left + right) / 2, mel_FM.shape[1] + 1, BASES[base], ha="center", fontsize=7)
    axes.set_xlabel("seconds")
    axes.set_ylabel("mel band")
    figure.savefig(path, dpi=90)
