"""A folder of recordings -> a checked corpus: wav/*.flac, manifest.jsonl, refused.tsv, recordings.jsonl, report.html.

Each recording is examined by itself, in parallel; what became of it is kept in a journal, so that a second run only
looks at what is new or was changed. What can only be seen from all of them together (the same sound twice, a text that
does not fit among texts that do) is decided at the end, from the journal, in the order of the folder. The result
depends neither on the number of processes, nor on how often the run was interrupted.
"""

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deepvoice.alignment.jobs import write_refused
from deepvoice.audio.io import replacing
from deepvoice.errors import AudioError, DeepVoiceError
from deepvoice.recipes.recordings.duplicates import find_duplicates
from deepvoice.recipes.recordings.examine import Examined, Job, Limits, examine
from deepvoice.recipes.recordings.layouts import Found, Recording, find
from deepvoice.recipes.recordings.report import write_report
from deepvoice.recipes.recordings.tables import Refused
from deepvoice.resume import voice_key
from deepvoice.workers import exclusive, run_tasks

JOURNAL = ".deepvoice-prepare.jsonl"  # what was found before, a line for each recording
_LOCK = ".deepvoice-prepare.lock"
_VERSION = 3  # of what is examined; another one looks at everything again
_FIT = 0.5  # share of the texts that the aligner must hear before its doubts about the others count
_SHORT = 3  # words; a text of fewer is too little to be sure of
LEAST_ROWS = 20  # utterances that the training recipes need, to hold some out


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What became of a folder: all recordings in its order, what was no recording, and what is known of the whole."""

    folder: Path
    out: Path
    layout: str
    limits: Limits
    examined: tuple[Examined, ...]
    refused: tuple[Refused, ...]  # lines and files that are no recording with a text
    again: int  # recordings that a run before had examined
    remarks: tuple[str, ...] = ()  # about the corpus as a whole

    @property
    def kept(self) -> tuple[Examined, ...]:
        """The recordings of the manifest."""
        return tuple(found for found in self.examined if not found.reasons)

    @property
    def seconds(self) -> float:
        """Length of the corpus."""
        return sum(found.row["seconds"] for found in self.kept if found.row)

    def all_refused(self) -> list[Refused]:
        """Return everything that is not used: its file or line, and all reasons."""
        of_recordings = [Refused(f.source, "; ".join(f.reasons)) for f in self.examined if f.reasons]
        return [*of_recordings, *self.refused]


@dataclass(slots=True)
class _Folder:
    """Where the journal lies, and what it says of the runs before."""

    out: Path
    known: dict[str, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> None:
        """Read the journal; a line that was not finished is none."""
        with contextlib.suppress(FileNotFoundError):
            for line in (self.out / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines():
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    entry = json.loads(line)
                    self.known[entry["key"]] = entry["found"]

    def recall(self, key: str) -> Examined | None:
        """Return what was found before under a key, if its file is still there."""
        entry = self.known.get(key)
        if entry is None:
            return None
        with contextlib.suppress(TypeError):
            found = Examined(**entry)
            if found.row is None or (self.out / found.row["audio"]).is_file():
                return found
        return None

    def note(self, key: str, found: Examined) -> None:
        """Add to the journal, in one write."""
        self.known[key] = asdict(found)
        with (self.out / JOURNAL).open("ab", buffering=0) as journal:
            journal.write((json.dumps({"key": key, "found": asdict(found)}) + "\n").encode())


def prepare(
    folder: Path,
    out: Path,
    *,
    limits: Limits | None = None,
    table: Path | None = None,
    voice: str | None = None,
    listen: bool = True,
    jobs: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Check the recordings of a folder and write a corpus.

    table: the file with the texts, where the folder has several
    voice: whose front end reads the texts and whose aligner listens; None is the default voice
    listen: compare what is said with the text
    jobs: processes
    tell(done, all): called after each recording
    Raises ConfigError for a folder without recordings and texts, AudioError for an output that cannot be written.
    """
    limits = limits or Limits()
    if out.resolve() == folder.resolve():
        raise AudioError(f"the output {out} is the folder of the recordings; choose another with -o")
    found = find(folder, table, leave=out)
    with exclusive(out, _LOCK):
        (out / "wav").mkdir(exist_ok=True)
        memory = _Folder(out)
        memory.read()
        tasks = [Job(recording=r, out=out, limits=limits, voice=voice, listen=listen) for r in found.recordings]
        keys = [_key(job) for job in tasks]
        examined, again = _examine_all(tasks, keys, memory, jobs, tell)
        prepared = _judged(folder, out, found, limits, examined, again)
        _write(prepared, memory, keys)
    return prepared


def _key(job: Job) -> str:
    """Return a hash of all that decides what is found: the file's place, size and time, the text, the limits."""
    recording = job.recording
    try:
        status = recording.path.stat()
        file = [status.st_size, status.st_mtime_ns]
    except OSError:
        file = []
    everything = [_VERSION, list(map(str, recording)), file, asdict(job.limits), job.listen, voice_key(job.voice)]
    return hashlib.sha256(json.dumps(everything).encode()).hexdigest()[:32]


def _examine_all(
    tasks: Sequence[Job],
    keys: Sequence[str],
    memory: _Folder,
    jobs: int,
    tell: Callable[[int, int], None] | None,
) -> tuple[list[Examined], int]:
    """Examine what no run before has; returns everything in order, and how much was there."""
    results: list[Examined | None] = [memory.recall(key) for key in keys]
    waiting = [number for number, result in enumerate(results) if result is None]
    again = done = len(tasks) - len(waiting)
    jobs = min(jobs, max(1, len(waiting) // 4))  # a process takes longer to start than a few recordings
    with contextlib.closing(run_tasks(examine, (tasks[number] for number in waiting), jobs)) as outcomes:
        for outcome in outcomes:
            if outcome.value is None:  # not what a recording is, but the machine: a full disk, no memory
                raise outcome.error or DeepVoiceError("a recording could not be examined; start again")
            number = waiting[outcome.number]
            found = Examined(**outcome.value)
            memory.note(keys[number], found)
            results[number] = found
            done += 1
            if tell:
                tell(done, len(tasks))
    return [result for result in results if result is not None], again


def _judged(folder: Path, out: Path, found: Found, limits: Limits, examined: list[Examined], again: int) -> Prepared:
    """Decide what can only be seen from all recordings together."""
    remarks = [*_judge_texts(examined, limits), *find_duplicates(examined), *_remarks(examined)]
    return Prepared(
        folder=folder,
        out=out,
        layout=found.layout,
        limits=limits,
        examined=tuple(examined),
        refused=tuple(found.refused),
        again=again,
        remarks=tuple(remarks),
    )


def _judge_texts(examined: Sequence[Examined], limits: Limits) -> list[str]:
    """Refuse texts that the aligner does not hear, unless it hears so few that it does not know this voice.

    A word that it misses, and a text of one or two words that it is not sure of, are noted.
    """
    heard = [found for found in examined if found.confidence is not None and not found.reasons]
    if not heard:
        return []
    likely = [found for found in heard if (found.confidence or 0.0) >= limits.confidence]
    share = len(likely) / len(heard)
    remarks = [f"the aligner hears {len(likely)} of {len(heard)} texts ({100 * share:.0f} %)"]
    if share < _FIT:
        remarks.append("its doubts are notes only: it may not know this voice, or the lines of the table have moved")
    for found in heard:
        doubt = "; ".join(found.doubts or ())
        words = len(found.row["words"]) if found.row is not None else 0
        cut = found.missing >= max(_SHORT, limits.missing * words)
        if (cut or found.confidence < limits.confidence) and words >= _SHORT and share >= _FIT:
            found.reasons.append(f"text and sound differ: {doubt or f'confidence {found.confidence:.2f}'}")
        elif doubt:
            found.notes.append(f"not heard by the aligner: {doubt}")
    return remarks


def _remarks(examined: Sequence[Examined]) -> Iterator[str]:
    """Say what is uneven about the corpus."""
    measured = [found.measures for found in examined if found.measures]
    for name, unit in (("rate", "Hz"), ("channels", "channels"), ("encoding", "")):
        counts = Counter(m[name] for m in measured)
        if counts:
            shown = ", ".join(f"{count} with {value} {unit}".rstrip() for value, count in sorted(counts.items()))
            yield f"{name}: {shown}"
    loud = sorted(found.measures["loud"] for found in examined if found.measures and not found.reasons)
    if len(loud) >= 10 and loud[-len(loud) // 20 - 1] - loud[len(loud) // 20] > 12:
        yield f"levels differ by {loud[-len(loud) // 20 - 1] - loud[len(loud) // 20]:.0f} dB between recordings"
    kept = sum(not found.reasons for found in examined)
    if kept < LEAST_ROWS:
        yield f"{kept} recordings are too few to train on: {LEAST_ROWS} are needed, about 300 make a voice"


def _write(prepared: Prepared, memory: _Folder, keys: Sequence[str]) -> None:
    """Write everything, the manifest last; the journal is rewritten without what it no longer says."""
    out = prepared.out
    rows = "".join(json.dumps({"key": key, "found": memory.known[key]}) + "\n" for key in dict.fromkeys(keys))
    _replace(out / JOURNAL, rows)
    # what was refused for a reason that another recording gave stays: without that other one it may be used
    named = {found.row["audio"] for found in prepared.examined if found.row}
    for path in sorted((out / "wav").glob("*.flac")):
        if f"wav/{path.name}" not in named:
            path.unlink()
    write_refused(out, prepared.all_refused())
    lines = (json.dumps(_plain(found), ensure_ascii=False) + "\n" for found in prepared.examined)
    _replace(out / "recordings.jsonl", "".join(lines))
    _replace(out / "report.html", write_report(prepared))
    manifest = "".join(json.dumps(found.row, ensure_ascii=False) + "\n" for found in prepared.kept)
    _replace(out / "manifest.jsonl", manifest)


def _plain(found: Examined) -> dict[str, Any]:
    """Return what recordings.jsonl says of a recording: everything but the curve."""
    return {key: value for key, value in asdict(found).items() if key not in ("waveform", "row")}


def _replace(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace", newline="")


__all__ = ["Prepared", "Recording", "prepare"]
