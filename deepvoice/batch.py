"""Batches: rows of text from a file, and speaking each into a file of its own.

A row that was spoken before, with the same text, voice and options, is recognised by the hash of all of these.
"""

import contextlib
import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepvoice.audio.formats import output_rate
from deepvoice.audio.io import open_writer
from deepvoice.errors import ConfigError, DeepVoiceError, TextError
from deepvoice.resume import content_key, loaded_voice

if TYPE_CHECKING:
    from deepvoice.dispatch import Dispatcher
    from deepvoice.options import OptionValues
    from deepvoice.pipeline import Voice

JOURNAL = ".deepvoice-batch.jsonl"  # a line for each file that is done
SUFFIXES = (".txt", ".csv", ".tsv", ".jsonl")
_NUMBERS = ("speed", "pitch", "volume", "loudness", "lead_in")
OPTION_COLUMNS = ("voice", *_NUMBERS, "seed", "ssml")
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its line in the file, its text, the name it asks for, its options, and all its columns as they were.

    error: why it cannot be spoken, found while reading
    """

    line: int
    text: str = ""
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker needs to speak one row into `folder` / `name` . `file_format`."""

    folder: Path
    name: str
    text: str
    voice: str | None
    options: "OptionValues"
    file_format: str
    rate: int | None
    timings: str | None
    strict: bool

    @property
    def file(self) -> str:
        """Name of the audio file."""
        return f"{self.name}.{_suffix(self.file_format)}"

    def key(self) -> str:
        """Return a hash of everything that the result depends on."""
        return content_key(self.voice, self.options, self.text, self.file_format, self.rate, self.timings, self.strict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What came of a job: the files, relative to the folder, the length, and what the voice did not speak."""

    file: str
    bytes: int
    seconds: float
    sample_rate: int
    timings: str = ""
    dropped: tuple[str, ...] = ()


def speak_side_by_side(jobs: Sequence[Job]) -> list[Spoken | DeepVoiceError]:
    """Speak several jobs at a time, their sentences together; returns what came of each, or why nothing did."""
    with ThreadPoolExecutor(len(jobs)) as pool, contextlib.ExitStack() as stack:
        voices: dict[str | None, tuple[Voice, Dispatcher] | DeepVoiceError] = {}
        for name in {job.voice for job in jobs}:
            try:
                voice = loaded_voice(name)
                voices[name] = voice, stack.enter_context(voice.dispatcher())
            except DeepVoiceError as error:
                voices[name] = error

        def attempt(job: Job) -> Spoken | DeepVoiceError:
            found = voices[job.voice]
            if isinstance(found, DeepVoiceError):
                return found
            try:
                spoken = _speak(job, *found)
                append_journal(job, spoken)
                return spoken
            except DeepVoiceError as error:
                return error
            except Exception as error:  # noqa: BLE001 - one row that fails must not end the others
                return DeepVoiceError(f"{type(error).__name__}: {error}")

        # An interrupt leaves the stack first, which ends all sentences, and so the threads and their unfinished files.
        return list(pool.map(attempt, jobs))


def append_journal(job: Job, spoken: Spoken) -> None:
    """Note that a job is done, in one write, which is not mixed with those of other processes."""
    line = json.dumps({"key": job.key(), **asdict(spoken)}) + "\n"
    with (job.folder / JOURNAL).open("ab", buffering=0) as journal:
        journal.write(line.encode())


def _speak(job: Job, voice: "Voice", dispatcher: "Dispatcher") -> Spoken:
    """Speak a job's text into its file; raises what `Voice.stream` and `open_writer` do, TextError under strict."""
    from deepvoice import timings

    stream = voice.stream(job.text, times=job.timings is not None, dispatcher=dispatcher, **job.options)
    if job.strict:
        stream.read_all()
    dropped = tuple(piece.text[:80] for piece in stream.report.dropped)
    if job.strict and dropped:
        raise TextError(f"not spoken: {', '.join(map(repr, dropped[:5]))} (--strict)")
    path = job.folder / job.file
    samples = 0
    with open_writer(path, stream.sample_rate, job.file_format, rate=job.rate) as writer:
        for piece in stream:
            writer.write(piece)
            samples += len(piece)
    rate = output_rate(job.file_format, stream.sample_rate, job.rate)
    times = ""
    if job.timings is not None:
        times = f"{job.name}.{job.timings}"
        timings.write(job.folder / times, stream, rate=rate)
    return Spoken(
        file=job.file,
        bytes=path.stat().st_size,
        seconds=round(samples / stream.sample_rate, 6),
        sample_rate=rate,
        timings=times,
        dropped=tuple(piece.text[:80] for piece in stream.report.dropped),
    )


def read_rows(content: str, suffix: str, text_column: str = "text", name_column: str = "name") -> Iterator[Row]:
    """Yield the rows of a file's text; blank lines are none.

    suffix: one of SUFFIXES; of .txt each line is a text
    text_column, name_column: of .csv, .tsv and .jsonl; the columns in OPTION_COLUMNS are options, others are kept
    Raises TextError when the file as a whole makes no sense: no such column, quotes that do not end.
    """
    if suffix == ".txt":
        for number, line in enumerate(content.splitlines(), 1):
            if line.strip():
                yield Row(line=number, text=line, columns={text_column: line})
    elif suffix == ".jsonl":
        for number, line in enumerate(content.split("\n"), 1):
            if line.strip():
                yield _row(number, _json_columns(line), text_column, name_column)
    else:
        for number, columns in _table(content, suffix, text_column):
            yield _row(number, columns, text_column, name_column)


def _json_columns(line: str) -> dict[str, Any] | str:
    """Return the object of a line, or what is wrong with it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    if isinstance(value, str):
        return {"text": value}
    return value if isinstance(value, dict) else f"a JSON {type(value).__name__}; expected an object or a string"


def _table(content: str, suffix: str, text_column: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    header = content.split("\n", 1)[0]
    # a header is names without quotes as a rule, so its commonest separator is that of the table
    separator = "\t" if suffix == ".tsv" else max(",;\t|", key=header.count)
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        if text_column not in names:
            raise TextError(f"the table has the columns {names}; expected one named {text_column!r}: see --text-column")
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if len(cells) > len(names):
                yield line, f"{len(cells)} cells, but the header has {len(names)}; quote texts that hold {separator!r}"
            elif any(cell.strip() for cell in cells):
                yield line, dict(zip(names, cells + [""] * (len(names) - len(cells)), strict=True))
    except csv.Error as error:
        raise TextError(f"line {reader.line_num} of the table: {error}; is a quotation mark missing?") from None


def _row(line: int, columns: dict[str, Any] | str, text_column: str, name_column: str) -> Row:
    if isinstance(columns, str):
        return Row(line=line, error=columns)
    try:
        text = columns.get(text_column, "")
        if not isinstance(text, str) or not text.strip():
            raise TextError(f"{text_column!r} is {'empty' if text in ('', None) else repr(text)[:40]}; expected a text")
        options = {name: _option(name, columns[name]) for name in OPTION_COLUMNS if columns.get(name) not in (None, "")}
        name = columns.get(name_column)
        return Row(line=line, text=text, name="" if name is None else str(name), options=options, columns=columns)
    except (ConfigError, TextError) as error:
        return Row(line=line, columns=columns, error=str(error))


def _option(name: str, value: Any) -> Any:
    """Return the value of an option's column, which a table has as text; ranges are checked by the voice."""
    if not isinstance(value, str) or name == "voice":
        return value
    value = value.strip().lower()
    if name == "ssml" and value in _TRUE + _FALSE:
        return value in _TRUE
    try:
        if name == "seed":
            return value if value == "random" else int(value)
        if name in _NUMBERS:
            return float(value)
    except ValueError:
        pass
    raise ConfigError(f"{name} is {value!r}; expected {'true or false' if name == 'ssml' else 'a number'}")


def _suffix(file_format: str) -> str:
    return "wav" if file_format in ("mulaw", "alaw") else file_format
