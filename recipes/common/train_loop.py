"""One trainer for every module: exact resume, data parallel, guarded steps, logs, ETA.

Data order and random numbers are functions of the step (`BatchSource.batch(step)`, deepvoice.models.share), so a
resumed run sees exactly what an uninterrupted one would have seen, in any number of processes; a checkpoint holds the
step where others hold states of samplers and generators. recipes/common/README.md says what is guaranteed.
"""

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from deepvoice.recipes.common.distributed import Ranks, ranks, total
from deepvoice.recipes.common.events import FINISHED, INTERRUPTED, MINUTES, EventLog
from deepvoice.recipes.common.lock import locked
from deepvoice.recipes.common.log import Log
from deepvoice.recipes.common.options import AUTO, Launch, TrainOptions
from deepvoice.recipes.common.plan import FAILURES_PER_DAY
from deepvoice.recipes.common.progress import format_seconds
from deepvoice.recipes.common.reliability import chosen_interval
from deepvoice.recipes.common.step import BatchSource, CountFunction, Gradients, LossFunction, Metrics, Outcome, Stop
from deepvoice.recipes.common.trainer import Trainer

__all__ = ["BatchSource", "Launch", "LossFunction", "Metrics", "TrainOptions", "Trainer", "train"]
_FIRST, _LEAST, _MOST = 90.0, 10.0, 1800.0  # seconds between checkpoints with AUTO: before one is measured, limits
_REASONS = {Stop.LATE: MINUTES, Stop.ASKED: INTERRUPTED}


class _Meter:
    """Sums between two rows of the log."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._sums: dict[str, float] = {}
        self._weight = self._steps = self._audio = 0.0
        self._started = time.monotonic()

    def __bool__(self) -> bool:
        return bool(self._sums)

    def add(self, outcome: Outcome, norm: float, here: Ranks, audio: float) -> None:
        """Count a step that was made; what is the same in every process is divided by their number."""
        self._steps += 1 / here.world
        self._weight += outcome.weight
        self._audio += audio / here.world
        values = {"loss": outcome.loss, "gradient_norm": norm / here.world}
        values |= {f" {name}": outcome.weight * value for name, value in outcome.metrics.items()}
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def read(self) -> Metrics:
        """Return the means over all processes since the last reading, and begin anew."""
        names = list(self._sums)
        *sums, weight, steps, audio = total([*self._sums.values(), self._weight, self._steps, self._audio])
        seconds = time.monotonic() - self._started
        means = {n.strip(): s / (weight if n.startswith(" ") else steps) for n, s in zip(names, sums, strict=True)}
        if audio:
            means["audio_per_second"] = audio / seconds
        self._begin()
        return means


class _Requests:
    """Notes a request to end (SIGTERM of a scheduler, Ctrl-C): the run ends after its step, with a checkpoint."""

    def __init__(self) -> None:
        self.signal = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the body runs; a second request is handled as before."""
        before: dict[int, Any] = {}

        def note(number: int, frame: object) -> None:
            self.signal = number
            signal.signal(number, before[number])

        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    before[number] = signal.signal(number, note)
        except ValueError:  # not in the main thread
            pass
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def wait_while_paused(folder: Path) -> None:
    """Block while a file named `pause` lies in the run folder: it frees the cores without ending the run."""
    while (folder / "pause").exists():
        time.sleep(1.0)


class _Loop:
    """The course of one run in one process."""

    def __init__(
        self, trainer: Trainer, gradients: Gradients, batches: BatchSource, evaluate: Any, events: EventLog
    ) -> None:
        self._trainer, self._gradients, self._batches = trainer, gradients, batches
        self._evaluate, self._events = evaluate, events
        self._options, self._here = trainer.options, trainer.here
        self._log = Log(self._options.out_dir, trainer.step if trainer.resumed else None) if self._here.first else None
        self._audio = getattr(batches, "audio_seconds", None)
        self._meter = _Meter()
        self._started = self._saved = time.monotonic()
        self._interval = self._seconds_to_next()
        self._first, self._quiet = trainer.step, True

    def run(self, stop: _Requests) -> str:
        """Train to the end, to the minute, or to a request; returns the reason of the end."""
        trainer, options = self._trainer, self._options
        trainer.model.train()
        while trainer.step < options.steps:
            if self._here.world == 1:
                wait_while_paused(options.out_dir)
            late = time.monotonic() - self._started >= options.minutes * 60
            wish = Stop.ASKED if stop.signal else Stop.LATE if late else Stop.NO
            if self._here.world == 1 and wish:
                return _REASONS[wish]
            outcome, norm, cause = trainer.train_step(self._gradients, self._batches, wish)
            self._count(outcome, norm, cause)
            self._events.beat(trainer.step)
            last = trainer.step == options.steps
            if trainer.step % options.log_every == 0 or last:
                self._write_row()
            if self._evaluate is not None and (trainer.step % options.evaluate_every == 0 or last):
                self._hold_out()
            if time.monotonic() - self._saved > self._interval and trainer.watch.calm:
                trainer.save(self._events)
                self._saved, self._interval = time.monotonic(), self._seconds_to_next()
            if outcome.stop:
                return _REASONS[outcome.stop]
        return FINISHED

    def _seconds_to_next(self) -> float:
        """Return the seconds until the next checkpoint."""
        if self._options.checkpoint_seconds != AUTO:
            return self._options.checkpoint_seconds
        found = chosen_interval(self._options.out_dir, self._here.world, FAILURES_PER_DAY)
        return _FIRST if found is None else min(max(found, _LEAST), _MOST)

    def _count(self, outcome: Outcome, norm: float, cause: str | None) -> None:
        trainer = self._trainer
        if cause is not None:
            self._events.skipped(trainer.step - 1, "not finite" if not math.isfinite(norm) else "exploding gradient")
            self._echo(f"step {trainer.step - 1} skipped ({trainer.skipped} so far): {cause}")
            return
        audio = self._audio(trainer.step - 1 + trainer.watch.shift) if self._audio is not None else None
        self._meter.add(outcome, norm, self._here, audio or 0.0)
        if trainer.watch.on and trainer.watch.spiked(total([outcome.loss])[0]):
            trainer.roll_back(self._events)

    def _write_row(self) -> None:
        trainer, options = self._trainer, self._options
        if not self._meter:
            return
        means = self._meter.read()
        per_step = (time.monotonic() - self._started) / max(1, trainer.step - self._first)
        if self._log is not None:
            extra = {"seconds_per_step": per_step, "rate": options.rate(trainer.step), "skipped": trainer.skipped}
            self._log.write(trainer.step, means | extra)
        self._events.progress(trainer.step, per_step, means.get("audio_per_second"))
        speed = means.pop("audio_per_second", None)
        numbers = " ".join(f"{name} {value:.4f}" for name, value in means.items())
        sound = "" if speed is None else f" {speed:.1f} s of audio a second"
        left = format_seconds(per_step * (options.steps - trainer.step))
        self._echo(f"step {trainer.step}/{options.steps} {numbers} {per_step:.3f} s/step{sound} left {left}")

    def _hold_out(self) -> None:
        trainer = self._trainer
        values = self._evaluate(trainer.ema_model(), trainer.step)
        trainer.restore()
        trainer.save_best(values)
        if self._log is not None:
            self._log.write(trainer.step, values)
        self._echo(
            f"step {trainer.step} held out: " + " ".join(f"{name} {value:.4f}" for name, value in values.items())
        )

    def _echo(self, line: str) -> None:
        if self._here.first:
            self._trainer.echo(line)

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()


def train(
    model: nn.Module,
    batches: BatchSource,
    loss_fn: LossFunction,
    options: TrainOptions,
    *,
    config: Mapping[str, Any],
    meta: Mapping[str, Any],
    evaluate: Callable[[nn.Module, int], Metrics] | None = None,
    counts: CountFunction | None = None,
    origin: Mapping[str, Any] | None = None,
    echo: Callable[[str], None] = print,
) -> Trainer:
    """Train a module to `options.steps`, resuming from its last checkpoint.

    loss_fn(model, batch) returns the loss and numbers to log; evaluate(ema_model, step), called in every process,
    may also write sample audio and plots into the run folder
    counts(batch): what each `deepvoice.models.share.mean` of the loss divides by, needed to split a batch
    origin: where the run comes from (recipes/common/origin.py), kept in the checkpoints
    Raises TrainingError: NotFiniteError, DiskFullError, ForeignCheckpointError, DamagedCheckpointError, LostPeerError,
    FolderInUseError.
    """
    here = ranks()
    quiet = echo if here.first else (lambda line: None)
    stop = _Requests()
    with locked(options.out_dir):
        trainer = Trainer(model, options, config, meta, origin, quiet)
        events = EventLog(options.out_dir, rank=here.rank)
        events.start(trainer.step, workers=here.world, resumed=trainer.resumed, write_every=options.checkpoint_seconds)
        with stop.listening(), events.recorded(lambda: trainer.step):
            gradients = Gradients(model, loss_fn, counts, options, here)
            loop = _Loop(trainer, gradients, batches, evaluate, events)
            try:
                reason = loop.run(stop)
            finally:
                loop.close()
            trainer.save(events)
        events.stop(trainer.step, reason)
        events.close()
    if reason == INTERRUPTED:
        quiet(f"stopped at step {trainer.step}, with a checkpoint; the same command goes on from it")
        raise SystemExit(128 + (stop.signal or signal.SIGTERM))
    return trainer
