"""What long jobs need: keys by which speech that was made before is recognised, and names for its files."""

import hashlib
import json
import re
import unicodedata
import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepvoice import __version__, kernels
from deepvoice.audio.formats import lookup
from deepvoice.voice import MANIFEST, find_voice, read_manifest

if TYPE_CHECKING:
    from deepvoice.options import OptionValues
    from deepvoice.pipeline import Voice

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")  # names that Windows keeps for itself
_DATA = Path(__file__).resolve().parent / "data"
_LONGEST = 200  # bytes of a name; file systems take 255, and suffixes follow


def content_key(voice: str | None, options: "OptionValues", *parts: Any) -> str:
    """Return a hash of everything that samples depend on: `voice_key`, the options and whatever else is given."""
    plain = {name: value for name, value in options.items() if name != "lexicon"}
    lexicon = options.get("lexicon")
    entries = repr(lexicon.entries) if lexicon else ""
    everything = [__version__, voice_key(voice), sorted(plain.items()), entries, *parts]
    return hashlib.sha256(json.dumps(everything, default=_plain).encode()).hexdigest()[:32]


@lru_cache(maxsize=4)
def loaded_voice(name: str | None) -> "Voice":
    """Return a voice that this process keeps loaded."""
    from deepvoice.pipeline import Voice

    return Voice.load(name, threads=1)


def safe_name(name: str, fallback: str) -> str:
    """Return a name that stays in its folder on any file system: no separators, no dots in front, not too long.

    The suffix of an audio format is left out; `fallback` is the name when nothing else remains.
    """
    name = unicodedata.normalize("NFC", name)
    stem, dot, suffix = name.rpartition(".")
    if dot and stem and lookup(suffix):
        name = stem
    name = _UNSAFE.sub("_", name.encode("utf-8", "replace").decode("utf-8")).strip(" .")
    while len(name.encode("utf-8")) > _LONGEST:
        name = name[:-1]
    name = name.rstrip(" .")
    if not name.strip("_"):
        return fallback
    return f"_{name}" if _DEVICES.match(name) else name


def voice_key(name: str | None) -> str:
    """Return a hash of a voice's own hashes, how it is computed here, and the words that the package knows.

    Raises VoiceError when there is no such voice, or its manifest is damaged; KernelUnavailableError when the
    environment asks for a precision that it cannot have.
    """
    manifest, calibrated = _manifest(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever speaks says that the kernels are missing
        backend = kernels.resolve()
        precision = kernels.choose_precision(calibrated=calibrated, backend=backend)
    return hashlib.sha256(f"{backend} {precision} {_data_hash(_DATA)}".encode() + manifest).hexdigest()


@lru_cache(maxsize=64)
def _manifest(name: str | None) -> tuple[bytes, bool]:
    """Return the manifest of a voice, and whether its vocoder is calibrated for int8."""
    manifest = (find_voice(name) / MANIFEST).read_bytes()
    return manifest, bool(read_manifest(name).modules["vocoder"].config.get("calibrated"))


@lru_cache(maxsize=4)
def _data_hash(folder: Path) -> str:
    """Return a hash of the lexicon and the other tables of a folder."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.bin")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Show what JSON has no form for: sets in order, dataclasses by their fields."""
    return sorted(value) if isinstance(value, frozenset | set) else repr(value)
