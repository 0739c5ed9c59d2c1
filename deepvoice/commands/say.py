"""`deepvoice say`: text -> an audio file, standard output or the loudspeaker."""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deepvoice.commands.arguments import (
    UsageError,
    add_common_arguments,
    add_text_arguments,
    add_voice_argument,
    describe_dropped,
    number,
    read_text,
    seed,
)

if TYPE_CHECKING:
    from deepvoice.audio.io import AudioWriter
    from deepvoice.pipeline import SpeechStream
    from deepvoice.speech import Report

_FORMATS = ("wav", "flac", "mp3", "ogg", "opus")
_SHOWN = 8  # unknown words named in the summary
_MANY_SENTENCES = 50  # beyond it a streamed wav declares an unknown length rather than wait for all durations


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text_arguments(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write; - is standard output; default: play it")
    parser.add_argument(
        "--format", choices=_FORMATS, help="format of the audio; default: from FILE's suffix, wav for -"
    )
    add_voice_argument(parser)
    parser.add_argument(
        "--speed", type=number(0.25, 4, "1.5"), default=1.0, help="rate from 0.25 to 4; 2 is twice as fast"
    )
    parser.add_argument("--pitch", type=number(-12, 12, "-2"), default=0.0, help="shift in semitones, from -12 to 12")
    parser.add_argument("--volume", type=number(0, 10, "0.8"), default=1.0, help="gain from 0 to 10, 1 is unchanged")
    parser.add_argument("--seed", type=seed, help="the same seed gives the same samples; a number, or random")
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Speak; returns the exit status."""
    text = read_text(arguments)
    if arguments.output == "":
        raise UsageError("--output is empty; name a file, or - for standard output")
    if arguments.output == "-" and sys.stdout.isatty():
        raise UsageError("audio would go to the terminal; redirect standard output, or name a file")
    from deepvoice.audio.io import format_of
    from deepvoice.pipeline import Voice

    if arguments.output not in (None, "-"):
        format_of(arguments.output, arguments.format)  # an unknown suffix is refused before any work
    started = time.perf_counter()
    stream = Voice.load(arguments.voice).stream(
        text,
        speed=arguments.speed,
        pitch=arguments.pitch,
        volume=arguments.volume,
        seed=arguments.seed,
        times=False,
    )
    if arguments.strict:
        stream.read_all()
        if stream.report.dropped:
            dropped = describe_dropped(stream.report.dropped)
            print(f"deepvoice: refused: not spoken: {dropped} (--strict)", file=sys.stderr)
            return 3
    samples = 0
    with _open(arguments, stream) as writer:
        for piece in stream:
            writer.write(piece)
            samples += len(piece)
    if not arguments.quiet:
        _explain(stream.report)
        seconds, taken = samples / stream.sample_rate, time.perf_counter() - started
        name = {None: "played", "-": "standard output"}.get(arguments.output, arguments.output)
        print(f"{name}: {seconds:.2f} s of speech in {taken:.2f} s (seed {stream.report.seed})", file=sys.stderr)
    return 0


@contextlib.contextmanager
def _open(arguments: argparse.Namespace, stream: "SpeechStream") -> Iterator["AudioWriter"]:
    """Open where the audio goes."""
    from deepvoice.audio import io

    if arguments.output is None:
        from deepvoice.audio.playback import open_player

        with open_player(stream.sample_rate) as writer:
            yield writer
    elif arguments.output == "-":
        known = stream.count_samples() if stream.read_all(_MANY_SENTENCES) else None
        with io.open_stream(sys.stdout.buffer, stream.sample_rate, arguments.format or "wav", known) as writer:
            yield writer
    else:
        with io.open_writer(arguments.output, stream.sample_rate, arguments.format) as writer:
            yield writer


def _explain(report: "Report") -> None:
    """Say on standard error what the text lost and what was guessed."""
    if report.dropped:
        print(f"deepvoice: warning: not spoken: {describe_dropped(report.dropped)}", file=sys.stderr)
    if report.unknown:
        words = ", ".join(report.unknown[:_SHOWN])
        more = f" and {len(report.unknown) - _SHOWN} more" if len(report.unknown) > _SHOWN else ""
        print(f"deepvoice: not in the lexicon, pronunciation guessed: {words}{more}", file=sys.stderr)
