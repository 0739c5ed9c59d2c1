"""How much of its time a run on many workers trains: the checkpoint interval, a projection, and a simulator.

The model: each worker fails at a constant rate, any failure stops all workers, training goes on from the last
checkpoint after a restart, and writing a checkpoint makes training wait. Of the whole time only the part whose steps
survive is effective; its share is the effective training time ratio (ETTR) of Kokolis et al., "Revisiting Reliability
in Large-Scale Machine Learning Research Clusters" (HPCA 2025). The interval is Young's square root (1974). The
projection is not the first-order form of either but the exact mean of the renewal process, so it also holds where
failures are frequent.
"""

import argparse
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepvoice.config import require_range
from deepvoice.errors import ConfigError

DAY = 86400.0
FAILURES_PER_DAY = 0.0065  # of one worker: a few in 1000 days is what nodes of large clusters have
WORKERS = (1, 2, 8, 32, 128, 512, 2048)
_SIMULATED_FAILURES = 2000  # for a standard error of about 1 % of what is lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run to project; times in seconds.

    failures_per_day: of one worker; write: training waits so long for a checkpoint
    restart: from a failure until training goes on (noticed, scheduled, started, loaded); queue included
    """

    workers: int
    failures_per_day: float
    write: float
    restart: float

    def __post_init__(self) -> None:
        require_range("workers", self.workers, 1, 10_000_000)
        require_range("failures_per_day", self.failures_per_day, 0.0, 1e6)
        require_range("write", self.write, 0.0, DAY)
        require_range("restart", self.restart, 0.0, 30 * DAY)

    @property
    def rate(self) -> float:
        """Failures a second of the whole job."""
        return self.workers * self.failures_per_day / DAY


def square_root_interval(job: Job) -> float:
    """Return Young's interval: seconds of training between checkpoints, sqrt(2 write / rate); inf without failures."""
    return math.sqrt(2 * job.write / job.rate) if job.rate else math.inf


def best_interval(job: Job) -> float:
    """Return the interval that maximises `expected_ettr`, to which the square root is the first approximation.

    With x and d for interval and write times rate, the derivative of x / (exp(x + d) - 1) is 0 where
    (1 - x) exp(x + d) = 1.
    """
    if not job.rate or not job.write:
        return square_root_interval(job)
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        beyond = middle == 1.0 or math.log1p(-middle) + middle + job.write * job.rate <= 0
        low, high = (low, middle) if beyond else (middle, high)
    return low / job.rate


def expected_ettr(job: Job, interval: float) -> float:
    """Return the long-run share of effective time with checkpoints after `interval` seconds of training.

    The mean time to get through one interval and its checkpoint (L seconds without a failure) is
    (exp(rate L) - 1) exp(rate restart) / rate: a renewal equation in which failures may also hit a restart or a write.
    """
    if not interval > 0:
        raise ConfigError(f"interval is {interval!r}; expected a time above 0")
    if not job.rate:
        return 1.0 if math.isinf(interval) else interval / (interval + job.write)
    exponent = job.rate * (interval + job.write)
    if exponent + job.rate * job.restart > 700:  # exp would overflow: nothing ever gets done
        return 0.0
    return job.rate * interval / (math.expm1(exponent) * math.exp(job.rate * job.restart))


def first_order_ettr(job: Job, interval: float) -> float:
    """Return the usual estimate: a write in every interval, half an interval and a restart lost with every failure."""
    return 1 - job.write / interval - job.rate * (job.restart + interval / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Where the time of a simulated run went, in seconds."""

    effective: float
    lost: float
    writing: float
    restarting: float
    failures: int

    @property
    def ettr(self) -> float:
        """Share of effective time."""
        return self.effective / (self.effective + self.lost + self.writing + self.restarting)


def simulate(job: Job, interval: float, failures: int = _SIMULATED_FAILURES, seed: int = 0) -> Simulated:
    """Play a run through until so many failures have happened; every worker has a clock of its own.

    Raises ConfigError where nothing ever fails.
    """
    if not job.rate:
        raise ConfigError("failures_per_day is 0; expected some failures to simulate")
    random = np.random.default_rng(seed)
    mean = job.workers / job.rate  # seconds between the failures of one worker
    clocks = random.exponential(mean, job.workers).tolist()
    heapq.heapify(clocks)

    def fail() -> float:
        """Return the time of the next failure; the worker it hits is replaced by a new one."""
        return heapq.heapreplace(clocks, clocks[0] + random.exponential(mean))

    now = effective = lost = writing = restarting = 0.0
    cycle = interval + job.write
    for _ in range(failures):
        failure = fail()
        if failure < now:  # it hit the restart of the one before, which begins anew
            restarting += failure + job.restart - now
            now = failure + job.restart
            continue
        done, rest = divmod(failure - now, cycle)
        effective += done * interval
        writing += done * job.write + max(0.0, rest - interval)
        lost += min(rest, interval)
        restarting += job.restart
        now = failure + job.restart
    return Simulated(effective=effective, lost=lost, writing=writing, restarting=restarting, failures=failures)


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `deepvoice train --plan`."""
    group = parser.add_argument_group("plan", "with --plan: project the run instead of training")
    group.add_argument(
        "--run", type=Path, action="append", metavar="DIR", help="measure all this in the event log of a run"
    )
    group.add_argument("--workers", type=int, nargs="+", default=WORKERS, metavar="N", help="workers to project for")
    group.add_argument(
        "--failures-per-day", type=float, metavar="X", help=f"of one worker (default: measured, or {FAILURES_PER_DAY})"
    )
    group.add_argument("--write-seconds", type=float, metavar="S", help="training waits so long for a checkpoint")
    group.add_argument("--restart-seconds", type=float, metavar="S", help="from a failure until training goes on")
    group.add_argument(
        "--interval", type=float, metavar="S", help="between checkpoints (default: the square-root rule)"
    )


def plan(arguments: argparse.Namespace) -> str:
    """Return the projection that the options of `add_plan_arguments` ask for; raises ConfigError for bad values."""
    from deepvoice.recipes.common.reliability import measure

    measured = measure(arguments.run or [])
    given = {"failures_per_day": arguments.failures_per_day, "write": arguments.write_seconds,
             "restart": arguments.restart_seconds}  # fmt: skip
    found = {"failures_per_day": measured.failures_per_day, "write": measured.write, "restart": measured.restart}
    fallback = {"failures_per_day": FAILURES_PER_DAY, "write": 10.0, "restart": 300.0}
    values, lines = {}, []
    for name, value in given.items():
        source = "given" if value is not None else "measured" if found[name] is not None else "assumed"
        chosen = value if value is not None else found[name]
        values[name] = fallback[name] if chosen is None else chosen
        lines.append(f"{name.replace('_', ' ')}: {values[name]:.6g}{'' if '_' in name else ' s'} ({source})")
    jobs = [Job(workers=workers, **values) for workers in arguments.workers]
    return "\n".join([*lines, *table(jobs, arguments.interval)])


def table(jobs: Sequence[Job], interval: float | None = None) -> list[str]:
    """Return the projections of jobs as lines of a table."""
    lines = [f"{'workers':>8} {'interval, s':>12} {'hours to a failure':>19} {'ETTR':>7} {'simulated':>10} {'best':>7}"]
    for job in jobs:
        chosen = square_root_interval(job) if interval is None else interval
        if not 0 < chosen < math.inf and (job.rate or interval is not None):
            raise ConfigError(f"the interval is {chosen:g} s; give another --interval, or a time to write above 0")
        best = expected_ettr(job, best_interval(job)) if job.write else 1.0
        hours = f"{1 / job.rate / 3600:,.5g}" if job.rate else "never"
        simulated = f"{simulate(job, chosen).ettr:.4f}" if job.rate else "-"
        projected = expected_ettr(job, chosen)
        lines.append(f"{job.workers:>8} {chosen:>12.4g} {hours:>19} {projected:>7.4f} {simulated:>10} {best:>7.4f}")
    return lines
