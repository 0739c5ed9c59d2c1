"""What became of a run's time: effective training time ratio, lost work, restarts by cause, from its event log.

    python -m deepvoice.recipes.common.reliability RUN_DIR... [--json FILE]

Kokolis et al. (HPCA 2025) count as effective the time of steps whose result survived, out of all the time in which the
run was meant to train. The rest is lost work (steps after the last checkpoint before a failure), checkpoint writes and
restarts. Time between a stop that was meant and the next start is outside: nobody waited for the run. A process that
was killed says nothing, so it is taken to have ended at its last event: what it lost is at least what is shown here,
and its restart takes at most what is shown.
"""

import argparse
import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deepvoice.recipes.common.events import INTERRUPTED, KILLED, Events, read_events
from deepvoice.recipes.common.plan import DAY, Job, square_root_interval

_TOGETHER = "lost worker"  # what the other ranks see of one rank's failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One process (or group of processes) from its start to its end.

    last_step: the furthest that is known; steps that a rollback took back are counted in `rolled_back` alone
    cause: of a failure, None where the end was meant or the session goes on
    stopped: whether the end was meant
    """

    start: float
    end: float
    first_step: int
    last_step: int
    rolled_back: int
    workers: int
    write_seconds: tuple[float, ...]
    skipped: int
    cause: str | None
    stopped: bool

    @property
    def training(self) -> float:
        """Seconds without the writes."""
        return max(0.0, self.end - self.start - sum(self.write_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Where the time of a run went, in seconds, and what failed."""

    effective: float
    lost: float
    writing: float
    restarting: float
    lost_steps: int
    skipped_steps: int
    sessions: int
    failures: dict[str, int]
    worker_seconds: float
    write: float | None  # median of one checkpoint
    restart: float | None  # median of one restart
    torn_lines: int

    @property
    def ettr(self) -> float:
        """Effective training time ratio; 1 for a run that has not begun."""
        total = self.effective + self.lost + self.writing + self.restarting
        return self.effective / total if total else 1.0

    @property
    def failures_per_day(self) -> float | None:
        """Failures of one worker in a day; None where none happened, which says nothing about the rate."""
        count = sum(self.failures.values())
        return count / self.worker_seconds * DAY if count and self.worker_seconds else None


def sessions(events: Events) -> list[Session]:
    """Split a log at its starts; events before the first start are left out."""
    groups: list[list[dict[str, Any]]] = []
    for row in events.rows:
        if row["event"] == "start":
            groups.append([row])
        elif groups:
            groups[-1].append(row)
    return [_session(group, last=group is groups[-1]) for group in groups]


def _session(rows: Sequence[dict[str, Any]], last: bool) -> Session:
    faults = [row.get("cause", "error") for row in rows if row["event"] == "fault"]
    stops = [row for row in rows if row["event"] == "stop"]
    own = [cause for cause in faults if cause != _TOGETHER]
    cause = own[0] if own else faults[0] if faults else None if stops or last else KILLED
    back = [row for row in rows if row["event"] == "rollback"]
    return Session(
        start=rows[0]["time"],
        end=max(row["time"] for row in rows),
        first_step=rows[0]["step"],
        last_step=max(row["step"] for row in rows),
        rolled_back=sum(max(0, row["step"] - row.get("to", row["step"])) for row in back),
        workers=rows[0].get("workers", 1),
        write_seconds=tuple(row.get("seconds", 0.0) for row in rows if row["event"] == "checkpoint"),
        skipped=sum(row["event"] == "skipped" for row in rows),
        cause=cause,
        stopped=bool(stops) and not faults,
    )


def report(events: Events) -> Report:
    """Add up the time of a run."""
    found = sessions(events)
    effective = lost = restarting = 0.0
    lost_steps, gaps = 0, []
    for number, session in enumerate(found, 1):
        following = found[number] if number < len(found) else None
        kept = session.last_step if following is None else min(session.last_step, following.first_step)
        wasted = session.last_step - kept + session.rolled_back
        made = session.last_step - session.first_step + session.rolled_back
        share = min(1.0, wasted / made) if made else float(session.cause is not None)
        lost_steps += wasted
        lost += session.training * share
        effective += session.training * (1 - share)
        if session.cause is not None and following is not None:
            gaps.append(max(0.0, following.start - session.end))
            restarting += gaps[-1]
    writes = [seconds for session in found for seconds in session.write_seconds]
    return Report(
        effective=effective, lost=lost, writing=sum(writes), restarting=restarting, lost_steps=lost_steps,
        skipped_steps=sum(session.skipped for session in found), sessions=len(found),
        failures=dict(Counter(session.cause for session in found if session.cause not in (None, INTERRUPTED))),
        worker_seconds=sum((session.end - session.start) * session.workers for session in found),
        write=statistics.median(writes) if writes else None, restart=statistics.median(gaps) if gaps else None,
        torn_lines=events.torn,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the logs of several runs say about the machines; None where they say nothing."""

    failures_per_day: float | None
    write: float | None
    restart: float | None


def measure(runs: Sequence[Path]) -> Measured:
    """Measure the failure rate of a worker, and the medians of a checkpoint's and a restart's time, over runs."""
    reports = [report(read_events(run)) for run in runs]
    failures = sum(sum(found.failures.values()) for found in reports)
    seconds = sum(found.worker_seconds for found in reports)
    writes = [found.write for found in reports if found.write is not None]
    restarts = [found.restart for found in reports if found.restart is not None]
    return Measured(
        failures_per_day=failures / seconds * DAY if failures and seconds else None,
        write=statistics.median(writes) if writes else None,
        restart=statistics.median(restarts) if restarts else None,
    )


def chosen_interval(run: Path, workers: int, failures_per_day: float) -> float | None:
    """Return the seconds between checkpoints that the square-root rule gives for a run's measured write time.

    failures_per_day: of one worker; used until the run's own log has failures
    Returns None before the first checkpoint has been measured.
    """
    try:
        found = report(read_events(run))
    except FileNotFoundError:
        return None
    if found.write is None:
        return None
    rate = found.failures_per_day or failures_per_day
    interval = square_root_interval(Job(workers=workers, failures_per_day=rate, write=found.write, restart=0.0))
    return interval if interval < DAY else None


def text(name: str, found: Report) -> str:
    """Return a report for a reader."""
    total = max(1e-9, found.effective + found.lost + found.writing + found.restarting)
    shares = {"effective": found.effective, "lost work": found.lost, "checkpoints": found.writing,
              "restarts": found.restarting}  # fmt: skip
    lines = [f"{name}: ETTR {found.ettr:.4f} over {total / 3600:.2f} h, {found.sessions} starts"]
    lines += [f"  {label:<12} {seconds:10.1f} s {seconds / total:7.2%}" for label, seconds in shares.items()]
    lines.append(f"  lost steps {found.lost_steps}, skipped steps {found.skipped_steps}, torn lines {found.torn_lines}")
    for cause, count in sorted(found.failures.items(), key=lambda item: -item[1]):
        lines.append(f"  restarts by cause: {cause} {count}")
    if found.failures_per_day is not None:
        lines.append(f"  {found.failures_per_day * 1000:.1f} failures in 1000 worker-days")
    if found.write is not None and found.failures_per_day is not None:
        job = Job(workers=1, failures_per_day=found.failures_per_day, write=found.write, restart=0.0)
        seconds = square_root_interval(job)
        lines.append(f"  a checkpoint takes {found.write:.3f} s: write one every {seconds:.0f} s / sqrt(workers)")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="reliability", description="What became of a run's time.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="run folders, or their events.jsonl")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    arguments = parser.parse_args(argv)
    figures = {}
    for run in arguments.runs:
        try:
            found = report(read_events(run))
        except FileNotFoundError as error:
            print(f"error: {error}")
            return 1
        figures[str(run)] = {**asdict(found), "ettr": found.ettr}
        print(text(str(run), found))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
