"""SubRip, WebVTT and LRC, by lines or word by word."""

from collections.abc import Iterator

from deepvoice.timings.cues import Cue, cues, wrap
from deepvoice.timings.timeline import Timeline

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def milliseconds(sample: int, rate: int) -> int:
    """Return the nearest millisecond of a sample."""
    return (2000 * sample + rate) // (2 * rate)


def srt(timeline: Timeline, by_word: bool) -> str:
    """SubRip; word by word, one subtitle for each word."""
    shown = (
        [_word_cue(cue, i) for cue in cues(timeline) for i in range(len(cue.writings))] if by_word else cues(timeline)
    )
    blocks = []
    for number, cue in enumerate(shown, 1):
        start, end = _clock(cue.start, timeline, ","), _clock(cue.end, timeline, ",")
        blocks.append(f"{number}\n{start} --> {end}\n" + "\n".join(wrap(cue.text)) + "\n")
    return "\n".join(blocks)


def vtt(timeline: Timeline, by_word: bool) -> str:
    """WebVTT; word by word, with the time of each word inside the subtitle, as karaoke players show it."""
    blocks = ["WEBVTT\n"]
    for cue in cues(timeline):
        start, end = _clock(cue.start, timeline, "."), _clock(cue.end, timeline, ".")
        body = "".join(_karaoke(cue, timeline)) if by_word else "\n".join(wrap(cue.text)).translate(_ESCAPES)
        blocks.append(f"{start} --> {end}\n{body}\n")
    return "\n".join(blocks)


def lrc(timeline: Timeline, by_word: bool) -> str:
    """LRC, the format of song texts; word by word, in its enhanced form with a time before each word."""
    lines = []
    for cue in cues(timeline):
        if by_word:
            body = " ".join(f"<{_short(word.start, timeline)}> {word.text.strip()}" for word in cue.writings)
            body += f" <{_short(cue.writings[-1].end, timeline)}>"
        else:
            body = cue.text
        lines.append(f"[{_short(cue.start, timeline)}]{body}\n")
    return "".join(lines)


def _word_cue(cue: Cue, index: int) -> Cue:
    """Return one word of a subtitle; it is shown until the next one."""
    word = cue.writings[index]
    end = cue.writings[index + 1].start if index + 1 < len(cue.writings) else cue.end
    return Cue((word,), word.start, max(end, word.end))


def _karaoke(cue: Cue, timeline: Timeline) -> Iterator[str]:
    last = milliseconds(cue.start, timeline.sample_rate)
    for word in cue.writings:
        time = milliseconds(word.start, timeline.sample_rate)
        text = word.text.translate(_ESCAPES)
        if time > last:  # times inside a subtitle have to rise
            yield f"<{_clock(word.start, timeline, '.')}>"
            last = time
        gap = " " if text.endswith(" ") and word is not cue.writings[-1] else ""
        yield f"<c>{text.rstrip()}</c>{gap}"


def _clock(sample: int, timeline: Timeline, point: str) -> str:
    """Write a time as hours:minutes:seconds and milliseconds."""
    seconds, rest = divmod(milliseconds(sample, timeline.sample_rate), 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{point}{rest:03}"


def _short(sample: int, timeline: Timeline) -> str:
    """Write a time as minutes:seconds and hundredths."""
    seconds, rest = divmod(milliseconds(sample, timeline.sample_rate), 1000)
    return f"{seconds // 60:02}:{seconds % 60:02}.{rest // 10:02}"
