"""Finding recordings and their texts in a folder, whatever its layout.

LJSpeech        metadata.csv (or .tsv, .txt) beside wavs/, `id|text` or `id|text|normalised text`
a table         any one .csv or .tsv in the folder; names of columns in its first line, or recording and text
a manifest      manifest.jsonl, where there is no table: {"audio": file, "text": words} in each line
pairs           NAME.wav beside NAME.txt (or .lab), in the folder or below it

Nothing is dropped in silence: a line without its recording, a recording without a line, and a second recording of the
same name are all listed with the reason.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from deepvoice.errors import ConfigError
from deepvoice.recipes.recordings.tables import Line, Refused, clean, read_table

SOUNDS = ("wav", "flac", "ogg", "opus", "mp3", "m4a", "aac", "aif", "aiff", "au", "w64", "caf", "g722", "wma", "amr")
_TEXTS = ("txt", "lab")
_TABLES = ("metadata.csv", "metadata.tsv", "metadata.txt", "transcripts.tsv", "transcripts.csv", "transcripts.txt")
_MOST_FILES = 2_000_000


class Recording(NamedTuple):
    """A recording with its text: a name of its own, the file, the text, and where the text is written."""

    id: str
    path: Path
    text: str
    place: str


@dataclass(slots=True, kw_only=True)
class Found:
    """What a folder holds."""

    layout: str
    recordings: list[Recording] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def find(folder: Path, table: Path | None = None, leave: Path | None = None) -> Found:
    """List the recordings of a folder in a fixed order.

    table: the file with the texts, where the folder has several
    leave: a folder that is not looked into, such as that of the corpus that is made
    Raises ConfigError when the folder is none, is empty, or has no layout that is known.
    """
    if not folder.is_dir():
        what = "a file" if folder.exists() else "missing"
        raise ConfigError(f"{folder} is {what}; expected a folder with recordings and their texts")
    files = [path for path in _files(folder) if leave is None or leave.resolve() not in path.resolve().parents]
    sounds = [path for path in files if is_sound(path)]
    if not sounds:
        raise ConfigError(f"{folder} has no recordings; expected files ending in .wav, .flac, .mp3 or another sound's")
    table = table or _only_table(folder, files)
    if table is not None:
        return _from_table(folder, table, sounds)
    texts = [path for path in files if _suffix(path) in _TEXTS]
    if not texts:
        raise ConfigError(
            f"{folder} has {len(sounds)} recordings but no texts; expected metadata.csv, a .tsv or .csv, "
            "manifest.jsonl, or a .txt beside each recording"
        )
    return _from_pairs(sounds, texts, folder)


def sounds_below(folder: Path) -> list[Path]:
    """Return the recordings of a folder and those below it, in a fixed order."""
    return [path for path in _files(folder) if is_sound(path)]


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder and those below it, without hidden ones, in order of their names."""
    found = []
    for path in folder.rglob("*"):
        inner = path.relative_to(folder).parts
        if any(part.startswith(".") for part in inner) or not path.is_file():
            continue
        found.append(path)
        if len(found) > _MOST_FILES:
            raise ConfigError(f"{folder} has more than {_MOST_FILES} files; name the folder of the recordings alone")
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def is_sound(path: Path) -> bool:
    """Whether a file is a recording, by its name."""
    return _suffix(path) in SOUNDS


def _suffix(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _only_table(folder: Path, files: Iterable[Path]) -> Path | None:
    """Return the table of a folder: one with a usual name, its only .csv or .tsv, or else its manifest."""
    for name in _TABLES:
        if (folder / name).is_file():
            return folder / name
    tables = [path for path in files if path.parent == folder and _suffix(path) in ("csv", "tsv")]
    if len(tables) > 1:
        names = ", ".join(path.name for path in tables[:5])
        raise ConfigError(f"{folder} has {len(tables)} tables ({names}); say with --table which one has the texts")
    manifest = folder / "manifest.jsonl"
    return tables[0] if tables else manifest if manifest.is_file() else None


def _from_table(folder: Path, table: Path, sounds: list[Path]) -> Found:
    if not table.is_file():
        raise ConfigError(f"the table {table} is missing; name a .csv or .tsv with recordings and texts")
    try:
        lines, refused = read_table(table)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    found = Found(layout=f"table {table.name}", refused=refused)
    index = _Index(folder, sounds)
    first: dict[Path, str] = {}
    for line in lines:
        path = index.find(line)
        if path is None:
            found.refused.append(Refused(line.place, f"its recording {line.name[:200]!r} is missing from {folder}"))
        elif path in first:
            found.refused.append(Refused(line.place, f"its recording {path.name} has a text at {first[path]} already"))
        else:
            first[path] = line.place
            found.recordings.append(Recording(_id(path, folder), path, line.text, line.place))
    found.refused += [Refused(str(path), "no line of the table names it") for path in sounds if path not in first]
    return _with_own_ids(found)


class _Index:
    """Recordings by every way in which a table may name them."""

    def __init__(self, folder: Path, sounds: list[Path]) -> None:
        self._paths: dict[str, Path] = {}
        for path in sounds:
            for name in self._names(path.relative_to(folder)):
                self._paths.setdefault(name, path)

    @staticmethod
    def _names(path: Path) -> Iterator[str]:
        yield path.as_posix()
        yield path.with_suffix("").as_posix()
        yield path.name
        yield path.stem

    def find(self, line: Line) -> Path | None:
        """Return the recording of a line: by its path, its name, or its name without suffix."""
        name = line.name.removeprefix("./")
        return self._paths.get(name) or self._paths.get(Path(name).with_suffix("").as_posix())


def _from_pairs(sounds: list[Path], texts: list[Path], folder: Path) -> Found:
    found = Found(layout="pairs of sound and text")
    by_name: dict[Path, list[Path]] = {}
    for path in sorted(sounds, key=lambda path: SOUNDS.index(_suffix(path))):
        by_name.setdefault(path.with_suffix(""), []).append(path)
    used: set[Path] = set()
    for text in texts:
        pair = by_name.get(text.with_suffix(""))
        if pair is None:
            found.refused.append(Refused(str(text), "no recording of that name lies beside it"))
            continue
        if pair[0] in used:
            found.refused.append(Refused(str(text), f"{pair[0].name} has a text already"))
            continue
        used.update(pair)
        found.refused += [Refused(str(other), f"a second recording beside {pair[0].name}") for other in pair[1:]]
        words = _read_text(text)
        if isinstance(words, Refused):
            found.refused.append(words)
        else:
            found.recordings.append(Recording(_id(pair[0], folder), pair[0], words, f"{text}:1"))
    found.refused += [Refused(str(path), "no text lies beside it") for path in sounds if path not in used]
    return _with_own_ids(found)


def _read_text(path: Path) -> str | Refused:
    """Return the text of a file, its lines joined, or why it has none."""
    try:
        text = path.read_bytes()[:200_000].decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Refused(f"{path}:1", f"not UTF-8 ({error.reason}); convert the file to UTF-8")
    except OSError as error:
        return Refused(str(path), f"cannot be read: {error.strerror}; check its permissions")
    words = clean(" ".join(text.split()))
    return words or Refused(f"{path}:1", "an empty text; write what is said or remove the file")


def _id(path: Path, folder: Path) -> str:
    """Return a name that can be a file's: the path inside the folder, without wavs/ and the suffix."""
    parts = path.relative_to(folder).with_suffix("").parts
    parts = parts[1:] if len(parts) > 1 and parts[0].lower() in ("wav", "wavs", "clips", "audio") else parts
    return "_".join("".join(c if c.isalnum() or c in "-_." else "_" for c in part) for part in parts)


def _with_own_ids(found: Found) -> Found:
    """Give recordings whose names fall together names of their own."""
    taken: set[str] = set()
    for position, recording in enumerate(found.recordings):
        name, count = recording.id, 1
        while name.lower() in taken:  # some file systems do not tell a from A
            count += 1
            name = f"{recording.id}-{count}"
        taken.add(name.lower())
        found.recordings[position] = recording._replace(id=name)
    return found
