"""Losses that several modules share."""

from typing import Any

import torch

from deepvoice.models.share import mean


class _CrossEntropy(torch.autograd.Function):
    """Weighted mean cross-entropy that keeps the softmax of the forward pass for the backward pass.

    Twice as fast on a CPU as log_softmax followed by nll_loss: no second exponential, no zero-filled gradient.
    """

    @staticmethod
    def forward(ctx: Any, logits_NA: torch.Tensor, codes_N: torch.Tensor, weight_N: torch.Tensor) -> torch.Tensor:
        """Return the weighted sum."""
        probabilities_NA = torch.softmax(logits_NA.float(), dim=1)
        chosen_N = probabilities_NA.gather(1, codes_N[:, None]).squeeze(1)
        ctx.save_for_backward(probabilities_NA, codes_N, weight_N)
        ctx.dtype = logits_NA.dtype
        return -((chosen_N + 1e-30).log() * weight_N).sum()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        probabilities_NA, codes_N, weight_N = ctx.saved_tensors
        probabilities_NA.scatter_add_(1, codes_N[:, None], torch.full_like(codes_N[:, None], -1, dtype=torch.float32))
        return probabilities_NA.mul_((weight_N * gradients[0])[:, None]).to(ctx.dtype), None, None


def cross_entropy(logits_NA: torch.Tensor, codes_N: torch.Tensor, weight_N: torch.Tensor) -> torch.Tensor:
    """Weighted mean cross-entropy in nats.

    logits_NA: [N, A]; codes_N: int64 [N]; weight_N: float32 [N], the mean divides by its sum
    The result can be differentiated once (the backward pass reuses the buffer of the forward pass).
    """
    total: torch.Tensor = _CrossEntropy.apply(logits_NA, codes_N, weight_N)  # type: ignore[no-untyped-call]
    return mean(total, weight_N.sum().clamp(min=1.0))
