"""Layers that compute as the int8 kernels do: for calibration, and for a finish that knows of the rounding."""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from deepvoice.models.vocoder import WaveNet


class _Rounded(torch.autograd.Function):
    """Rounding to steps within limits; gradients pass the rounding, and stop where it clips."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, unit: float, low: int, high: int) -> torch.Tensor:
        """Return float32 of the input's shape."""
        steps = input.float() * (1 / unit)
        ctx.save_for_backward((steps >= low) & (steps <= high))
        ctx.kind = input.dtype
        return steps.round_().clamp_(low, high).mul_(unit)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (inside,) = ctx.saved_tensors
        return (gradients[0] * inside).to(ctx.kind), None, None, None


class QuantisedLinear(nn.Linear):
    """A linear layer as the int8 kernels compute it (kernels/reference/precision.py), with straight-through gradients.

    like: the layer whose parameters this one takes over
    limit: largest input; None measures it instead, without rounding anything
    rectified: inputs are 0 to limit in 255 steps, otherwise -limit to limit in 254
    taps: groups of rows that share their scales row by row (the current and the past tap of a gate)
    """

    def __init__(self, like: nn.Linear, *, limit: float | None, rectified: bool = False, taps: int = 1) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = like.in_features, like.out_features
        self.weight, self.bias = like.weight, like.bias
        self.limit, self.taps = limit, taps
        self.low, self.high = (0, 255) if rectified else (-127, 127)
        self.largest = 0.0  # input seen while measuring

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return W x + b with rounded W and x."""
        return functional.linear(self.rounded(input), self.rounded_weight(), self.bias)

    def rounded(self, input: torch.Tensor) -> torch.Tensor:
        """Return the input as the kernels see it; while measuring, as it is."""
        if self.limit is None:
            self.largest = max(self.largest, float(input.detach().abs().max()))
            return input
        rounded: torch.Tensor = _Rounded.apply(input, self.limit / self.high, self.low, self.high)  # type: ignore[no-untyped-call]
        return rounded

    def rounded_weight(self) -> torch.Tensor:
        """Return the weights as the kernels see them; while measuring, as they are."""
        if self.limit is None:
            return self.weight
        with torch.no_grad():
            most = self.weight.abs().amax(1).reshape(self.taps, -1).amax(0).repeat(self.taps)
            step = torch.where(most > 0, most / 127, torch.ones_like(most))[:, None]
            rounded = (self.weight / step).round().clamp(-127, 127) * step
        return self.weight + (rounded - self.weight).detach()


def quantise(model: WaveNet, limits: list[float] | None) -> list[QuantisedLinear]:
    """Make the large layers of a model behave as int8; the names of its parameters stay.

    limits: of the gates, of skip_to_heads, of output; None prepares the layers for measuring
    Returns the layers whose limits matter, in that order.
    """
    given: list[float | None] = [None] * (len(model.layers) + 2) if limits is None else list(limits)
    if len(given) != len(model.layers) + 2:
        raise ValueError(f"{len(given)} limits for {len(model.layers)} layers; expected two more than layers")
    layers = []
    for layer, limit in zip(model.layers, given, strict=False):
        layer.taps = QuantisedLinear(layer.taps, limit=limit, taps=2)
        layer.out = QuantisedLinear(layer.out, limit=None if limits is None else 1.0)  # tanh times sigmoid
        layers.append(layer.taps)
    model.skip_to_heads = QuantisedLinear(model.skip_to_heads, limit=given[-2], rectified=True)
    model.output = QuantisedLinear(model.output, limit=given[-1], rectified=True)
    return [*layers, model.skip_to_heads, model.output]
