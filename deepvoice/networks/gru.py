"""The tensors of one direction of a torch.nn.GRU: their names, their sizes, and the order the kernel takes them in."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels import Packed

FloatArray = NDArray[np.float32]

FORWARD, BACKWARD = "", "_reverse"  # ends of the tensors' names


class GruWeights(NamedTuple):
    """Weights of one direction, in the order of `kernels.gru`."""

    w_ih_GI: FloatArray
    w_hh_GH: FloatArray
    b_ih_G: FloatArray
    b_hh_G: FloatArray

    def packed(self) -> tuple[Packed, Packed]:
        """Return the layers of `kernels.packed_gru`: applied to the inputs, and to the state."""
        return Packed(self.w_ih_GI, self.b_ih_G), Packed(self.w_hh_GH, self.b_hh_G)


def gru_shapes(name: str, inputs: int, hidden: int, direction: str = FORWARD) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every tensor of one direction of the layer `name`."""
    return {
        f"{name}.weight_ih_l0{direction}": (3 * hidden, inputs),
        f"{name}.weight_hh_l0{direction}": (3 * hidden, hidden),
        f"{name}.bias_ih_l0{direction}": (3 * hidden,),
        f"{name}.bias_hh_l0{direction}": (3 * hidden,),
    }


def gru_weights(tensors: Mapping[str, FloatArray], name: str, direction: str = FORWARD) -> GruWeights:
    """Take one direction of the layer `name` out of a network's tensors."""
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return GruWeights(*(tensors[f"{name}.{part}_l0{direction}"] for part in parts))
