"""Several worker processes behind a front: what a worker that dies takes with it, and what it does not."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from deepvoice.server.metrics import merge

BODY = {"model": "m", "voice": "alloy", "input": "The ferry leaves at dawn.", "response_format": "pcm"}
LONG = {**BODY, "input": "The ferry leaves at dawn. " * 150}


class Fleet:
    """`deepvoice serve --workers 2` in processes of its own."""

    def __init__(self, voice, *flags):
        command = [sys.executable, "-P", "-m", "deepvoice", "serve", "--voice", str(voice), "--port", "0"]
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [*command, "--workers", "2", *flags], stderr=subprocess.PIPE, env=environment, text=True
        )
        self.log = []
        self._listening = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._listening.wait(60), self.log
        self.url = next(entry["url"] for entry in self.log if entry["event"] == "listening")
        self.client = httpx.Client(base_url=self.url, timeout=60, trust_env=False)

    def _read(self):
        for line in self.process.stderr:
            self.log.append(json.loads(line) if line.startswith("{") else {"event": line})
            if self.log[-1]["event"] == "listening":
                self._listening.set()
        self._listening.set()

    def workers(self):
        """Return the process ids of the workers."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [int(line) for line in found.stdout.split()]

    def metric(self, name, worker=None):
        total = 0.0
        for line in self.client.get("/metrics").text.splitlines():
            if line.split("{")[0] == name and (worker is None or f'worker="{worker}"' in line):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def stuck(self):
        """Begin a long answer and read nothing; returns the connection."""
        connection = socket.create_connection(("127.0.0.1", httpx.URL(self.url).port), timeout=60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        body = json.dumps(LONG)
        head = f"POST /v1/audio/speech HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        connection.sendall(f"{head}connection: close\r\ncontent-type: application/json\r\n\r\n{body}".encode())
        return connection

    def stop(self):
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self._reader.join(60)
        self.process.stderr.close()
        return status


@pytest.fixture(scope="module")
def fleet(tiny_voice):
    running = Fleet(tiny_voice, "--max-speaking", "1", "--max-waiting", "8", "--threads", "1")
    yield running
    assert running.stop() == 0


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def test_it_serves_like_one_server(fleet, tiny):
    from deepvoice.audio.io import to_pcm16

    assert fleet.client.get("/health").json()["status"] == "ok"
    assert fleet.client.get("/ready").json()["voices"] == ["tiny"]
    expected = to_pcm16(tiny.table["tiny"].speak(BODY["input"]).samples).tobytes()
    answers = [fleet.client.post("/v1/audio/speech", json=BODY) for _ in range(4)]
    assert {answer.content for answer in answers} == {expected}
    assert all(answer.headers["x-request-id"].startswith("req_") for answer in answers)
    bad = fleet.client.post("/v1/audio/speech", json={**BODY, "voice": "nobody"})
    assert bad.status_code == 400 and bad.json()["error"]["param"] == "voice"
    assert fleet.client.get("/nothing").json()["error"]["code"] == "unknown_url"
    assert fleet.client.post("/v1/audio/speech", content=b" " * (2 << 20)).status_code == 413
    assert "text/html" in fleet.client.get("/").headers["content-type"]


def test_requests_without_a_host_are_answered(fleet):
    with socket.create_connection(("127.0.0.1", httpx.URL(fleet.url).port), timeout=60) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.0\r\n\r\n")
        assert connection.recv(15) == b"HTTP/1.1 200 OK"


def test_the_lexicon_is_shared(fleet):
    assert fleet.client.put("/v1/lexicon", json={"entries": {"ferry": "K AE1 T"}}).status_code == 200
    said = {
        tuple(fleet.client.post("/v1/phonemes", json={"input": "ferry"}).json()["sentences"][0]["symbols"])
        for _ in range(4)
    }
    assert len(said) == 1 and "AE1" in said.pop()
    assert fleet.client.delete("/v1/lexicon/ferry").json() == {"entries": {}}


def test_sockets_are_passed_on(fleet):
    with connect(fleet.url.replace("http", "ws") + "/v1/audio/speech/ws") as ws:
        ws.send(json.dumps({"type": "start"}))
        assert json.loads(ws.recv(30))["type"] == "session.started"
        ws.send(json.dumps({"type": "text", "text": "The ferry leaves."}))
        ws.send(json.dumps({"type": "end"}))
        assert isinstance(ws.recv(30), bytes)


def test_kill_9_of_a_worker(fleet):
    """Two workers with one place each: both are stuck sending, four more requests wait behind them; one is killed."""
    until(lambda: len(fleet.workers()) == 2 and fleet.metric("deepvoice_speaking") == 0)
    with fleet.stuck() as first, fleet.stuck() as second:
        until(lambda: fleet.metric("deepvoice_speaking") == 2)
        for connection in (first, second):
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        answers = []

        def ask():
            answers.append(fleet.client.post("/v1/audio/speech", json=BODY))

        waiting = [threading.Thread(target=ask) for _ in range(4)]
        for thread in waiting:
            thread.start()
        until(lambda: fleet.metric("deepvoice_queue_depth") == 4)
        before = set(fleet.workers())
        os.kill(sorted(before)[0], signal.SIGKILL)
        endings = []

        def read(connection):
            data = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(1 << 16):
                    data += part
            endings.append(data.endswith(b"0\r\n\r\n"))

        readers = [threading.Thread(target=read, args=(connection,)) for connection in (first, second)]
        for thread in readers:
            thread.start()
        for thread in (*readers, *waiting):
            thread.join()
    assert sorted(endings) == [False, True]  # what the dead one was sending breaks, what the other was sending ends
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len({answer.content for answer in answers}) == 1
    assert fleet.metric("deepvoice_reruns_total", "front") >= 1
    until(lambda: len(fleet.workers()) == 2 and fleet.metric("deepvoice_slots_busy", "0") == 0)
    assert set(fleet.workers()) != before
    assert fleet.client.post("/v1/audio/speech", json=BODY).status_code == 200


def test_workers_end_with_their_front(tiny_voice):
    other = Fleet(tiny_voice, "--threads", "1")
    workers = other.workers()
    assert len(workers) == 2
    other.client.close()
    other.process.kill()
    other.process.wait(30)
    other._reader.join(60)  # the workers hold the other end of standard error
    other.process.stderr.close()
    until(lambda: not any(alive(worker) for worker in workers))


def alive(process):
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_voice_that_is_missing_ends_the_command(run_python, tmp_path):
    flags = ("--voice", str(tmp_path / "none"), "--port", "0")
    ended = run_python("-m", "deepvoice", "serve", *flags, "--workers", "2")
    assert ended.returncode == 1
    assert b"Traceback" not in ended.stderr


def test_metrics_of_several_processes_are_one_text():
    one = b'# HELP x_total X\n# TYPE x_total counter\nx_total{a="b"} 1.0\n'
    assert merge({"0": one, "1": one}).decode().count("x_total{") == 2
