"""The layers that the front-end networks are made of: one public function each, checked here, run by a backend.

Every function takes and returns float32 arrays and keeps no state. Dimension suffixes: T time, I inputs, O outputs,
K taps, H hidden, G = 3H gates.
"""

from typing import Literal, get_args

import numpy as np

from deepvoice.kernels._checks import FloatArray, choice, float_array, optional_float_array
from deepvoice.kernels._dispatch import extension, resolve
from deepvoice.kernels.reference import ops as reference

Activation = Literal["none", "relu", "tanh", "sigmoid"]
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)


def dense(
    x_TI: FloatArray,
    weight_OI: FloatArray,
    bias_O: FloatArray | None = None,
    activation: Activation = "none",
    *,
    backend: str = "auto",
) -> FloatArray:
    """Apply an affine map and an activation to every row.

    x_TI: float32 [T, I], T may be 0
    weight_OI: float32 [O, I], as torch.nn.Linear stores it
    bias_O: float32 [O] or None
    Returns float32 [T, O].
    """
    x_TI = float_array("x_TI", x_TI, (None, None))
    weight_OI = float_array("weight_OI", weight_OI, (None, x_TI.shape[1]))
    bias_O = optional_float_array("bias_O", bias_O, (weight_OI.shape[0],))
    choice("activation", activation, ACTIVATIONS)
    chosen = resolve(backend)
    if chosen == "reference":
        return reference.dense(x_TI, weight_OI, bias_O, activation)
    y_TO = np.empty((x_TI.shape[0], weight_OI.shape[0]), np.float32)
    extension(chosen).dense(x_TI, weight_OI, bias_O, ACTIVATIONS.index(activation), y_TO)
    return y_TO


def conv1d(
    x_TI: FloatArray,
    weight_OKI: FloatArray,
    bias_O: FloatArray | None = None,
    dilation: int = 1,
    activation: Activation = "none",
    causal: bool = False,
    *,
    backend: str = "auto",
) -> FloatArray:
    """Convolve over time; the output is as long as the input, with zeros assumed outside it.

    x_TI: float32 [T, I], T may be 0
    weight_OKI: float32 [O, K, I]; torch.nn.Conv1d's [O, I, K] with the last two axes exchanged
    bias_O: float32 [O] or None
    dilation: steps between taps
    causal: the last tap is the present; otherwise the taps are centred and K must be odd
    Returns float32 [T, O].
    """
    x_TI = float_array("x_TI", x_TI, (None, None))
    weight_OKI = float_array("weight_OKI", weight_OKI, (None, None, x_TI.shape[1]))
    bias_O = optional_float_array("bias_O", bias_O, (weight_OKI.shape[0],))
    choice("activation", activation, ACTIVATIONS)
    taps = weight_OKI.shape[1]
    if taps < 1 or not (causal or taps % 2):
        raise ValueError(f"weight_OKI has {taps} taps: centred taps must be odd in number, causal ones 1 or more")
    if not 1 <= dilation <= 65536:
        raise ValueError(f"dilation is {dilation}, expected 1 to 65536")
    chosen = resolve(backend)
    if chosen == "reference":
        return reference.conv1d(x_TI, weight_OKI, bias_O, dilation, activation, causal)
    y_TO = np.empty((x_TI.shape[0], weight_OKI.shape[0]), np.float32)
    extension(chosen).conv1d(x_TI, weight_OKI, bias_O, dilation, ACTIVATIONS.index(activation), causal, y_TO)
    return y_TO


def gru(
    x_TI: FloatArray,
    w_ih_GI: FloatArray,
    w_hh_GH: FloatArray,
    b_ih_G: FloatArray,
    b_hh_G: FloatArray,
    h0_H: FloatArray | None = None,
    reverse: bool = False,
    *,
    backend: str = "auto",
) -> tuple[FloatArray, FloatArray]:
    """Run one direction of a gated recurrent layer with torch.nn.GRU's equations and gate order r, z, n.

    x_TI: float32 [T, I], T may be 0
    w_ih_GI, w_hh_GH: float32 [3H, I], [3H, H]
    b_ih_G, b_hh_G: float32 [3H]
    h0_H: float32 [H], zero when None
    reverse: run from the last row to the first; outputs stay at their rows
    Returns float32 [T, H] outputs and float32 [H] final state.
    """
    x_TI = float_array("x_TI", x_TI, (None, None))
    w_hh_GH = float_array("w_hh_GH", w_hh_GH, (None, None))
    hidden = w_hh_GH.shape[1]
    w_hh_GH = float_array("w_hh_GH", w_hh_GH, (3 * hidden, hidden))
    w_ih_GI = float_array("w_ih_GI", w_ih_GI, (3 * hidden, x_TI.shape[1]))
    b_ih_G = float_array("b_ih_G", b_ih_G, (3 * hidden,))
    b_hh_G = float_array("b_hh_G", b_hh_G, (3 * hidden,))
    h0_H = np.zeros(hidden, np.float32) if h0_H is None else float_array("h0_H", h0_H, (hidden,))
    chosen = resolve(backend)
    if chosen == "reference":
        return reference.gru(x_TI, w_ih_GI, w_hh_GH, b_ih_G, b_hh_G, h0_H, reverse)
    y_TH = np.empty((x_TI.shape[0], hidden), np.float32)
    h_H = np.empty(hidden, np.float32)
    extension(chosen).gru(x_TI, w_ih_GI, w_hh_GH, b_ih_G, b_hh_G, h0_H, reverse, y_TH, h_H)
    return y_TH, h_H


def qrnn_pool(
    candidate_TH: FloatArray,
    forget_TH: FloatArray,
    output_TH: FloatArray,
    h0_H: FloatArray | None = None,
    *,
    backend: str = "auto",
) -> tuple[FloatArray, FloatArray]:
    """Pool a quasi-recurrent layer's gates over time (fo-pooling; Bradbury et al., 2016).

    c_t = forget_t c_{t-1} + (1 - forget_t) candidate_t and y_t = output_t c_t, the gates being activated already.

    candidate_TH, forget_TH, output_TH: float32 [T, H], T may be 0
    h0_H: float32 [H], the cell before the first row, zero when None
    Returns float32 [T, H] outputs and float32 [H] final cell.
    """
    candidate_TH = float_array("candidate_TH", candidate_TH, (None, None))
    forget_TH = float_array("forget_TH", forget_TH, candidate_TH.shape)
    output_TH = float_array("output_TH", output_TH, candidate_TH.shape)
    hidden = candidate_TH.shape[1]
    h0_H = np.zeros(hidden, np.float32) if h0_H is None else float_array("h0_H", h0_H, (hidden,))
    chosen = resolve(backend)
    if chosen == "reference":
        return reference.qrnn_pool(candidate_TH, forget_TH, output_TH, h0_H)
    y_TH, c_H = np.empty_like(candidate_TH), np.empty(hidden, np.float32)
    extension(chosen).qrnn_pool(candidate_TH, forget_TH, output_TH, h0_H, y_TH, c_H)
    return y_TH, c_H
