"""One trainer for every module: bfloat16 autocast, EMA, clipping, checkpoints with exact resume, logs, ETA.

Data order is a function of the step (`BatchSource.batch(step)`), so a resumed run sees exactly the batches that an
uninterrupted one would have seen; the checkpoint needs no sampler state. Random numbers that a loss draws (dropout,
noise) are seeded from (seed, step) for the same reason.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint, warm_start
from deepvoice.recipes.common.progress import format_seconds

Metrics = dict[str, float]
LossFunction = Callable[[nn.Module, Any], tuple[torch.Tensor, Metrics]]


class BatchSource(Protocol):
    """A deterministic stream of batches."""

    def batch(self, step: int) -> Any:
        """Return the batch of a step; the same step gives the same batch in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """How to train one module."""

    out_dir: Path  # checkpoints, logs, samples
    steps: int  # total, counted from the very first start
    learning_rate: float = 1e-3
    final_rate: float = 0.02  # end of the cosine, as a fraction of learning_rate
    warmup: int = 200  # steps of linear warm-up
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0  # gradient norm
    ema: float = 0.999
    checkpoint_seconds: float = 90.0
    log_every: int = 50
    evaluate_every: int = 1000
    seed: int = 0
    bfloat16: bool = True
    max_skipped: int = 20  # steps in a row with a gradient that is not finite before the run stops
    warm_start: Path | None = None  # packed or EMA weights to begin from when there is no checkpoint
    minutes: float = math.inf  # stop (with a checkpoint) after this much wall-clock time

    def rate(self, step: int) -> float:
        """Learning rate of a step: linear warm-up, then a cosine."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.learning_rate * (self.final_rate + (1 - self.final_rate) * 0.5 * (1 + math.cos(math.pi * done)))


class Log:
    """JSONL and, where it is installed, TensorBoard."""

    def __init__(self, folder: Path) -> None:
        """Append to the logs of a run folder."""
        self._file = (folder / "log.jsonl").open("a")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:  # tensorboard is optional: the JSONL holds the same numbers
            self._board = None
        else:
            self._board = SummaryWriter(str(folder / "tensorboard"))  # type: ignore[no-untyped-call]

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Write one row of numbers."""
        self._file.write(json.dumps({"step": step, "time": time.time(), **values}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)  # type: ignore[no-untyped-call]


def _optimizer(model: nn.Module, options: TrainOptions) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.requires_grad and p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.requires_grad and p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=options.learning_rate, betas=options.betas, fused=True)


class Trainer:
    """State of one run: model, optimiser, EMA and step; `run` trains to the end or until told to stop."""

    def __init__(
        self, model: nn.Module, options: TrainOptions, config: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> None:
        """Build the state, resuming from `out_dir/last.pt` where it exists."""
        self.model, self.options = model, options
        self.config, self.meta = dict(config), dict(meta)
        options.out_dir.mkdir(parents=True, exist_ok=True)
        self.optimizer = _optimizer(model, options)
        self.step = self.skipped = self.skipped_in_row = 0
        self.path = options.out_dir / "last.pt"
        if self.path.exists():
            self._resume()
        elif options.warm_start is not None:
            warm_start(model, options.warm_start)
        if not self.path.exists():
            self.ema = {name: value.detach().clone().float() for name, value in model.state_dict().items()}
        self.log = Log(options.out_dir)

    def _resume(self) -> None:
        state = load_checkpoint(self.path, meta=self.meta)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.ema, self.step, self.skipped = state["ema"], state["step"], state["skipped"]

    def save(self) -> None:
        """Write `last.pt` atomically."""
        state = {
            "config": self.config, "meta": self.meta, "step": self.step, "skipped": self.skipped, "ema": self.ema,
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
        }  # fmt: skip
        save_checkpoint(state, self.path)

    def _update_ema(self) -> None:
        # A short average at first, so that early checkpoints are not dominated by the initial weights.
        decay = min(self.options.ema, (1 + self.step) / (10 + self.step))
        state = self.model.state_dict()
        floats = [name for name, value in state.items() if value.is_floating_point()]
        torch._foreach_lerp_([self.ema[n] for n in floats], [state[n].float() for n in floats], 1 - decay)
        for name in state.keys() - set(floats):
            self.ema[name].copy_(state[name])

    def train_step(self, batch: Any, loss_fn: LossFunction) -> Metrics:
        """Make one optimiser step; a gradient that is not finite skips the step and is counted."""
        torch.manual_seed(self.options.seed * 1_000_003 + self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.rate(self.step)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.options.bfloat16):
            loss, metrics = loss_fn(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip))
        if math.isfinite(norm):
            self.optimizer.step()
            self._update_ema()
            self.skipped_in_row = 0
        else:
            self.skipped += 1
            self.skipped_in_row += 1
            if self.skipped_in_row >= self.options.max_skipped:
                rate = self.options.rate(self.step)
                raise FloatingPointError(
                    f"{self.skipped_in_row} steps in a row had a gradient that is not finite (step {self.step}); the "
                    f"last good checkpoint is {self.path}; lower learning_rate (now {rate:.2e}) and start again"
                )
        self.step += 1
        return {"loss": float(loss.detach()), "gradient_norm": norm, **metrics}

    def ema_model(self) -> nn.Module:
        """Return the model with its averaged weights loaded; `restore` puts the trained ones back."""
        self._kept = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.ema)
        return self.model.eval()

    def restore(self) -> None:
        """Undo `ema_model`."""
        self.model.load_state_dict(self._kept)
        self.model.train()


def wait_while_paused(folder: Path) -> None:
    """Block while a file named `pause` lies in the run folder: it frees the cores without ending the run."""
    while (folder / "pause").exists():
        time.sleep(1.0)


def train(
    model: nn.Module,
    batches: BatchSource,
    loss_fn: LossFunction,
    options: TrainOptions,
    *,
    config: Mapping[str, Any],
    meta: Mapping[str, Any],
    evaluate: Callable[[nn.Module, int], Metrics] | None = None,
    echo: Callable[[str], None] = print,
) -> Trainer:
    """Train a module to `options.steps`, resuming from its last checkpoint.

    loss_fn(model, batch) returns the loss and numbers to log; evaluate(ema_model, step) may also write sample audio and
    plots into the run folder. Raises FloatingPointError when gradients stay non-finite.
    """
    trainer = Trainer(model, options, config, meta)
    started = saved = time.monotonic()
    first, sums, count = trainer.step, {}, 0
    model.train()
    while trainer.step < options.steps and time.monotonic() - started < options.minutes * 60:
        wait_while_paused(options.out_dir)
        for name, value in trainer.train_step(batches.batch(trainer.step), loss_fn).items():
            sums[name] = sums.get(name, 0.0) + value
        count += 1
        if trainer.step % options.log_every == 0 or trainer.step == options.steps:
            means = {name: value / count for name, value in sums.items()}
            per_step = (time.monotonic() - started) / (trainer.step - first)
            trainer.log.write(trainer.step, {**means, "seconds_per_step": per_step, "rate": options.rate(trainer.step)})
            numbers = " ".join(f"{name} {value:.4f}" for name, value in means.items())
            left = format_seconds(per_step * (options.steps - trainer.step))
            echo(f"step {trainer.step}/{options.steps} {numbers} {per_step:.3f} s/step left {left}")
            sums, count = {}, 0
        if evaluate is not None and (trainer.step % options.evaluate_every == 0 or trainer.step == options.steps):
            values = evaluate(trainer.ema_model(), trainer.step)
            trainer.restore()
            trainer.log.write(trainer.step, values)
            echo(f"step {trainer.step} held out: " + " ".join(f"{name} {value:.4f}" for name, value in values.items()))
        if time.monotonic() - saved > options.checkpoint_seconds:
            trainer.save()
            saved = time.monotonic()
    trainer.save()
    return trainer
