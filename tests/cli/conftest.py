"""Running the command in processes of its own, in an empty folder, with the miniature voice where it takes one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SPEAKING = ("say", "phonemes", "batch")


@pytest.fixture
def deepvoice(run_python: Any, tiny_voice: Path, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that runs a command; --voice is added for those that speak."""

    def run(command: str, *arguments: object, **options: Any) -> Any:
        voice = ("--voice", str(tiny_voice)) if command in SPEAKING and "--voice" not in arguments else ()
        return run_python("-m", "deepvoice", command, *map(str, arguments), *voice, cwd=tmp_path, **options)

    return run


@pytest.fixture
def error() -> Callable[..., str]:
    """Return a function that checks the status and that nothing but messages came; it returns the last of them."""

    def check(result: Any, status: int) -> str:
        lines = result.stderr.decode().strip().splitlines()
        assert result.returncode == status, lines
        assert result.stdout == b""
        assert not any("Traceback" in line for line in lines)
        return lines[-1]

    return check
