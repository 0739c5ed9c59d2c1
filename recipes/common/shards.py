"""Feature files of a corpus in shards: written whole, checked by hash, mapped into memory a few at a time.

A shard is a safetensors file of flat arrays over some hundred utterances; beside it lies a JSON file with its hash and
its utterances. Its name holds a hash of everything that went into it, so that one which exists need not be made again.
"""

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from deepvoice.audio.io import replacing

_DTYPES = {"I16": np.int16, "F16": np.float16, "F32": np.float32}
_CHUNK = 1 << 22  # bytes read at once for a hash


class ShardError(ValueError):
    """A shard is missing or is not what the index says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What the index knows of a shard: its file, hash and size, and the id and frames of its utterances in order."""

    file: str
    sha256: str
    bytes: int
    utterances: tuple[tuple[str, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as the index holds it."""
        return {"file": self.file, "sha256": self.sha256, "bytes": self.bytes, "utterances": list(self.utterances)}

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> "Shard":
        """Read what `to_json` gave."""
        utterances = tuple((str(name), int(frames)) for name, frames in row["utterances"])
        return Shard(file=row["file"], sha256=row["sha256"], bytes=row["bytes"], utterances=utterances)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole, and on the disk, or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())


def write_shard(path: Path, arrays: Mapping[str, NDArray[Any]], utterances: Sequence[tuple[str, int]]) -> Shard:
    """Write the arrays of a shard and then the file that says it is finished.

    path: ends in .safetensors; utterances: id and frames, in the order in which the arrays hold them
    """
    content = save(dict(arrays))
    digest = hashlib.sha256(content).hexdigest()
    write_whole(path, content)
    shard = Shard(file=path.name, sha256=digest, bytes=len(content), utterances=tuple(utterances))
    write_whole(path.with_suffix(".json"), json.dumps(shard.to_json()).encode())
    return shard


def finished_shard(path: Path) -> Shard | None:
    """Return a shard that was written before, None where there is none of the right size."""
    try:
        shard = Shard.from_json(json.loads(path.with_suffix(".json").read_text()))
        return shard if path.stat().st_size == shard.bytes else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


class ShardStore:
    """The shards of a folder, at most `most` of them mapped at a time; each is checked when it is opened first."""

    def __init__(self, folder: Path, shards: Sequence[Shard], *, most: int = 32, remedy: str = "") -> None:
        """Look at the files without reading them.

        remedy: what to do about a shard that is missing or damaged, for messages
        Raises ShardError, naming the file, where one is missing or has another size.
        """
        self._folder, self._shards, self._most, self._remedy = folder, tuple(shards), most, remedy
        self._open: OrderedDict[int, dict[str, NDArray[Any]]] = OrderedDict()
        self._checked: set[int] = set()
        for number in range(len(shards)):
            self._look(number)

    def __len__(self) -> int:
        return len(self._shards)

    def arrays(self, number: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a shard, mapped; raises ShardError where its hash is not that of the index."""
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        path = self._look(number)
        if number not in self._checked:
            found, expected = file_hash(path), self._shards[number].sha256
            if found != expected:
                raise ShardError(f"{path} is damaged: SHA-256 {found}, expected {expected}; {self._remedy}")
            self._checked.add(number)
        self._open[number] = map_arrays(path)
        if len(self._open) > self._most:
            self._open.popitem(last=False)
        return self._open[number]

    def check(self) -> None:
        """Read every shard through; raises ShardError for the first that is damaged."""
        for number in range(len(self)):
            self.arrays(number)

    def _look(self, number: int) -> Path:
        shard = self._shards[number]
        path = self._folder / shard.file
        try:
            size = path.stat().st_size
        except OSError:
            count = len(shard.utterances)
            raise ShardError(f"{path} is missing, with {count} utterances of the index; {self._remedy}") from None
        if size != shard.bytes:
            raise ShardError(f"{path} is damaged: {size} bytes, expected {shard.bytes}; {self._remedy}")
        return path


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map the arrays of a safetensors file into memory; nothing is read before it is used."""
    whole = np.memmap(path, np.uint8, "r")
    start = 8 + int.from_bytes(whole[:8].tobytes(), "little")
    header = json.loads(whole[8:start].tobytes())
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            low, high = entry["data_offsets"]
            flat = whole[start + low : start + high].view(_DTYPES[entry["dtype"]])
            arrays[name] = flat.reshape(entry["shape"])
    return arrays
