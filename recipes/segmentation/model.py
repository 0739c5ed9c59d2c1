"""A trained segmentation network from its checkpoint."""

from pathlib import Path

from deepvoice.config import from_dict
from deepvoice.configs import SegmentationConfig
from deepvoice.models.segmentation import Segmentation
from deepvoice.recipes.common.checkpoint import load_checkpoint


def load_model(checkpoint: Path) -> Segmentation:
    """Build the network of a checkpoint with its averaged weights."""
    state = load_checkpoint(checkpoint)
    model = Segmentation(from_dict(SegmentationConfig, state["config"], "segmentation"))
    model.load_state_dict(state["ema"])
    return model.eval()
