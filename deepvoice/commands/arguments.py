"""Arguments that several subcommands share: the text, and numbers with limits."""

import argparse
import codecs
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deepvoice.errors import TextError

if TYPE_CHECKING:
    from deepvoice.options import OptionValues
    from deepvoice.text.hygiene import Dropped

MAX_SEED = 2**63 - 1
_ENCODINGS = {  # by byte order mark; UTF-16's is the beginning of UTF-32's
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class UsageError(Exception):
    """The command line makes no sense; the command ends with its usage and status 2."""


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """Add TEXT and --file."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="text to speak; - reads it from standard input")
    parser.add_argument("-f", "--file", metavar="FILE", type=Path, help="read the text from a UTF-8 file; - as above")


def add_voice_argument(parser: argparse.ArgumentParser) -> None:
    """Add --voice."""
    parser.add_argument(
        "--voice", metavar="NAME", help="a voice that `deepvoice voices` lists, or the path of a folder"
    )


def add_speaking_arguments(parser: argparse.ArgumentParser, *, single: bool = True) -> None:
    """Add how the text is read and how it sounds; `speaking_options` makes keywords of `Voice.speak` of them.

    single: without, what is only for single texts is not in the help
    """

    def of_single(text: str) -> str:
        return text if single else argparse.SUPPRESS

    parser.add_argument("--ssml", action="store_true", help=of_single("the text is SSML: <speak>...</speak>"))
    parser.add_argument(
        "--lexicon",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="pronunciations of your own, TOML or PLS; may be repeated, later files count",
    )
    parser.add_argument(
        "--no-normalize", action="store_true", help="the text is in words already: numbers and signs are not read"
    )
    parser.add_argument("--dates", choices=("mdy", "dmy"), default="mdy", help="order of 03/04/2026; default: mdy")
    parser.add_argument(
        "--emoji", choices=("drop", "describe"), default="drop", help="leave emoji out (default), or say their names"
    )
    parser.add_argument(
        "--speed", type=number(0.25, 4, "1.5"), default=1.0, help="rate from 0.25 to 4; 2 is twice as fast"
    )
    parser.add_argument("--pitch", type=number(-12, 12, "-2"), default=0.0, help="shift in semitones, from -12 to 12")
    parser.add_argument("--volume", type=number(0, 10, "0.8"), default=1.0, help="gain from 0 to 10, 1 is unchanged")
    parser.add_argument(
        "--loudness", type=number(-50, -5, "-16"), metavar="LUFS", help="level (EBU R128) of the whole, such as -16"
    )
    parser.add_argument(
        "--lead-in",
        type=number(0, 10, "0.2"),
        default=0.0,
        metavar="SECONDS",
        help=of_single("silence before the first sound"),
    )
    parser.add_argument("--no-question-rise", action="store_true", help="questions do not end high")
    parser.add_argument("--seed", type=seed, help="the same seed gives the same samples; a number, or random")


def speaking_options(arguments: argparse.Namespace) -> "OptionValues":
    """Return the keywords of `Voice.speak` that the arguments stand for; raises TextError for a damaged lexicon."""
    from deepvoice.text.options import TextOptions
    from deepvoice.text.user_lexicon import UserLexicon

    lexicon = None
    for path in arguments.lexicon:
        loaded = UserLexicon.load(path)
        lexicon = lexicon.merged(loaded) if lexicon else loaded
    return {
        "ssml": arguments.ssml,
        "lexicon": lexicon,
        "options": TextOptions(dates=arguments.dates, emoji=arguments.emoji),
        "normalize": not arguments.no_normalize,
        "speed": arguments.speed,
        "pitch": arguments.pitch,
        "volume": arguments.volume,
        "loudness": arguments.loudness,
        "lead_in": arguments.lead_in,
        "question_rise": not arguments.no_question_rise,
        "seed": arguments.seed,
    }


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every subcommand that reads text has."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse text with parts that cannot be spoken or done (status 3)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def read_text(arguments: argparse.Namespace) -> str:
    """Return the text that the arguments name.

    Raises UsageError when there is none or there are two, TextError when it is not readable.
    """
    given = " ".join(arguments.text)
    if given and arguments.file is not None:
        raise UsageError("both TEXT and --file are given; pass one of them")
    from_stdin = given == "-" or str(arguments.file) == "-"
    if arguments.file is not None and not from_stdin:
        try:
            return decode_text(arguments.file.read_bytes(), str(arguments.file))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise TextError(f"cannot read {arguments.file}: {reason}; check the path") from None
    if given and not from_stdin:
        return given
    if arguments.text and not given and not from_stdin:
        raise TextError("the text is empty; pass at least one word")
    if sys.stdin is None or (not from_stdin and sys.stdin.isatty()):
        raise UsageError("there is no text; pass TEXT, --file FILE, or - to read standard input")
    return decode_text(sys.stdin.buffer.read(), "standard input")


def describe_dropped(dropped: "Sequence[Dropped]", most: int = 5) -> str:
    """Name the first few pieces of a text that are not spoken, and count the others."""
    shown = ", ".join(f"{piece.text[:30]!r} ({piece.reason})" for piece in dropped[:most])
    return shown + (f" and {len(dropped) - most} more" if len(dropped) > most else "")


def decode_text(raw: bytes, source: str) -> str:
    """Return bytes as text: UTF-8, or what a byte order mark says; raises TextError, naming the source."""
    for mark, encoding in _ENCODINGS.items():
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    if raw.count(0) * 4 >= len(raw) > 0:  # it would be read letter by letter
        raise TextError(
            f"{source} is not UTF-8 text (a quarter of it or more are zero bytes, as in UTF-16); convert it first, "
            "for example with iconv -f UTF-16LE -t UTF-8"
        )
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
