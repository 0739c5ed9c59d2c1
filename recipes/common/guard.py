"""Steps and losses that a run must not follow: gradients that explode or are no numbers, losses that jump and stay."""

import math
from typing import Any

from torch import nn

from deepvoice.recipes.common.options import TrainOptions

_MEMORY = 0.98  # of the usual gradient norm, from step to step
_SMOOTH = 0.9  # of the loss
_USUAL_AFTER = 20  # good steps before a norm counts as usual
_SETTLED_AFTER = 50  # steps of loss before a jump counts
_STAYS = 20  # steps that a loss has to stay up


class GradientGuard:
    """Judges the norm of every gradient; its state is part of the checkpoint."""

    def __init__(self, options: TrainOptions) -> None:
        self._options = options
        self._usual, self._good = 0.0, 0
        self.skipped = self.in_a_row = 0

    def state(self) -> dict[str, float | int]:
        """Return the state as plain values."""
        return {"usual": self._usual, "good": self._good, "skipped": self.skipped, "in_a_row": self.in_a_row}

    def load(self, state: dict[str, Any]) -> None:
        """Take a state back."""
        self._usual, self._good = state["usual"], state["good"]
        self.skipped, self.in_a_row = state["skipped"], state["in_a_row"]

    def judge(self, norm: float, model: nn.Module) -> str | None:
        """Return why a step has to be skipped, or None; counts either way."""
        cause = self._cause(norm, model)
        if cause is None:
            self._good += 1
            share = max(1 - _MEMORY, 1 / self._good)
            self._usual += share * (norm - self._usual)
            self.in_a_row = 0
        else:
            self.skipped += 1
            self.in_a_row += 1
        return cause

    def _cause(self, norm: float, model: nn.Module) -> str | None:
        if not math.isfinite(norm):
            bad = [
                name for name, p in model.named_parameters() if p.grad is not None and not bool(p.grad.isfinite().all())
            ]
            return f"the gradient of {', '.join(bad[:3]) or 'the loss'} is not finite"
        limit = self._options.explosion * self._usual
        if self._options.explosion and self._good >= _USUAL_AFTER and norm > limit > 0:
            return f"the gradient norm {norm:.3g} is over {self._options.explosion:g} times the usual {self._usual:.3g}"
        return None


class SpikeWatch:
    """Tells when the loss has jumped and stays up; its state is part of the checkpoint."""

    def __init__(self, factor: float) -> None:
        """factor: how many times its best a smoothed loss has to be; 0 watches nothing."""
        self._factor = factor
        self._smooth = self._count = self._above = 0.0
        self._best = math.inf
        self.rollbacks = self.shift = 0  # shift: batches that were left out after going back

    def state(self) -> dict[str, float]:
        """Return the state as plain values."""
        return {
            "smooth": self._smooth, "count": self._count, "above": self._above, "best": self._best,
            "rollbacks": self.rollbacks, "shift": self.shift,
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take a state back."""
        self._smooth, self._count, self._above = state["smooth"], state["count"], state["above"]
        self._best, self.rollbacks, self.shift = state["best"], int(state["rollbacks"]), int(state["shift"])

    @property
    def on(self) -> bool:
        """Whether anything is watched."""
        return self._factor > 0

    @property
    def calm(self) -> bool:
        """Whether the loss is where it should be; checkpoints wait until it is."""
        return self._above == 0

    def spiked(self, loss: float) -> bool:
        """Take the loss of a step; returns whether it has stayed up for too long."""
        if not self.on or not math.isfinite(loss):
            return False
        self._count += 1
        share = max(1 - _SMOOTH, 1 / self._count)
        self._smooth += share * (loss - self._smooth)
        self._best = min(self._best, self._smooth) if self._count >= _SETTLED_AFTER else math.inf
        high = self._count > _SETTLED_AFTER and self._smooth > self._factor * self._best
        self._above = self._above + 1 if high else 0
        return self._above >= _STAYS
