"""Tables of transcripts, line by line: a line that does not fit is refused by its number, the others are read.

`id<TAB>text` and `id|text[|normalised text]` have no quoting at all: a quote is a character of the text. Only commas
need it, and there every line is a record of its own, so an unbalanced quote costs one line and never those after it.
A .jsonl has an object a line, as manifest.jsonl: `{"audio": file, "text": words}`.
"""

import csv
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

AUDIO_NAMES = ("audio", "file", "filename", "file_name", "path", "wav", "recording", "id", "name")
TEXT_NAMES = ("normalized_text", "normalised_text", "text", "transcript", "transcription", "sentence")
_LONGEST_LINE = 100_000  # characters; no transcript of an utterance is near it


class Line(NamedTuple):
    """One row of a table: the recording it names, its text, and its place as `file:line`."""

    name: str
    text: str
    place: str


class Refused(NamedTuple):
    """Something that is not used: its place or file, and why."""

    place: str
    reason: str


def read_table(path: Path) -> tuple[list[Line], list[Refused]]:
    """Read a table of recordings and texts; its separator is that of its first line with text in it.

    A first line with names such as `file,text` or `path<TAB>sentence` says which columns count; otherwise the first
    names the recording, and the last that is not empty is the text.
    Raises ValueError when the file has no text at all.
    """
    lines: list[Line] = []
    refused: list[Refused] = []
    numbered = _decoded(path, refused)
    if not numbered and not refused:
        raise ValueError(f"{path} has no text; expected one recording and its text a line")
    if path.suffix.lower() == ".jsonl":
        return _objects(path, numbered, refused)
    separator = next((mark for mark in "\t|," if numbered and mark in numbered[0][1]), "")
    columns: tuple[int, int] | None = None
    for position, (number, line) in enumerate(numbered):
        place = f"{path}:{number}"
        fields = _fields(line, separator)
        if isinstance(fields, str):
            refused.append(Refused(place, fields))
            continue
        if position == 0 and (columns := _header(fields)):
            continue
        row = _row(fields, columns, separator)
        if isinstance(row, str):
            refused.append(Refused(place, row))
        else:
            lines.append(Line(*row, place))
    return lines, refused


def _objects(
    path: Path, numbered: Sequence[tuple[int, str]], refused: list[Refused]
) -> tuple[list[Line], list[Refused]]:
    """Read lines of JSON objects."""
    lines = []
    for number, line in numbered:
        place = f"{path}:{number}"
        row = _object(line)
        if isinstance(row, str):
            refused.append(Refused(place, row))
        else:
            lines.append(Line(*row, place))
    return lines, refused


def _object(line: str) -> tuple[str, str] | str:
    """Return name and text of an object, or why it has none."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    names = {str(name).lower(): value for name, value in values.items()} if isinstance(values, dict) else {}
    name = next((names[key] for key in AUDIO_NAMES if isinstance(names.get(key), str)), None)
    text = next((names[key] for key in TEXT_NAMES if isinstance(names.get(key), str)), None)
    if name is None or text is None:
        return 'no recording and its text; expected {"audio": file, "text": words} in each line'
    return _checked(name, text)


def _decoded(path: Path, refused: list[Refused]) -> list[tuple[int, str]]:
    """Return the lines with text and their numbers; one that is not UTF-8 is refused by itself."""
    raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):  # a spreadsheet's Unicode text
        raw = raw.decode("utf-16", "replace").encode("utf-8")
    numbered = []
    for number, part in enumerate(raw.split(b"\n"), 1):
        try:
            line = part.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            refused.append(Refused(f"{path}:{number}", f"not UTF-8 ({error.reason}); convert the file to UTF-8"))
            continue
        if len(line) > _LONGEST_LINE:
            refused.append(Refused(f"{path}:{number}", f"{len(line)} characters; expected the text of one recording"))
        elif line.strip():
            numbered.append((number, line))
    return numbered


def _fields(line: str, separator: str) -> list[str] | str:
    """Cut a line into its columns, or say why that cannot be done."""
    if not separator:
        return "one column; expected a recording and its text with a tab, | or comma between them"
    if separator != ",":
        return line.split(separator)
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        return 'quotes that do not pair; in a table with commas a quote inside a text is written ""'


def _header(fields: Sequence[str]) -> tuple[int, int] | None:
    """Return which columns hold the recording and the text, where the first line names both."""
    names = [field.strip().strip('"').lower().replace(" ", "_") for field in fields]
    audio = next((names.index(name) for name in AUDIO_NAMES if name in names), None)
    text = next((names.index(name) for name in TEXT_NAMES if name in names), None)
    return None if audio is None or text is None or audio == text else (audio, text)


def _row(fields: list[str], columns: tuple[int, int] | None, separator: str) -> tuple[str, str] | str:
    """Return name and text of a row, or why it has none."""
    if columns:
        if len(fields) <= max(columns):
            return f"{_columns(fields)}; the first line names at least {max(columns) + 1}"
        name, text = fields[columns[0]], fields[columns[1]]
    else:
        most = 3 if separator == "|" else 2
        if not 2 <= len(fields) <= most:
            kind = "recording|text or recording|text|normalised text" if most == 3 else "a recording and its text"
            return f"{_columns(fields)}; expected {kind}, or names of the columns in the first line"
        name = fields[0]
        text = next((field for field in reversed(fields[1:]) if field.strip()), "")
    return _checked(name, text)


def _columns(fields: Sequence[str]) -> str:
    return "one column" if len(fields) == 1 else f"{len(fields)} columns"


def _checked(name: str, text: str) -> tuple[str, str] | str:
    """Return name and text without space around them, or what is wrong with them."""
    name, text = name.strip(), clean(text)
    if not name or not text:
        return f"an empty {'text' if name else 'name of the recording'}; fill it in or remove the line"
    if "\0" in name or "\\" in name or name.startswith("/") or ".." in name.split("/"):
        return f"the name {name[:80]!r} leads out of the folder; use a path inside it"
    return name, text


def clean(text: str) -> str:
    """Return a text in composed characters without space around it."""
    return unicodedata.normalize("NFC", text).strip()
