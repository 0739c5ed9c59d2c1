"""Callers that mean harm or have bad luck: names that are not ours, places in the queue, sockets, files that fail."""

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from deepvoice.server import engine
from deepvoice.server.settings import Settings, hosts, settings_from

LONG = "The ferry leaves at dawn. " * 150


def until(condition, seconds=20.0):
    """Wait for something that happens in the server's threads."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def begin(server, path, **fields):
    """Send a request and read nothing; returns the connection."""
    connection = server.raw()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps(fields).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    return connection


def hold(server):
    """Take the server's only place and read nothing."""
    connection = begin(server, "/v1/audio/speech", model="m", voice="alloy", input=LONG, response_format="pcm")
    until(lambda: server.metric("deepvoice_speaking") == 1)
    return connection


def socket_of(server, **options):
    return connect(server.url.replace("http", "ws") + "/v1/audio/speech/ws", open_timeout=30, **options)


@pytest.mark.parametrize(
    "name", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]:80", ""]
)
def test_requests_to_another_name_are_refused(server, name):
    """DNS rebinding: a web page whose name has been made to point at this machine."""
    answer = server.client.get("/v1/audio/voices", headers={"host": name})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "host_not_allowed"
    with pytest.raises(InvalidStatus), socket_of(server, sock=server.raw(), additional_headers={"host": name}):
        pass


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:1", "localhost."])
def test_this_machine_has_several_names(server, name):
    assert server.client.get("/health", headers={"host": name}).status_code == 200


def test_which_names_are_allowed():
    assert hosts(Settings(host="0.0.0.0")) == hosts(Settings(allowed_host=("*",))) == frozenset()
    assert "speech.example" in hosts(Settings(allowed_host=("Speech.Example",)))
    assert "localhost" in hosts(Settings(host="0.0.0.0", allowed_host=("speech.example",)))
    assert "127.0.0.2" in hosts(Settings(host="127.0.0.2"))
    assert settings_from({"allowed_host": ("a,b", "c")}, {}).allowed_host == ("a", "b", "c")


def test_head_is_get_without_a_body(server):
    for path in ("/", "/health", "/ready", "/v1/models"):
        answer = server.client.head(path)
        assert answer.status_code == 200 and not answer.content
        assert int(answer.headers["content-length"]) == len(server.client.get(path).content)


@pytest.mark.parametrize("path", ["/v1/phonemes", "/v1/audio/timings", "/v1/audio/speech"])
def test_a_request_that_leaves_while_it_waits_gives_its_place_back(start, path):
    with start(max_speaking=1, max_waiting=1, stall_timeout=60) as server, hold(server):
        for _ in range(3):
            with begin(server, path, model="m", voice="alloy", input="Hi."):
                until(lambda: server.metric("deepvoice_queue_depth") == 1)
            until(lambda: server.metric("deepvoice_queue_depth") == 0)
        assert server.metric("deepvoice_cancellations_total") == 3


def test_a_socket_that_leaves_while_it_waits_gives_its_place_back(start):
    with start(max_speaking=1, max_waiting=1, stall_timeout=60) as server, hold(server):
        for _ in range(3):
            with socket_of(server) as ws:
                ws.send(json.dumps({"type": "start"}))
                ws.send(json.dumps({"type": "text", "text": "Hi."}))
                until(lambda: server.metric("deepvoice_queue_depth") == 1)
            until(lambda: server.metric("deepvoice_queue_depth") == 0)


def last_of(ws):
    found = []
    try:
        while True:
            message = ws.recv(30)
            found += [] if isinstance(message, bytes) else [json.loads(message)]
    except ConnectionClosed:
        return found[-1]


def test_a_socket_may_not_send_much_before_its_turn(start):
    with start(max_speaking=1, max_body=4096) as server, hold(server), socket_of(server) as ws:
        ws.send(json.dumps({"type": "start"}))
        for _ in range(6):
            ws.send(json.dumps({"type": "text", "text": "Hi. " * 250}))
        assert last_of(ws)["error"]["code"] == "body_too_large"


def test_a_conversation_has_an_end(start):
    with start(request_timeout=0.3) as server, socket_of(server) as ws:
        ws.send(json.dumps({"type": "start"}))
        assert last_of(ws)["error"] == {
            "message": "the conversation did not end within 0.3 seconds",
            "type": "server_error",
            "param": None,
            "code": "timeout",
        }


def test_a_socket_that_reads_nothing_is_dropped(start):
    with start(max_speaking=1, stall_timeout=0.3) as server, server.raw() as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with socket_of(server, sock=stalled, max_queue=1, close_timeout=0.1, ping_interval=None) as ws:
            ws.send(json.dumps({"type": "start"}))
            for start_ in range(0, len(LONG), 1000):
                ws.send(json.dumps({"type": "text", "text": LONG[start_ : start_ + 1000]}))
            ws.send(json.dumps({"type": "end"}))
            until(lambda: server.metric("deepvoice_cancellations_total") == 1)
            assert server.post().status_code == 200


def test_connections_beyond_the_limit_are_closed(start):
    with start(max_connections=2) as server:
        with contextlib.ExitStack() as many, pytest.raises(ConnectionResetError):
            for _ in range(5):
                last = many.enter_context(server.raw())
            last.recv(10)
        until(lambda: len(server.server.server_state.connections) < 4)
        assert server.post().status_code == 200


def test_memory_is_given_back_when_there_is_nothing_to_do(start, monkeypatch):
    given = threading.Event()
    monkeypatch.setattr(engine, "_TIDY_SECONDS", 0.01)
    monkeypatch.setattr(engine, "release_memory", given.set)
    with start(max_speaking=1, stall_timeout=60) as server:
        with hold(server):
            given.clear()
            server.client.get("/health")
            assert not given.is_set()
        assert given.wait(20)
    monkeypatch.undo()
    engine.release_memory()


@pytest.fixture(scope="module")
def impatient(start):
    """A server with one place, whose clients of the other protocol have little time."""
    with start(wyoming="127.0.0.1:0", max_speaking=1, stall_timeout=0.3, request_timeout=20) as running:
        yield running


def talk(server, *events):
    """Send events of the Wyoming protocol; returns the connection."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", server.app.state.context.wyoming_port))
    for kind, data in events:
        connection.sendall(json.dumps({"type": kind, "data": data}).encode() + b"\n")
    return connection


def test_a_silent_wyoming_client_gives_its_place_back(impatient):
    with talk(impatient, ("synthesize-start", {})) as silent:
        answers = silent.makefile("rb")
        assert b"error" in answers.readline()
        until(lambda: impatient.metric("deepvoice_speaking") == 0)
        silent.sendall(b'{"type":"ping","data":{}}\n')
        assert b"pong" in answers.readline()


@pytest.mark.parametrize(
    "events",
    [
        [("synthesize", {"text": LONG})],
        [("synthesize-start", {}), *[("synthesize-chunk", {"text": LONG[i : i + 1000]}) for i in range(0, 3900, 1000)]],
        [("synthesize-start", {}), ("synthesize-chunk", {"text": LONG}), ("synthesize-stop", {})],
    ],
    ids=["whole", "pieces", "ended"],
)
def test_a_wyoming_client_that_reads_nothing_is_dropped(impatient, events):
    with talk(impatient, *events) as stalled:
        until(lambda: impatient.metric("deepvoice_speaking") == 1)
        until(lambda: impatient.metric("deepvoice_speaking") == 0)
        with pytest.raises(ConnectionResetError):
            while stalled.recv(1 << 16):
                pass


@pytest.mark.parametrize("raw", [b"\xff\xfe\n", b"[" * 60_000 + b"\n", b"nonsense\n", b'{"type":null}\n'])
def test_what_is_no_event_is_no_error_of_the_server(impatient, raw, caplog):
    with talk(impatient) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    done = threading.Event()
    impatient.loop.call_soon_threadsafe(done.set)
    assert done.wait(20)
    assert "Traceback" not in caplog.text and "exception" not in caplog.text


def test_a_full_disk_changes_nothing(start, tmp_path, monkeypatch):
    file = tmp_path / "words.toml"
    with start(lexicon=str(file)) as server:
        assert server.client.put("/v1/lexicon", json={"entries": {"ferry": "K AE1 T"}}).status_code == 200
        before = file.read_bytes()

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            for answer in (
                server.client.put("/v1/lexicon", json={"entries": {"quay": "K AE1 T"}}),
                server.client.delete("/v1/lexicon/ferry"),
            ):
                assert answer.status_code == 507
                assert answer.json()["error"]["code"] == "not_saved"
        assert server.client.get("/v1/lexicon").json() == {"entries": {"ferry": "K AE1 T"}}
        assert file.read_bytes() == before
        assert sorted(path.name for path in tmp_path.iterdir()) == [".words.toml.lock", "words.toml"]
        assert server.client.delete("/v1/lexicon/ferry").status_code == 200


def test_a_lexicon_that_someone_breaks_by_hand_stops_nobody(start, tmp_path):
    file = tmp_path / "words.toml"
    file.write_text('ferry = "K AE1 T"\n', encoding="utf-8")
    with start(lexicon=str(file)) as server:
        for broken in ("ferry = ", "ferry = 7", 'ferry = "no phones %%"', "x = " + "[" * 5000):
            file.write_text(broken, encoding="utf-8")
            said = server.client.post("/v1/phonemes", json={"input": "ferry"}).json()["sentences"][0]["symbols"]
            assert "AE1" in said
            refused = server.client.put("/v1/lexicon", json={"entries": {"quay": "K AE1 T"}})
            assert refused.status_code == 409
            assert file.read_text(encoding="utf-8") == broken  # what is being edited is not overwritten
        file.write_text('ferry = "D AO1 G"\n', encoding="utf-8")
        said = server.client.post("/v1/phonemes", json={"input": "ferry"}).json()["sentences"][0]["symbols"]
        assert "AO1" in said


def test_a_port_that_is_taken_ends_the_command(run_python, tiny_voice, server):
    flags = ("--voice", str(tiny_voice), "--port", str(server.port))
    for more in ((), ("--workers", "2"), ("--port", "0", "--wyoming", f"127.0.0.1:{server.port}")):
        ended = run_python("-m", "deepvoice", "serve", *flags, *more)
        assert ended.returncode == 1
        assert b"Traceback" not in ended.stderr and str(server.port).encode() in ended.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_lets_what_is_speaking_end(tiny_voice, workers):
    command = [sys.executable, "-P", "-m", "deepvoice", "serve", "--voice", str(tiny_voice), "--port", "0"]
    with subprocess.Popen([*command, "--workers", workers], stderr=subprocess.PIPE, text=True) as process:
        lines = (json.loads(line) for line in process.stderr)
        port = next(int(entry["url"].rpartition(":")[2]) for entry in lines if entry["event"] == "listening")
        body = json.dumps({"model": "m", "voice": "alloy", "input": LONG, "response_format": "pcm"}).encode()
        head = f"POST /v1/audio/speech HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=60) as speaking:
            speaking.sendall(f"{head}content-type: application/json\r\n\r\n".encode() + body)
            data = speaking.recv(100)
            process.send_signal(signal.SIGTERM)
            while part := speaking.recv(1 << 16):
                data += part
        assert data.endswith(b"0\r\n\r\n")
        process.stderr.read()
        assert process.wait(30) == 0
