"""Putting the spoken pieces together: chapters of even loudness, in one file with their titles, or in a folder."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio import ffmpeg
from deepvoice.audio.id3 import ChapterTime, make_tag
from deepvoice.audio.io import AudioWriter, open_writer, replacing
from deepvoice.audio.loudness import Meter, gain
from deepvoice.book.model import Book
from deepvoice.book.plan import Piece
from deepvoice.book.speak import path_of
from deepvoice.errors import AudioError
from deepvoice.resume import safe_name

_BLOCK = 1 << 16  # samples read at a time
_CHAPTER_GAP = 2.0  # seconds of silence after a chapter that another follows
CONTENTS = "book.json"
_ESCAPED = str.maketrans({character: f"\\{character}" for character in "=;#\\\n"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A book that is done: its chapters with their times in the whole, and the files."""

    chapters: tuple[ChapterTime, ...]
    files: tuple[Path, ...]

    @property
    def seconds(self) -> float:
        """Length of the whole book."""
        return self.chapters[-1].end


class _Chapters:
    """The samples of the chapters, from the files of their pieces."""

    def __init__(self, folder: Path, book: Book, pieces: Sequence[Piece], loudness: float | None) -> None:
        import soundfile

        self._soundfile: Any = soundfile
        self._folder, self._loudness = folder, loudness
        self._pieces = [[piece for piece in pieces if piece.chapter == number] for number in range(len(book.chapters))]
        self.sample_rate = self._rate_of(path_of(folder, pieces[0]))

    def write(self, number: int, writer: AudioWriter) -> int:
        """Write a chapter, with the loudness asked for; returns its samples."""
        factor = np.float32(1.0)
        if self._loudness is not None:
            meter = Meter(self.sample_rate)
            for block in self._blocks(number):
                meter.write(block)
            factor = np.float32(gain(meter, self._loudness))
        samples = 0
        for block in self._blocks(number):
            writer.write(block * factor)
            samples += len(block)
        if number + 1 < len(self._pieces):
            silence = np.zeros(round(_CHAPTER_GAP * self.sample_rate), np.float32)
            writer.write(silence)
            samples += len(silence)
        return samples

    def _blocks(self, number: int) -> Iterator[NDArray[np.float32]]:
        for piece in self._pieces[number]:
            path = path_of(self._folder, piece)
            try:
                with self._soundfile.SoundFile(path) as sound:
                    while len(block := sound.read(_BLOCK, dtype="float32")):
                        yield block
            except self._soundfile.SoundFileError as error:
                raise _removed(path, error) from None

    def _rate_of(self, path: Path) -> int:
        try:
            return int(self._soundfile.info(path).samplerate)
        except self._soundfile.SoundFileError as error:
            raise _removed(path, error) from None


def _removed(path: Path, error: Exception) -> AudioError:
    """Remove a damaged piece and return the error that says so."""
    path.unlink(missing_ok=True)
    return AudioError(f"{path} was damaged ({error}) and is removed; run the command again")


def publish_file(
    work: Path, book: Book, pieces: Sequence[Piece], output: Path, *, loudness: float | None, mark: str
) -> Finished:
    """Write one m4b, m4a or mp3 with chapters.

    work: folder of the pieces; mark: kept in the file's comment, to recognise it
    """
    kind = "mp3" if output.suffix.lower() == ".mp3" else "m4a"
    chapters = _Chapters(work, book, pieces, loudness)
    edges = [0]
    audio = work / f"audio.{kind}"
    with open_writer(audio, chapters.sample_rate, kind) as writer:
        for number in range(len(book.chapters)):
            edges.append(edges[-1] + chapters.write(number, writer))
    times = tuple(
        ChapterTime(chapter.title, start / chapters.sample_rate, end / chapters.sample_rate)
        for chapter, start, end in zip(book.chapters, edges, edges[1:], strict=False)
    )
    with _replacing(output) as temporary:
        if kind == "mp3":
            cover = (book.cover.media_type, book.cover.data) if book.cover else None
            texts = {"TIT2": book.title, "TALB": book.title, "TPE1": book.author, "TCON": "Audiobook", "TENC": mark}
            with temporary.open("wb") as handle, audio.open("rb") as source:
                handle.write(make_tag(texts, cover, times))
                shutil.copyfileobj(source, handle)
        else:
            _mux(audio, temporary, book, times, mark, work)
    audio.unlink(missing_ok=True)
    return Finished(chapters=times, files=(output,))


def _mux(audio: Path, output: Path, book: Book, times: Sequence[ChapterTime], mark: str, work: Path) -> None:
    """Add titles, chapters and the cover to m4a audio, by ffmpeg."""
    facts = {"title": book.title, "album": book.title, "artist": book.author, "genre": "Audiobook", "comment": mark}
    lines = [";FFMETADATA1", *(f"{key}={value.translate(_ESCAPED)}" for key, value in facts.items() if value)]
    for chapter in times:
        span = (f"START={round(1000 * chapter.start)}", f"END={round(1000 * chapter.end)}")
        lines += ["[CHAPTER]", "TIMEBASE=1/1000", *span, f"title={chapter.title.translate(_ESCAPED)}"]
    described = work / "chapters.txt"
    described.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace", newline="\n")
    inputs = ["-i", f"file:{audio}", "-f", "ffmetadata", "-i", f"file:{described}"]
    streams = ["-map", "0:a", "-map_metadata", "1", "-map_chapters", "1"]
    if book.cover is not None:
        picture = work / ("cover.png" if book.cover.media_type == "image/png" else "cover.jpg")
        picture.write_bytes(book.cover.data)
        inputs += ["-i", f"file:{picture}"]
        streams += ["-map", "2:v", "-disposition:v:0", "attached_pic"]
    form = ["-c", "copy", "-fflags", "+bitexact", "-movflags", "+faststart", "-f", "ipod", f"file:{output}"]
    ffmpeg.run([*inputs, *streams, *form])


def publish_folder(
    work: Path,
    book: Book,
    pieces: Sequence[Piece],
    output: Path,
    file_format: str,
    *,
    loudness: float | None,
    mark: str,
) -> Finished:
    """Write a file for each chapter, and a table of contents as JSON; chapters that are there already stay."""
    chapters = _Chapters(work, book, pieces, loudness)
    width = max(2, len(str(len(book.chapters))))
    files, times, start = [], [], 0.0
    for number, chapter in enumerate(book.chapters):
        name = safe_name(f"{number + 1:0{width}d} {chapter.title[:80]}", f"{number + 1:0{width}d}")
        path = output / f"{name}.{file_format}"
        audio = work / f"audio.{file_format}" if file_format == "mp3" else path
        with open_writer(audio, chapters.sample_rate, file_format) as writer:
            seconds = chapters.write(number, writer) / chapters.sample_rate
        if file_format == "mp3":
            texts = {"TIT2": chapter.title, "TALB": book.title, "TPE1": book.author, "TRCK": str(number + 1)}
            cover = (book.cover.media_type, book.cover.data) if book.cover else None
            with _replacing(path) as temporary, temporary.open("wb") as handle, audio.open("rb") as source:
                handle.write(make_tag({**texts, "TCON": "Audiobook"}, cover))
                shutil.copyfileobj(source, handle)
            audio.unlink()
        times.append(ChapterTime(chapter.title, start, start + seconds))
        start += seconds
        files.append(path)
    contents = {
        "title": book.title,
        "author": book.author,
        "language": book.language,
        "comment": mark,
        "chapters": [
            {
                "title": time.title,
                "file": path.name,
                "start": round(time.start, 3),
                "seconds": round(time.end - time.start, 3),
            }
            for time, path in zip(times, files, strict=True)
        ],
    }
    with _replacing(output / CONTENTS) as temporary:
        temporary.write_text(json.dumps(contents, indent=1, ensure_ascii=False), encoding="utf-8", errors="replace")
    return Finished(chapters=tuple(times), files=tuple(files))


def mark_of(output: Path) -> str:
    """Return the mark of a book that was published before; empty when there is none."""
    try:
        if output.is_dir():
            contents = json.loads((output / CONTENTS).read_text(encoding="utf-8"))
            there = all((output / chapter["file"]).is_file() for chapter in contents["chapters"])
            return str(contents["comment"]) if there else ""
        if output.suffix.lower() == ".mp3":
            with output.open("rb") as handle:
                head = handle.read(4096)
            start = head.find(b"TENC")
            size = int.from_bytes(head[start + 4 : start + 8], "big")
            return head[start + 11 : start + 10 + size].decode("utf-8", "replace") if start > 0 else ""
        if output.is_file():
            entries = ["-show_entries", "format_tags=comment", "-of", "csv=p=0", f"file:{output}"]
            return ffmpeg.run(entries, "ffprobe").decode("utf-8", "replace").strip()
    except (OSError, ValueError, KeyError, TypeError, AudioError):  # it is not one of ours
        return ""
    return ""


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise AudioError(f"cannot write {path}: {error.strerror}; choose a writable place with free space") from None
