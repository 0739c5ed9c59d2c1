"""The command `deepvoice`: say, phonemes, voices, doctor.

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
from collections.abc import Sequence
from types import FrameType
from typing import TextIO

from deepvoice import __version__
from deepvoice.commands.arguments import UsageError
from deepvoice.errors import DeepVoiceError

DONE, FAILED, USAGE, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130

COMMANDS = {
    "say": "speak text into a file, to standard output or to the loudspeaker",
    "phonemes": "show how text will be pronounced, without audio",
    "serve": "serve speech over HTTP",
    "voices": "list the voices of this installation",
    "doctor": "check this installation and show what it can do",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _open_missing_streams()
    _make_consoles_safe()
    warnings.showwarning = _show_warning
    try:
        parser, subparsers = _parser()
        arguments = parser.parse_args(argv)
    except SystemExit as exit_:  # argparse has printed usage or help
        return exit_.code if isinstance(exit_.code, int) else USAGE
    except KeyboardInterrupt:
        return _interrupted()
    if arguments.command is None:
        parser.print_usage(sys.stderr)
        return USAGE
    return _run(arguments, subparsers[arguments.command])


def _run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run the chosen command; every error that is ours becomes one line and a status."""
    _catch_signals()
    try:
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
        return _interrupted()
    except BrokenPipeError:  # the reader has gone
        _discard_unwritten()
        return FAILED
    except OSError as error:
        _discard_unwritten()
        print(f"deepvoice: {error}; check free space and permissions", file=sys.stderr)
        return FAILED
    except MemoryError:
        print("deepvoice: out of memory; split the text or close other programs", file=sys.stderr)
        return FAILED


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(prog="deepvoice", description="Speak text with a small neural voice, offline.")
    parser.add_argument("--version", action="version", version=f"deepvoice {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    subparsers = {}
    for name, summary in COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
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


def _catch_signals() -> None:
    """Let a request to end, or a terminal that closes, remove unfinished files; what is ignored stays so (nohup)."""
    with contextlib.suppress(ValueError):  # signals can only be set in the main thread
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, _terminate)


def _interrupted() -> int:
    print("deepvoice: interrupted", file=sys.stderr)
    return INTERRUPTED


def _terminate(number: int, frame: FrameType | None) -> None:
    """End through the ordinary way out, so that unfinished files are removed."""
    raise SystemExit(128 + number)
