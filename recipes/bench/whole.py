"""The whole path, text to samples, in a process of its own: `python -m deepvoice.recipes.bench.whole`.

The instruction set and precision are those of the environment (DEEPVOICE_CPU_ISA, DEEPVOICE_PRECISION); `deepvoice
bench` starts one process for each. Prints one JSON object.
"""

import argparse
import contextlib
import itertools
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_STREAMS = 16  # sentences side by side
_SENTENCES_A_MINUTE = 15
_MANY = 3  # times that the sentences are spoken side by side


def pin(core: int | None) -> None:
    """Keep this process on one core, where the system can."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def two_cores() -> bool:
    """Whether the machine has a second core and lets a process move to it."""
    return hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1


@contextlib.contextmanager
def both_cores(core: int) -> Iterator[None]:
    """Let this process use `core` and a neighbour while the block runs, then what it used before."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core, core ^ 1 if core ^ 1 < (os.cpu_count() or 1) else 0})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def first_core() -> int:
    """Return the first core that this process may use."""
    return min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


def peak_megabytes() -> float | None:
    """Return the peak of this process's memory; None where the system does not say."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    except OSError:
        return None
    return int(found[1]) / 1024 if found else None


def one_by_one(voice: Any, sentences: tuple[str, ...]) -> dict[str, Any]:
    """Time every sentence alone; and the time until its first samples."""
    multiples, firsts, seconds = [], [], 0.0
    voice.speak(sentences[0])
    for sentence in sentences:
        started = time.perf_counter()
        stream = voice.stream(sentence)
        samples = len(next(stream))
        firsts.append(time.perf_counter() - started)
        samples += sum(map(len, stream))
        taken = time.perf_counter() - started
        multiples.append(samples / voice.sample_rate / taken)
        seconds += samples / voice.sample_rate
    return {
        "x": statistics.median(multiples),
        "x_worst": min(multiples),
        "first_ms": 1000 * statistics.median(firsts),
        "first_worst_ms": 1000 * max(firsts),
        "speech_seconds": seconds,
    }


def side_by_side(voice: Any, sentences: tuple[str, ...], times: int) -> dict[str, Any]:
    """Time all sentences together; they are rendered in batches."""
    list(voice.speak_many(sentences[:_STREAMS]))
    started = time.perf_counter()
    samples = sum(len(speech.samples) for speech in voice.speak_many(sentences * times))
    return {"x": samples / voice.sample_rate / (time.perf_counter() - started)}


def long_text(voice: Any, sentences: tuple[str, ...], minutes: float) -> dict[str, Any]:
    """Stream a long text; compare the speed and the memory of its beginning and its end."""
    text = " ".join(itertools.islice(itertools.cycle(sentences), int(minutes * _SENTENCES_A_MINUTE)))
    marks = []  # samples, time, memory
    with voice.dispatcher(threads=1) as dispatcher:
        started, done = time.perf_counter(), 0
        for piece in voice.stream(text, times=False, dispatcher=dispatcher):
            done += len(piece)
            marks.append((done, time.perf_counter() - started, peak_megabytes()))
    half = next(mark for mark in marks if mark[0] >= done / 2)
    early = next(mark for mark in marks if mark[0] >= done / 5)
    return {
        "minutes": done / voice.sample_rate / 60,
        "x_first_half": half[0] / voice.sample_rate / half[1],
        "x_second_half": (done - half[0]) / voice.sample_rate / (marks[-1][1] - half[1]),
        "mb_first_fifth": early[2],
        "mb_end": marks[-1][2],
    }


def main(arguments: list[str] | None = None) -> int:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m deepvoice.recipes.bench.whole", description=__doc__)
    parser.add_argument("--voice", help="name or folder of a voice (default: the default voice)")
    parser.add_argument("--sentences", type=int, default=20, help="how many are timed (default %(default)s)")
    parser.add_argument("--core", type=int, help="stay on this core")
    parser.add_argument("--many", action="store_true", help="time many sentences side by side too")
    parser.add_argument("--long", type=float, default=0, metavar="MINUTES", help="stream a text of this length too")
    options = parser.parse_args(arguments)
    pin(options.core)
    started = time.perf_counter()
    import deepvoice
    from deepvoice import kernels
    from deepvoice.recipes.bench.sentences import SENTENCES

    voice = deepvoice.load(options.voice, threads=1)
    load_ms = 1000 * (time.perf_counter() - started)
    sentences = SENTENCES[: options.sentences]
    result: dict[str, Any] = {"isa": kernels.isa(), "precision": voice._synthesizer.precision, "load_ms": load_ms}
    result["one"] = one_by_one(voice, sentences)
    result["mb"] = peak_megabytes()
    if options.many:
        result["many"] = side_by_side(voice, sentences, _MANY)
        result["mb_many"] = peak_megabytes()
    if options.long:
        result["long"] = long_text(voice, SENTENCES, options.long)
    json.dump(result, sys.stdout)
    print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
