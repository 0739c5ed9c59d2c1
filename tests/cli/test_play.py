"""Playing: players of any kind, none, without a device, and stopped at once."""

import os
import signal
import subprocess
import sys
import time

import pytest

TEXT = "Two cats."


@pytest.fixture
def player(tmp_path):
    """Return a function that makes a program of a name in a folder of its own; it returns the environment."""

    def make(name, script):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        # a package that cannot be loaded: the machine of the test may have the real one
        (tmp_path / "bin" / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
        return {"PATH": str(path.parent), "PYTHONPATH": str(path.parent)}

    return make


def test_without_a_player_a_file_is_suggested(deepvoice, player, error):
    environment = player("other", "")
    line = error(deepvoice("say", TEXT, env=environment), 1)
    assert "-o speech.wav" in line and "aplay" in line and "deepvoice[play]" in line


def test_a_player_without_a_device_is_reported(deepvoice, player, error):
    environment = player("aplay", "echo 'audio open error: No such file or directory' >&2\nexit 1")
    line = error(deepvoice("say", TEXT, env=environment), 1)
    assert "audio open error" in line and "-o speech.wav" in line


def test_a_player_that_fails_without_a_status_is_reported(deepvoice, player, error):
    environment = player("ffplay", "/bin/cat > /dev/null\necho 'audio open failed' >&2\necho 'Failed to open file' >&2")
    assert "ffplay cannot play (audio open failed)" in error(deepvoice("say", TEXT, env=environment), 1)


@pytest.mark.parametrize("name", ["aplay", "paplay", "ffplay"])
def test_players_get_a_wav(deepvoice, player, tmp_path, name):
    environment = player(name, f"exec /bin/cat > {tmp_path}/heard.wav")
    assert deepvoice("say", TEXT, env=environment).returncode == 0
    assert (tmp_path / "heard.wav").read_bytes()[:4] == b"RIFF"


def test_afplay_gets_a_file(deepvoice, player, tmp_path):
    environment = player("afplay", f'exec /bin/cat "$1" > {tmp_path}/heard.wav')
    assert deepvoice("say", TEXT, env=environment).returncode == 0
    assert (tmp_path / "heard.wav").read_bytes()[:4] == b"RIFF"


def test_a_player_of_ones_own(deepvoice, player, tmp_path, error):
    environment = player("aplay", "exit 9")
    environment["DEEPVOICE_PLAYER"] = f"/bin/sh -c '/bin/cat > {tmp_path}/heard.wav'"
    assert deepvoice("say", TEXT, env=environment).returncode == 0
    assert (tmp_path / "heard.wav").read_bytes()[:4] == b"RIFF"
    environment["DEEPVOICE_PLAYER"] = "no-such-player"
    assert "no-such-player cannot be started" in error(deepvoice("say", TEXT, env=environment), 1)


PORTAUDIO = """
import sys, time
class OutputStream:
    def __init__(self, samplerate, channels, dtype):
        print("open", samplerate, channels, dtype, file=sys.stderr)
    def start(self):
        pass
    def write(self, samples):
        assert samples.shape[1] == 1 and samples.flags.c_contiguous and samples.dtype == "float32"
        {write}
    def stop(self):
        print("stop", file=sys.stderr)
    def abort(self):
        print("abort", file=sys.stderr)
    def close(self):
        print("close", file=sys.stderr)
"""


def test_the_package_sounddevice_comes_first(deepvoice, player, tmp_path):
    environment = player("aplay", "exit 9")
    (tmp_path / "bin" / "sounddevice.py").write_text(PORTAUDIO.format(write="pass"))
    result = deepvoice("say", TEXT, "-q", env=environment)
    assert result.returncode == 0
    assert result.stderr.decode().split() == ["open", "24000", "1", "float32", "stop", "close"]


def interrupted(tiny_voice, environment, sign):
    """Interrupt the command once it plays; returns what it says."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "deepvoice", "say", "cat " * 300, "--voice", str(tiny_voice)],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        while process.poll() is None and not sign.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        message = process.stderr.read().decode()
        assert process.wait(60) == 130, message
    assert "Traceback" not in message
    return message


def test_an_interrupt_stops_the_player(tiny_voice, player, tmp_path):
    sign = tmp_path / "pid"
    # it reads nothing, as a player whose buffer is full
    environment = player("aplay", f"echo $$ > {sign}.new; /bin/mv {sign}.new {sign}; exec /bin/sleep 600")
    assert interrupted(tiny_voice, environment, sign) == "deepvoice: interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(sign.read_text()), 0)


def test_an_interrupt_stops_the_device(tiny_voice, player, tmp_path):
    sign = tmp_path / "playing"
    environment = player("aplay", "exit 9")
    write = f"open({str(sign)!r}, 'w'); time.sleep(600)"
    (tmp_path / "bin" / "sounddevice.py").write_text(PORTAUDIO.format(write=write))
    assert interrupted(tiny_voice, environment, sign).split()[-4:] == ["abort", "close", "deepvoice:", "interrupted"]


def test_players_that_stop_listening_are_no_traceback(deepvoice, player, error):
    environment = player("aplay", "echo 'the device is gone' >&2; exit 3")
    assert "the device is gone" in error(deepvoice("say", "cat " * 500, env=environment), 1)
