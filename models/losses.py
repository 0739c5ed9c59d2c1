"""The loss of the WaveNet's output layer."""

from typing import Any

import torch

from deepvoice.models.share import mean

_ROWS = 1024  # of the output layer at a time: their probabilities stay in a core's cache


class _OutputEntropy(torch.autograd.Function):
    """The output layer and its cross-entropy together, some rows at a time; gradients are made on the way."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_NH: torch.Tensor,
        weight_AH: torch.Tensor,
        bias_A: torch.Tensor,
        codes_N: torch.Tensor,
        weight_N: torch.Tensor,
    ) -> torch.Tensor:
        """Return the weighted sum."""
        device = hidden_NH.device.type
        kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden_NH.dtype
        hidden, matrix, bias = hidden_NH.to(kind), weight_AH.to(kind), bias_A.to(kind)
        wanted = any(ctx.needs_input_grad)
        total = torch.zeros((), device=hidden.device)
        hidden_grad = torch.empty_like(hidden) if wanted else None
        weight_grad, bias_grad = torch.zeros_like(weight_AH), torch.zeros_like(bias_A)
        with torch.autocast(device, enabled=False):
            for rows in (slice(first, first + _ROWS) for first in range(0, len(hidden), _ROWS)):
                probabilities = torch.softmax(torch.addmm(bias, hidden[rows], matrix.t()), dim=1, dtype=torch.float32)
                codes, weights = codes_N[rows, None], weight_N[rows, None]
                total -= ((probabilities.gather(1, codes) + 1e-30).log() * weights).sum()
                if hidden_grad is None:
                    continue
                probabilities.scatter_add_(1, codes, torch.full_like(codes, -1, dtype=torch.float32))
                gradient = probabilities.mul_(weights).to(kind)
                torch.mm(gradient, matrix, out=hidden_grad[rows])
                weight_grad += torch.mm(gradient.t(), hidden[rows])
                bias_grad += probabilities.sum(0)
        if hidden_grad is not None:
            ctx.save_for_backward(hidden_grad, weight_grad, bias_grad)
            ctx.kind = hidden_NH.dtype
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden_grad, weight_grad, bias_grad = ctx.saved_tensors
        scale = gradients[0]
        return hidden_grad.mul_(scale).to(ctx.kind), weight_grad.mul_(scale), bias_grad.mul_(scale), None, None


def output_entropy(
    hidden_NH: torch.Tensor,
    matrix_AH: torch.Tensor,
    bias_A: torch.Tensor,
    codes_N: torch.Tensor,
    weight_N: torch.Tensor,
) -> torch.Tensor:
    """Weighted mean cross-entropy of a linear output layer, in nats, without ever holding all logits.

    hidden_NH: [N, H]; matrix_AH: [A, H]; bias_A: [A]
    codes_N: int64 [N]; weight_N: float32 [N], the mean divides by its sum
    On a CPU more than twice as fast as the layer followed by a log_softmax. The result can be differentiated once.
    """
    total: torch.Tensor = _OutputEntropy.apply(hidden_NH, matrix_AH, bias_A, codes_N, weight_N)  # type: ignore[no-untyped-call]
    return mean(total, weight_N.sum().clamp(min=1.0))
