"""One step of a pipeline, and how one item goes through it: at most once to the end, however often it is begun.

The result of an item is a JSON file named by the item's content key, written last, beside the files that it tells of.
An item whose result is there is finished, whoever made it: a worker that is killed, a task that is sent twice and a run
that is started again all come to the same files with the same bytes. Before an item is begun a note of the attempt is
left, which the result removes: an item that has killed its worker several times is reported instead of killing more.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from deepvoice.errors import DeepVoiceError
from deepvoice.recipes.common.shards import write_whole

Item = Mapping[str, Any]  # plain JSON values
Row = dict[str, Any]
ATTEMPTS = 3  # of an item whose worker dies or whose files cannot be read or written


class Worker(Protocol):
    """What a process keeps loaded."""

    def __call__(self, item: Item, key: str, out: Path) -> Row:
        """Do an item: write files named by the key below `out`, whole or not at all, and return plain JSON values.

        `files` of the row names the files it wrote, relative to `out`. DeepVoiceError and ValueError mean that the item
        can never be done, other errors that another attempt may help.
        """


class Stage(Protocol):
    """A step of a pipeline: a frozen dataclass of plain values, which is sent to the workers."""

    @property
    def name(self) -> str:
        """Name of its folder of results."""

    def key(self, item: Item) -> str:
        """Return a hash of everything that the result depends on; asked once an item, where the run is started."""

    def open(self) -> Worker:
        """Load what the work needs; once in each process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an item: its row, or why there is none; pid: process that did it, 0 where it was done before."""

    key: str
    row: Row | None
    error: str = ""
    pid: int = 0

    def to_json(self) -> str:
        """Return it as one string, which is how it travels between processes."""
        return json.dumps({"key": self.key, "row": self.row, "error": self.error, "pid": self.pid})

    @staticmethod
    def from_json(text: str) -> "Outcome":
        """Read what `to_json` gave."""
        return Outcome(**json.loads(text))


def hash_of(*parts: Any) -> str:
    """Return a short hash of plain values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:32]


def result_path(stage: Stage, key: str, out: Path) -> Path:
    """Return where the result of an item lies."""
    return out / "results" / stage.name / key[:2] / f"{key}.json"


def finished(stage: Stage, key: str, out: Path) -> Row | None:
    """Return the row of an item that is finished, None where it or one of its files is missing."""
    try:
        row: Row = json.loads(result_path(stage, key, out).read_text(encoding="utf-8"))
        sizes = row.get("files", {}).items()
        return row if all((out / name).stat().st_size == size for name, size in sizes) else None
    except (OSError, ValueError, AttributeError):
        return None


@lru_cache(maxsize=4)
def opened(stage: Stage) -> Worker:
    """Return the worker of a stage, which this process keeps."""
    return stage.open()


def do(stage: Stage, key: str, item: Item, out: Path, pid: int = 0) -> Outcome:
    """Bring an item to its end in this process; key: what `stage.key` gave where the run was started."""
    row = finished(stage, key, out)
    if row is not None:
        return Outcome(key=key, row=row)
    path = result_path(stage, key, out)
    path.parent.mkdir(parents=True, exist_ok=True)
    note = path.with_suffix(".attempts")
    worker = opened(stage)
    error = f"its worker died {ATTEMPTS} times"
    while (note.stat().st_size if note.exists() else 0) < ATTEMPTS:
        with note.open("ab") as handle:
            handle.write(b"x")
        try:
            row = worker(item, key, out)
            row["files"] = {name: (out / name).stat().st_size for name in row.get("files", ())}
            write_whole(path, json.dumps(row, ensure_ascii=False).encode())
        except (DeepVoiceError, ValueError) as problem:
            error = str(problem)
            break
        except Exception as problem:  # noqa: BLE001 - a full disk, a network: another attempt may help
            error = f"{type(problem).__name__}: {problem}"
        except BaseException:  # this process is asked to leave, which is not the item's fault
            os.truncate(note, max(0, note.stat().st_size - 1))
            raise
        else:
            note.unlink(missing_ok=True)
            return Outcome(key=key, row=row, pid=pid)
    note.unlink(missing_ok=True)
    return Outcome(key=key, row=None, error=error, pid=pid)
