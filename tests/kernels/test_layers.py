"""The layer kernels against the numpy reference, and the reference against torch."""

import numpy as np
import pytest
import torch

from deepvoice import kernels


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("rows", [0, 1, 3, 8, 33])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (7, 5), (16, 8), (33, 19), (64, 48), (200, 31)])
@pytest.mark.parametrize("activation", ["none", "relu", "tanh", "sigmoid"])
def test_dense(isa, assert_matches, rows, inputs, outputs, activation):
    x, weight, bias = normal(rows, inputs), normal(outputs, inputs, seed=1) / 4, normal(outputs, seed=2)
    for b in (bias, None):
        expected = kernels.dense(x, weight, b, activation, backend="reference")
        assert_matches(kernels.dense(x, weight, b, activation, backend="cpu"), expected, op="dense")


@pytest.mark.parametrize("rows", [0, 1, 2, 31, 70])
@pytest.mark.parametrize(("taps", "dilation", "causal"), [(1, 1, False), (3, 1, False), (5, 4, False), (4, 3, True)])
def test_conv1d(isa, assert_matches, rows, taps, dilation, causal):
    x, weight, bias = normal(rows, 13), normal(9, taps, 13, seed=1) / 4, normal(9, seed=2)
    arguments = (x, weight, bias, dilation, "relu", causal)
    assert_matches(
        kernels.conv1d(*arguments, backend="cpu"), kernels.conv1d(*arguments, backend="reference"), op="conv1d"
    )


@pytest.mark.parametrize("rows", [0, 1, 5, 64, 150])
@pytest.mark.parametrize("hidden", [1, 20, 64])
@pytest.mark.parametrize("reverse", [False, True])
def test_gru(isa, assert_matches, rows, hidden, reverse):
    weights = (normal(3 * hidden, 11) / 3, normal(3 * hidden, hidden, seed=1) / np.float32(np.sqrt(hidden)))
    arguments = (normal(rows, 11, seed=2), *weights, normal(3 * hidden), normal(3 * hidden, seed=3))
    for h0 in (None, normal(hidden)):
        expected = kernels.gru(*arguments, h0, reverse, backend="reference")
        actual = kernels.gru(*arguments, h0, reverse, backend="cpu")
        assert_matches(actual[0], expected[0], op="gru")
        assert_matches(actual[1], expected[1], op="gru")


@pytest.mark.parametrize("rows", [0, 1, 40])
@pytest.mark.parametrize("hidden", [1, 16, 45])
def test_qrnn_pool(isa, assert_matches, rows, hidden):
    gates = np.random.default_rng(0).random((2, rows, hidden), dtype=np.float32)
    arguments = (normal(rows, hidden), gates[0], gates[1], normal(hidden))
    expected = kernels.qrnn_pool(*arguments, backend="reference")
    actual = kernels.qrnn_pool(*arguments, backend="cpu")
    assert_matches(actual[0], expected[0], op="qrnn_pool")
    assert_matches(actual[1], expected[1], op="qrnn_pool")


def test_rows_do_not_depend_on_their_neighbours(isa):
    x, weight = normal(37, 50), normal(23, 50, seed=1)
    whole = kernels.dense(x, weight, None, "tanh", backend="cpu")
    pieces = [kernels.dense(x[i : i + n], weight, None, "tanh", backend="cpu") for i, n in ((0, 1), (1, 4), (5, 32))]
    assert np.array_equal(whole, np.concatenate(pieces))


def test_slices_of_larger_buffers_are_read_correctly(backend, assert_matches):
    large = normal(40, 60)
    x, weight = large[5:25:2, 10:40], normal(60, 21, seed=1).T[:, :30]
    assert_matches(
        kernels.dense(x, weight, backend=backend),
        kernels.dense(x.copy(), weight.copy(), backend="reference"),
        op="dense",
    )


def test_recurrent_states_carry_over(backend, assert_matches):
    arguments = (normal(24, 8) / 3, normal(24, 8, seed=1) / 3, normal(24), normal(24, seed=3))
    x = normal(20, 8, seed=2)
    whole, last = kernels.gru(x, *arguments, backend=backend)
    first, state = kernels.gru(x[:7], *arguments, backend=backend)
    second, state = kernels.gru(x[7:], *arguments, state, backend=backend)
    assert_matches(np.concatenate([first, second]), whole, op="gru")
    assert_matches(state, last, op="gru")


def test_gru_is_torch_gru(backend, assert_matches):
    torch.manual_seed(0)
    layer = torch.nn.GRU(9, 14, bidirectional=True)
    tensors = {name: value.detach().numpy() for name, value in layer.named_parameters()}
    x = normal(30, 9)
    with torch.no_grad():
        expected, last = layer(torch.from_numpy(x))
    for d, suffix in enumerate(("l0", "l0_reverse")):
        arguments = [tensors[f"{name}_{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        y, h = kernels.gru(x, *arguments, reverse=d == 1, backend=backend)
        assert_matches(y, np.ascontiguousarray(expected.numpy()[:, d * 14 : (d + 1) * 14]), op="gru")
        assert_matches(h, last.numpy()[d], op="gru")


@pytest.mark.parametrize("dilation", [1, 3])
def test_conv1d_is_torch_conv1d(backend, assert_matches, dilation):
    torch.manual_seed(0)
    layer = torch.nn.Conv1d(6, 10, 5, padding=2 * dilation, dilation=dilation)
    x = normal(25, 6)
    with torch.no_grad():
        expected = layer(torch.from_numpy(x).T[None])[0].T.numpy()
    weight = np.ascontiguousarray(layer.weight.detach().numpy().transpose(0, 2, 1))
    y = kernels.conv1d(x, weight, layer.bias.detach().numpy(), dilation, backend=backend)
    assert_matches(y, np.ascontiguousarray(expected), op="conv1d")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: kernels.dense(normal(3, 4), normal(2, 5)),
            ValueError,
            r"weight_OI has shape \(2, 5\), expected \(any, 4\)",
        ),
        (lambda: kernels.dense(normal(3, 4), normal(2, 4), normal(3)), ValueError, "bias_O"),
        (lambda: kernels.dense(normal(4), normal(2, 4)), ValueError, "x_TI"),
        (lambda: kernels.dense(normal(3, 4).astype(np.float64), normal(2, 4)), TypeError, "float64"),
        (lambda: kernels.dense([[1.0]], normal(2, 1)), TypeError, "list"),
        (lambda: kernels.dense(normal(3, 4), normal(2, 4), None, "gelu"), ValueError, "gelu"),
        (lambda: kernels.conv1d(normal(3, 4), normal(2, 2, 4)), ValueError, "2 taps"),
        (lambda: kernels.conv1d(normal(3, 4), normal(2, 0, 4), causal=True), ValueError, "0 taps"),
        (lambda: kernels.conv1d(normal(3, 4), normal(2, 3, 4), dilation=0), ValueError, "dilation"),
        (lambda: kernels.gru(normal(3, 4), normal(9, 4), normal(9, 4), normal(9), normal(9)), ValueError, "w_hh_GH"),
        (lambda: kernels.gru(normal(3, 4), normal(9, 4), normal(9, 3), normal(9), normal(8)), ValueError, "b_hh_G"),
        (lambda: kernels.qrnn_pool(normal(3, 4), normal(3, 4), normal(2, 4)), ValueError, "output_TH"),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
