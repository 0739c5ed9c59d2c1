"""Checkpoints: tensors and plain values only, written atomically, verified by a hash, the last good one kept.

At every moment `last.pt` is a whole checkpoint, whatever process is killed and whatever disk is full: a new one is
written and flushed under another name, the present one gets a second name (`last.previous`), and one rename puts the
new one in place. A file that the disk has damaged is refused; the run goes on from the one before it.
"""

import contextlib
import errno
import hashlib
import io
import os
import pickle
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from deepvoice.recipes.common.faults import (
    DamagedCheckpointError,
    DiskFullError,
    ForeignCheckpointError,
    differences,
)

_DIGEST = "digest"  # key of the hash over everything else; checkpoints of older versions have none
_UNREADABLE = (  # what torch's reader raises for one damaged byte or another; errors of the disk are not among them
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, MemoryError, RuntimeError,
    TypeError, ValueError, pickle.UnpicklingError, struct.error,
)  # fmt: skip
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def digest(state: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a tree of tensors and plain values; anything else raises TypeError."""
    total = hashlib.sha256()
    _add(state, total)
    return total.hexdigest()


def _add(value: Any, total: Any) -> None:
    if isinstance(value, torch.Tensor):
        flat = value.detach().cpu().contiguous().reshape(-1)
        total.update(f"{value.dtype}{tuple(value.shape)}".encode())
        total.update(flat.view(torch.uint8).numpy())
    elif isinstance(value, Mapping):
        total.update(f"{{{len(value)}".encode())
        for key, item in value.items():
            total.update(repr(key).encode())
            _add(item, total)
    elif isinstance(value, list | tuple):
        total.update(f"[{len(value)}".encode())
        for item in value:
            _add(item, total)
    elif value is None or isinstance(value, bool | int | float | str):
        total.update(f"{type(value).__name__}{value!r};".encode())
    else:
        raise TypeError(f"a checkpoint holds tensors and plain values, not {type(value).__name__}: {value!r}")


def save_checkpoint(state: Mapping[str, Any], path: Path) -> int:
    """Write a checkpoint so that a whole one lies at `path` at every moment, and keep the one before as `.previous`.

    Returns its bytes. Raises DiskFullError, with the old one in place, when there is no room.
    """
    buffer = io.BytesIO()
    torch.save({**state, _DIGEST: digest(state)}, buffer)
    temporary, spare = path.with_suffix(".part"), path.with_suffix(".spare")
    try:
        write_flushed(temporary, buffer.getbuffer())
        if path.exists():
            spare.unlink(missing_ok=True)
            try:
                os.link(path, spare)  # the old one keeps its name until the new one takes it
            except OSError as error:
                if error.errno in _FULL:
                    raise
                write_flushed(spare, path.read_bytes())  # a file system without links
            spare.replace(path.with_suffix(".previous"))
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if error.errno not in _FULL:
            raise
        kept = f"the one before is whole at {path}" if path.exists() else "there is none before it"
        raise DiskFullError(
            f"no room for a checkpoint of {len(buffer.getbuffer()) / 1e6:.1f} MB in {path.parent} ({error.strerror}); "
            f"{kept}; free some space and start the same command again"
        ) from error
    return len(buffer.getbuffer())


def write_flushed(path: Path, content: bytes | memoryview) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the renames last through a power cut; file systems that cannot are left alone."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def load_checkpoint(
    path: Path, meta: Mapping[str, Any] | None = None, spec: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Read a checkpoint (never pickled code) and verify it.

    meta: hashes that it has to carry; spec: what they are of, for the message
    Raises DamagedCheckpointError, or ForeignCheckpointError when it was made with other features or another phone set.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        expected = state.pop(_DIGEST, None)
    except _UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DamagedCheckpointError(f"{path} is damaged or no checkpoint ({reason[:200]})") from None
    if expected is not None and digest(state) != expected:
        raise DamagedCheckpointError(f"{path} is damaged: its contents do not fit its hash")
    for key, value in (meta or {}).items():
        found = state.get("meta", {}).get(key)
        if found != value:
            was = state.get("origin", {}).get("spec", {}).get(key)
            lines = differences(was, (spec or {}).get(key), key) if was is not None and spec else []
            raise ForeignCheckpointError(
                f"{path} was made with {key} = {found!r}, this run has {value!r}; use another out_dir or retrain"
                + "".join(f"\n  {line}" for line in lines)
            )
    return state


def newest_checkpoint(
    path: Path,
    meta: Mapping[str, Any],
    spec: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any] | None:
    """Return the last good checkpoint of a run, or None where there is none; what was left half-written is removed.

    A damaged one is set aside as `.damaged`. Raises DamagedCheckpointError when no other one is left.
    """
    for leftover in (path.with_suffix(".part"), path.with_suffix(".spare")):
        leftover.unlink(missing_ok=True)
    candidates = [p for p in (path, path.with_suffix(".previous")) if p.exists()]
    for number, candidate in enumerate(candidates):
        try:
            state = load_checkpoint(candidate, meta, spec)
        except DamagedCheckpointError as error:
            if number + 1 == len(candidates):
                raise DamagedCheckpointError(
                    f"{error}; no good checkpoint is left in {path.parent}: copy one there, or remove it to start anew"
                ) from None
            candidate.replace(path.with_suffix(".damaged"))
            aside = path.with_suffix(".damaged").name
            say(f"{error}; set aside as {aside}, going on from {candidates[number + 1].name}")
        else:
            if candidate != path:
                candidate.replace(path)
            return state
    return None


def warm_start(model: nn.Module, path: Path) -> None:
    """Load weights alone (a checkpoint's EMA or a packed safetensors file) and begin at step 0 with a new optimiser."""
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        weights = {name: value.float() for name, value in load_file(path).items()}
    else:
        weights = load_checkpoint(path)["ema"]
    check_fits(model, weights, path)
    model.load_state_dict(weights)


def check_fits(model: nn.Module, weights: Mapping[str, torch.Tensor], path: Path) -> None:
    """Raise ForeignCheckpointError unless weights have the names and shapes of a model; path: where they are from."""
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    other = [f"{n}: {found.get(n, 'not')} in the file, {own.get(n, 'not')} here" for n in own | found]
    other = [line for n, line in zip(own | found, other, strict=True) if own.get(n) != found.get(n)]
    if other:
        raise ForeignCheckpointError(
            f"{path} holds the weights of another module or of other sizes, not of this {type(model).__name__}; give "
            "another file or another run folder" + "".join(f"\n  {line}" for line in other[:5])
            + (f"\n  and {len(other) - 5} more" if len(other) > 5 else "")
        )  # fmt: skip
