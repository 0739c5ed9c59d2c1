"""Checkpoints: tensors and plain values only, written atomically, refused when made for other features or phones."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn


def save_checkpoint(state: Mapping[str, Any], path: Path) -> None:
    """Write a checkpoint under a temporary name, flush it, keep the previous one as `.previous`, then rename."""
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as handle:
        torch.save(dict(state), handle)
        handle.flush()
        os.fsync(handle.fileno())
    if path.exists():
        path.replace(path.with_suffix(".previous"))
    temporary.replace(path)


def load_checkpoint(path: Path, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read a checkpoint (never pickled code); a different `meta` is refused with the difference.

    Raises ValueError when it was made with other features or another phone set.
    """
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    for key, value in (meta or {}).items():
        found = state["meta"].get(key)
        if found != value:
            raise ValueError(
                f"{path} was made with {key} = {found!r}, this run has {value!r}; use another out_dir or retrain"
            )
    return state


def warm_start(model: nn.Module, path: Path) -> None:
    """Load weights alone (a checkpoint's EMA or a packed safetensors file) and begin at step 0 with a new optimiser."""
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        weights = {name: value.float() for name, value in load_file(path).items()}
    else:
        weights = load_checkpoint(path)["ema"]
    model.load_state_dict(weights)
