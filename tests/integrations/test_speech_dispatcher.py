"""The module for Speech Dispatcher, spoken to as the server does."""

import io
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import deepvoice
from deepvoice.integrations.speech_dispatcher import Module, Protocol

FOLDER = Path(deepvoice.__file__).parent / "integrations" / "speech-dispatcher"


def decoded(output):
    """Split what a module has sent into lines; sound becomes ("audio", samples, rate)."""
    events, fields = [], {}
    for line in output.split(b"\n"):
        if line.startswith(b"705-AUDIO\0"):
            data = re.sub(rb"\x7d(.)", lambda match: bytes([match[1][0] ^ 0x20]), line[10:], flags=re.DOTALL)
            samples = np.frombuffer(data, np.int16)
            assert len(samples) == int(fields["num_samples"]) and fields["bits"] == "16"
            events.append(("audio", samples, int(fields["sample_rate"])))
        elif line.startswith(b"705-"):
            name, _, value = line[4:].decode().partition("=")
            fields[name] = value
        elif line and line != b"705 AUDIO":
            events.append(line.decode())
    return events


def talk(tiny_voice, *lines):
    """Send lines to a module and return what it answered."""
    output = io.BytesIO()
    Module(Protocol(output), str(tiny_voice)).serve(["INIT", *lines])
    return decoded(output.getvalue())


def heard(events):
    return np.concatenate([event[1] for event in events if event[0] == "audio"] or [np.zeros(0, np.int16)])


def spoken(tiny_voice, *lines):
    """Return the samples of a message."""
    return heard(talk(tiny_voice, *lines))


def test_a_session(tiny_voice):
    events = talk(
        tiny_voice,
        "AUDIO", "audio_output_method=server", ".", "LOGLEVEL", "log_level=3", ".", "LIST VOICES",
        "SET", "rate=0", "punctuation_mode=none", ".",
        "SPEAK", '<speak>Two cats <mark name="one"/> and <mark name="two"/></speak>', ".", "QUIT",
    )  # fmt: skip
    lines = [event if isinstance(event, str) else "audio" for event in events]
    begin = lines.index("701 BEGIN")
    assert lines[:begin] == [
        "299-deepvoice with the voice tiny", "299 OK LOADED SUCCESSFULLY",
        "207 OK RECEIVING AUDIO SETTINGS", "203 OK AUDIO INITIALIZED",
        "207 OK RECEIVING LOGLEVEL SETTINGS", "203 OK LOG LEVEL SET",
        "200-heart\ten-US\tnone", "200-heart-lite\ten-US\tnone", "200 OK VOICE LIST SENT",
        "203 OK RECEIVING SETTINGS", "203 OK SETTINGS RECEIVED",
        "202 OK RECEIVING MESSAGE", "200 OK SPEAKING",
    ]  # fmt: skip
    rest = [line for line in lines[begin:] if line != "audio" and line != "210 OK QUIT"]
    marks = ["700-one", "700 INDEX MARK", "700-two", "700 INDEX MARK"]
    stopped = [["701 BEGIN", *marks[:count], "703 STOP"] for count in (0, 2, 4)]  # QUIT came before the end
    assert rest in (["701 BEGIN", *marks, "702 END"], *stopped)


class Server:
    """A module in a thread, so that commands come while it speaks."""

    def __init__(self, tiny_voice):
        self._lines = queue.Queue()
        self.output = io.BytesIO()
        module = Module(Protocol(self.output), str(tiny_voice))
        self._thread = threading.Thread(target=module.serve, args=(iter(self._lines.get, None),))
        self._thread.start()

    def send(self, *lines):
        for line in lines:
            self._lines.put(line)

    def wait(self, word):
        """Wait until a line has come."""
        pause = threading.Event()
        for _ in range(6000):
            if word in self.output.getvalue():
                return
            pause.wait(0.01)
        raise AssertionError(self.output.getvalue()[-500:])

    def close(self):
        self.send(None)
        self._thread.join()
        return decoded(self.output.getvalue())


@pytest.mark.parametrize(("command", "event"), [("STOP", "703 STOP"), ("PAUSE", "704 PAUSE")])
def test_stop_and_pause_end_a_long_message(tiny_voice, command, event):
    server = Server(tiny_voice)
    server.send("INIT", "SPEAK", "<speak>" + "The cat sat. " * 2000 + "</speak>", ".")
    server.wait(b"705 AUDIO")
    server.send(command)
    server.wait(event.encode())
    server.send("SPEAK", "<speak>Two cats.</speak>", ".")
    server.wait(b"702 END")
    lines = [line if isinstance(line, str) else "audio" for line in server.close()]
    assert lines.index(event) < lines.index("702 END")
    assert lines.count("audio") < 500


def test_samples_and_marks_lie_where_the_voice_puts_them(tiny_voice):
    text = '<speak>Two cats.<mark name="m"/> One dog.</speak>'
    server = Server(tiny_voice)
    server.send("INIT", "SPEAK", text, ".")
    server.wait(b"702 END")
    events = server.close()
    expected = deepvoice.load(tiny_voice).speak(text, ssml=True)
    from deepvoice.audio.io import to_pcm16

    assert np.array_equal(heard(events), to_pcm16(expected.samples))
    before = heard(events[: events.index("700-m")])
    assert len(before) == expected.marks[0].sample


def length(tiny_voice, *lines):
    server = Server(tiny_voice)
    server.send("INIT", *lines)
    server.wait(b"702 END")
    return len(heard(server.close()))


def test_settings_are_heard(tiny_voice):
    message = ("SPEAK", "<speak>Two cats sat here, and one dog.</speak>", ".")
    usual = length(tiny_voice, *message)
    assert length(tiny_voice, "SET", "rate=100", ".", *message) < 0.5 * usual
    assert length(tiny_voice, "SET", "rate=-50", ".", *message) > 1.4 * usual
    assert length(tiny_voice, "SET", "rate=rubbish", ".", *message) == usual
    assert length(tiny_voice, "SET", "punctuation_mode=all", ".", *message) > usual
    assert length(tiny_voice, "SET", "spelling_mode=on", ".", *message) > 1.5 * usual


@pytest.mark.parametrize(
    ("kind", "text"),
    [("CHAR", "a"), ("CHAR", "!"), ("CHAR", "space"), ("KEY", "control_a"), ("KEY", "_"), ("SPEAK", "a < b & c"),
     ("SPEAK", "<speak>broken"), ("SPEAK", "<speak>...</speak>"), ("SPEAK", "..dot at the beginning")],
)  # fmt: skip
def test_everything_that_can_be_heard_is_heard(tiny_voice, kind, text):
    assert length(tiny_voice, kind, text, ".") > 1000


@pytest.mark.parametrize(
    ("kind", "text"), [("SPEAK", "<speak></speak>"), ("SPEAK", ""), ("SOUND_ICON", "bell"), ("CHAR", " ")]
)
def test_messages_without_words_begin_and_end(tiny_voice, kind, text):
    assert length(tiny_voice, kind, text, ".") == 0


def test_what_it_cannot_do_is_said(tiny_voice):
    events = talk(tiny_voice, "FLY", "AUDIO", "audio_output_method=alsa", ".", "DEBUG ON /tmp/x", "QUIT")
    assert events[2:] == [
        "300 ERR UNKNOWN COMMAND", "207 OK RECEIVING AUDIO SETTINGS", "300 MODULE NEEDS SERVER AUDIO",
        "200 OK DEBUGGING ON", "210 OK QUIT",
    ]  # fmt: skip
    output = io.BytesIO()
    Module(Protocol(output), "nobody").serve(["INIT", "SPEAK", "<speak>x</speak>", ".", "QUIT"])
    lines = decoded(output.getvalue())
    assert lines[0].startswith("399-there is no voice 'nobody'") and lines[1] == "399 ERR CANT INIT MODULE"
    assert "301 ERROR CANT SPEAK" in lines


def test_the_process(tiny_voice):
    session = b"INIT\nSPEAK\n<speak>Two cats.</speak>\n.\n"
    command = [sys.executable, "-P", "-m", "deepvoice.integrations.speech_dispatcher", "ignored.conf"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"DEEPVOICE_VOICE": str(tiny_voice)}
    ) as process:
        process.stdin.write(session)
        process.stdin.flush()
        output = b""
        while b"702 END" not in output:
            output += process.stdout.readline()
        process.stdin.write(b"QUIT\n")
        process.stdin.close()
        assert process.stdout.read() == b"210 OK QUIT\n"
    assert process.returncode == 0 and len(heard(decoded(output))) > 0


def test_the_configuration_files_are_shipped():
    generic = (FOLDER / "deepvoice-generic.conf").read_text()
    options = set(re.findall(r"--\w+", generic))
    from deepvoice.commands.program import parsers

    known = {flag for action in parsers("say")[1]["say"]._actions for flag in action.option_strings}
    assert options == {"--speed", "--pitch", "--volume"} <= known
    assert "sd_deepvoice" in (FOLDER / "deepvoice.conf").read_text()
