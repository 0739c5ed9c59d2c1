"""Layers whose weights are arranged once for the compiled kernels, and the ops that run them.

`Packed` is one affine layer, dense or over windows in time. In "bfloat16" both its weights and its inputs are rounded
to bfloat16 and their products summed in float32: twice as fast where the processor multiplies such numbers itself.
"""

from typing import Any, Literal

import numpy as np

from deepvoice.kernels._checks import FloatArray, choice, float_array, optional_float_array
from deepvoice.kernels._dispatch import Backend, extension, isa, resolve
from deepvoice.kernels.ops import ACTIVATIONS, Activation
from deepvoice.kernels.reference import ops as reference
from deepvoice.kernels.weights import Precision

LayerPrecision = Literal["float32", "bfloat16"]
_RELU = ACTIVATIONS.index("relu")


class Packed:
    """Weights of one layer; made once, only read afterwards, usable from every thread."""

    def __init__(
        self, weight: FloatArray, bias_O: FloatArray | None = None, precision: LayerPrecision = "float32"
    ) -> None:
        """Check the tensors.

        weight: float32 [O, I], or [O, K, I] for a convolution (torch.nn.Conv1d's with the last two axes exchanged)
        bias_O: float32 [O] or None
        """
        if isinstance(weight, np.ndarray) and weight.ndim == 2:
            weight = weight[:, None]
        self.weight_OKI = float_array("weight", weight, (None, None, None))
        if not self.weight_OKI.size:
            raise ValueError(f"weight has shape {weight.shape}, expected at least one entry on every axis")
        self.bias_O = optional_float_array("bias_O", bias_O, (len(self.weight_OKI),))
        self.precision = choice("precision", precision, ("float32", "bfloat16"))
        self._layers: dict[str | None, Any] = {}  # by instruction set, and "cuda"

    @property
    def inputs(self) -> int:
        """Number of inputs of one tap."""
        return self.weight_OKI.shape[2]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.weight_OKI.shape[0]

    @property
    def taps(self) -> int:
        """Number of taps."""
        return self.weight_OKI.shape[1]

    def layer(self, backend: Backend = "cpu") -> Any:
        """Return the extension's copy for the instruction set in use, or for the device, made at first use."""
        name = "cuda" if backend == "cuda" else isa()
        layer = self._layers.get(name)
        if layer is None:  # two threads may both make one; either will do
            layer = extension(backend).Layer(self.weight_OKI, self.bias_O, self.precision == "bfloat16")
            self._layers[name] = layer
        return layer

    def rounded(self, values: FloatArray) -> FloatArray:
        """Return inputs or weights as this layer's precision holds them."""
        return reference.round_bfloat16(values) if self.precision == "bfloat16" else values


def layer_precision(precision: Precision) -> LayerPrecision:
    """Return the precision of the layers beside a WaveNet of this one: bfloat16 where that is allowed and faster."""
    return "bfloat16" if precision != "float32" and fast_bfloat16() else "float32"


def fast_bfloat16() -> bool:
    """Whether the instruction set in use makes layers in bfloat16 faster."""
    return resolve() == "cpu" and bool(extension().bfloat_products())


def affine(
    x_TI: FloatArray,
    packed: Packed,
    activation: Activation = "none",
    dilation: int = 1,
    causal: bool = False,
    *,
    backend: str = "auto",
) -> FloatArray:
    """Apply a layer to every row, or convolve over time with zeros assumed outside.

    x_TI: float32 [T, I], T may be 0
    dilation: steps between taps
    causal: the last tap is the present; otherwise the taps are centred and must be odd in number
    Returns float32 [T, O].
    """
    x_TI = float_array("x_TI", x_TI, (None, packed.inputs))
    choice("activation", activation, ACTIVATIONS)
    _check_taps(packed, dilation, causal)
    chosen = resolve(backend)
    if chosen == "reference":
        weight_OKI = packed.rounded(packed.weight_OKI)
        return reference.conv1d(packed.rounded(x_TI), weight_OKI, packed.bias_O, dilation, activation, causal)
    y_TO = np.empty((len(x_TI), packed.outputs), np.float32)
    packed.layer(chosen).apply(x_TI, dilation, ACTIVATIONS.index(activation), causal, y_TO)
    return y_TO


def residual_conv(
    x_TC: FloatArray,
    norm_weight_C: FloatArray,
    norm_bias_C: FloatArray,
    packed: Packed,
    dilation: int = 1,
    *,
    backend: str = "auto",
) -> FloatArray:
    """Compute x + relu(conv(layer_norm(x))) with centred taps, float32 [T, C].

    x_TC: float32 [T, C], T may be 0; the layer has C inputs and C outputs
    norm_weight_C, norm_bias_C: float32 [C]
    """
    x_TC = float_array("x_TC", x_TC, (None, packed.inputs))
    norm_weight_C = float_array("norm_weight_C", norm_weight_C, (packed.inputs,))
    norm_bias_C = float_array("norm_bias_C", norm_bias_C, (packed.inputs,))
    _check_taps(packed, dilation, causal=False)
    if packed.outputs != packed.inputs:
        raise ValueError(f"the layer has {packed.inputs} inputs and {packed.outputs} outputs, expected as many")
    chosen = resolve(backend)
    if chosen == "reference":
        normed_TC = packed.rounded(reference.layer_norm(x_TC, norm_weight_C, norm_bias_C))
        weight_OKI = packed.rounded(packed.weight_OKI)
        return x_TC + reference.conv1d(normed_TC, weight_OKI, packed.bias_O, dilation, "relu", causal=False)
    y_TC = np.empty_like(x_TC)
    packed.layer(chosen).residual(x_TC, norm_weight_C, norm_bias_C, dilation, y_TC)
    return y_TC


def layer_norm(x_TC: FloatArray, weight_C: FloatArray, bias_C: FloatArray, *, backend: str = "auto") -> FloatArray:
    """Normalise every row to mean 0 and variance 1 (torch.nn.LayerNorm), then scale and shift, float32 [T, C]."""
    x_TC = float_array("x_TC", x_TC, (None, None))
    weight_C = float_array("weight_C", weight_C, x_TC.shape[1:])
    bias_C = float_array("bias_C", bias_C, x_TC.shape[1:])
    chosen = resolve(backend)
    if chosen == "reference":
        return reference.layer_norm(x_TC, weight_C, bias_C)
    y_TC = np.empty_like(x_TC)
    extension(chosen).layer_norm(x_TC, weight_C, bias_C, y_TC)
    return y_TC


def packed_gru(
    x_TI: FloatArray,
    given: Packed,
    recurrent: Packed,
    h0_H: FloatArray | None = None,
    reverse: bool = False,
    *,
    backend: str = "auto",
) -> tuple[FloatArray, FloatArray]:
    """Run one direction of a gated recurrent layer; equations, arguments and results are those of `gru`.

    given: [3H, I] with its bias, applied to the inputs; recurrent: [3H, H] with its bias, applied to the state
    """
    x_TI = float_array("x_TI", x_TI, (None, given.inputs))
    hidden = recurrent.inputs
    if (given.outputs, recurrent.outputs, given.taps, recurrent.taps) != (3 * hidden, 3 * hidden, 1, 1):
        raise ValueError(f"the layers of a GRU of {hidden} units must be dense with {3 * hidden} outputs")
    h_H = np.zeros(hidden, np.float32) if h0_H is None else float_array("h0_H", h0_H, (hidden,)).copy()
    chosen = resolve(backend)
    if chosen == "reference":
        weights = (given.weight_OKI[:, 0], recurrent.weight_OKI[:, 0])
        biases = (_bias(given), _bias(recurrent))
        return reference.gru(x_TI, *weights, *biases, h_H, reverse)
    y_TH = np.empty((len(x_TI), hidden), np.float32)
    extension(chosen).packed_gru(given.layer(chosen), recurrent.layer(chosen), x_TI, reverse, h_H, y_TH)
    return y_TH, h_H


def _bias(packed: Packed) -> FloatArray:
    return np.zeros(packed.outputs, np.float32) if packed.bias_O is None else packed.bias_O


def _check_taps(packed: Packed, dilation: int, causal: bool) -> None:
    if not (causal or packed.taps % 2):
        raise ValueError(f"the layer has {packed.taps} taps: centred taps must be odd in number")
    if not 1 <= dilation <= 65536:
        raise ValueError(f"dilation is {dilation}, expected 1 to 65536")
