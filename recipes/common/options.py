"""How to train: what a recipe decides about its module, and what the person who starts the run decides."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

from deepvoice.config import require_range
from deepvoice.recipes.common.distributed import TIMEOUT

AUTO = -1.0


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
    checkpoint_seconds: float = 90.0  # between checkpoints; AUTO: what the measured write time and failures ask for
    log_every: int = 50
    evaluate_every: int = 1000
    seed: int = 0
    bfloat16: bool = True
    accumulate: int = 1  # parts that a process computes its share of a batch in, for want of memory
    max_skipped: int = 20  # steps in a row with an unusable gradient before the run stops
    explosion: float = 1000.0  # a gradient norm of so many times the usual one is unusable; 0: any finite one is used
    spike: float = 0.0  # a loss that stays so many times above its best sends the run back; 0: never
    best: str | None = None  # the held-out figure, smaller is better, by which best.pt is chosen
    warm_start: Path | None = None  # packed or EMA weights to begin from when there is no checkpoint
    reset_optimizer: bool = False  # go on from the weights of the checkpoint with new moments
    minutes: float = math.inf  # stop (with a checkpoint) after this much wall-clock time

    def __post_init__(self) -> None:
        require_range("steps", self.steps, 0, 1_000_000_000)
        for name in ("learning_rate", "weight_decay", "clip"):
            require_range(name, getattr(self, name), 0.0, 1e6)
        for name, value in [("final_rate", self.final_rate), ("ema", self.ema), *(("betas", b) for b in self.betas)]:
            require_range(name, value, 0.0, 1.0)
        require_range("warmup", self.warmup, 0, 1_000_000_000)
        require_range("seed", self.seed, 0, 2**31 - 1)  # torch and numpy both take it
        if self.checkpoint_seconds != AUTO:
            require_range("checkpoint_seconds", self.checkpoint_seconds, 0.0, math.inf)
        for name in ("log_every", "evaluate_every", "max_skipped"):
            require_range(name, getattr(self, name), 1, 1_000_000_000)
        require_range("accumulate", self.accumulate, 1, 10_000)
        require_range("explosion", self.explosion, 0.0, math.inf)
        require_range("spike", self.spike, 0.0, math.inf)

    def rate(self, step: int) -> float:
        """Learning rate of a step: linear warm-up, then a cosine."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.learning_rate * (self.final_rate + (1 - self.final_rate) * 0.5 * (1 + math.cos(math.pi * done)))

    def recorded(self) -> dict[str, float | int | bool]:
        """Return what shapes the result, as plain values for the checkpoint."""
        names = ("steps learning_rate final_rate warmup weight_decay clip ema seed bfloat16 explosion spike").split()
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the person who starts a run decides; None leaves a recipe's own value."""

    minutes: float = math.inf
    steps: int | None = None
    learning_rate: float | None = None
    warm_start: Path | None = None
    reset_optimizer: bool = False
    accumulate: int = 1
    float32: bool = False
    spike: float = 0.0
    checkpoint_seconds: float | None = None
    log_every: int | None = None
    evaluate_every: int | None = None
    device: str = "auto"
    timeout: float = TIMEOUT  # seconds to wait for the other processes
    threads: int | None = None  # of each process; None: as torch finds

    def __post_init__(self) -> None:
        require_range("minutes", self.minutes, 0.0, math.inf)
        require_range("timeout", self.timeout, 1.0, 1e6)
        for name in ("steps", "log_every", "evaluate_every"):
            if getattr(self, name) is not None:
                require_range(name, getattr(self, name), int(name != "steps"), 1_000_000_000)
        if self.threads is not None:
            require_range("threads", self.threads, 1, 4096)
        if self.learning_rate is not None:
            require_range("learning rate", self.learning_rate, 1e-8, 10.0)

    def applied(self, options: TrainOptions) -> TrainOptions:
        """Return a recipe's options with these decisions."""
        changes = {
            "minutes": min(self.minutes, options.minutes), "reset_optimizer": self.reset_optimizer,
            "accumulate": self.accumulate, "spike": self.spike,
            "bfloat16": options.bfloat16 and not self.float32,
        }  # fmt: skip
        for name in "steps learning_rate warm_start checkpoint_seconds log_every evaluate_every".split():
            if getattr(self, name) is not None:
                changes[name] = getattr(self, name)
        return dataclasses.replace(options, **changes)


DEFAULT = Launch()
