"""`deepvoice batch`: every row of a file into an audio file of its own, going on where it was stopped."""

import argparse
import contextlib
import csv
import io
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepvoice.audio.formats import ALIASES, FORMATS, lookup, output_rate
from deepvoice.commands.arguments import (
    UsageError,
    add_common_arguments,
    add_speaking_arguments,
    add_voice_argument,
    decode_text,
    speaking_options,
)
from deepvoice.errors import AudioError, TextError

if TYPE_CHECKING:
    from deepvoice.batch import Job, Row, Spoken

_TIMINGS = ("json", "jsonl", "srt", "vtt", "lrc", "TextGrid", "words.srt", "words.vtt", "words.lrc")
_LOCK = ".deepvoice-batch.lock"
_TOGETHER = 8  # rows that a process speaks at a time
_RESULTS = "results"
_SHOWN = 20  # failures listed; the results have all
_OWN = ("line", "file", "seconds", "sample_rate", "timings", "dropped", "status", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", type=Path, metavar="IN", help=".txt: a text a line; .csv, .tsv or .jsonl: see below")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the files")
    parser.add_argument(
        "--format", choices=(*FORMATS, *ALIASES), default="wav", metavar="NAME", help=f"{', '.join(FORMATS)}"
    )
    parser.add_argument("--rate", type=int, metavar="HZ", help="sample rate of the files, from 8000 to 48000")
    parser.add_argument(
        "--text-column",
        default="text",
        metavar="NAME",
        help="column with the text; default: text. The columns voice, speed, pitch, volume, loudness, lead_in, seed "
        "and ssml are options of their row",
    )
    parser.add_argument(
        "--name-column",
        default="name",
        metavar="NAME",
        help="column with the file's name; default: name, or a number",
    )
    parser.add_argument("--timings", choices=_TIMINGS, help="also write when what is heard, beside each file")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="rows spoken at a time; default: one for each core")
    add_voice_argument(parser)
    add_speaking_arguments(parser)
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Speak all rows; returns the exit status: 1 when any of them failed."""
    from deepvoice.batch import SUFFIXES, read_rows
    from deepvoice.machine import usable_cores
    from deepvoice.workers import exclusive

    suffix = arguments.input.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{str(arguments.input)!r} is no batch; expected a name ending in {' '.join(SUFFIXES)}")
    jobs = usable_cores() if arguments.jobs is None else arguments.jobs
    if not 1 <= jobs <= 256:
        raise UsageError(f"--jobs is {jobs}; expected 1 to 256")
    output_rate(lookup(arguments.format) or "wav", 24000, arguments.rate)  # an impossible rate is refused at once
    try:
        content = decode_text(arguments.input.read_bytes(), str(arguments.input))
    except OSError as error:
        raise TextError(f"cannot read {arguments.input}: {error.strerror}; check the path") from None
    rows = list(read_rows(content, suffix, arguments.text_column, arguments.name_column))
    if not rows:
        raise TextError(f"{arguments.input} has no rows; expected at least one text")
    started = time.perf_counter()
    with exclusive(arguments.output, _LOCK):
        batch = _Batch(arguments, rows)
        status = batch.speak(jobs)
    if not arguments.quiet:
        print(batch.summary(time.perf_counter() - started), file=sys.stderr)
    batch.list_failures()
    return status


class _Batch:
    """The rows of a batch and what became of each."""

    def __init__(self, arguments: argparse.Namespace, rows: "Sequence[Row]") -> None:
        self._arguments, self._rows = arguments, rows
        self._folder = arguments.output
        self._options = speaking_options(arguments)
        self._done: dict[int, Mapping[str, Any]] = {}
        self._failed: dict[int, str] = {}
        self._kept = 0
        self._seconds = 0.0  # of speech made now

    def speak(self, jobs: int) -> int:
        """Speak what is not there yet, and write the results; returns the exit status."""
        from deepvoice.batch import JOURNAL, speak_side_by_side
        from deepvoice.workers import run_tasks

        waiting: list[tuple[int, Job]] = []
        known = _read_journal(self._folder)
        for number, job in self._jobs():
            entry = known.get(job.file, {})
            if entry.get("key") == job.key() and _is_there(self._folder, entry):
                self._done[number] = entry
                self._kept += 1
            else:
                waiting.append((number, job))
        # rewritten without what it no longer says; whoever has spoken a row adds to it
        _replace(self._folder / JOURNAL, "".join(json.dumps(entry) + "\n" for entry in known.values()))
        jobs = min(jobs, max(1, len(waiting)))
        size = max(1, min(_TOGETHER, -(-len(waiting) // jobs)))
        groups = [waiting[start : start + size] for start in range(0, len(waiting), size)]
        count = 0
        with contextlib.closing(
            run_tasks(speak_side_by_side, ([job for _, job in group] for group in groups), jobs)
        ) as outcomes:
            for outcome in outcomes:
                group = groups[outcome.number]
                values: Sequence[Spoken | Exception | None] = outcome.value or [outcome.error] * len(group)
                for (number, _), value in zip(group, values, strict=True):
                    self._note(number, value)
                count += len(group)
                self._progress(count, len(waiting))
        self._write_results()
        return 1 if self._failed else 0

    def _jobs(self) -> "Iterator[tuple[int, Job]]":
        """Yield the rows that can be spoken, each with a name that no other has."""
        from deepvoice.batch import Job
        from deepvoice.errors import DeepVoiceError
        from deepvoice.options import Options
        from deepvoice.resume import safe_name, voice_key

        width = max(4, len(str(self._rows[-1].line)))
        taken: set[str] = set()
        for number, row in enumerate(self._rows):
            try:
                if row.error is not None:
                    raise TextError(row.error)
                own = dict(row.options)
                voice = own.pop("voice", self._arguments.voice)
                voice_key(voice)
                options: Any = {**self._options, **own}
                Options(**options)
            except DeepVoiceError as error:
                self._failed[number] = str(error)
                continue
            name = wanted = safe_name(row.name, f"{row.line:0{width}d}")
            copies = 1
            while name.casefold() in taken or name in (_RESULTS,):
                copies += 1
                name = f"{wanted}-{copies}"
            taken.add(name.casefold())
            yield (
                number,
                Job(
                    folder=self._folder,
                    name=name,
                    text=row.text,
                    voice=voice,
                    options=options,
                    file_format=lookup(self._arguments.format) or "wav",
                    rate=self._arguments.rate,
                    timings=self._arguments.timings,
                    strict=self._arguments.strict,
                ),
            )

    def _note(self, number: int, value: "Spoken | Exception | None") -> None:
        if isinstance(value, Exception) or value is None:
            self._failed[number] = str(value)
        else:
            self._done[number] = asdict(value)
            self._seconds += value.seconds

    def _progress(self, count: int, of: int) -> None:
        if not self._arguments.quiet and sys.stderr.isatty():
            print(f"\r{count} of {of}", end="\n" if count == of else "", file=sys.stderr, flush=True)

    def _write_results(self) -> None:
        """Write a table of all rows, in their order, as CSV and as JSON lines."""
        table = [self._result(number, row) for number, row in enumerate(self._rows)]
        names = list(dict.fromkeys(name for result in table for name in result))
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
        writer.writeheader()
        for result in table:
            shown = {"dropped": " ".join(result["dropped"])} if result["dropped"] else {"dropped": ""}
            writer.writerow({**result, **shown})
        lines = "".join(json.dumps(result, ensure_ascii=False) + "\n" for result in table)
        _replace(self._folder / f"{_RESULTS}.csv", text.getvalue())
        _replace(self._folder / f"{_RESULTS}.jsonl", lines)

    def _result(self, number: int, row: "Row") -> dict[str, Any]:
        entry = self._done.get(number, {})
        own = {
            "line": row.line,
            "file": entry.get("file", ""),
            "seconds": entry.get("seconds"),
            "sample_rate": entry.get("sample_rate"),
            "timings": entry.get("timings", ""),
            "dropped": list(entry.get("dropped", ())),
            "status": "done" if number in self._done else "failed",
            "error": self._failed.get(number, ""),
        }
        return {**{name: value for name, value in row.columns.items() if name not in _OWN}, **own}

    def summary(self, taken: float) -> str:
        """Return what was done, in a line."""
        kept = f" ({self._kept} were there)" if self._kept else ""
        return (
            f"{self._folder}: {len(self._done)} of {len(self._rows)} rows spoken{kept}, "
            f"{self._seconds:.2f} s of speech in {taken:.2f} s"
        )

    def list_failures(self) -> None:
        """Say which rows failed, and why."""
        for number in sorted(self._failed)[:_SHOWN]:
            print(f"deepvoice: line {self._rows[number].line}: {self._failed[number]}", file=sys.stderr)
        if len(self._failed) > _SHOWN:
            more = len(self._failed) - _SHOWN
            print(f"deepvoice: and {more} more failed; see {self._folder / _RESULTS}.csv", file=sys.stderr)


def _read_journal(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what was spoken into a folder before, by file; a line that was not finished is none."""
    from deepvoice.batch import JOURNAL

    entries: dict[str, dict[str, Any]] = {}
    try:
        lines = (folder / JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            entry = json.loads(line)
            entries[str(entry["file"])] = entry
    return entries


def _is_there(folder: Path, entry: Mapping[str, Any]) -> bool:
    times = entry.get("timings")
    try:
        return (folder / str(entry["file"])).stat().st_size == entry["bytes"] and (
            not times or (folder / str(times)).is_file()
        )
    except (OSError, KeyError):
        return False


def _replace(path: Path, text: str) -> None:
    from deepvoice.audio.io import replacing

    try:
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="replace", newline="")
    except OSError as error:
        raise AudioError(f"cannot write {path}: {error.strerror}; choose a writable place with free space") from None
