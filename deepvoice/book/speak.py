"""Speaking the pieces of a book into a folder, in several processes, going on where an earlier run was stopped."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deepvoice.audio.io import open_writer
from deepvoice.book.plan import Piece
from deepvoice.resume import loaded_voice
from deepvoice.text.hygiene import Dropped
from deepvoice.workers import run_tasks

if TYPE_CHECKING:
    from deepvoice.options import OptionValues

_JOURNAL = "spoken.jsonl"  # a line for each piece, in the order in which they were finished


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceJob:
    """What a worker needs to speak one piece."""

    folder: Path
    piece: Piece
    voice: str | None
    options: "OptionValues"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenPiece:
    """What came of a piece: its place in the plan, seconds of speech, and what the voice did not speak."""

    piece: Piece
    seconds: float
    dropped: tuple[Dropped, ...] = ()


def path_of(folder: Path, piece: Piece) -> Path:
    """Return the file of a piece; it is there, complete, once the piece has been spoken."""
    return folder / f"{piece.key}.flac"


def speak_piece(job: PieceJob) -> SpokenPiece:
    """Speak a piece into its file."""
    voice = loaded_voice(job.voice)
    samples = 0
    with voice.dispatcher() as dispatcher:  # several sentences at once; the samples are the same
        stream = voice.stream(job.piece.document(), times=False, dispatcher=dispatcher, **job.options)
        with open_writer(path_of(job.folder, job.piece), stream.sample_rate) as writer:
            for chunk in stream:
                writer.write(chunk)
                samples += len(chunk)
    return SpokenPiece(piece=job.piece, seconds=samples / stream.sample_rate, dropped=stream.report.dropped)


def read_journal(folder: Path) -> dict[str, list[str]]:
    """Return what was not spoken, by the key of its piece; a line that was not finished is none."""
    known: dict[str, list[str]] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in (folder / _JOURNAL).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(line)
                known[str(entry["key"])] = list(entry["dropped"])
    return known


def missing(folder: Path, pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces that have not been spoken, each text once."""
    keys = {piece.key: piece for piece in pieces if not path_of(folder, piece).is_file()}
    return list(keys.values())


def speak_missing(
    folder: Path, pieces: Sequence[Piece], voice: str | None, options: "OptionValues", *, jobs: int, ray: bool = False
) -> Iterator[SpokenPiece]:
    """Speak what is missing and yield each piece when its file is there; raises the first error of any of them.

    jobs: processes on this machine
    ray: run the pieces as tasks of a Ray cluster instead
    """
    tasks = [PieceJob(folder=folder, piece=piece, voice=voice, options=options) for piece in missing(folder, pieces)]
    if ray:
        from deepvoice.book.cluster import run_on_ray

        outcomes = run_on_ray(tasks)
    else:
        outcomes = run_tasks(speak_piece, tasks, max(1, min(jobs, len(tasks))))
    with (folder / _JOURNAL).open("a", encoding="utf-8") as journal, contextlib.closing(outcomes):
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            assert outcome.value is not None
            dropped = [piece.text[:80] for piece in outcome.value.dropped]
            entry = {"key": outcome.value.piece.key, "seconds": outcome.value.seconds, "dropped": dropped}
            journal.write(json.dumps(entry) + "\n")
            journal.flush()
            yield outcome.value
