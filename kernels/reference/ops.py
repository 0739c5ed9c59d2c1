"""Numpy reference of the layer kernels, equation by equation. Arguments are checked by `deepvoice.kernels.ops`."""

import numpy as np

from deepvoice.kernels._checks import FloatArray


def sigmoid(x: FloatArray) -> FloatArray:
    """Logistic function through tanh, which does not overflow."""
    half = np.float32(0.5)
    return np.asarray(half + half * np.tanh(half * x), np.float32)


def activate(x: FloatArray, activation: str) -> FloatArray:
    """Apply one of the named activations."""
    if activation == "relu":
        return np.maximum(x, np.float32(0))
    if activation == "tanh":
        return np.tanh(x)
    return sigmoid(x) if activation == "sigmoid" else x


def dense(x_TI: FloatArray, weight_OI: FloatArray, bias_O: FloatArray | None, activation: str) -> FloatArray:
    """Compute y = activation(x W^T + b)."""
    y_TO = x_TI @ weight_OI.T
    if bias_O is not None:
        y_TO = y_TO + bias_O
    return activate(y_TO, activation)


def conv1d(
    x_TI: FloatArray, weight_OKI: FloatArray, bias_O: FloatArray | None, dilation: int, activation: str, causal: bool
) -> FloatArray:
    """Compute y_t = activation(b + sum_k W_k x_{t + (k - left) dilation}), zeros outside; left is K - 1 or K // 2."""
    steps = len(x_TI)
    outputs, taps, _ = weight_OKI.shape
    left = (taps - 1 if causal else taps // 2) * dilation
    y_TO = np.zeros((steps, outputs), np.float32)
    for k in range(taps):
        shift = k * dilation - left
        first, last = max(0, -shift), min(steps, steps - shift)  # rows whose tap lies inside
        if first < last:
            y_TO[first:last] += x_TI[first + shift : last + shift] @ weight_OKI[:, k].T
    if bias_O is not None:
        y_TO += bias_O
    return activate(y_TO, activation)


def layer_norm(x_TC: FloatArray, weight_C: FloatArray, bias_C: FloatArray) -> FloatArray:
    """Compute (x - mean) / sqrt(variance + 1e-5) weight + bias over every row."""
    centred_TC = x_TC - x_TC.mean(axis=1, keepdims=True)
    variance_T1 = np.square(centred_TC).mean(axis=1, keepdims=True)
    return np.asarray(centred_TC / np.sqrt(variance_T1 + np.float32(1e-5)) * weight_C + bias_C, np.float32)


def round_bfloat16(values: FloatArray) -> FloatArray:
    """Round to the nearest number whose last 16 bits are zero, ties to even."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), values, rounded.view(np.float32))


def gru(
    x_TI: FloatArray,
    w_ih_GI: FloatArray,
    w_hh_GH: FloatArray,
    b_ih_G: FloatArray,
    b_hh_G: FloatArray,
    h0_H: FloatArray,
    reverse: bool,
) -> tuple[FloatArray, FloatArray]:
    """r, z = sigmoid(..); n = tanh(in + r (W_hn h + b_hn)); h = (1 - z) n + z h, as torch.nn.GRU."""
    hidden = len(h0_H)
    inputs_TG = x_TI @ w_ih_GI.T + b_ih_G
    y_TH = np.empty((len(x_TI), hidden), np.float32)
    h = h0_H.copy()
    for t in reversed(range(len(x_TI))) if reverse else range(len(x_TI)):
        recurrent_G = w_hh_GH @ h + b_hh_G
        gates = sigmoid(inputs_TG[t, : 2 * hidden] + recurrent_G[: 2 * hidden])
        r, z = gates[:hidden], gates[hidden:]
        n = np.tanh(inputs_TG[t, 2 * hidden :] + r * recurrent_G[2 * hidden :])
        h = (np.float32(1) - z) * n + z * h
        y_TH[t] = h
    return y_TH, h


def qrnn_pool(
    candidate_TH: FloatArray, forget_TH: FloatArray, output_TH: FloatArray, h0_H: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """c_t = f c_{t-1} + (1 - f) candidate; y_t = o c_t."""
    y_TH = np.empty_like(candidate_TH)
    c = h0_H.copy()
    for t in range(len(candidate_TH)):
        c = forget_TH[t] * c + (np.float32(1) - forget_TH[t]) * candidate_TH[t]
        y_TH[t] = output_TH[t] * c
    return y_TH, c
