"""Many recordings into files of alignments, in several processes, going on where it was stopped.

The files of a recording are written at once, each complete or absent; then a line of the journal says so. A recording
that the journal knows, with the same sound, text and settings, is not read again. What is written does not depend on
the number of processes, nor on how often the work was interrupted.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from deepvoice.alignment.aligner import Aligner
from deepvoice.alignment.formats import WRITERS
from deepvoice.alignment.result import Alignment
from deepvoice.audio.io import replacing
from deepvoice.errors import AudioError, DeepVoiceError
from deepvoice.resume import voice_key
from deepvoice.text.user_lexicon import UserLexicon
from deepvoice.workers import exclusive, run_tasks

JOURNAL, LOCK, RESULTS = ".deepvoice-align.jsonl", ".deepvoice-align.lock", "results.jsonl"
REFUSED = "refused.tsv"  # what is no recording with a text, and why
ACCEPTED, REJECTED, FAILED = "accepted", "rejected", "failed"
_VERSION = 4  # of what is computed; another one aligns everything again
_TOGETHER = 8  # recordings that a process aligns at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One recording: its name, which its files have too, its file and its text."""

    name: str
    path: Path
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a worker needs: recordings, where and in which formats to write, the aligner and the user's words."""

    jobs: tuple[Job, ...]
    out: Path
    formats: tuple[str, ...]
    model: str | None
    lexicon: UserLexicon | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a recording.

    status: ACCEPTED, REJECTED (aligned, but the reasons say why it should not be learned from) or FAILED (not aligned)
    seconds, confidence: 0 where it failed; words, unread: how many, and which were not read
    """

    name: str
    audio: str
    status: str
    seconds: float = 0.0
    confidence: float = 0.0
    words: int = 0
    unread: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@lru_cache(maxsize=2)
def loaded_aligner(model: str | None) -> Aligner:
    """Return an aligner that this process keeps."""
    return Aligner.load(model)


def align_jobs(task: Task) -> list[Outcome]:
    """Align some recordings and write their files; what fails is part of what is returned."""
    aligner = loaded_aligner(task.model)
    found = []
    for job in task.jobs:
        try:
            alignment = aligner.align_file(job.path, job.text, lexicon=task.lexicon)
        except DeepVoiceError as error:
            reason = str(error).removeprefix(str(job.path)).lstrip(": ")
            found.append(Outcome(name=job.name, audio=str(job.path), status=FAILED, reasons=(reason,)))
            continue
        for suffix in task.formats:
            write(task.out / f"{job.name}.{suffix}", alignment, suffix, job.name)
        found.append(outcome_of(job, alignment))
    return found


def outcome_of(job: Job, alignment: Alignment) -> Outcome:
    """Sum an alignment up."""
    return Outcome(
        name=job.name,
        audio=str(job.path),
        status=ACCEPTED if alignment.accepted else REJECTED,
        seconds=round(alignment.seconds, 4),
        confidence=round(alignment.confidence, 4),
        words=len(alignment.words),
        unread=tuple(word.text for word in alignment.unread),
        reasons=alignment.reasons,
    )


def write(path: Path, alignment: Alignment, file_format: str, name: str) -> None:
    """Write an alignment; the file is complete or absent. Raises AudioError when it cannot be written."""
    try:
        with replacing(path) as temporary:
            temporary.write_text(WRITERS[file_format](alignment, name), encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise AudioError(f"cannot write {path}: {reason}; choose a writable folder with free space") from None


def align_all(
    jobs: Sequence[Job],
    out: Path,
    formats: Sequence[str],
    *,
    model: str | None = None,
    lexicon: UserLexicon | None = None,
    processes: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> tuple[list[Outcome], int]:
    """Align recordings into a folder and return what became of each, in order, and how many were done before.

    model: a voice, or a folder of one; None is the default voice
    tell(done, all): called after each few recordings
    Raises AudioError when the folder cannot be used, or another process is at work in it.
    """
    with exclusive(out, LOCK):
        known = _read_journal(out)
        keys = [_key(job, formats, model, lexicon) for job in jobs]
        outcomes: dict[int, Outcome] = {}
        for number, (job, key) in enumerate(zip(jobs, keys, strict=True)):
            if key in known and all((out / f"{job.name}.{suffix}").is_file() for suffix in formats):
                outcomes[number] = known[key]
        again = len(outcomes)
        waiting = [number for number in range(len(jobs)) if number not in outcomes]
        for number, outcome in _align(jobs, waiting, out, tuple(formats), model, lexicon, processes):
            outcomes[number] = outcome
            if outcome.status != FAILED:  # what failed is tried again
                _note(out, keys[number], outcome)
            if tell:
                tell(len(outcomes) - again, len(waiting))
        results = [outcomes[number] for number in range(len(jobs))]
        text = "".join(json.dumps(asdict(outcome), ensure_ascii=False) + "\n" for outcome in results)
        with replacing(out / RESULTS) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    return results, again


def write_refused(out: Path, refused: Sequence[tuple[str, str]]) -> None:
    """List the files and lines that are no recording with a text, as (place, reason), in the folder."""
    rows = "".join(f"{' '.join(place.split())}\t{' '.join(reason.split())}\n" for place, reason in refused)
    with replacing(out / REFUSED) as temporary:
        temporary.write_text(
            f"file or line\twhy it is not used\n{rows}", encoding="utf-8", errors="replace", newline=""
        )


def _align(
    jobs: Sequence[Job],
    waiting: Sequence[int],
    out: Path,
    formats: tuple[str, ...],
    model: str | None,
    lexicon: UserLexicon | None,
    processes: int,
) -> Iterator[tuple[int, Outcome]]:
    """Align the recordings of these numbers and yield them as they are done."""
    processes = max(1, min(processes, len(waiting)))
    size = max(1, min(_TOGETHER, -(-len(waiting) // processes)))
    groups = [waiting[start : start + size] for start in range(0, len(waiting), size)]
    tasks = (
        Task(jobs=tuple(jobs[n] for n in group), out=out, formats=formats, model=model, lexicon=lexicon)
        for group in groups
    )
    with contextlib.closing(run_tasks(align_jobs, tasks, processes)) as done:
        for outcome in done:
            if outcome.error is not None:
                raise outcome.error
            yield from zip(groups[outcome.number], outcome.value or (), strict=True)


def _key(job: Job, formats: Sequence[str], model: str | None, lexicon: UserLexicon | None) -> str:
    """Return a hash of all that decides what is written: the sound file's place, size and time, text, settings."""
    try:
        status = job.path.stat()
        file = [str(job.path.resolve()), status.st_size, status.st_mtime_ns]
    except OSError:
        file = []
    entries = repr(lexicon.entries) if lexicon else ""
    parts = [_VERSION, voice_key(model), file, job.name, job.text, entries, sorted(formats)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _read_journal(out: Path) -> dict[str, Outcome]:
    """Read what was done before; a line that was not finished is none."""
    known: dict[str, Outcome] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (out / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                entry: dict[str, Any] = json.loads(line)
                values = {**entry["outcome"], **{name: tuple(entry["outcome"][name]) for name in ("unread", "reasons")}}
                known[entry["key"]] = Outcome(**values)
    return known


def _note(out: Path, key: str, outcome: Outcome) -> None:
    """Add to the journal, in one write."""
    with (out / JOURNAL).open("ab", buffering=0) as journal:
        journal.write((json.dumps({"key": key, "outcome": asdict(outcome)}) + "\n").encode())
