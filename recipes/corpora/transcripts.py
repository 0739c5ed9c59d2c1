"""Reading transcripts: plain text, `id<TAB>text`, and LJSpeech's `id|text|normalised text`, as they are found.

A quote is a character like any other: N lines give N rows. A byte order mark, Windows line ends and blank lines are
accepted; anything else that does not fit raises ValueError with the file and the line number.
"""

import unicodedata
from pathlib import Path
from typing import NamedTuple


class Transcript(NamedTuple):
    """One line: its id, its text and its number in the file."""

    id: str
    text: str
    line: int


def read_transcripts(path: Path) -> list[Transcript]:
    """Read a file of transcripts; its format is that of its first line with text in it.

    A tab makes it `id<TAB>text`, a vertical bar LJSpeech's metadata.csv (the last column counts, the second where the
    last is empty), neither makes it plain text with one utterance a line (ids are then the line numbers).
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}:{line}: not UTF-8 ({error.reason}); convert the file to UTF-8") from None
    numbered = [(number, line.rstrip("\r")) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise ValueError(f"{path} has no text; expected one utterance a line")
    separator = next((mark for mark in "\t|" if mark in numbered[0][1]), "")
    rows = [_row(path, number, line, separator) for number, line in numbered]
    first: dict[str, int] = {}
    for row in rows:
        if row.id in first:
            raise ValueError(f"{path}:{row.line}: id {row.id!r} was used on line {first[row.id]}; ids must differ")
        first[row.id] = row.line
    return rows


def _row(path: Path, number: int, line: str, separator: str) -> Transcript:
    if not separator:
        return Transcript(f"line{number:06d}", _clean(line), number)
    columns = line.split(separator)
    limit = 2 if separator == "\t" else 3
    if not 2 <= len(columns) <= limit:
        kind = "id<TAB>text" if separator == "\t" else "id|text or id|text|normalised text"
        raise ValueError(f"{path}:{number}: {len(columns)} columns; expected {kind}")
    name, text = columns[0].strip(), _clean(columns[-1]) or _clean(columns[1])
    if not name or not text:
        raise ValueError(f"{path}:{number}: an empty {'id' if not name else 'text'}; fill it in or remove the line")
    if any(character in name for character in "\\\0") or any(part.strip(".") == "" for part in name.split("/")):
        raise ValueError(f"{path}:{number}: id {name!r} cannot be a file name; use letters, digits, - and _")
    return Transcript(name, text, number)


def _clean(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()
