"""Packed layers against the numpy reference: every precision, odd sizes, and rows that do not depend on one another."""

import numpy as np
import pytest
import torch

from deepvoice import kernels
from deepvoice.kernels.reference.ops import round_bfloat16

PRECISIONS = ("float32", "bfloat16")


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def packed(outputs: int, taps: int, inputs: int, precision: str = "float32", half: bool = False, bias: bool = True):
    weight = normal(outputs, taps, inputs, seed=1) / np.float32(np.sqrt(taps * inputs))
    weight = weight.astype(np.float16).astype(np.float32) if half else weight
    return kernels.Packed(weight, normal(outputs, seed=2) if bias else None, precision)


@pytest.mark.parametrize("precision", [*PRECISIONS, "half"])
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 6, 7, 33])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (7, 5), (16, 80), (33, 19), (64, 48), (200, 130)])
def test_dense(isa, assert_matches, precision, rows, inputs, outputs):
    layer = packed(outputs, 1, inputs, precision.replace("half", "float32"), half=precision == "half")
    x = normal(rows, inputs)
    for activation in ("none", "relu", "tanh", "sigmoid"):
        expected = kernels.affine(x, layer, activation, backend="reference")
        assert_matches(kernels.affine(x, layer, activation, backend="cpu"), expected, op="dense")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("rows", [0, 1, 2, 31, 70])
@pytest.mark.parametrize(("taps", "dilation", "causal"), [(1, 1, True), (3, 1, False), (5, 4, False), (4, 3, True)])
def test_convolutions(isa, assert_matches, precision, rows, taps, dilation, causal):
    layer = packed(21, taps, 13, precision, bias=False)
    arguments = (normal(rows, 13), layer, "relu", dilation, causal)
    expected = kernels.affine(*arguments, backend="reference")
    assert_matches(kernels.affine(*arguments, backend="cpu"), expected, op="conv1d")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("rows", [0, 1, 17, 50])
@pytest.mark.parametrize(("channels", "taps", "dilation"), [(1, 1, 1), (8, 5, 1), (35, 3, 4), (96, 5, 2)])
def test_residual_convolutions(isa, assert_matches, precision, rows, channels, taps, dilation):
    layer = packed(channels, taps, channels, precision)
    arguments = (normal(rows, channels), normal(channels, seed=3), normal(channels, seed=4), layer, dilation)
    expected = kernels.residual_conv(*arguments, backend="reference")
    # A value between two bfloat16 numbers may be rounded to either: the norm is computed in another order.
    op = "conv1d" if precision == "float32" else "bfloat16_norm"
    assert_matches(kernels.residual_conv(*arguments, backend="cpu"), expected, op=op)


@pytest.mark.parametrize(("rows", "channels"), [(0, 4), (1, 1), (3, 100), (9, 128), (2, 131)])
def test_layer_norm(isa, assert_matches, rows, channels):
    x, weight, bias = 3 + 2 * normal(rows, channels), normal(channels), normal(channels, seed=1)
    expected = kernels.layer_norm(x, weight, bias, backend="reference")
    assert_matches(kernels.layer_norm(x, weight, bias, backend="cpu"), expected, op="dense")
    tensors = [torch.from_numpy(array) for array in (weight, bias)]
    given = torch.nn.functional.layer_norm(torch.from_numpy(x), (channels,), *tensors)
    assert np.allclose(expected, given.numpy(), atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 5, 64, 150])
@pytest.mark.parametrize("hidden", [1, 20, 64])
@pytest.mark.parametrize("reverse", [False, True])
def test_gru(isa, assert_matches, rows, hidden, reverse):
    layers = (packed(3 * hidden, 1, 11), packed(3 * hidden, 1, hidden, half=True))
    for h0 in (None, normal(hidden)):
        arguments = (normal(rows, 11, seed=2), *layers, h0, reverse)
        expected = kernels.packed_gru(*arguments, backend="reference")
        actual = kernels.packed_gru(*arguments, backend="cpu")
        assert_matches(actual[0], expected[0], op="gru")
        assert_matches(actual[1], expected[1], op="gru")


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rows_do_not_depend_on_one_another(isa, precision):
    layer = packed(83, 3, 24, precision)
    x = normal(40, 24)
    whole = kernels.affine(x, layer, "tanh", causal=True)
    for first, last in ((0, 1), (0, 7), (3, 40), (11, 13)):
        start = max(0, first - 2)
        part = kernels.affine(x[start:last], layer, "tanh", causal=True)[first - start :]
        assert np.array_equal(part, whole[first:last])


def test_a_copy_for_each_instruction_set(assert_matches):
    layer, x = packed(20, 1, 9, half=True), normal(4, 9)
    before = kernels.isa()
    expected = kernels.affine(x, layer, backend="reference")
    for isa in kernels.supported_isas():
        kernels.set_isa(isa)
        assert_matches(kernels.affine(x, layer, backend="cpu"), expected, op="dense")
    if before is not None:
        kernels.set_isa(before)


def test_bfloat16_rounding_is_that_of_torch():
    values = np.concatenate([normal(1000), np.float32([0, -0.0, 1e-40, 3e38, np.inf, -np.inf, 1.00390625, 1.01171875])])
    expected = torch.from_numpy(values).to(torch.bfloat16).to(torch.float32).numpy()
    assert np.array_equal(round_bfloat16(values), expected)
    assert np.isnan(round_bfloat16(np.float32([np.nan])))[0]


def test_bfloat16_is_near_float32(backend):
    fine, coarse, x = packed(64, 3, 96), packed(64, 3, 96, "bfloat16"), normal(50, 96)
    a, b = kernels.affine(x, fine, backend=backend), kernels.affine(x, coarse, backend=backend)
    assert 0 < np.abs(a - b).max() < 0.02


def test_a_nan_stays_one(backend):
    x = normal(3, 8)
    x[1, 2] = np.nan
    for precision in PRECISIONS:
        y = kernels.affine(x, packed(5, 1, 8, precision), backend=backend)
        assert np.isnan(y[1]).all() and np.isfinite(y[[0, 2]]).all()


def test_wrong_arguments(backend):
    layer = packed(6, 3, 4)
    x = normal(5, 4)
    for call, error in (
        (lambda: kernels.Packed(np.zeros((3, 0), np.float32)), "at least one entry"),
        (lambda: kernels.Packed(normal(3, 2), normal(2)), "bias_O has shape"),
        (lambda: kernels.Packed(normal(3, 2), None, "float16"), "precision is 'float16'"),
        (lambda: kernels.Packed(normal(3)), "weight has shape"),
        (lambda: kernels.affine(normal(5, 3), layer, backend=backend), "x_TI has shape"),
        (lambda: kernels.affine(x, layer, "cosh", backend=backend), "activation is 'cosh'"),
        (lambda: kernels.affine(x, layer, dilation=0, backend=backend), "dilation is 0"),
        (lambda: kernels.affine(x, packed(6, 2, 4), backend=backend), "must be odd"),
        (lambda: kernels.residual_conv(x, normal(4), normal(4), layer, backend=backend), "4 inputs and 6 outputs"),
        (lambda: kernels.residual_conv(x, normal(3), normal(4), layer, backend=backend), "norm_weight_C"),
        (lambda: kernels.layer_norm(x, normal(3), normal(4), backend=backend), "weight_C"),
        (lambda: kernels.packed_gru(x, layer, layer, backend=backend), "must be dense"),
    ):
        with pytest.raises(ValueError, match=error):
            call()


def test_layers_are_checked_without_the_python_layer(isa):
    extension = kernels._dispatch.extension()

    def ones(*size: int) -> np.ndarray:
        return np.ones(size, np.float32)

    layer, square = extension.Layer(ones(4, 2, 3), None, False), extension.Layer(ones(3, 3, 3), ones(3), True)
    for call in (
        lambda: extension.Layer(ones(4, 0, 3), None, False),
        lambda: extension.Layer(ones(4, 2, 3), ones(5), False),
        lambda: layer.apply(ones(5, 4), 1, 0, True, ones(5, 4)),
        lambda: layer.apply(ones(5, 3), 0, 0, True, ones(5, 4)),
        lambda: layer.apply(ones(5, 3), 1, 9, True, ones(5, 4)),
        lambda: layer.apply(ones(5, 3), 1, 0, True, ones(4, 4)),
        lambda: layer.residual(ones(5, 3), ones(3), ones(3), 1, ones(5, 4)),
        lambda: square.residual(ones(5, 3), ones(4), ones(3), 1, ones(5, 3)),
        lambda: square.residual(ones(5, 3), ones(3), ones(3), 2**40, ones(5, 3)),
        lambda: extension.layer_norm(ones(5, 3), ones(3), ones(4), ones(5, 3)),
        lambda: extension.packed_gru(square, square, ones(5, 3), False, ones(3), ones(5, 3)),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
