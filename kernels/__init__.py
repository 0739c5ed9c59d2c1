"""Inference kernels: the layers of the front-end networks and the vocoder's WaveNet, on numpy arrays.

`reference/` is the specification in numpy, `cpu/` the C++ extension. The backend is chosen per call by the argument
`backend`, then by the environment variable DEEPVOICE_KERNELS, then automatically.
"""

from deepvoice.kernels import wavenet
from deepvoice.kernels._dispatch import Backend, available, isa, resolve, set_isa, supported_isas, using
from deepvoice.kernels.ops import conv1d, dense, gru, qrnn_pool
from deepvoice.kernels.weights import WaveNetShape, WaveNetWeights

__all__ = [
    "Backend",
    "WaveNetShape",
    "WaveNetWeights",
    "available",
    "conv1d",
    "dense",
    "gru",
    "isa",
    "qrnn_pool",
    "resolve",
    "set_isa",
    "supported_isas",
    "using",
    "wavenet",
]
