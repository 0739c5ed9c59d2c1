"""`deepvoice align`: when each word and phone of a recording is heard, and whether its text was read at all."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deepvoice.commands.arguments import UsageError, decode_text
from deepvoice.errors import ConfigError, DeepVoiceError, TextError

if TYPE_CHECKING:
    from deepvoice.alignment.jobs import Job, Outcome
    from deepvoice.text.user_lexicon import UserLexicon

_FORMATS = ("TextGrid", "json", "ctm")
_SHOWN = 20  # of each kind listed; results.jsonl and refused.tsv have all
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
REJECTED = 3  # exit status under --strict


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "audio", type=Path, metavar="AUDIO",
        help="a recording of any format and length; or a folder with metadata.csv, manifest.jsonl, a table, or a .txt "
        "for each sound",
    )  # fmt: skip
    parser.add_argument("file", type=Path, nargs="?", metavar="TEXT", help="file with the text of the one recording")
    parser.add_argument("--text", help="the text itself")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PATH",
        help="of one recording: a file ending in .TextGrid, .json or .ctm (default: ctm to standard output); of a "
        "folder: a folder (default: DIR/aligned)",
    )  # fmt: skip
    parser.add_argument(
        "--format", action="append", choices=_FORMATS, metavar="NAME",
        help="of the files of a folder: TextGrid, json or ctm; may be repeated; default: TextGrid and json",
    )  # fmt: skip
    parser.add_argument("--table", type=Path, metavar="FILE", help="the table with the texts, where there are several")
    parser.add_argument("--lexicon", type=Path, metavar="FILE", help="pronunciations of your own, TOML or PLS")
    parser.add_argument("--model", metavar="VOICE", help="a voice, or a folder that --adapt has written")
    parser.add_argument(
        "--adapt", type=Path, metavar="DIR",
        help="first train the aligner on the recordings of the folder, and keep it in DIR (needs the [train] extra)",
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, metavar="N", help="with --adapt: stop training after so long")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="processes; default: one for each core")
    parser.add_argument(
        "--strict", action="store_true", help="status 3 when a recording does not say its text, or cannot be aligned"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace) -> int:
    """Align; returns the exit status: 1 when nothing could be aligned, 3 under --strict when anything is wrong."""
    from deepvoice.machine import usable_cores

    jobs = usable_cores() if arguments.jobs is None else arguments.jobs
    if not 1 <= jobs <= 256:
        raise UsageError(f"--jobs is {jobs}; expected 1 to 256")
    if arguments.adapt is not None and (arguments.model is not None or not arguments.audio.is_dir()):
        raise UsageError("--adapt needs a folder of recordings, and no --model")
    if arguments.minutes is not None and (arguments.adapt is None or not arguments.minutes > 0):
        raise UsageError("--minutes needs --adapt, and a number above 0")
    for name in _THREADS:  # one thread a process: together they use the cores better
        os.environ.setdefault(name, "1")
    if arguments.audio.is_dir():
        if arguments.file is not None or arguments.text is not None:
            raise UsageError(f"{arguments.audio} is a folder, which has the texts; leave TEXT out")
        return _align_folder(arguments, jobs)
    return _align_one(arguments)


def _align_one(arguments: argparse.Namespace) -> int:
    """Align one recording with one text."""
    from deepvoice.alignment.aligner import Aligner
    from deepvoice.alignment.formats import WRITERS, ctm
    from deepvoice.alignment.jobs import write

    if arguments.table or arguments.format:
        raise UsageError("--table and --format are for folders; the suffix of -o is the format of one recording")
    text = _one_text(arguments)
    suffix = arguments.output.suffix.removeprefix(".") if arguments.output else "ctm"
    written = next((name for name in WRITERS if name.lower() == suffix.lower()), None)
    if written is None:
        raise UsageError(
            f"{str(arguments.output)!r} is no alignment; expected a name ending in .TextGrid, .json or .ctm"
        )
    name = arguments.audio.stem
    try:
        found = Aligner.load(arguments.model).align_file(arguments.audio, text, lexicon=_lexicon(arguments))
    except TextError as error:
        raise TextError(f"{arguments.file}: {error}" if arguments.file else str(error)) from None
    if arguments.output:
        write(arguments.output, found, written, name)
    else:
        sys.stdout.write(ctm(found, name))
    if not arguments.quiet:
        for reason in found.reasons:
            print(f"{arguments.audio}: {reason}", file=sys.stderr)
    return REJECTED if arguments.strict and not found.accepted else 0


def _one_text(arguments: argparse.Namespace) -> str:
    if (arguments.file is None) == (arguments.text is None):
        raise UsageError("give the text of the recording once: a file, or --text '...'")
    if arguments.text is not None:
        return str(arguments.text)
    _check_order(arguments.audio, arguments.file)
    try:
        return decode_text(arguments.file.read_bytes(), str(arguments.file))
    except OSError as error:
        raise TextError(f"cannot read {arguments.file}: {error.strerror}; check the path") from None


def _check_order(audio: Path, text: Path) -> None:
    """Raise UsageError where the names of the files say that they are swapped, or that both are recordings."""
    from deepvoice.recipes.recordings.layouts import is_sound

    if is_sound(text) and not is_sound(audio):
        raise UsageError(f"{audio} and {text} are swapped; expected the recording first, then its text")
    if is_sound(text):
        raise UsageError(f"{text} is a recording too; expected a recording, then a file with its text")


def _lexicon(arguments: argparse.Namespace) -> "UserLexicon | None":
    from deepvoice.text.user_lexicon import UserLexicon

    return UserLexicon.load(arguments.lexicon) if arguments.lexicon else None


def _align_folder(arguments: argparse.Namespace, jobs: int) -> int:
    """Align the recordings of a folder."""
    from deepvoice.alignment.jobs import FAILED, align_all, write_refused

    recordings, refused = _recordings(arguments)
    out = arguments.output or arguments.audio / "aligned"
    model = arguments.model
    if arguments.adapt is not None:
        _adapt(arguments, jobs)
        model = str(arguments.adapt.resolve())
    started = time.perf_counter()
    bar = _Progress(arguments.quiet, started)
    formats = tuple(dict.fromkeys(arguments.format or ("TextGrid", "json")))
    outcomes, again = align_all(
        recordings, out, formats, model=model, lexicon=_lexicon(arguments), processes=jobs, tell=bar
    )
    write_refused(out, refused)
    if not arguments.quiet:
        _tell(outcomes, refused, out, again, time.perf_counter() - started)
    if all(outcome.status == FAILED for outcome in outcomes):
        return 1
    return REJECTED if arguments.strict and (refused or any(o.reasons for o in outcomes)) else 0


def _recordings(arguments: argparse.Namespace) -> "tuple[list[Job], list[tuple[str, str]]]":
    """Return the recordings of a folder with their texts, and what is none, with the reason."""
    from deepvoice.alignment.jobs import Job
    from deepvoice.recipes.recordings.layouts import find, sounds_below

    folder = arguments.audio
    manifest = folder / "manifest.jsonl"
    if arguments.table is None and manifest.is_file():
        jobs = _of_manifest(manifest)
        named = {job.path.resolve() for job in jobs}
        extra = [path for path in sounds_below(folder) if path.resolve() not in named]
        return jobs, [(str(path), "no line of the manifest names it") for path in extra]
    found = find(folder, arguments.table)
    jobs = [Job(name=recording.id, path=recording.path, text=recording.text) for recording in found.recordings]
    if not jobs:
        raise ConfigError(f"{folder} has no recording with a text: {found.refused[0].reason if found.refused else ''}")
    return jobs, [(refused.place, refused.reason) for refused in found.refused]


def _of_manifest(manifest: Path) -> "list[Job]":
    from deepvoice.alignment.jobs import Job
    from deepvoice.resume import safe_name

    jobs: dict[str, Job] = {}
    for number, line in enumerate(decode_text(manifest.read_bytes(), str(manifest)).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            audio, text = str(row["audio"]), str(row["text"])
        except (ValueError, KeyError, TypeError):
            raise ConfigError(f'{manifest}:{number}: expected {{"audio": file, "text": words}} in each line') from None
        name = safe_name(str(row.get("id", Path(audio).stem)), f"{number:06d}")
        if name.casefold() in jobs:
            raise ConfigError(f"{manifest}:{number}: the id {name!r} is used twice; ids must differ")
        jobs[name.casefold()] = Job(name=name, path=manifest.parent / audio, text=text)
    if not jobs:
        raise ConfigError(f"{manifest} has no rows; expected a recording and its text in each line")
    return list(jobs.values())


def _adapt(arguments: argparse.Namespace, jobs: int) -> None:
    try:
        from deepvoice.recipes.segmentation.adapt import adapt
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deepvoice"):
            raise
        raise DeepVoiceError(
            f"--adapt trains a network and needs {error.name}; install it with pip install 'deepvoice[train]'"
        ) from None
    adapt(arguments.audio, arguments.adapt, table=arguments.table, minutes=arguments.minutes, jobs=jobs)


class _Progress:
    """Says on standard error how far it is: always on a terminal, every ten seconds elsewhere."""

    def __init__(self, quiet: bool, started: float) -> None:
        self._quiet, self._started, self._shown = quiet, started, started

    def __call__(self, done: int, all_: int) -> None:
        now = time.perf_counter()
        terminal = sys.stderr.isatty()
        if self._quiet or (done < all_ and now - self._shown < (0.2 if terminal else 10.0)):
            return
        self._shown = now
        left = (now - self._started) / done * (all_ - done)
        line = f"{done} of {all_} recordings, {left:.0f} s left"
        end = "" if terminal and done < all_ else "\n"
        print(f"\r{line} \x1b[K" if terminal else line, end=end, file=sys.stderr, flush=True)


def _tell(
    outcomes: "Sequence[Outcome]", refused: Sequence[tuple[str, str]], out: Path, again: int, seconds: float
) -> None:
    """Say on standard error what became of the recordings."""
    from deepvoice.alignment.jobs import FAILED, REFUSED, REJECTED, RESULTS

    doubtful = [(o.audio, f"{o.status}: {'; '.join(o.reasons)}") for o in outcomes if o.reasons]
    for listed, file in ((refused, REFUSED), (doubtful, RESULTS)):
        for place, reason in listed[:_SHOWN]:
            print(f"{place}: {reason}", file=sys.stderr)
        if len(listed) > _SHOWN:
            print(f"and {len(listed) - _SHOWN} more: {out / file}", file=sys.stderr)
    count = {status: sum(o.status == status for o in outcomes) for status in (FAILED, REJECTED)}
    sound = sum(o.seconds for o in outcomes)
    unread, words = sum(len(o.unread) for o in outcomes), sum(o.words for o in outcomes)
    print(
        f"{len(outcomes)} recordings ({sound / 60:.1f} min) -> {out} in {seconds:.0f} s"
        + (f"; {again} were done before" if again else "")
        + f"; {unread} of {words} words not read; {count[REJECTED]} recordings rejected, {count[FAILED]} failed"
        + (f", {len(refused)} files or lines without a partner" if refused else ""),
        file=sys.stderr,
    )
