"""Arguments that several subcommands share: the text, and numbers with limits."""

import argparse
import codecs
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deepvoice.errors import TextError

if TYPE_CHECKING:
    from deepvoice.text.hygiene import Dropped

MAX_SEED = 2**63 - 1
_BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class UsageError(Exception):
    """The command line makes no sense; the command ends with its usage and status 2."""


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Add TEXT and --file."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="text to speak; - reads it from standard input")
    parser.add_argument("-f", "--file", metavar="FILE", type=Path, help="read the text from a UTF-8 file")


def add_voice_argument(parser: argparse.ArgumentParser) -> None:
    """Add --voice."""
    parser.add_argument(
        "--voice", metavar="NAME", help="a voice that `deepvoice voices` lists, or the path of a folder"
    )


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every subcommand that reads text has."""
    parser.add_argument("--strict", action="store_true", help="refuse text with parts that cannot be spoken (status 3)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def read_text(arguments: argparse.Namespace) -> str:
    """Return the text that the arguments name.

    Raises UsageError when there is none or there are two, TextError when it is not readable.
    """
    given = " ".join(arguments.text)
    if given and arguments.file is not None:
        raise UsageError("both TEXT and --file are given; pass one of them")
    if arguments.file is not None:
        try:
            return _decode(arguments.file.read_bytes(), str(arguments.file))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise TextError(f"cannot read {arguments.file}: {reason}; check the path") from None
    if given and given != "-":
        return given
    if arguments.text and not given:
        raise TextError("the text is empty; pass at least one word")
    if given != "-" and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError("there is no text; pass TEXT, --file FILE, or - to read standard input")
    return _decode(sys.stdin.buffer.read(), "standard input")


def describe_dropped(dropped: "Sequence[Dropped]", most: int = 5) -> str:
    """Name the first few pieces of a text that are not spoken, and count the others."""
    shown = ", ".join(f"{piece.text[:30]!r} ({piece.reason})" for piece in dropped[:most])
    return shown + (f" and {len(dropped) - most} more" if len(dropped) > most else "")


def _decode(raw: bytes, source: str) -> str:
    if raw.startswith(_BYTE_ORDER_MARKS):
        return raw.decode("utf-16", errors="replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextError(
            f"{source} is not UTF-8 text (byte {error.start} is 0x{raw[error.start]:02x}); convert it first, "
            "for example with iconv -t UTF-8"
        ) from None


def number(low: float, high: float, example: str) -> Callable[[str], float]:
    """Return an argparse type for a number within limits."""

    def convert(value: str) -> float:
        try:
            result = float(value)
        except ValueError:
            result = float("nan")
        if not low <= result <= high:
            raise argparse.ArgumentTypeError(f"{value!r} is not a number from {low:g} to {high:g}; try {example}")
        return result

    return convert


def seed(value: str) -> int | Literal["random"]:
    """Argparse type of --seed."""
    if value == "random":
        return "random"
    if value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= MAX_SEED:
        return int(value)
    raise argparse.ArgumentTypeError(f"{value!r} is not a whole number from 0 to {MAX_SEED} or the word random; try 7")
