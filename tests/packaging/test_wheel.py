"""What is inside the distribution, and what its commands and README promise."""

import importlib.metadata
import re
import shlex
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {".py", ".pyi", ".so", ".pyd", ".toml", ".json", ".typed", ".safetensors", ".bin", ".txt", ".md", ".png", ""}
ALLOWED |= {".conf", ".tsv"}  # of Speech Dispatcher; the sentences of a recipe
ALLOWED |= {".html", ".css", ".js", ".svg"}  # the page of the server


def test_dependencies_are_ranges():
    requirements = importlib.metadata.requires("deepvoice") or []
    core = [requirement for requirement in requirements if "extra ==" not in requirement]
    assert {re.split(r"[<>=!~;\[ ]", requirement)[0] for requirement in core} == {"numpy", "safetensors", "soundfile"}
    assert not [requirement for requirement in requirements if "==" in requirement.split(";")[0]]
    extras = importlib.metadata.metadata("deepvoice").get_all("Provides-Extra")
    assert set(extras) == {"server", "train", "eval", "book", "play", "ray", "dev"}


def test_package_data_is_installed():
    import deepvoice

    package = Path(deepvoice.__file__).parent
    assert (package / "py.typed").is_file()
    assert (package / "data" / "lexicon.bin").is_file()
    for voice in ("heart", "heart-lite"):
        assert (package / "voices" / voice / "voice.json").is_file()


def test_the_version_is_one():
    import deepvoice

    assert importlib.metadata.version("deepvoice") == deepvoice.__version__


def test_wheel_contents():
    wheels = sorted((ROOT / "dist").glob("deepvoice-*.whl"))
    if not wheels:  # built by `make wheel`; in the checkout the suite runs without it
        return
    with zipfile.ZipFile(wheels[-1]) as wheel:
        files = {file.filename: file.file_size for file in wheel.infolist()}
    assert wheels[-1].stat().st_size <= 20_000_000
    assert {name.split("/")[0].split("-")[0] for name in files} == {"deepvoice"}
    strange = [n for n in files if Path(n).suffix not in ALLOWED and "dist-info" not in n and "LICENSE" not in n]
    assert not strange
    for name in (
        "models/vocoder.py",
        "recipes/voice/pack.py",
        "server/static/page.html",
        "kernels/reference/wavenet.py",
        "voices/heart/voice.json",
        "voices/heart-lite/voice.json",
    ):
        assert f"deepvoice/{name}" in files
    assert any(re.fullmatch(r"deepvoice/kernels/_cpu\..*(so|pyd)", name) for name in files)


def blocks(language):
    """Code blocks of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_readme_python(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[number], "README.md", "exec"), {"__name__": "__main__"})


def test_readme_commands(tmp_path, run_python):
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("deepvoice ")]
    assert len(commands) >= 5
    (tmp_path / "chapter.txt").write_text("A short chapter. It ends here.")
    for command in commands:
        arguments = shlex.split(command.split(" | ")[0].split(" > ")[0], comments=True)[1:]
        if arguments[0] == "say" and "-o" not in arguments:
            arguments += ["-o", "played.wav"]  # there may be no loudspeaker here
        result = run_python("-m", "deepvoice", *arguments, cwd=tmp_path)
        assert result.returncode == 0, f"{command}: {result.stderr.decode()}"
