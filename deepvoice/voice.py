"""The voice folder: the seam between training and speaking, and its only reader.

A voice is a folder with voice.json (format version, phone set, a config per module, hashes, provenance, scores) and one
safetensors file per module. On disk a tensor is float16, or int8 with a scale for each row (`NAME.scales`; a vector has
one scale), as `voice_writer` writes small voices. A voice may do without segmentation, then it speaks but does not
align. Everything in it is checked before it is used: hashes, names, shapes and
types of tensors against what the configs imply, limits before memory is taken, and that all values are finite. What
is wrong raises `VoiceError` and says how to mend it.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice import configs
from deepvoice.config import from_dict, require_range
from deepvoice.errors import ConfigError, VoiceError
from deepvoice.networks.duration import DurationNetwork
from deepvoice.networks.f0 import F0Network
from deepvoice.networks.grapheme_to_phoneme import GraphemeToPhonemeNetwork
from deepvoice.networks.homographs import HomographNetwork
from deepvoice.networks.segmentation import SegmentationNetwork
from deepvoice.networks.vocoder import VocoderNetwork
from deepvoice.text.phones import SYMBOLS, phone_set_hash

FORMAT_VERSION = 2
FIRST_VERSION = 1  # of voices with all modules and without int8: older readers know them
DEFAULT_VOICE = "heart"
VOICES = Path(__file__).parent / "voices"
MANIFEST = "voice.json"
Tensors = dict[str, NDArray[np.float32]]
Shapes = dict[str, tuple[int, ...]]


class _Network(Protocol):
    @staticmethod
    def expected_shapes(config: Any) -> dict[str, tuple[int, ...]]: ...


MODULES: dict[str, tuple[type, type[_Network]]] = {
    "segmentation": (configs.SegmentationConfig, SegmentationNetwork),
    "homographs": (configs.HomographConfig, HomographNetwork),
    "grapheme_to_phoneme": (configs.GraphemeToPhonemeConfig, GraphemeToPhonemeNetwork),
    "duration": (configs.DurationConfig, DurationNetwork),
    "f0": (configs.F0Config, F0Network),
    "vocoder": (configs.VocoderConfig, VocoderNetwork),
}
TEXT = ("homographs", "grapheme_to_phoneme")  # learn from text alone, and make the phones
SPEAKING = (*TEXT, "duration", "f0", "vocoder")  # segmentation serves training and alignment only, and may be absent

_SAMPLE_RATES = (8000, 12000, 16000, 24000, 48000)  # Hz; the rates that every output format can write
_MAX_MANIFEST = 1 << 20  # bytes
_MAX_HEADER = 1 << 20  # bytes of a safetensors header
_MAX_VALUES = 32 << 20  # values in one module
MAX_MAGNITUDE = 65504.0  # largest float16
SCALES = ".scales"  # follows the name of an int8 tensor
_TYPES: dict[str, str] = {"F16": "<f2", "F32": "<f4"}  # of tensors on disk that are no counts
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PACK = "python -m deepvoice.recipes.voice.pack"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneSet:
    """Symbols in the order of their ids, and the hash of that order."""

    symbols: tuple[str, ...]
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEntry:
    """One module of a voice: its config, its file, the file's hash and the shape of every tensor."""

    config: Mapping[str, Any]
    file: str
    sha256: str
    tensors: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisDefaults:
    """How this voice is sampled when the caller does not say otherwise.

    seed: of the random numbers
    temperature_voiced, temperature_unvoiced: divide the logits of the vocoder in voiced and unvoiced frames
    floor: probabilities below it are set to 0; where all are below it, the likeliest level is drawn
    gap_seconds: silence between sentences, in addition to their own edges
    """

    seed: int = 1
    temperature_voiced: float = 0.1
    temperature_unvoiced: float = 0.5
    floor: float = 0.002
    gap_seconds: float = 0.1

    def __post_init__(self) -> None:
        require_range("seed", self.seed, 0, 2**63 - 1)
        require_range("temperature_voiced", self.temperature_voiced, 0.01, 2.0)
        require_range("temperature_unvoiced", self.temperature_unvoiced, 0.01, 2.0)
        require_range("floor", self.floor, 0.0, 0.5)
        require_range("gap_seconds", self.gap_seconds, 0.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceManifest:
    """What voice.json says."""

    format_version: int
    name: str
    language: str
    sample_rate: int
    phone_set: PhoneSet
    features: str
    modules: Mapping[str, ModuleEntry]
    licence: str
    provenance: str
    synthesis: SynthesisDefaults = field(default_factory=SynthesisDefaults)
    scores: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sample_rate not in _SAMPLE_RATES:
            raise ConfigError(
                f"sample_rate is {self.sample_rate}; expected one of {', '.join(map(str, _SAMPLE_RATES))}"
            )
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"name is {self.name[:80]!r}; expected lower-case letters, digits, - and _")


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceFolder:
    """A voice in memory: what voice.json says, the checked configs, and float32 tensors by module and name."""

    path: Path
    manifest: VoiceManifest
    configs: Mapping[str, Any]
    tensors: Mapping[str, Tensors]


def voice_names() -> list[str]:
    """Names of the voices inside the package."""
    return sorted(folder.parent.name for folder in VOICES.glob(f"*/{MANIFEST}"))


def find_voice(name: str | Path | None = None) -> Path:
    """Return the folder of a voice given by name or by path; None is the default voice.

    A string is a name unless it contains a path separator or starts with a dot: names never reach the file system.
    """
    if name is None:
        name = DEFAULT_VOICE
    if not isinstance(name, (str, Path)):
        raise VoiceError(f"the voice is {str(name)[:80]} ({type(name).__name__}); expected a name or a folder's path")
    if isinstance(name, str) and not any(mark in name for mark in "/\\") and not name.startswith("."):
        if name in voice_names():
            return VOICES / name
        hint = f"; for the folder of that name pass ./{name}" if _NAME.fullmatch(name) and Path(name).is_dir() else ""
        known = ", ".join(voice_names()) or "none: this installation has no voices, reinstall deepvoice"
        raise VoiceError(f"there is no voice {name[:80]!r}; the voices are {known}{hint}")
    folder = Path(name)
    try:
        found = (folder / MANIFEST).is_file()
    except ValueError:  # a NUL in the path
        found = False
    if not found:
        raise VoiceError(f"{str(folder)!r} is not a voice folder: it has no {MANIFEST}; make one with {_PACK}")
    return folder


def load_voice(name: str | Path | None = None, modules: Sequence[str] | None = SPEAKING) -> VoiceFolder:
    """Read a voice by name or path, checking all modules and keeping the tensors of `modules`; None keeps all.

    Raises VoiceError naming the folder, what is wrong and the remedy.
    """
    path = find_voice(name)
    try:
        manifest = _read_manifest(path)
        module_configs = _check_configs(manifest)
        for module in modules or ():
            if module not in manifest.modules:
                raise VoiceError(
                    f"it has no {module}, it only speaks; use another voice for this, as {DEFAULT_VOICE!r}"
                )
        tensors = {}
        for module, entry in manifest.modules.items():
            loaded = _read_module(path, entry, expected_shapes(module, module_configs[module]))
            if modules is None or module in modules:
                tensors[module] = loaded
    except (VoiceError, ConfigError) as error:
        raise VoiceError(f"the voice in {path} cannot be used: {error}") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise VoiceError(f"the voice in {path} cannot be read: {reason}; restore the folder or reinstall") from None
    return VoiceFolder(path=path, manifest=manifest, configs=module_configs, tensors=tensors)


def read_manifest(name: str | Path | None = None) -> VoiceManifest:
    """Read only voice.json of a voice, for lists of voices and their scores."""
    path = find_voice(name)
    try:
        return _read_manifest(path)
    except (VoiceError, ConfigError) as error:
        raise VoiceError(f"the voice in {path} cannot be used: {error}") from None


def expected_shapes(module: str, config: Any) -> Shapes:
    """Return the shape of every tensor that a config implies, by torch's names."""
    return MODULES[module][1].expected_shapes(config)


def _read_manifest(path: Path) -> VoiceManifest:
    raw = _read_limited(path / MANIFEST, _MAX_MANIFEST)
    try:
        data = json.loads(raw, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise VoiceError(f"{MANIFEST} is damaged ({str(error)[:100]}); restore the folder or reinstall") from None
    version = data.get("format_version") if isinstance(data, dict) else None
    if type(version) is not int or version < 1:
        raise VoiceError(
            f"{MANIFEST} has format_version {str(version)[:40]!r}; expected {FORMAT_VERSION}; restore the folder"
        )
    if version > FORMAT_VERSION:
        raise VoiceError(
            f"it has format version {version}, this deepvoice reads up to {FORMAT_VERSION}; "
            f"upgrade deepvoice, or pack the voice again with this version: {_PACK}"
        )
    return from_dict(VoiceManifest, data)


def _check_configs(manifest: VoiceManifest) -> dict[str, Any]:
    if manifest.phone_set.hash != phone_set_hash() or manifest.phone_set.symbols != SYMBOLS:
        raise VoiceError(
            f"it was trained on another phone set (hash {manifest.phone_set.hash[:32]!r}, this deepvoice has "
            f"{phone_set_hash()!r}); train it again or use the deepvoice that packed it"
        )
    if not set(SPEAKING) <= set(manifest.modules) <= set(MODULES):
        raise VoiceError(
            f"it has the modules {sorted(manifest.modules)}; expected {sorted(MODULES)}; pack it again: {_PACK}"
        )
    checked: dict[str, Any] = {
        name: from_dict(kind, manifest.modules[name].config, name)
        for name, (kind, _) in MODULES.items()
        if name in manifest.modules
    }
    rate = checked["vocoder"].mel.sample_rate
    if rate != manifest.sample_rate:
        raise VoiceError(
            f"its vocoder makes {rate} Hz but the voice declares {manifest.sample_rate} Hz; pack it again: {_PACK}"
        )
    for name, config in checked.items():
        expected = expected_shapes(name, config)
        if sum(math.prod(shape) for shape in expected.values()) > _MAX_VALUES:
            raise VoiceError(f"its {name} config implies more than {_MAX_VALUES} values; the config is damaged")
    return checked


def _read_module(folder: Path, entry: ModuleEntry, expected: Shapes) -> Tensors:
    """Read one safetensors file; every tensor must have the name, shape and a type that the config implies."""
    if Path(entry.file).name != entry.file or not entry.file.endswith(".safetensors") or "\x00" in entry.file:
        raise VoiceError(
            f"the file name {entry.file[:80]!r} is not allowed; expected a bare name ending in .safetensors"
        )
    if dict(entry.tensors) != expected:
        different = sorted(set(entry.tensors.items()) ^ set(expected.items()))[0]
        raise VoiceError(
            f"{MANIFEST} lists other tensors for {entry.file} than its config implies: {different[0][:80]}"
        )
    values = sum(math.prod(shape) for shape in expected.values())
    raw = _read_limited(folder / entry.file, 4 * values + _MAX_HEADER)
    found = hashlib.sha256(raw).hexdigest()
    if found != entry.sha256:
        raise VoiceError(
            f"{entry.file} is damaged (sha256 {found[:16]}..., expected {entry.sha256[:16]}...); "
            "restore the folder or reinstall deepvoice"
        )
    return _parse_tensors(raw, entry.file, expected)


def _parse_tensors(raw: bytes, file: str, expected: Shapes) -> Tensors:
    from safetensors import SafetensorError, deserialize

    if len(raw) < 8 or int.from_bytes(raw[:8], "little") > min(_MAX_HEADER, len(raw) - 8):
        raise VoiceError(f"{file} is not a safetensors file; restore the folder or reinstall deepvoice")
    try:
        entries: dict[str, Any] = dict(deserialize(raw))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError, RecursionError) as error:
        raise VoiceError(f"{file} is not a safetensors file ({str(error)[:100]}); restore the folder") from None
    counted = {name for name in expected if name in entries and entries[name]["dtype"] == "I8"}
    wanted = set(expected) | {name + SCALES for name in counted}
    if set(entries) != wanted:
        odd = sorted(set(entries) ^ wanted)[0]
        verb = "lacks" if odd in wanted else "has the unknown"
        raise VoiceError(f"{file} {verb} tensor {odd[:80]!r}; pack the voice again: {_PACK}")
    return {
        name: _counted(file, name, entries, shape) if name in counted else _tensor(file, name, entries[name], shape)
        for name, shape in expected.items()
    }


def scale_shape(shape: tuple[int, ...]) -> tuple[int]:
    """Return the shape of an int8 tensor's scales: one a row, one for a whole vector."""
    return (shape[0] if len(shape) > 1 else 1,)


def _counted(file: str, name: str, entries: Mapping[str, Any], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return an int8 tensor times its scales."""
    counts = _values(f"{file}: {name}", entries[name], shape, np.dtype(np.int8))
    rows = scale_shape(shape)
    scales = _tensor(file, name + SCALES, entries[name + SCALES], rows)
    values = (counts.astype(np.float32).reshape(rows[0], -1) * scales[:, None]).reshape(shape)
    return _finite(f"{file}: {name}", values)


def _tensor(file: str, name: str, entry: Mapping[str, Any], shape: tuple[int, ...]) -> NDArray[np.float32]:
    label, kind = f"{file}: {name}", np.dtype(_TYPES.get(entry["dtype"], np.void))
    if kind == np.void:
        raise VoiceError(f"{label} has the type {entry['dtype']}; expected F16 or F32")
    return _finite(label, _values(label, entry, shape, kind).astype(np.float32))


def _values(label: str, entry: Mapping[str, Any], shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    if tuple(entry["shape"]) != shape or len(entry["data"]) != math.prod(shape) * kind.itemsize:
        raise VoiceError(f"{label} has the shape {tuple(entry['shape'])}; expected {shape}")
    return np.frombuffer(entry["data"], kind).reshape(shape)


def _finite(label: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
    if not np.isfinite(values).all() or (values.size and float(np.abs(values).max()) > MAX_MAGNITUDE):
        raise VoiceError(
            f"{label} has values that are not finite numbers of at most {MAX_MAGNITUDE:g}; retrain or repack"
        )
    return values


def _read_limited(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes."""
    if not path.is_file():
        raise VoiceError(f"{path.name} is missing; restore the folder or reinstall deepvoice")
    with path.open("rb") as handle:
        raw = handle.read(limit + 1)
    if len(raw) > limit:
        raise VoiceError(f"{path.name} is larger than {limit} bytes, more than a voice needs; restore the folder")
    return raw


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key appears twice")
    return table
