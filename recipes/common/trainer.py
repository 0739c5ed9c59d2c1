"""The state of a training run, and what moves it: one step, one checkpoint, one return to a checkpoint."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from deepvoice.recipes.common.checkpoint import check_fits, newest_checkpoint, save_checkpoint, warm_start
from deepvoice.recipes.common.distributed import from_first, ranks
from deepvoice.recipes.common.events import EventLog
from deepvoice.recipes.common.faults import ForeignCheckpointError, NotFiniteError, differences
from deepvoice.recipes.common.guard import GradientGuard, SpikeWatch
from deepvoice.recipes.common.options import TrainOptions
from deepvoice.recipes.common.origin import data_changes
from deepvoice.recipes.common.step import BatchSource, Gradients, Metrics, Outcome, Stop, clip, gradient_norm

_MAX_ROLLBACKS = 3


class Trainer:
    """State of one run: model, optimiser, EMA and step."""

    def __init__(
        self,
        model: nn.Module,
        options: TrainOptions,
        config: Mapping[str, Any],
        meta: Mapping[str, Any],
        origin: Mapping[str, Any] | None = None,
        echo: Callable[[str], None] = print,
    ) -> None:
        """Build the state, resuming from `out_dir/last.pt` where it exists."""
        self.here = ranks()
        self.model, self.options, self.echo = model.to(self.here.device), options, echo
        self.config, self.meta, self.origin = dict(config), dict(meta), dict(origin or {})
        options.out_dir.mkdir(parents=True, exist_ok=True)
        self.optimizer = _optimizer(model, options)
        self.guard, self.watch = GradientGuard(options), SpikeWatch(options.spike)
        self.step, self.best = 0, math.inf
        self.path = options.out_dir / "last.pt"
        state = self._newest()
        if state is None and options.warm_start is not None:
            warm_start(model, options.warm_start)
        self.ema = {name: value.detach().clone().float() for name, value in model.state_dict().items()}
        self.resumed = state is not None
        if state is not None:
            self._take(state, options.reset_optimizer)
            self._tell(state)

    @property
    def skipped(self) -> int:
        """Steps without an update so far."""
        return self.guard.skipped

    def _newest(self) -> dict[str, Any] | None:
        """Return the last good checkpoint, the same one in every process."""
        spec = self.origin.get("spec")
        state = from_first(lambda: newest_checkpoint(self.path, self.meta, spec, self.echo))
        if state is not None and (lines := differences(state["config"], self.config, "config")):
            raise ForeignCheckpointError(
                f"{self.path} was made with another configuration; use another out_dir, or --warm-start"
                + "".join(f"\n  {line}" for line in lines)
            )
        return state

    def _take(self, state: Mapping[str, Any], reset_optimizer: bool = False) -> None:
        """Go on from a checkpoint; one of an older version lacks what is read with `get`."""
        check_fits(self.model, state["model"], self.path)
        self.model.load_state_dict(state["model"])
        if not reset_optimizer:
            self.optimizer.load_state_dict(state["optimizer"])
            for group, fresh in zip(self.optimizer.param_groups, _groups(self.model, self.options), strict=True):
                group.update(weight_decay=fresh["weight_decay"], betas=self.options.betas)
        for name, value in state["ema"].items():
            self.ema[name].copy_(value)
        self.step, self.best = state["step"], state.get("best", math.inf)
        self.guard.skipped = state["skipped"]
        if "guard" in state and not reset_optimizer:
            self.guard.load(state["guard"])
        if "watch" in state:
            self.watch.load(state["watch"])

    def _tell(self, state: Mapping[str, Any]) -> None:
        """Say what will not be as it was."""
        for line in differences(state.get("options", {}), self.options.recorded()):
            self.echo(f"note: {line}; the run goes on with this")
        for name in data_changes(state.get("origin", {}), self.origin):
            self.echo(f"note: {name} has changed since the checkpoint; the run goes on, but not as it would have")
        if self.options.reset_optimizer:
            self.echo(f"note: the optimiser begins anew at step {self.step}")

    def state(self) -> dict[str, Any]:
        """Return everything that a run goes on from, as tensors and plain values."""
        return {
            "config": self.config, "meta": self.meta, "origin": self.origin, "options": self.options.recorded(),
            "step": self.step, "skipped": self.skipped, "best": self.best, "guard": self.guard.state(),
            "watch": self.watch.state(), "ema": self.ema, "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }  # fmt: skip

    def save(self, events: EventLog | None = None) -> None:
        """Write `last.pt`, in the first process; raises NotFiniteError rather than replace good weights by bad ones."""
        started = time.monotonic()
        bad = [name for name, value in self.model.state_dict().items() if not bool(torch.isfinite(value).all())]
        if bad:
            raise NotFiniteError(
                f"{', '.join(bad[:3])} hold values that are not finite at step {self.step}; {self._advice()}"
            )
        if self.here.first:
            size = save_checkpoint(self.state(), self.path)
            if events is not None:
                events.checkpoint(self.step, time.monotonic() - started, size)

    def save_best(self, values: Metrics) -> None:
        """Write `best.pt` when the figure that decides is the best so far."""
        value = values.get(self.options.best or "", math.inf)
        if value < self.best:
            self.best = value
            if self.here.first:
                chosen = {"step": self.step, "figure": {str(self.options.best): value}, "ema": self.ema}
                save_checkpoint(
                    {"config": self.config, "meta": self.meta, "origin": self.origin, **chosen},
                    self.options.out_dir / "best.pt",
                )

    def _advice(self) -> str:
        rate = self.options.rate(self.step)
        return f"the last good checkpoint is {self.path}; lower learning_rate (now {rate:.2e}) and start again"

    def _update_ema(self) -> None:
        # A short average at first, so that early checkpoints are not dominated by the initial weights.
        decay = min(self.options.ema, (1 + self.step) / (10 + self.step))
        state = self.model.state_dict()
        floats = [name for name, value in state.items() if value.is_floating_point()]
        torch._foreach_lerp_([self.ema[n] for n in floats], [state[n].float() for n in floats], 1 - decay)
        for name in state.keys() - set(floats):
            self.ema[name].copy_(state[name])

    def train_step(
        self, gradients: Gradients, batches: BatchSource, wish: Stop = Stop.NO
    ) -> tuple[Outcome, float, str | None]:
        """Make one optimiser step; returns its outcome, the gradient norm, and why it was skipped or None."""
        torch.manual_seed(self.options.seed * 1_000_003 + self.step)  # for what a recipe draws without `share`
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.rate(self.step)
        self.optimizer.zero_grad(set_to_none=True)
        outcome = gradients.compute(batches, self.step + self.watch.shift, wish)
        norm = gradient_norm(self.model)
        cause = self.guard.judge(float(norm), self.model)
        if cause is None:
            clip(self.model, norm, self.options.clip)
            self.optimizer.step()
            self._update_ema()
        elif self.guard.in_a_row >= self.options.max_skipped:
            raise NotFiniteError(
                f"{self.guard.in_a_row} steps in a row had an unusable gradient, up to step {self.step}: {cause} (loss "
                f"{outcome.loss:.4g}); {self._advice()}"
            )
        self.step += 1
        return outcome, float(norm), cause

    def roll_back(self, events: EventLog) -> None:
        """Return to the last checkpoint after a loss spike, and leave out the batches since."""
        spiked, rollbacks = self.step + self.watch.shift, self.watch.rollbacks + 1
        state = self._newest()
        if state is None or rollbacks > _MAX_ROLLBACKS:
            raise NotFiniteError(
                f"the loss has jumped and stays up at step {self.step}, {rollbacks} times; {self._advice()}"
            )
        at = self.step
        self._take(state)
        self.watch.rollbacks, self.watch.shift = rollbacks, spiked - self.step
        events.rollback(at, self.step, "loss spike")
        self.echo(f"step {at}: the loss has jumped and stays up; back to step {self.step}, without the batches since")

    def ema_model(self) -> nn.Module:
        """Return the model with its averaged weights loaded; `restore` puts the trained ones back."""
        self._kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.ema)
        return self.model.eval()

    def restore(self) -> None:
        """Undo `ema_model`."""
        self.model.load_state_dict(self._kept)
        self.model.train()


def _groups(model: nn.Module, options: TrainOptions) -> list[dict[str, Any]]:
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.requires_grad and p.ndim < 2]
    return [{"params": matrices, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0.0}]


def _optimizer(model: nn.Module, options: TrainOptions) -> torch.optim.AdamW:
    return torch.optim.AdamW(_groups(model, options), lr=options.learning_rate, betas=options.betas, fused=True)
