"""Load figures of a server on this machine, over loopback: throughput, time to first audio, health, memory.

    python -m deepvoice.server.load throughput     # 16 callers against batch 1, one worker, one thread
    python -m deepvoice.server.load callers        # time to first audio against the number of callers
    python -m deepvoice.server.load growth         # memory over 2,000 requests
    python -m deepvoice.server.load stream         # first audio of short and long texts
    python -m deepvoice.server.load cancel         # how long work goes on after the client has left

Each starts its own server, so nothing else should run beside it. Results are printed as tables.
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import NamedTuple

SENTENCES = (
    "The ferry leaves at dawn, and nobody on the quay was late.",
    "We counted three hundred and twelve birds before the rain began.",
    "She wrote the address on the back of an old receipt.",
    "By noon the road along the river was dry again.",
    "He asked whether the museum would open on Monday.",
    "Every window in the long hall faced the sea.",
    "A small engine started somewhere behind the houses.",
    "They agreed on a price and shook hands twice.",
)
SAMPLE_RATE = 24000
CALLERS = (1, 2, 4, 8, 16, 32)


class Served(NamedTuple):
    """A server in a process of its own."""

    port: int
    process: subprocess.Popen[str]

    def memory(self) -> float:
        """Return its resident memory, without that of child processes, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def processor_seconds(self) -> float:
        """Return the processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metric(self, name: str) -> float:
        """Return a metric, summed over its labels."""
        text = get(self.port, "/metrics").decode()
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))


class Heard(NamedTuple):
    """One answer: seconds to its first audio, seconds in all, seconds of speech, status."""

    first: float
    total: float
    speech: float
    status: int


@contextlib.contextmanager
def serve(*flags: str) -> Iterator[Served]:
    """Run a server while a block runs."""
    command = [sys.executable, "-P", "-m", "deepvoice", "serve", "--port", "0", *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        port = next(
            int(entry["url"].rpartition(":")[2])
            for line in process.stderr
            if line.startswith("{") and (entry := json.loads(line))["event"] == "listening"
        )
        threading.Thread(target=process.stderr.read, daemon=True).start()
        while not _answers(port):
            time.sleep(0.05)
        yield Served(port, process)
    finally:
        process.terminate()
        process.wait(60)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError, AssertionError):
        get(port, "/ready")
        return True
    return False


def get(port: int, path: str) -> bytes:
    """Get a page."""
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return body


def ask(port: int, text: str) -> tuple[HTTPConnection, HTTPResponse, float]:
    """Ask for speech; returns when the first bytes are there."""
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    body = json.dumps({"model": "m", "voice": "alloy", "input": text, "response_format": "pcm"})
    started = time.perf_counter()
    connection.request("POST", "/v1/audio/speech", body, {"content-type": "application/json"})
    return connection, connection.getresponse(), started


def speak(port: int, text: str) -> Heard:
    """Ask for speech and read all of it."""
    connection, answer, started = ask(port, text)
    with contextlib.closing(connection):
        data = answer.read1(1 << 16)
        first, size = time.perf_counter() - started, len(data)
        while data := answer.read1(1 << 16):
            size += len(data)
        return Heard(first, time.perf_counter() - started, size / 2 / SAMPLE_RATE, answer.status)


def in_parallel(callers: int, requests: int, call: Callable[[int], Heard]) -> tuple[list[Heard], float]:
    """Let a number of callers make requests, each its next when it has heard the last; returns all and the seconds."""
    numbers = iter(range(requests))
    lock, heard = threading.Lock(), []

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            heard.append(call(number))

    threads = [threading.Thread(target=work) for _ in range(callers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return heard, time.perf_counter() - started


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextlib.contextmanager
def health_checks(port: int) -> Iterator[list[float]]:
    """Ask for /health every 50 ms while a block runs; gives the seconds of each answer."""
    found: list[float] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            started = time.perf_counter()
            get(port, "/health")
            found.append(time.perf_counter() - started)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def throughput(requests: int) -> None:
    """Print the speech made each second by 16 callers, and by the same texts with nothing side by side."""
    texts = [" ".join(SENTENCES[i % 8] for i in range(first, first + 3)) for first in range(8)]
    rows = []
    for name, flags in (
        ("one sentence at a time, one thread", ("--slots", "1", "--threads", "1", "--max-speaking", "1")),
        ("16 slots, a thread per core", ("--slots", "16", "--max-speaking", "32")),
    ):
        with serve(*flags) as server:
            speak(server.port, SENTENCES[0])
            pieces, batches = (server.metric(f"deepvoice_{n}") for n in ("batch_size_sum", "batch_size_count"))
            with health_checks(server.port) as health:
                heard, spent = in_parallel(16, requests, lambda i: speak(server.port, texts[i % 8]))
            assert all(answer.status == 200 for answer in heard)
            size = (server.metric("deepvoice_batch_size_sum") - pieces) / max(
                1.0, server.metric("deepvoice_batch_size_count") - batches
            )
            rows.append((name, sum(answer.speech for answer in heard) / spent, size, percentile(health, 0.99)))
    print("| server | times real time | sentences in a batch, mean | health, 99th percentile |\n|---|---|---|---|")
    for name, rate, size, health_99 in rows:
        print(f"| {name} | {rate:.1f} | {size:.1f} | {1000 * health_99:.0f} ms |")
    print(f"\n{rows[1][1] / rows[0][1]:.2f} times as much")


def callers(requests: int, picture: Path | None) -> None:
    """Print, and draw, the time to first audio against the number of callers."""
    rows = []
    with serve() as server:
        speak(server.port, SENTENCES[0])
        for count in CALLERS:
            heard, spent = in_parallel(
                count, max(requests, 3 * count), lambda i: speak(server.port, " ".join(SENTENCES[i % 4 : i % 4 + 3]))
            )
            firsts = [answer.first for answer in heard]
            speech = sum(answer.speech for answer in heard)
            rows.append((count, statistics.median(firsts), percentile(firsts, 0.98), speech / spent))
    print("| callers | first audio, median | 98th percentile | times real time |\n|---|---|---|---|")
    for count, median, late, rate in rows:
        print(f"| {count} | {1000 * median:.0f} ms | {1000 * late:.0f} ms | {rate:.1f} |")
    if picture:
        _draw([(row[0], row[1], row[2]) for row in rows], picture)


def _draw(rows: Sequence[tuple[int, float, float]], path: Path) -> None:
    """Draw the curves as SVG: no package is needed for two lines."""
    width, height, left, bottom, room = 640, 360, 70, 50, 20
    top = 1.1 * max(row[2] for row in rows)

    def place(index: int, seconds: float) -> tuple[float, float]:
        x = left + (width - left - room) * index / (len(rows) - 1)
        return x, height - bottom - (height - bottom - room) * seconds / top

    parts = [f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for step in range(5):
        _, y = place(0, top * step / 4)
        parts.append(f'<path d="M{left} {y:.1f}H{width - room}" stroke="#d5d2ca"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{1000 * top * step / 4:.0f} ms</text>')
    for index, row in enumerate(rows):
        x, _ = place(index, 0.0)
        parts.append(f'<text x="{x:.1f}" y="{height - bottom + 20}" text-anchor="middle">{row[0]}</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">callers at a time</text>')
    for column, colour, name in ((1, "#2a7f8e", "median"), (2, "#b3451b", "98th percentile")):
        points = [place(index, row[column]) for index, row in enumerate(rows)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        x, y = points[-1]
        parts.append(f'<text x="{x - 6:.1f}" y="{y - 8:.1f}" text-anchor="end" fill="{colour}">{name}</text>')
    body = "".join(parts)
    style = 'font-family="sans-serif" font-size="13" fill="#1d2127"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>'
    path.write_text(f"{head}<title>Time to first audio against callers</title>{body}</svg>\n", encoding="utf-8")


def growth(requests: int) -> None:
    """Print the memory of a server over many requests."""
    with serve() as server:
        in_parallel(8, max(200, requests // 10), lambda i: speak(server.port, SENTENCES[i % 8][:24]))
        before = server.memory()
        heard, spent = in_parallel(8, requests, lambda i: speak(server.port, SENTENCES[i % 8][:24]))
        after = server.memory()
    good = sum(answer.status == 200 for answer in heard)
    print(f"{good} of {requests} requests in {spent:.0f} s; {before:.1f} MB before, {after:.1f} MB after: ", end="")
    print(f"{after - before:+.1f} MB")


def stream(repeats: int) -> None:
    """Print when the first audio of short and long texts comes."""
    print("| sentences | first audio, median | total, median | share |\n|---|---|---|---|")
    with serve() as server:
        speak(server.port, SENTENCES[0])
        for count in (1, 5, 40):
            text = " ".join(SENTENCES[i % 8] for i in range(count))
            heard = [speak(server.port, text) for _ in range(repeats)]
            first, total = (statistics.median(answer[i] for answer in heard) for i in (0, 1))
            print(f"| {count} | {1000 * first:.0f} ms | {1000 * total:.0f} ms | {100 * first / total:.0f} % |")


def cancel(repeats: int) -> None:
    """Print how long work goes on after a client has left, and what the next request waits."""
    found = []
    with serve() as server:
        speak(server.port, SENTENCES[0])
        for _ in range(repeats):
            connection, answer, _ = ask(server.port, " ".join(SENTENCES * 8))
            answer.read1(1000)
            connection.close()
            answer.close()
            left = time.perf_counter()
            while server.metric("deepvoice_slots_busy") + server.metric("deepvoice_sentences_waiting") > 0:
                time.sleep(0.002)
            found.append(time.perf_counter() - left)
        used = server.processor_seconds()
        time.sleep(1.0)
        idle = server.processor_seconds() - used
    print(f"work stopped {1000 * max(found):.0f} ms after the client had left at the latest (of {repeats});", end=" ")
    print(f"processor time in the idle second after it: {idle:.2f} s")


def main() -> int:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("throughput", "callers", "growth", "stream", "cancel"))
    parser.add_argument("-n", type=int, help="how many requests")
    parser.add_argument("--picture", type=Path, help="SVG file for the curves of `callers`")
    arguments = parser.parse_args()
    {
        "throughput": lambda: throughput(arguments.n or 96),
        "callers": lambda: callers(arguments.n or 40, arguments.picture),
        "growth": lambda: growth(arguments.n or 2000),
        "stream": lambda: stream(arguments.n or 7),
        "cancel": lambda: cancel(arguments.n or 10),
    }[arguments.what]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
