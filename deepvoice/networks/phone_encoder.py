"""Speaking half of `deepvoice.models.phone_encoder`: the blocks shared by the duration and F0 networks."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from deepvoice import kernels
from deepvoice.kernels import LayerPrecision, Packed
from deepvoice.networks.gru import BACKWARD, FORWARD, gru_shapes, gru_weights
from deepvoice.text.phones import SYMBOLS

FloatArray = NDArray[np.float32]
Tensors = Mapping[str, FloatArray]
Shapes = dict[str, tuple[int, ...]]


def dense_shapes(name: str, outputs: int, inputs: int) -> Shapes:
    """Return the tensors of a dense layer."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def packed_dense(tensors: Tensors, name: str, precision: LayerPrecision = "float32") -> Packed:
    """Pack a dense layer."""
    return Packed(tensors[f"{name}.weight"], tensors[f"{name}.bias"], precision)


def packed_conv(tensors: Tensors, name: str, precision: LayerPrecision = "float32") -> Packed:
    """Pack a convolution: torch keeps [O, I, K], the kernels read [O, K, I]."""
    return Packed(
        np.ascontiguousarray(tensors[f"{name}.weight"].transpose(0, 2, 1)), tensors[f"{name}.bias"], precision
    )


def norm_shapes(name: str, channels: int) -> Shapes:
    """Return the tensors of a layer normalisation."""
    return {f"{name}.weight": (channels,), f"{name}.bias": (channels,)}


class ResidualConv:
    """x + relu(conv(norm(x))) over time."""

    def __init__(self, tensors: Tensors, name: str, dilation: int, precision: LayerPrecision = "float32") -> None:
        self._norm = (tensors[f"{name}.norm.weight"], tensors[f"{name}.norm.bias"])
        self._conv = packed_conv(tensors, f"{name}.conv", precision)
        self._dilation = dilation

    @staticmethod
    def expected_shapes(name: str, channels: int, width: int) -> Shapes:
        """Return the tensors of one block."""
        return {
            **norm_shapes(f"{name}.norm", channels),
            f"{name}.conv.weight": (channels, channels, width),
            f"{name}.conv.bias": (channels,),
        }

    def __call__(self, x_TC: FloatArray) -> FloatArray:
        """Transform float32 [T, C]."""
        return kernels.residual_conv(x_TC, *self._norm, self._conv, self._dilation)


class PhoneEncoder:
    """Embedding and features of the phones, convolutions for the neighbourhood, a bi-GRU for the whole sentence."""

    def __init__(self, tensors: Tensors, name: str, layers: int) -> None:
        self._embedding_SC = tensors[f"{name}.embedding.weight"]
        self._features = packed_dense(tensors, f"{name}.features")
        self._convs = [ResidualConv(tensors, f"{name}.convs.{i}", 1) for i in range(layers)]
        self._forward = gru_weights(tensors, f"{name}.gru", FORWARD).packed()
        self._backward = gru_weights(tensors, f"{name}.gru", BACKWARD).packed()

    @staticmethod
    def expected_shapes(name: str, *, features: int, channels: int, layers: int, width: int, recurrent: int) -> Shapes:
        """Return the tensors of the encoder."""
        shapes: Shapes = {f"{name}.embedding.weight": (len(SYMBOLS), channels)}
        shapes |= dense_shapes(f"{name}.features", channels, features)
        for i in range(layers):
            shapes |= ResidualConv.expected_shapes(f"{name}.convs.{i}", channels, width)
        for direction in (FORWARD, BACKWARD):
            shapes |= gru_shapes(f"{name}.gru", channels, recurrent, direction)
        return shapes

    def __call__(self, ids_P: NDArray[np.int64], features_PX: FloatArray) -> FloatArray:
        """Encode one sentence: int64 [P] and float32 [P, X] -> float32 [P, channels + 2 * recurrent]."""
        x_PC = self._embedding_SC[ids_P] + kernels.affine(features_PX, self._features)
        for conv in self._convs:
            x_PC = conv(x_PC)
        forward_PH, _ = kernels.packed_gru(x_PC, *self._forward)
        backward_PH, _ = kernels.packed_gru(x_PC, *self._backward, reverse=True)
        return np.concatenate([x_PC, forward_PH, backward_PH], axis=1)
