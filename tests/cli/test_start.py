"""The first and last moments of the command: interrupts at any time, help, completion."""

import shutil
import subprocess

import pytest

INTERRUPT_AT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background inherits an ignored interrupt
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from deepvoice.cli import main
sys.exit(main(["say", "Two cats.", "-o", {path!r}]))
"""
MODULES = [
    "argparse", "deepvoice.commands.program", "deepvoice.commands.say", "numpy", "numpy.linalg", "deepvoice.pipeline",
    "deepvoice.kernels._cpu", "deepvoice.voice", "deepvoice.text.lexicon",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_an_interrupt_while_loading_is_one_line(run_python, tmp_path, name):
    result = run_python("-c", INTERRUPT_AT.format(name=name, path=str(tmp_path / "a.wav")))
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"deepvoice: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_a_second_interrupt_ends_at_once(run_python):
    code = """
import os, signal, sys, types
signal.signal(signal.SIGINT, signal.default_int_handler)
from deepvoice.commands import voices
def run(arguments):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
voices.run = run
from deepvoice.cli import main
sys.exit(main(["voices"]))
"""
    result = run_python("-c", code)
    assert (result.returncode, result.stderr) == (130, b"deepvoice: interrupted\n")


def test_the_entry_point_loads_next_to_nothing(run_python):
    result = run_python("-X", "importtime", "-c", "import deepvoice.cli")
    ours = {line.split("|")[-1].strip() for line in result.stderr.decode().splitlines()}
    assert {name for name in ours if name.startswith("deepvoice")} == {"deepvoice", "deepvoice.cli", "deepvoice.errors"}


def test_an_ignored_interrupt_stays_ignored(run_python, tmp_path):
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from deepvoice.cli import main
main(["--version"])
print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
"""
    assert run_python("-c", code).stdout.endswith(b"True\n")


def test_commands_run_in_threads_too(run_python):
    code = """
import threading
from deepvoice.cli import main
status = []
thread = threading.Thread(target=lambda: status.append(main(["voices"])))
thread.start(); thread.join()
print(status)
"""
    assert run_python("-c", code).stdout.endswith(b"[0]\n")


def test_help_has_examples(deepvoice):
    from deepvoice.commands.program import COMMANDS

    for name, command in COMMANDS.items():
        text = deepvoice(name, "--help").stdout.decode()
        assert command.examples and all(example in text for example in command.examples), name
    assert all(name in deepvoice("--help").stdout.decode() for name in COMMANDS)
    assert deepvoice("--version").stdout.startswith(b"deepvoice 0.")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_everything(deepvoice, shell):
    from deepvoice.commands.program import parsers

    script = deepvoice("completion", shell).stdout.decode()
    _, subparsers = parsers()
    for name, parser in subparsers.items():
        assert name in script
        for action in parser._actions:
            for flag in action.option_strings:
                assert (flag if shell != "fish" else flag.lstrip("-")) in script, (name, flag)
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script.encode(), check=True, timeout=60)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ph",), {"phonemes"}),
        (("say", "--spe"), {"--speed"}),
        (("say", "--format", "op"), {"opus"}),
        (("completion", "z"), {"zsh"}),
        (("book", "--li"), {"--list"}),
    ],
)
def test_completion_in_bash(deepvoice, words, expected):
    script = deepvoice("completion", "bash").stdout.decode()
    line = " ".join(words)
    code = f'COMP_WORDS=(deepvoice {line}); COMP_CWORD={len(words)}; _deepvoice; printf "%s\\n" "${{COMPREPLY[@]}}"'
    result = subprocess.run(["bash", "-c", f"{script}\n{code}"], capture_output=True, check=True, timeout=60)
    assert set(result.stdout.decode().split()) >= expected
    assert all(word.startswith(words[-1]) for word in result.stdout.decode().split())


def test_completion_takes_file_names(deepvoice, tmp_path):
    (tmp_path / "novel.epub").write_text("")
    script = deepvoice("completion", "bash").stdout.decode()
    code = 'COMP_WORDS=(deepvoice book nov); COMP_CWORD=2; _deepvoice; printf "%s\\n" "${COMPREPLY[@]}"'
    result = subprocess.run(["bash", "-c", f"{script}\n{code}"], capture_output=True, check=True, cwd=tmp_path)
    assert "novel.epub" in result.stdout.decode()
