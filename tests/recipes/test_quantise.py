"""Rounding in training is that of the kernels."""

import numpy as np
import pytest
import torch
from torch import nn

from deepvoice.configs import ConditionerConfig, VocoderConfig
from deepvoice.kernels.reference.precision import Linear, row_steps
from deepvoice.models.vocoder import WaveNet
from deepvoice.recipes.vocoder.rounding import QuantisedLinear, quantise

CONFIG = VocoderConfig(
    dilations=(1, 2), residual=8, skip=8, head=8, history=8, head_history=4, harmonics=2,
    conditioner=ConditionerConfig(bias_channels=8),
)  # fmt: skip


@pytest.mark.parametrize("rectified", [False, True])
def test_a_layer_rounds_as_the_kernels_do(rectified):
    torch.manual_seed(0)
    layer = nn.Linear(19, 12)
    x = torch.randn(7, 19) * 2
    found = QuantisedLinear(layer, limit=3.0, rectified=rectified)(x).detach().numpy()
    matrix = Linear(layer.weight.detach().numpy(), "int8", limit=3.0, rectified=rectified)
    expected = [matrix(row) + layer.bias.detach().numpy() for row in x.numpy()]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_taps_of_a_gate_share_their_scales():
    layer = nn.Linear(5, 8, bias=False)
    rounded = QuantisedLinear(layer, limit=1.0, taps=2).rounded_weight().detach().numpy()
    weight = layer.weight.detach().numpy()
    steps = row_steps(weight[:4], weight[4:])
    steps = np.tile(steps, 2)[:, None]
    np.testing.assert_allclose(rounded / steps, np.rint(weight / steps), atol=1e-4)


def test_gradients_pass_the_rounding_but_not_the_clipping():
    layer = QuantisedLinear(nn.Linear(2, 1, bias=False), limit=1.0)
    x = torch.tensor([[0.3, 5.0]], requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    assert x.grad[0, 0] != 0
    assert x.grad[0, 1] == 0
    assert layer.weight.grad is not None
    assert layer.weight.grad[0].tolist() == pytest.approx([0.3, 1.0], abs=0.005)


def test_measuring_changes_nothing_and_remembers_the_largest_input():
    layer = nn.Linear(3, 2)
    measured = QuantisedLinear(layer, limit=None)
    x = torch.tensor([[0.5, -4.0, 1.0]])
    assert torch.equal(measured(x), layer(x))
    assert measured.largest == 4.0


def test_names_of_parameters_stay():
    plain = WaveNet(CONFIG)
    names = set(plain.state_dict())
    assert len(quantise(plain, [1.0] * 4)) == 4
    assert set(plain.state_dict()) == names
    with pytest.raises(ValueError, match="limits"):
        quantise(WaveNet(CONFIG), [1.0])
