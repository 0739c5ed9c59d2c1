"""A picture of one held-out utterance: its spectrum with the boundaries that the network sees at this moment."""

import numpy as np

from deepvoice.models.segmentation import Segmentation
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.plot import draw_alignment
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.segmentation.corpus import Utterance
from deepvoice.recipes.segmentation.decode import boundaries_from_pairs
from deepvoice.text.phones import BASES


def plot_boundaries(model: Segmentation, cache: FeatureCache, utterance: Utterance, samples: Samples) -> None:
    """Draw an utterance, aligned by the pairs of phones."""
    boundaries = boundaries_from_pairs(model, cache, [utterance])[utterance.id]
    durations_P = np.diff(boundaries, prepend=0.0, append=float(utterance.frames))
    symbols = [BASES[base] for base in utterance.bases_P]
    mel_FM = np.asarray(cache[utterance.id].mel_FM, np.float32)
    samples.picture("boundaries", draw_alignment(symbols, {"by pairs": durations_P}, mel_FM))
