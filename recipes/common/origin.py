"""Where a checkpoint comes from: code, versions, data, and what its feature hash is of."""

import hashlib
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch

from deepvoice import __version__
from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.features import feature_parameters
from deepvoice.text.phones import SYMBOLS


def origin(data: Sequence[Path], spec: MelSpec | None) -> dict[str, Any]:
    """Return the origin of a run as plain values.

    data: files that it learns from; spec: of its features, None where it has none
    """
    known: dict[str, Any] = {"phones": list(SYMBOLS)}
    if spec is not None:
        known["features"] = feature_parameters(spec)
    versions = {"deepvoice": __version__, "torch": str(torch.__version__), "numpy": numpy.__version__}
    return {
        "git": git_state(), "data": {path.name: file_hash(path) for path in data},
        "versions": {**versions, "python": platform.python_version()}, "spec": known,
    }  # fmt: skip


def git_state(folder: Path = Path(__file__).parent) -> str:
    """Return the commit of the code, with `+changes` where files differ from it; `unknown` outside a checkout."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return f"{commit}+changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()


def file_hash(path: Path) -> str:
    """Return a short SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()[:16]


def data_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that are not what they were when the checkpoint was made."""
    was, is_ = before.get("data", {}), now.get("data", {})
    return [name for name in is_ if name in was and was[name] != is_[name]]
