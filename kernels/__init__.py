"""Inference kernels: the layers of the front-end networks and the vocoder's WaveNet, on numpy arrays.

`reference/` is the specification in numpy, `cpu/` the C++ extension. The backend is chosen per call by the argument
`backend`, then by the environment variable DEEPVOICE_KERNELS, then automatically.
"""

from deepvoice.kernels import wavenet
from deepvoice.kernels._dispatch import (
    Backend,
    available,
    choose_precision,
    isa,
    resolve,
    set_isa,
    supported_isas,
    using,
)
from deepvoice.kernels.ops import conv1d, dense, gru, qrnn_pool
from deepvoice.kernels.packed import (
    LayerPrecision,
    Packed,
    affine,
    fast_bfloat16,
    layer_norm,
    layer_precision,
    packed_gru,
    residual_conv,
)
from deepvoice.kernels.weights import Precision, WaveNetShape, WaveNetWeights

__all__ = [
    "Backend",
    "LayerPrecision",
    "Packed",
    "Precision",
    "WaveNetShape",
    "WaveNetWeights",
    "affine",
    "available",
    "choose_precision",
    "conv1d",
    "dense",
    "fast_bfloat16",
    "gru",
    "isa",
    "layer_norm",
    "layer_precision",
    "packed_gru",
    "qrnn_pool",
    "residual_conv",
    "resolve",
    "set_isa",
    "supported_isas",
    "using",
    "wavenet",
]
