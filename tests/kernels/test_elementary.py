"""The approximations that the compiled kernels are built on, on dense grids."""

import numpy as np
import pytest

from deepvoice.kernels._dispatch import extension
from deepvoice.kernels.tolerances import TOLERANCES


def evaluate(name: str, x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    extension().elementary(name, x, y)
    return y


@pytest.mark.parametrize(
    ("name", "grid", "truth"),
    [
        ("tanh", np.linspace(-20, 20, 40001), np.tanh),
        ("sigmoid", np.linspace(-40, 40, 40001), lambda x: 1 / (1 + np.exp(-x))),
        ("exp", np.linspace(-86, 3, 40001), np.exp),
        ("log", np.linspace(1, 300, 40001), np.log),
    ],
)
def test_error_stays_below_its_bound(isa, name, grid, truth):
    x = grid.astype(np.float32)
    expected = truth(x.astype(np.float64))
    error = np.abs(evaluate(name, x) - expected) / (1 + np.abs(expected))
    assert error.max() <= TOLERANCES[name], (isa, x[error.argmax()])


def test_exp_is_accurate_relative_to_small_values(isa):
    x = np.linspace(-86, 0, 20001).astype(np.float32)
    assert np.abs(evaluate("exp", x) / np.exp(x.astype(np.float64)) - 1).max() < 1e-6


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "exp", "log"])
def test_extreme_inputs_give_finite_numbers(isa, name):
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, 0, -0.0], np.float32)
    assert np.isfinite(evaluate(name, x)).all()


@pytest.mark.parametrize("count", [0, 1, 3, 15, 16, 17, 33])
def test_every_length_is_filled(isa, count):
    x = np.linspace(-1, 1, count).astype(np.float32)
    assert np.allclose(evaluate("tanh", x), np.tanh(x), atol=TOLERANCES["tanh"])
