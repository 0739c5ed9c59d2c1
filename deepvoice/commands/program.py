"""The program behind the command `deepvoice`: its subcommands, streams, signals and exit statuses.

Only audio, and what a command is asked to print, goes to standard output; everything else goes to standard error. Exit
status: 0 done, 1 failed, 2 usage, 3 text refused under --strict, 130 interrupted.
"""

import argparse
import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NamedTuple, TextIO

from deepvoice import __version__
from deepvoice.cli import INTERRUPTED, end_at_once
from deepvoice.commands.arguments import UsageError
from deepvoice.errors import DeepVoiceError

DONE, FAILED, USAGE, REFUSED = 0, 1, 2, 3


class Command(NamedTuple):
    """A subcommand: what it does in a line, and examples for its help."""

    summary: str
    examples: tuple[str, ...]


COMMANDS = {
    "say": Command(
        "speak text into a file, to standard output or to the loudspeaker",
        (
            'deepvoice say "The ferry leaves at dawn."',
            "deepvoice say -f chapter.txt -o chapter.mp3 --speed 1.2",
            "cat notes.txt | deepvoice say - -o - --format flac > notes.flac",
            'deepvoice say "Your code is 2 7 6." -o prompt.wav --format mulaw',
            'deepvoice say "How long is this?" --dry-run',
        ),
    ),
    "batch": Command(
        "speak every row of a text, CSV or JSONL file into a file of its own",
        (
            "deepvoice batch lines.txt -o clips",
            "deepvoice batch prompts.csv -o clips --format opus --text-column sentence --name-column id",
            "deepvoice batch jobs.jsonl -o clips --timings srt --jobs 4",
        ),
    ),
    "book": Command(
        "speak a book with chapters; it goes on where it was stopped",
        (
            "deepvoice book novel.epub -o novel.m4b",
            "deepvoice book notes.md -o notes --format opus",
            "deepvoice book novel.epub --list",
        ),
    ),
    "phonemes": Command(
        "show how text will be pronounced, without audio",
        ('deepvoice phonemes "Dr. Smith paid $3.50 in 1997."', "deepvoice phonemes --json -f chapter.txt"),
    ),
    "voices": Command("list the voices of this installation", ("deepvoice voices", "deepvoice voices --json")),
    "serve": Command(
        "serve speech over HTTP, with OpenAI's speech contract",
        ("deepvoice serve", "deepvoice serve --host 0.0.0.0 --api-key long-and-random --lexicon words.toml"),
    ),
    "align": Command(
        "find when each word and phone of a recording is heard, and whether its text was read",
        (
            "deepvoice align talk.mp3 talk.txt -o talk.TextGrid",
            'deepvoice align prompt.wav --text "Please enter your password."',
            "deepvoice align corpus --format TextGrid --format ctm -o aligned",
            "deepvoice align corpus --adapt my-aligner",
        ),
    ),
    "bench": Command(
        "measure the speed of this machine beside its limits and other programs",
        (
            "deepvoice bench --quick",
            "deepvoice bench --json bench.json --plot bench.png",
            "deepvoice bench --only whole --only peers --piper piper/bin/python",
        ),
    ),
    "evaluate": Command(
        "speak sentences and score them: word errors, predicted quality, noise, distance to recordings",
        (
            "deepvoice evaluate sentences.txt -o report",
            "deepvoice evaluate sentences.tsv --reference recordings --json figures.json",
            "deepvoice evaluate sentences.txt --recogniser none --no-mos --speed 2",
        ),
    ),
    "train": Command(
        "train a module, in one process or many, going on where it was stopped",
        (
            "deepvoice train duration --data data/duration --out runs/duration",
            "deepvoice train vocoder config.toml --data corpus/manifest.jsonl --out runs/vocoder --processes 2",
            "torchrun --nproc-per-node 4 -m deepvoice train f0 --data data/f0 --out runs/f0",
            "deepvoice train --plan --run runs/vocoder --workers 8 1024",
        ),
    ),
    "prepare": Command(
        "check a folder of recordings and their texts, and make a corpus of it to train on",
        (
            "deepvoice prepare LJSpeech-1.1 -o corpus",
            "deepvoice prepare takes -o corpus --table takes/second.tsv --margin 0.2",
        ),
    ),
    "doctor": Command("check this installation and show what it can do", ("deepvoice doctor",)),
    "completion": Command(
        "print a script that completes `deepvoice` in a shell",
        (
            'eval "$(deepvoice completion bash)"',
            "deepvoice completion zsh > ~/.zfunc/_deepvoice",
            "deepvoice completion fish > ~/.config/fish/completions/deepvoice.fish",
        ),
    ),
}


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _open_missing_streams()
    _make_consoles_safe()
    warnings.showwarning = _show_warning
    try:
        words = sys.argv[1:] if argv is None else argv
        chosen = next((word for word in words if not word.startswith("-")), None)
        parser, subparsers = parsers(chosen if chosen in COMMANDS else None)
        arguments = parser.parse_args(argv)
    except SystemExit as exit_:  # argparse has printed usage or help
        return exit_.code if isinstance(exit_.code, int) else USAGE
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return USAGE
    return _run(arguments, subparsers[arguments.command])


def _run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run the chosen command; every error that is ours becomes one line and a status."""
    try:
        with _handling_signals():
            status: int = importlib.import_module(f"deepvoice.commands.{arguments.command}").run(arguments)
            sys.stdout.flush()
            return status
    except UsageError as error:
        parser.print_usage(sys.stderr)
        print(f"deepvoice {arguments.command}: {error}", file=sys.stderr)
        return USAGE
    except DeepVoiceError as error:
        print(f"deepvoice: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("deepvoice: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has gone
        _discard_unwritten()
        return FAILED
    except OSError as error:
        _discard_unwritten()
        print(f"deepvoice: {error}{_remedy(error)}", file=sys.stderr)
        return FAILED
    except MemoryError:
        print("deepvoice: out of memory; split the text or close other programs", file=sys.stderr)
        return FAILED


def _remedy(error: OSError) -> str:
    """Return what to do about an error of the system; a message of ours, which has no number, says so itself."""
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return "" if error.errno is None else "; check the path"
    return "; check free space and permissions"


def parsers(only: str | None = None) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Build the parser of the command line, and those of the subcommands by name.

    only: the one whose arguments are wanted, to save time; None declares those of all
    """
    parser = argparse.ArgumentParser(
        prog="deepvoice",
        description="Speak text with a small neural voice, offline.",
        epilog="`deepvoice COMMAND --help` explains a command, with examples.",
    )
    parser.add_argument("--version", action="version", version=f"deepvoice {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    subparsers = {}
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog="\n".join(("examples:", *(f"  {example}" for example in command.examples))),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if only in (None, name):
            importlib.import_module(f"deepvoice.commands.{name}").add_arguments(subparser)
        subparsers[name] = subparser
    return parser, subparsers


def _open_missing_streams() -> None:
    """Replace streams that the caller has closed (`>&-`), which Python leaves as None.

    Messages then go nowhere instead of into the audio; what is printed to a closed standard output is an error.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # every write fails
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _make_consoles_safe() -> None:
    """Escape what a console cannot show (emoji on cp1252) instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"deepvoice: warning: {message}", file=sys.stderr)


def _discard_unwritten() -> None:
    """Point standard output elsewhere when it takes no more, or Python complains once again when it closes it."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):  # a replaced stream may have no number
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _handling_signals() -> Iterator[None]:
    """Let an interrupt, a request to end, or a terminal that closes, remove unfinished files on the ordinary way out.

    What is ignored stays so (nohup). A second interrupt ends the process at once, and so does one after the command.
    """
    try:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _terminate)
        if signal.getsignal(signal.SIGINT) is end_at_once:
            signal.signal(signal.SIGINT, _interrupt)
    except ValueError:  # signals can only be set in the main thread
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, end_at_once)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, end_at_once)
    raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    """End through the ordinary way out, so that unfinished files are removed."""
    raise SystemExit(128 + number)
