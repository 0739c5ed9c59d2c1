"""`deepvoice book`: a book into an audio book with chapters, going on where it was stopped."""

import argparse
import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deepvoice.audio.formats import ALIASES, FORMATS, lookup
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
    from deepvoice.book.model import Book
    from deepvoice.book.plan import Piece
    from deepvoice.book.publish import Finished
    from deepvoice.options import OptionValues

_FILES = (".m4b", ".m4a", ".mp3")  # in which chapters can be named
_LOUDNESS = -18.0  # LUFS of every chapter, unless another is asked for: what audio books have
_PACE = 15.0  # characters a second, for the estimate of --list
_LOCK = ".lock"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("input", type=Path, metavar="FILE", help=".epub .html .md .txt or .pdf")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help=".m4b or .mp3 with chapters, or a folder with a file for each"
    )
    parser.add_argument(
        "--format", choices=(*FORMATS, *ALIASES), metavar="NAME", help="of the files in a folder; default: mp3"
    )
    parser.add_argument("--list", action="store_true", help="list the chapters and how long they will be, and end")
    parser.add_argument("--chapters", metavar="LIST", help="only these, by their numbers, such as 1-3,7")
    parser.add_argument("--title", help="title of the book, instead of the one in it")
    parser.add_argument("--author", help="author, instead of the one in it")
    parser.add_argument("--cover", type=Path, metavar="FILE", help="cover, a JPEG or PNG picture")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="parts spoken at a time; default: one a core")
    parser.add_argument("--ray", action="store_true", help="speak on a Ray cluster (extra `ray`)")
    parser.add_argument("--keep", action="store_true", help="keep the parts: after a change only that is spoken")
    add_voice_argument(parser)
    add_speaking_arguments(parser, single=False)
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Speak a book; returns the exit status."""
    from deepvoice.book.reader import MARKED, read_book
    from deepvoice.machine import usable_cores

    _check(arguments)
    book = _edited(read_book(arguments.input, decode_text), arguments)
    if not arguments.quiet:
        for note in book.notes:
            print(f"deepvoice: warning: not spoken: {note}", file=sys.stderr)
        if book.language and not book.language.lower().startswith("en"):
            print(f"deepvoice: warning: the book is in {book.language!r}; the voice speaks English", file=sys.stderr)
    if arguments.list:
        _list(book)
        return 0
    jobs = usable_cores() if arguments.jobs is None else arguments.jobs
    return _Project(arguments, book, arguments.input.suffix.lower() in MARKED).make(jobs)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what makes no sense, before any work."""
    output = arguments.output
    if output is None:
        if not arguments.list:
            raise UsageError("there is no --output; name a file such as book.m4b, or a folder")
    elif str(output) == "-":
        raise UsageError("a book cannot go to standard output, since its chapters come last; name a file or a folder")
    elif output.suffix and not output.is_dir() and output.suffix.lower() not in _FILES:
        raise UsageError(
            f"{output.name!r} cannot hold chapters; expected a name ending in {' '.join(_FILES)}, or a folder: "
            f"-o {output.stem} --format {output.suffix[1:]}"
        )
    elif output.suffix.lower() in _FILES and not output.is_dir() and arguments.format:
        raise UsageError("--format is that of the files in a folder; name a folder with -o")
    if arguments.ssml or arguments.lead_in:
        raise UsageError("--ssml and --lead-in are for single texts; a book has neither")
    if arguments.jobs is not None and not 1 <= arguments.jobs <= 256:
        raise UsageError(f"--jobs is {arguments.jobs}; expected 1 to 256")


def _edited(book: "Book", arguments: argparse.Namespace) -> "Book":
    """Return the book with the title, author, cover and chapters that the arguments ask for."""
    from deepvoice.book.model import cover_of

    if arguments.cover is not None:
        try:
            cover = cover_of(arguments.cover.read_bytes())
        except OSError as error:
            raise TextError(f"cannot read {arguments.cover}: {error.strerror}; check the path") from None
        if cover is None:
            raise TextError(f"{arguments.cover} is neither JPEG nor PNG; convert it first")
        book = replace(book, cover=cover)
    if arguments.chapters is not None:
        wanted = _numbers(arguments.chapters, len(book.chapters))
        book = replace(book, chapters=tuple(book.chapters[number - 1] for number in wanted))
    return replace(book, title=arguments.title or book.title, author=arguments.author or book.author)


def _numbers(text: str, most: int) -> list[int]:
    """Return the numbers of a list such as "1-3,7"."""
    wanted: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= most:
            raise UsageError(f"--chapters is {text!r}; expected numbers from 1 to {most}, such as 1-3,7: see --list")
        wanted.update(range(first, last + 1))
    return sorted(wanted)


def _list(book: "Book") -> None:
    print(f"{book.title}{', ' + book.author if book.author else ''}")
    for number, chapter in enumerate(book.chapters, 1):
        print(f"{number:4d}  {_clock(chapter.characters / _PACE):>8}  {chapter.title}")
    print(f"      {_clock(sum(c.characters for c in book.chapters) / _PACE):>8}  in all, at the usual rate")


class _Project:
    """One book on its way to one output."""

    def __init__(self, arguments: argparse.Namespace, book: "Book", marked: bool) -> None:
        from deepvoice.book.plan import piece_options, plan_book

        self._arguments, self._book = arguments, book
        self._output: Path = arguments.output
        self._work = self._output.with_name(f"{self._output.name}.parts")
        given = speaking_options(arguments)
        self._options: OptionValues = piece_options(given, marked)
        self._loudness = _LOUDNESS if given.get("loudness") is None else given["loudness"]
        self._pieces = plan_book(book, arguments.voice, given, marked)
        self._is_file = self._output.suffix.lower() in _FILES and not self._output.is_dir()
        self._format = lookup(arguments.format or "mp3") or "mp3"

    def make(self, jobs: int) -> int:
        """Speak what is missing and put everything together; returns the exit status."""
        from deepvoice.audio.ffmpeg import find_program
        from deepvoice.book.publish import mark_of, publish_file, publish_folder
        from deepvoice.workers import exclusive

        if self._is_file and not self._output.parent.is_dir():
            raise AudioError(f"cannot write {self._output}: its folder does not exist; create it first")
        if self._is_file and self._output.suffix.lower() != ".mp3":
            find_program()  # said now, not after hours
        mark = f"deepvoice {self._key()}"
        if mark_of(self._output) == mark:
            self._say(f"{self._output}: complete already, nothing has changed")
            return 0
        started = time.perf_counter()
        with exclusive(self._work, _LOCK):
            self._speak(jobs)
            dropped = self._dropped()
            if dropped and self._arguments.strict:
                print(f"deepvoice: refused: not spoken: {', '.join(dropped[:5])} (--strict)", file=sys.stderr)
                return 3
            parts = (self._work, self._book, self._pieces, self._output)
            if self._is_file:
                done = publish_file(*parts, loudness=self._loudness, mark=mark)
            else:
                with exclusive(self._output, _LOCK):
                    done = publish_folder(*parts, self._format, loudness=self._loudness, mark=mark)
                (self._output / _LOCK).unlink(missing_ok=True)
        if not self._arguments.keep:
            shutil.rmtree(self._work)
        self._report(done, dropped, time.perf_counter() - started)
        return 0

    def _speak(self, jobs: int) -> None:
        from deepvoice.book.speak import missing, speak_missing

        waiting = missing(self._work, self._pieces)
        progress = _Progress(self._book, self._pieces, waiting, quiet=self._arguments.quiet)
        ray = self._arguments.ray
        for spoken in speak_missing(self._work, self._pieces, self._arguments.voice, self._options, jobs=jobs, ray=ray):
            progress.note(spoken.piece)

    def _dropped(self) -> list[str]:
        """Return what of this book was not spoken, in this run or an earlier one."""
        from deepvoice.book.speak import read_journal

        known = read_journal(self._work)
        return [text for piece in self._pieces for text in known.get(piece.key, ())]

    def _key(self) -> str:
        """Return a hash of everything that the published book depends on."""
        cover = hashlib.sha256(self._book.cover.data).hexdigest() if self._book.cover else ""
        titles = [chapter.title for chapter in self._book.chapters]
        pieces = [(piece.key, piece.chapter) for piece in self._pieces]
        facts = [self._book.title, self._book.author, cover, titles, pieces, self._loudness, self._format]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    def _report(self, done: "Finished", dropped: Sequence[str], taken: float) -> None:
        if dropped:
            shown = ", ".join(dropped[:5]) + (f" and {len(dropped) - 5} more" if len(dropped) > 5 else "")
            self._say(f"deepvoice: warning: not spoken: {shown}")
        count = len(done.chapters)
        self._say(
            f"{self._output}: {count} chapter{'' if count == 1 else 's'}, {_clock(done.seconds)} of speech in "
            f"{_clock(taken)}"
        )

    def _say(self, line: str) -> None:
        if not self._arguments.quiet:
            print(line, file=sys.stderr)


class _Progress:
    """How far the speaking has come, on standard error."""

    def __init__(self, book: "Book", pieces: "Sequence[Piece]", waiting: "Sequence[Piece]", *, quiet: bool) -> None:
        self._book, self._quiet = book, quiet
        self._all = sum(len(piece.text) for piece in pieces)
        self._left = sum(len(piece.text) for piece in waiting)
        self._to_do = self._left
        self._open = {number: 0 for number in range(len(book.chapters))}
        for piece in waiting:
            self._open[piece.chapter] += 1
        self._started = time.perf_counter()
        if not quiet and self._left < self._all:
            print(f"{self._share()} % was spoken before; going on", file=sys.stderr)

    def note(self, piece: "Piece") -> None:
        """Show that a piece has been spoken."""
        self._left -= len(piece.text)
        self._open[piece.chapter] -= 1
        if self._quiet:
            return
        elapsed = time.perf_counter() - self._started
        eta = _clock(elapsed * self._left / max(1, self._to_do - self._left))
        title = self._book.chapters[piece.chapter].title
        line = f"{self._share():3d} %, {eta} to go, chapter {piece.chapter + 1} of {len(self._open)}: {title[:50]}"
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="" if self._left else "\n", file=sys.stderr, flush=True)
        elif not self._open[piece.chapter]:
            print(line, file=sys.stderr, flush=True)

    def _share(self) -> int:
        return 100 * (self._all - self._left) // max(1, self._all)


def _clock(seconds: float) -> str:
    """Show a length of time as h:mm:ss or m:ss."""
    minutes, whole = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{whole:02d}" if hours else f"{minutes}:{whole:02d}"
