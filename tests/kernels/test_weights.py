"""Sizes and weights of a WaveNet: nothing out of bounds reaches a kernel."""

import numpy as np
import pytest

from deepvoice.kernels.weights import WaveNetWeights, random_weights


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hop", 0),
        ("hop", 10**12),
        ("bunch", 0),
        ("bunch", 7),
        ("bunch", 65),
        ("residual", 0),
        ("residual", 513),
        ("residual", 2**62),
        ("residual", 16.0),
        ("residual", True),
        ("skip", -1),
        ("head", 10**6),
        ("levels", 1),
        ("levels", 257),
        ("history", 0),
        ("head_history", 257),
        ("harmonics", 65),
        ("lpc_order", 65),
        ("dilations", ()),
        ("dilations", [1, 2]),
        ("dilations", (0,)),
        ("dilations", (5000,)),
        ("dilations", (1.5,)),
        ("dilations", (1,) * 65),
        ("dilations", (4096,) * 17),
        ("pre_emphasis", 1.0),
        ("pre_emphasis", float("nan")),
        ("signal_gain", 0.0),
        ("signal_gain", float("inf")),
        ("code_scale", "3"),
    ],
)
def test_absurd_sizes_are_refused_by_name(make_shape, name, value):
    with pytest.raises(ValueError, match=name):
        make_shape(**{name: value})


def test_tensors_are_checked_by_name_and_shape(make_weights):
    weights = make_weights()
    tensors = weights.tensors()
    assert list(tensors) == list(weights.shape.tensor_shapes())
    missing = {name: value for name, value in tensors.items() if name != "skip_weight"}
    with pytest.raises(ValueError, match=r"missing \['skip_weight'\], unknown \['more'\]"):
        WaveNetWeights.from_tensors(weights.shape, {**missing, "more": np.zeros(1, np.float32)})
    for name, value in tensors.items():
        with pytest.raises(ValueError, match=name):
            WaveNetWeights.from_tensors(weights.shape, {**tensors, name: value[..., :-1]})
        with pytest.raises(TypeError, match=name):
            WaveNetWeights.from_tensors(weights.shape, {**tensors, name: value.astype(np.float64)})


def test_random_weights_are_reproducible_and_exact_in_half_precision(make_shape):
    first, second = random_weights(make_shape(), seed=4), random_weights(make_shape(), seed=4)
    for name, value in first.tensors().items():
        assert np.array_equal(value, second.tensors()[name])
        assert np.array_equal(value, value.astype(np.float16).astype(np.float32))
