"""The layers on a device against the reference: every op, odd sizes, every schedule, old and new cards."""

from typing import Any

import numpy as np
import pytest

from deepvoice import kernels
from deepvoice.kernels import cuda
from deepvoice.kernels.reference import ops as reference

SCHEDULES = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def packed(outputs: int, taps: int, inputs: int, precision: Any = "float32", bias: bool = True) -> kernels.Packed:
    weight = normal(outputs, taps, inputs, seed=1) / np.float32(np.sqrt(taps * inputs))
    return kernels.Packed(weight, normal(outputs, seed=2) if bias else None, precision)


def gru_layers(inputs: int, hidden: int, seed: int = 0) -> tuple[kernels.Packed, kernels.Packed]:
    def layer(columns: int, number: int) -> kernels.Packed:
        weight = normal(3 * hidden, columns, seed=10 * seed + number) / np.float32(np.sqrt(columns))
        return kernels.Packed(weight, normal(3 * hidden, seed=10 * seed + number + 1))

    return layer(inputs, 1), layer(hidden, 3)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "exp", "log"])
def test_elementary(assert_matches, name):
    low, high = {"tanh": (-12, 12), "sigmoid": (-30, 30), "exp": (-80, 0), "log": (1e-6, 300)}[name]
    x = np.linspace(low, high, 20011, dtype=np.float32)
    y = np.empty_like(x)
    cuda.extension().elementary(name, x, y)
    wide = x.astype(np.float64)
    exact = 1 / (1 + np.exp(-wide)) if name == "sigmoid" else getattr(np, name)(wide)
    assert_matches(y, exact.astype(np.float32), op=name)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("rows", "inputs", "outputs"), [(0, 3, 2), (1, 1, 1), (5, 33, 19), (65, 16, 64), (70, 200, 130)]
)
def test_dense(assert_matches, precision, rows, inputs, outputs):
    layer, x = packed(outputs, 1, inputs, precision), normal(rows, inputs)
    for activation in ("none", "relu", "tanh", "sigmoid"):
        expected = kernels.affine(x, layer, activation, backend="reference")
        assert_matches(kernels.affine(x, layer, activation, backend="cuda"), expected, op="dense")
    if precision == "float32":
        weight = layer.weight_OKI[:, 0]
        expected = kernels.dense(x, weight, layer.bias_O, "relu", backend="reference")
        assert_matches(kernels.dense(x, weight, layer.bias_O, "relu", backend="cuda"), expected, op="dense")


@pytest.mark.parametrize("rows", [0, 1, 31, 70])
@pytest.mark.parametrize(("taps", "dilation", "causal"), [(1, 1, True), (3, 1, False), (5, 40, False), (4, 3, True)])
def test_convolutions(assert_matches, rows, taps, dilation, causal):
    layer = packed(21, taps, 13, bias=False)
    arguments = (normal(rows, 13), layer, "relu", dilation, causal)
    expected = kernels.affine(*arguments, backend="reference")
    assert_matches(kernels.affine(*arguments, backend="cuda"), expected, op="conv1d")
    arguments = (normal(rows, 13), layer.weight_OKI, None, dilation, "tanh", causal)
    expected = kernels.conv1d(*arguments, backend="reference")
    assert_matches(kernels.conv1d(*arguments, backend="cuda"), expected, op="conv1d")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(("rows", "channels", "taps", "dilation"), [(0, 8, 5, 1), (1, 1, 1, 1), (50, 35, 3, 4)])
def test_residual_convolutions(assert_matches, precision, rows, channels, taps, dilation):
    layer = packed(channels, taps, channels, precision)
    arguments = (normal(rows, channels), normal(channels, seed=3), normal(channels, seed=4), layer, dilation)
    expected = kernels.residual_conv(*arguments, backend="reference")
    op = "conv1d" if precision == "float32" else "bfloat16_norm"
    assert_matches(kernels.residual_conv(*arguments, backend="cuda"), expected, op=op)


@pytest.mark.parametrize(("rows", "channels"), [(0, 4), (1, 1), (9, 128), (2, 131)])
def test_layer_norm(assert_matches, rows, channels):
    arguments = (3 + 2 * normal(rows, channels), normal(channels), normal(channels, seed=1))
    expected = kernels.layer_norm(*arguments, backend="reference")
    assert_matches(kernels.layer_norm(*arguments, backend="cuda"), expected, op="dense")


# 65 units use a part of the last warp; 128 lie in a cluster; 300 and 520 do not fit its registers; 600 of a card
# without clusters take two passes.
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("rows", "hidden"), [(0, 8), (3, 1), (6, 5), (9, 65), (5, 128), (3, 300), (2, 520)])
def test_gru(assert_matches, rows, hidden, reverse):
    layers = gru_layers(7, hidden)
    for h0 in (None, normal(hidden)):
        arguments = (normal(rows, 7, seed=2), *layers, h0, reverse)
        expected = kernels.packed_gru(*arguments, backend="reference")
        actual = kernels.packed_gru(*arguments, backend="cuda")
        assert_matches(actual[0], expected[0], op="gru")
        assert_matches(actual[1], expected[1], op="gru")


@pytest.mark.parametrize("capability", [75, 80, 89])
@pytest.mark.parametrize(("rows", "hidden"), [(4, 20), (3, 130), (2, 300), (1, 600)])
def test_gru_on_a_card_without_clusters(emulated, assert_matches, capability, rows, hidden):
    emulated.set_capability(capability)
    arguments = (normal(rows, 7), *gru_layers(7, hidden), normal(hidden))
    expected = kernels.packed_gru(*arguments, backend="reference")
    for actual, wanted in zip(kernels.packed_gru(*arguments, backend="cuda"), expected, strict=True):
        assert_matches(actual, wanted, op="gru")


def test_an_unpacked_gru(assert_matches):
    given, recurrent = gru_layers(7, 20)
    weights = (given.weight_OKI[:, 0], recurrent.weight_OKI[:, 0], given.bias_O, recurrent.bias_O)
    expected = kernels.gru(normal(5, 7), *weights, normal(20), True, backend="reference")
    for actual, wanted in zip(
        kernels.gru(normal(5, 7), *weights, normal(20), True, backend="cuda"), expected, strict=True
    ):
        assert_matches(actual, wanted, op="gru")


@pytest.mark.parametrize(("rows", "hidden"), [(0, 3), (1, 1), (7, 130), (33, 20)])
def test_qrnn_pool(assert_matches, rows, hidden):
    candidate, gates = np.tanh(normal(rows, hidden)), reference.sigmoid(normal(2, rows, hidden))
    for c0 in (None, normal(hidden)):
        expected = kernels.qrnn_pool(candidate, *gates, c0, backend="reference")
        for actual, wanted in zip(kernels.qrnn_pool(candidate, *gates, c0, backend="cuda"), expected, strict=True):
            assert_matches(actual, wanted, op="qrnn_pool")


def many_grus(hidden: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return sequences of different lengths, directions and layers, for the device and for one at a time."""
    layers, calls, alone = [gru_layers(7, hidden, seed) for seed in (1, 2)], [], []
    for number, rows in enumerate((5, 0, 9, 3, 9, 1, 4)):
        given, recurrent = layers[number // 5]  # five of one layer, then two of another
        x, h, reverse = normal(rows, 7, seed=number), normal(hidden, seed=number), number % 2 == 1
        alone.append((x, given, recurrent, h.copy(), reverse))
        packed_layers = (given.layer("cuda"), recurrent.layer("cuda"))
        calls.append((*packed_layers, x, reverse, h, np.empty((rows, hidden), np.float32)))
    return calls, alone


@pytest.mark.parametrize("hidden", [3, 20, 128])
def test_grus_side_by_side_are_bit_for_bit_those_alone(hidden):
    calls, alone = many_grus(hidden)
    cuda.extension().packed_gru_many(calls)
    for (*_, h, y), arguments in zip(calls, alone, strict=True):
        wanted_y, wanted_h = kernels.packed_gru(*arguments, backend="cuda")
        assert np.array_equal(y, wanted_y)
        assert np.array_equal(h, wanted_h)


def test_qrnns_side_by_side_are_bit_for_bit_those_alone():
    calls, alone = [], []
    for rows in (6, 0, 11, 1):
        candidate, gates = np.tanh(normal(rows, 21)), reference.sigmoid(normal(2, rows, 21))
        calls.append((candidate, *gates, normal(21), np.empty((rows, 21), np.float32)))
        alone.append(kernels.qrnn_pool(candidate, *gates, normal(21), backend="cuda"))
    cuda.extension().qrnn_pool_many(calls)
    for (*_, cell, y), (wanted_y, wanted_cell) in zip(calls, alone, strict=True):
        assert np.array_equal(y, wanted_y)
        assert np.array_equal(cell, wanted_cell)


def test_rows_do_not_depend_on_one_another():
    layer, x = packed(70, 3, 20), normal(130, 20)
    whole = kernels.affine(x, layer, "tanh", 2, True, backend="cuda")
    assert np.array_equal(kernels.affine(x[:77], layer, "tanh", 2, True, backend="cuda"), whole[:77])


@pytest.mark.parametrize(("name", "seed"), SCHEDULES)
def test_no_result_depends_on_the_order_of_threads(emulated, name, seed):
    def everything() -> list[np.ndarray]:
        calls, _ = many_grus(50)
        emulated.packed_gru_many(calls)
        norm, gates = (normal(20), normal(20, seed=1)), reference.sigmoid(normal(3, 9, 130))
        return [
            *(array for *_, h, y in calls for array in (h, y)),
            *kernels.packed_gru(normal(4, 7), *gru_layers(7, 140), backend="cuda"),
            kernels.residual_conv(normal(70, 20), *norm, packed(20, 3, 20), backend="cuda"),
            *kernels.qrnn_pool(*gates, backend="cuda"),
        ]

    emulated.set_schedule("forward")
    expected = everything()
    emulated.set_schedule(name, seed)
    for actual, wanted in zip(everything(), expected, strict=True):
        assert np.array_equal(actual, wanted)


def test_sizes_are_checked_without_the_python_layer():
    module, layer = cuda.extension(), packed(6, 1, 4).layer("cuda")
    with pytest.raises(ValueError, match="axis"):
        layer.apply(normal(3, 5), 1, 0, False, normal(3, 6))
    with pytest.raises(ValueError, match="dilation"):
        layer.apply(normal(3, 4), 0, 0, False, normal(3, 6))
    with pytest.raises(ValueError, match="activation"):
        layer.apply(normal(3, 4), 1, 9, False, normal(3, 6))
    with pytest.raises(ValueError, match="as many outputs as inputs"):
        layer.residual(normal(3, 4), normal(4), normal(4), 1, normal(3, 6))
    with pytest.raises(ValueError, match="three outputs a unit"):
        module.packed_gru(layer, layer, normal(3, 4), False, normal(4), normal(3, 4))
    with pytest.raises(ValueError, match="at least one entry"):
        module.Layer(normal(0, 1, 4), None, False)
    small, large = gru_layers(7, 4), gru_layers(7, 5)
    calls = [
        (*(part.layer("cuda") for part in layers), normal(2, 7), False, normal(hidden), normal(2, hidden))
        for layers, hidden in ((small, 4), (large, 5))
    ]
    with pytest.raises(ValueError, match="as many units"):
        module.packed_gru_many(calls)
