"""What a voice holds of `deepvoice.models.segmentation`. Aligning runs the torch module; speaking does not need it."""

from deepvoice.configs import SegmentationConfig
from deepvoice.networks.phone_encoder import Shapes, dense_shapes
from deepvoice.text.phones import BASES


class SegmentationNetwork:
    """The segmentation module of a voice."""

    @staticmethod
    def expected_shapes(config: SegmentationConfig) -> Shapes:
        """Return the name and shape of every tensor."""
        C, H, K, V = config.channels, config.hidden, config.kernel, len(BASES)
        shapes: Shapes = {"input.weight": (C, config.bands * config.stack, K), "input.bias": (C,)}
        for i in range(config.layers):
            shapes |= {f"convs.{i}.weight": (C, C, K), f"convs.{i}.bias": (C,)}
        for direction in ("", "_reverse"):
            shapes |= {
                f"gru.weight_ih_l0{direction}": (3 * H, C),
                f"gru.weight_hh_l0{direction}": (3 * H, H),
                f"gru.bias_ih_l0{direction}": (3 * H,),
                f"gru.bias_hh_l0{direction}": (3 * H,),
            }
        return shapes | dense_shapes("pair", 2 * V + 1, 2 * H + C) | dense_shapes("frame", config.stack * V, 2 * H + C)
