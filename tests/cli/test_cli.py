"""The command line, in processes of its own: statuses, streams, formats, errors without leftovers."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
import wave

import pytest
import soundfile

TEXT = "Two cats."


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "ogg", "opus"])
def test_files(deepvoice, tmp_path, name):
    result = deepvoice("say", TEXT, "-o", f"a.{name}")
    assert (result.returncode, result.stdout) == (0, b"")
    assert result.stderr.decode().startswith(f"a.{name}: ")
    assert [file.name for file in tmp_path.iterdir()] == [f"a.{name}"]
    assert soundfile.info(tmp_path / f"a.{name}").samplerate == 24000
    assert soundfile.info(tmp_path / f"a.{name}").duration > 0.1


def test_text_sources_and_stdout_give_the_same_bytes(deepvoice, tmp_path):
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbfTwo cats.")
    assert deepvoice("say", TEXT, "-o", "a.wav", "-q").stderr == b""
    expected = (tmp_path / "a.wav").read_bytes()
    for arguments, options in (
        (("Two", "cats."), {}),
        (("-f", "text.txt"), {}),
        (("-",), {"input": b"Two cats."}),
        (("-f", "-"), {"input": b"Two cats."}),
        ((), {"input": b"Two cats."}),
    ):
        if options:
            options["stdin"] = None
        result = deepvoice("say", *arguments, "-q", "-o", "-", **options)
        assert result.returncode == 0, result.stderr.decode()
        assert result.stdout == expected
    with wave.open(io.BytesIO(expected)) as handle:
        assert handle.getnframes() * 2 + 44 == len(expected)


def test_formats_on_stdout(deepvoice, tmp_path):
    for name, magic in (("flac", b"fLaC"), ("ogg", b"OggS")):
        result = deepvoice("say", TEXT, "-q", "-o", "-", "--format", name)
        assert result.returncode == 0 and result.stdout.startswith(magic)
    assert deepvoice("say", TEXT, "-o", "named", "--format", "flac").returncode == 0
    assert (tmp_path / "named").read_bytes().startswith(b"fLaC")


def test_options_reach_the_voice(deepvoice, tmp_path):
    for i, options in enumerate(((), ("--seed", "1"), ("--seed", "2"), ("--speed", "2"), ("--volume", "0"))):
        assert deepvoice("say", TEXT, "-o", f"{i}.wav", *options).returncode == 0
    files = [(tmp_path / f"{i}.wav").read_bytes() for i in range(5)]
    assert files[0] == files[1] != files[2]
    assert len(files[3]) < len(files[0])
    assert not any(files[4][44:])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--speed", "9"), "'9' is not a number from 0.25 to 4; try 1.5"),
        (("--speed", "fast"), "'fast' is not a number"),
        (("--pitch", "nan"), "from -12 to 12"),
        (("--seed", "-1"), "whole number"),
        (("--format", "xyz"), "invalid choice"),
        (("--wrong",), "unrecognized arguments"),
        (("-f", "a.txt"), "both TEXT and --file"),
        (("-o", ""), "--output is empty"),
    ],
)
def test_usage_errors(deepvoice, tmp_path, arguments, words, error):
    assert words in error(deepvoice("say", TEXT, *arguments), 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "no/a.wav"), "its folder does not exist"),
        (("-o", "."), "has no suffix"),
        (("-o", "a.xyz"), "unknown"),
        (("-o", "a.wav", "--voice", "nobody"), "there is no voice 'nobody'"),
        (("-o", "a.wav", "--voice", "./nothing"), "not a voice folder"),
    ],
)
def test_failures(deepvoice, tmp_path, arguments, words, error):
    assert words in error(deepvoice("say", TEXT, *arguments), 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", " ", "\n", "***", "...!?", "你好"])
def test_text_that_cannot_be_spoken(deepvoice, tmp_path, text, error):
    assert error(deepvoice("say", text, "-o", "a.wav"), 1).startswith("deepvoice: ")
    assert list(tmp_path.iterdir()) == []


def test_unreadable_text(deepvoice, tmp_path, error):
    (tmp_path / "latin.txt").write_bytes("naïve".encode("latin-1"))
    assert "not UTF-8" in error(deepvoice("say", "-f", "latin.txt", "-o", "a.wav"), 1)
    assert "cannot read" in error(deepvoice("say", "-f", "none.txt", "-o", "a.wav"), 1)
    assert "cannot read" in error(deepvoice("say", "-f", ".", "-o", "a.wav"), 1)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_text_with_a_byte_order_mark(deepvoice, tmp_path, encoding):
    (tmp_path / "text.txt").write_bytes("Two\r\ncats.".encode(encoding))
    assert deepvoice("phonemes", "-f", "text.txt").stdout.decode().strip() == "sil T UW1 .\nsil K AE1 T S ."


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_not_spelled(deepvoice, tmp_path, encoding, error):
    (tmp_path / "text.txt").write_bytes("Two cats.".encode(encoding))
    assert "is not UTF-8 text" in error(deepvoice("phonemes", "-f", "text.txt"), 1)


def test_strict_refuses_and_otherwise_it_is_said(deepvoice, tmp_path, error):
    assert "'你好'" in error(deepvoice("say", "你好 cats", "-o", "a.wav", "--strict"), 3)
    assert "'你好'" in error(deepvoice("phonemes", "你好 cats", "--strict"), 3)
    assert list(tmp_path.iterdir()) == []
    result = deepvoice("say", "你好 cats", "-o", "a.wav")
    assert result.returncode == 0 and "not spoken: '你好'" in result.stderr.decode()


def test_no_text_on_a_terminal_is_usage_at_once(deepvoice, error):
    main, terminal = pty.openpty()
    try:
        started = time.monotonic()
        assert "there is no text" in error(deepvoice("say", stdin=terminal), 2)
        assert time.monotonic() - started < 20
    finally:
        os.close(main)
        os.close(terminal)


def test_audio_is_not_written_to_a_terminal(tiny_voice):
    main, terminal = pty.openpty()
    try:
        command = [sys.executable, "-P", "-m", "deepvoice", "say", "cat", "-o", "-", "--voice", str(tiny_voice)]
        result = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        assert result.returncode == 2 and b"redirect" in result.stderr
    finally:
        os.close(main)
        os.close(terminal)


@pytest.fixture
def shell(tiny_voice, tmp_path):
    """Return a function that runs a command in a shell, whose redirections come after it."""

    def run(arguments, redirections):
        command = f'"{sys.executable}" -P -m deepvoice {arguments} --voice "{tiny_voice}" {redirections}'
        return subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=60)

    return run


@pytest.mark.parametrize(
    ("arguments", "redirections", "status"),
    [
        ("say cat -o a.wav", "<&-", 0),
        ("say cat -o a.wav", ">&-", 0),
        ("say cat -o a.wav", "<&- >&- 2>&-", 0),
        ("say cat -o -", ">&-", 1),
        ("say cat -o - --format flac", ">&-", 1),
        ("say cat -o -", ">/dev/full", 1),
        ("phonemes cat", ">&-", 1),
        ("phonemes cat", ">/dev/full", 1),
        ("phonemes -", "<&-", 2),
        ("phonemes -f -", "<&-", 2),
        ("phonemes", "<&-", 2),
    ],
)
def test_closed_and_full_streams(shell, tmp_path, arguments, redirections, status):
    result = shell(arguments, redirections)
    message = result.stderr.decode()
    assert result.returncode == status, message
    assert "Traceback" not in message and "Exception" not in message
    assert [file.name for file in tmp_path.iterdir()] == (["a.wav"] if status == 0 else [])


def test_messages_stay_out_of_standard_output(shell):
    with_errors = shell("say '你好 cat' -o -", "2>/dev/null")
    assert with_errors.returncode == 0 and with_errors.stdout.startswith(b"RIFF")
    assert shell("say '你好 cat' -o -", "2>&-").stdout == with_errors.stdout


def test_standard_output_by_its_device(shell):
    expected = shell("say cat -q -o -", "</dev/null").stdout
    assert len(shell("say cat -q --format wav -o /dev/stdout", "| cat").stdout) == len(expected)


def test_a_closed_pipe_is_no_traceback(tiny_voice):
    command = [sys.executable, "-P", "-m", "deepvoice", "say", "cat " * 300, "-o", "-", "--voice", str(tiny_voice)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    message = process.stderr.read().decode()
    assert process.wait(60) == 1 and message == ""
    process.stderr.close()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupt_leaves_no_file(tiny_voice, tmp_path, number, status):
    command = [sys.executable, "-P", "-m", "deepvoice", "say", "-", "-o", str(tmp_path / "a.wav")]
    with subprocess.Popen(
        [*command, "--voice", str(tiny_voice)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a suite that runs in the background inherits an ignored interrupt, and would pass it on
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:
        process.stdin.write(b"The cat sat. " * 4000)
        process.stdin.close()
        while process.poll() is None and not list(tmp_path.iterdir()):
            time.sleep(0.02)
        process.send_signal(number)
        message = process.stderr.read().decode()
        assert process.wait(60) == status, message
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


def test_phonemes(deepvoice):
    result = deepvoice("phonemes", "The cat, 42!")
    assert result.stdout.decode().strip() == "sil DH AH0 | K AE1 T , F AO1 R T IY0 | T UW1 !"
    data = json.loads(deepvoice("phonemes", "--json", "The cat. 42!").stdout)
    assert [[word["word"] for word in sentence["words"]] for sentence in data["sentences"]] == [
        ["the", "cat"],
        ["forty", "two"],
    ]
    assert data["sentences"][1]["words"][1] == {
        "word": "two", "start": 9, "end": 11, "phones": ["T", "UW1"], "source": "lexicon"
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_narrow_consoles(deepvoice, encoding):
    for arguments in (
        ("phonemes", "naïve 你好 👍"),
        ("phonemes", "--json", "naïve 你好"),
        ("say", "你好", "-o", "a.wav"),
    ):
        result = deepvoice(*arguments, env={"PYTHONIOENCODING": encoding})
        assert b"Traceback" not in result.stderr
        assert result.returncode == (1 if arguments[0] == "say" else 0)


def test_voices_and_doctor(deepvoice):
    listed = deepvoice("voices")
    assert listed.returncode == 0 and b"heart (default): en-US, 24000 Hz" in listed.stdout
    assert b"heart-lite: en-US, 24000 Hz" in listed.stdout
    assert [voice["name"] for voice in json.loads(deepvoice("voices", "--json").stdout)] == ["heart", "heart-lite"]
    checked = deepvoice("doctor")
    assert checked.returncode == 0 and b"0 problems found" in checked.stdout
