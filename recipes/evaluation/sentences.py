"""The sentences of an evaluation, and the recordings that they are compared with."""

from dataclasses import dataclass
from pathlib import Path

from deepvoice.errors import AudioError, TextError

SUFFIXES = (".wav", ".flac", ".ogg", ".mp3", ".opus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A sentence: its name (of files), its text, and a recording of it where there is one."""

    name: str
    text: str
    reference: Path | None = None


def read_items(path: Path, reference: Path | None = None, limit: int | None = None) -> list[Item]:
    """Read a file of one sentence a line, or of a name, a tab and a sentence.

    reference: folder with a recording of every sentence, NAME.wav or .flac .ogg .mp3 .opus; sentences without names are
        called 000, 001, ... by their line among those that are not empty
    limit: take only so many, evenly spread
    Raises TextError for a file without sentences, a name twice or a line without text, AudioError for a recording
    that is missing.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TextError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    items: dict[str, Item] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, tab, text = line.partition("\t")
        if not tab:
            name, text = f"{len(items):03d}", line
        name, text = name.strip(), text.strip()
        if not text or not name or "/" in name or "\\" in name:
            raise TextError(f"{path}:{number}: {line[:40]!r}; expected a sentence, or a name, a tab and a sentence")
        if name in items:
            raise TextError(f"{path}:{number}: the name {name!r} comes twice; names are those of files")
        items[name] = Item(name=name, text=text, reference=_recording(reference, name) if reference else None)
    if not items:
        raise TextError(f"{path} has no sentence; expected one a line")
    found = list(items.values())
    return found if limit is None or limit >= len(found) else [found[i * len(found) // limit] for i in range(limit)]


def _recording(folder: Path, name: str) -> Path:
    for suffix in SUFFIXES:
        path = folder / (name + suffix)
        if path.exists():
            return path
    raise AudioError(f"{folder} has no recording {name}.wav (nor {', '.join(SUFFIXES[1:])}); expected one a sentence")
