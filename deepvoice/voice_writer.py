"""Write a voice folder: what `recipes/voice/pack.py` and the tests use; `deepvoice.voice` is the reader."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.config import to_dict
from deepvoice.errors import VoiceError
from deepvoice.text.phones import SYMBOLS, phone_set_hash
from deepvoice.voice import (
    FIRST_VERSION,
    FORMAT_VERSION,
    MANIFEST,
    MAX_MAGNITUDE,
    MODULES,
    SCALES,
    ModuleEntry,
    PhoneSet,
    Shapes,
    SynthesisDefaults,
    VoiceManifest,
    expected_shapes,
    load_voice,
    scale_shape,
)

_LONG = 4096  # values of a vector that is worth int8


def write_voice(
    folder: Path,
    *,
    name: str,
    features: str,
    module_configs: Mapping[str, Any],
    tensors: Mapping[str, Mapping[str, NDArray[Any]]],
    licence: str,
    provenance: str,
    synthesis: SynthesisDefaults | None = None,
    scores: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    language: str = "en-US",
    eight_bits: bool = False,
) -> None:
    """Write a voice folder, float16, and read it back as the check.

    features: the feature hash that all modules share
    module_configs, tensors: by module name; tensors by torch's names; segmentation may be absent
    eight_bits: write matrices and long vectors as int8, half the size (see `counted`), but for whole numbers above 127
    Raises VoiceError when a tensor is missing, has another shape or does not fit float16.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = {
        module: write_module(folder, module, module_configs[module], tensors[module], eight_bits)
        for module in MODULES
        if module in module_configs
    }
    manifest = VoiceManifest(
        format_version=FORMAT_VERSION if eight_bits or set(entries) != set(MODULES) else FIRST_VERSION,
        name=name,
        language=language,
        sample_rate=module_configs["vocoder"].mel.sample_rate,
        phone_set=PhoneSet(symbols=SYMBOLS, hash=phone_set_hash()),
        features=features,
        modules=entries,
        licence=licence,
        provenance=provenance,
        synthesis=synthesis or SynthesisDefaults(),
        scores=scores or {},
        training=training or {},
    )
    write_manifest(folder, manifest)
    load_voice(folder.absolute())


def write_module(
    folder: Path, module: str, config: Any, tensors: Mapping[str, NDArray[Any]], eight_bits: bool = False
) -> ModuleEntry:
    """Write the file of one module and return its entry for voice.json; raises VoiceError as `write_voice` does."""
    shapes = expected_shapes(module, config)
    raw = _serialise(module, shapes, tensors, eight_bits)
    _replace(folder / f"{module}.safetensors", raw)
    digest = hashlib.sha256(raw).hexdigest()
    return ModuleEntry(config=to_dict(config), file=f"{module}.safetensors", sha256=digest, tensors=shapes)


def write_manifest(folder: Path, manifest: VoiceManifest) -> None:
    """Write voice.json, one setting a line, tensor shapes on one line each."""
    text = json.dumps(to_dict(manifest), indent=1, ensure_ascii=False, allow_nan=False)
    text = re.sub(r"\[\n\s*([^\[\]{}]*?)\n\s*\]", lambda match: "[" + re.sub(r"\s*\n\s*", " ", match[1]) + "]", text)
    _replace(folder / MANIFEST, (text + "\n").encode())


def _serialise(module: str, shapes: Shapes, tensors: Mapping[str, NDArray[Any]], eight_bits: bool) -> bytes:
    from safetensors.numpy import save

    if set(tensors) != set(shapes):
        odd = sorted(set(tensors) ^ set(shapes))[0]
        raise VoiceError(f"{module}: the tensor {odd!r} is {'missing' if odd in shapes else 'not part of the config'}")
    written: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        values = np.asarray(tensors[name], np.float32)
        if values.shape != shape:
            raise VoiceError(f"{module}: {name} has the shape {values.shape}; expected {shape}")
        if not np.isfinite(values).all() or (values.size and float(np.abs(values).max()) > MAX_MAGNITUDE):
            raise VoiceError(f"{module}: {name} has values beyond float16; the training diverged")
        if eight_bits and (len(shape) > 1 or values.size >= _LONG) and not _numbers(values):
            written[name], written[name + SCALES] = counted(values)
        else:
            written[name] = np.ascontiguousarray(values.astype(np.float16))
    return save(written)


def _numbers(values: NDArray[np.float32]) -> bool:
    """Return whether a tensor holds whole numbers of which float16 has all and 127 steps do not."""
    largest = float(np.abs(values).max(initial=0.0))
    return 127 < largest <= 2048 and bool((values == np.rint(values)).all())


def counted(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a tensor as int8 and the scales of its rows: the nearest of 127 steps to the largest value of each row.

    A vector is one row. Whole numbers up to 127, such as numbers of classes, stay exact.
    """
    rows = values.reshape(scale_shape(values.shape)[0], -1)
    largest = np.abs(rows).max(axis=1, initial=0.0)
    whole = (rows == np.rint(rows)).all(axis=1) & (largest <= 127)
    scales = np.where(whole, 1.0, np.maximum(largest, 1e-30) / 127).astype(np.float32)
    counts = np.rint(rows / scales[:, None]).clip(-127, 127).astype(np.int8)
    return counts.reshape(values.shape), scales


def _replace(path: Path, raw: bytes) -> None:
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_bytes(raw)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
