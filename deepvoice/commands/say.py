"""`deepvoice say`: text -> an audio file, standard output or the loudspeaker."""

import argparse
import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from deepvoice.audio.formats import ALIASES, FORMATS, output_rate
from deepvoice.commands.arguments import (
    UsageError,
    add_common_arguments,
    add_speaking_arguments,
    add_text_arguments,
    add_voice_argument,
    describe_dropped,
    read_text,
    speaking_options,
)
from deepvoice.errors import AudioError

if TYPE_CHECKING:
    from deepvoice.audio.io import AudioWriter
    from deepvoice.pipeline import SpeechStream
    from deepvoice.speech import Report

_SHOWN = 8  # unknown words named in the summary
_SHOWN_NOTES = 3
_MANY_SENTENCES = 50  # beyond it a streamed wav declares an unknown length rather than wait for all durations
_SIDE_BY_SIDE = 1000  # characters; longer texts have sentences enough to render several at a time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_text_arguments(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write; - is standard output; default: play it")
    parser.add_argument(
        "--format",
        choices=(*FORMATS, *ALIASES),
        metavar="NAME",
        help=f"format of the audio: {', '.join(FORMATS)}; default: from FILE's suffix, wav for -",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="no audio: print the sentences, their phones and when they would be heard",
    )
    parser.add_argument("--rate", type=int, metavar="HZ", help="sample rate of the file, from 8000 to 48000")
    parser.add_argument(
        "--timings",
        metavar="FILE",
        action="append",
        default=[],
        help="also write when what is heard: .json .jsonl .srt .vtt .lrc .TextGrid, or .words.vtt .words.srt "
        ".words.lrc for single words; may be repeated",
    )
    add_voice_argument(parser)
    add_speaking_arguments(parser)
    add_common_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Speak; returns the exit status."""
    text = read_text(arguments)
    if arguments.output == "":
        raise UsageError("--output is empty; name a file, or - for standard output")
    if arguments.output == "-" and sys.stdout.isatty() and not arguments.dry_run:
        raise UsageError("audio would go to the terminal; redirect standard output, or name a file")
    if arguments.output is None and arguments.rate is not None:
        raise UsageError("--rate is the sample rate of a file; name one with -o")
    from deepvoice.audio.io import format_of
    from deepvoice.pipeline import Voice

    file_format = None  # what is unknown is refused before any work
    if arguments.output is not None:
        file_format = format_of("speech.wav" if arguments.output == "-" else arguments.output, arguments.format)
    _check_timings(arguments)
    options = speaking_options(arguments)
    started = time.perf_counter()
    voice = Voice.load(arguments.voice)
    if arguments.dry_run:
        return _foretell(arguments, voice.stream(text, **options), file_format)
    with contextlib.ExitStack() as stack:
        dispatcher = None
        if arguments.output is not None and len(text) > _SIDE_BY_SIDE:
            dispatcher = stack.enter_context(voice.dispatcher())
        stream = voice.stream(text, times=bool(arguments.timings), dispatcher=dispatcher, **options)
        stack.callback(stream.close)
        if arguments.strict and _refused(stream):
            return 3
        samples = 0
        with _open(arguments, stream) as writer:
            for piece in stream:
                writer.write(piece)
                samples += len(piece)
    _write_timings(arguments, stream, file_format)
    if not arguments.quiet:
        _explain(stream.report, options.get("loudness"))
        seconds, taken = samples / stream.sample_rate, time.perf_counter() - started
        name = {None: "played", "-": "standard output"}.get(arguments.output, arguments.output)
        print(f"{name}: {seconds:.2f} s of speech in {taken:.2f} s (seed {stream.report.seed})", file=sys.stderr)
    return 0


def _check_timings(arguments: argparse.Namespace) -> None:
    """Refuse timings that cannot be written, or would replace another file of this command, before any work."""
    from deepvoice import timings

    taken = {} if arguments.output in (None, "-") else {Path(arguments.output).resolve(): "the audio goes"}
    for path in arguments.timings:
        timings.format_of(path)
        place = Path(path).resolve()
        if place in taken:
            raise UsageError(f"--timings is {path!r}, where {taken[place]}; name another file")
        if not place.parent.is_dir():
            raise AudioError(f"cannot write {path}: its folder does not exist; create it first")
        taken[place] = "the other timings go"


def _write_timings(arguments: argparse.Namespace, stream: "SpeechStream", file_format: str | None) -> None:
    from deepvoice import timings

    rate = output_rate(file_format, stream.sample_rate, arguments.rate) if file_format else None
    for path in arguments.timings:
        timings.write(path, stream, rate=rate)


def _foretell(arguments: argparse.Namespace, stream: "SpeechStream", file_format: str | None) -> int:
    """Print what would be spoken, and when, without making audio; returns the exit status."""
    if arguments.strict and _refused(stream):
        return 3
    samples = stream.skip_audio()
    phones = deque(stream.phones)
    for sentence in stream.sentences:
        while phones and phones[0].samples[0] < sentence.samples[0]:
            phones.popleft()  # the silence before
        spoken = []
        while phones and phones[0].samples[0] < sentence.samples[1]:
            spoken.append(phones.popleft().symbol)
        print(f"{sentence.start:8.2f} s to {sentence.end:.2f} s: {' '.join(sentence.text.split())}")
        print(f"    {' '.join(spoken)}")
    _write_timings(arguments, stream, file_format)
    if not arguments.quiet:
        _explain(stream.report, None)
        count, seconds = len(stream.sentences), samples / stream.sample_rate
        print(f"{count} sentence{'s' * (count != 1)}, {seconds:.2f} s of speech, not made (--dry-run)", file=sys.stderr)
    return 0


def _refused(stream: "SpeechStream") -> bool:
    """Read the whole text, and say what in it cannot be spoken or done."""
    stream.read_all()
    report = stream.report
    if report.dropped:
        print(f"deepvoice: refused: not spoken: {describe_dropped(report.dropped)} (--strict)", file=sys.stderr)
    elif report.notes:
        print(f"deepvoice: refused: not done: {_describe_notes(report)} (--strict)", file=sys.stderr)
    return bool(report.dropped or report.notes)


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
        form = arguments.format or "wav"
        with io.open_stream(sys.stdout.buffer, stream.sample_rate, form, known, rate=arguments.rate) as writer:
            yield writer
    else:
        with io.open_writer(arguments.output, stream.sample_rate, arguments.format, rate=arguments.rate) as writer:
            yield writer


def _explain(report: "Report", loudness: float | None) -> None:
    """Say on standard error what the text lost, what was guessed and what was not done."""
    if report.dropped:
        print(f"deepvoice: warning: not spoken: {describe_dropped(report.dropped)}", file=sys.stderr)
    if report.notes:
        print(f"deepvoice: warning: not done: {_describe_notes(report)}", file=sys.stderr)
    if report.unknown:
        words = ", ".join(report.unknown[:_SHOWN])
        more = f" and {len(report.unknown) - _SHOWN} more" if len(report.unknown) > _SHOWN else ""
        print(f"deepvoice: not in the lexicon, pronunciation guessed: {words}{more}", file=sys.stderr)
    if loudness is not None and report.loudness is not None and report.loudness < loudness - 0.1:
        print(f"deepvoice: warning: {report.loudness:.1f} LUFS; more would clip", file=sys.stderr)


def _describe_notes(report: "Report") -> str:
    """Name the first instructions that are not carried out."""
    shown = "; ".join(f"{note.text} (character {note.start}): {note.reason}" for note in report.notes[:_SHOWN_NOTES])
    more = f"; and {len(report.notes) - _SHOWN_NOTES} more" if len(report.notes) > _SHOWN_NOTES else ""
    return shown + more
