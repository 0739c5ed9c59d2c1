"""The formats of timings by name, and writing them to files."""

from collections.abc import Callable
from pathlib import Path

from deepvoice.audio.io import replacing
from deepvoice.errors import AudioError, ConfigError
from deepvoice.timings.plain import json_lines, json_text
from deepvoice.timings.subtitles import lrc, srt, vtt
from deepvoice.timings.textgrid import textgrid
from deepvoice.timings.timeline import Timed, Timeline

_BY_WORD = ".words"  # before the suffix: talk.words.vtt
_RENDER: dict[str, Callable[[Timeline, bool], str]] = {
    "json": lambda timeline, _: json_text(timeline),
    "jsonl": lambda timeline, _: json_lines(timeline),
    "srt": srt,
    "vtt": vtt,
    "lrc": lrc,
    "textgrid": lambda timeline, _: textgrid(timeline),
}
FORMATS = ("json", "jsonl", "srt", "vtt", "lrc", "TextGrid")


def format_of(path: Path | str) -> str:
    """Return the format that a file's suffix means; an unknown one raises ConfigError."""
    if not isinstance(path, str | Path):
        raise ConfigError(f"the path of timings is {path!r}; expected a string or a Path, such as 'talk.srt'")
    suffix = Path(path).suffix.removeprefix(".")
    if suffix.lower() not in _RENDER:
        raise ConfigError(
            f"{str(path)!r} has no suffix of timings; use a name ending in one of .{' .'.join(FORMATS)}, or in "
            f"{_BY_WORD}.vtt, {_BY_WORD}.srt or {_BY_WORD}.lrc for times of single words"
        )
    return suffix.lower()


def render(timed: Timed, file_format: str, *, by_word: bool = False, rate: int | None = None) -> str:
    """Return the times of a speech in one of FORMATS.

    by_word: srt, vtt and lrc with times of single words, as karaoke players show them
    rate: sample rate of the audio file, when it is not the voice's
    """
    if not isinstance(file_format, str) or file_format.lower() not in _RENDER:
        raise ConfigError(f"the format of timings is {file_format!r}; expected one of {', '.join(FORMATS)}")
    timeline = Timeline.of(timed)
    return _RENDER[file_format.lower()](timeline.at_rate(rate) if rate else timeline, by_word)


def write(path: Path | str, timed: Timed, *, rate: int | None = None) -> Path:
    """Write the times of a speech, by the suffix of the file; it is complete or absent.

    `talk.words.vtt` has times of single words; so have .words.srt and .words.lrc.
    Raises ConfigError for an unknown suffix, AudioError when the file cannot be written.
    """
    text = render(timed, format_of(path), by_word=Path(Path(path).stem).suffix == _BY_WORD, rate=rate)
    try:
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise AudioError(f"cannot write {path}: {reason}; choose a writable folder with free space") from None
    return Path(path)
