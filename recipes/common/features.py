"""The one feature function: mel, F0, phase and energy of a corpus, computed once and cached.

    python -m deepvoice.recipes.common.features MANIFEST [--out DIR] [--check]

Writes shards of half an hour (recipes/common/shards.py), which training maps into memory a few at a time, and an index.
Stop at any time and start again: finished shards are kept. The feature hash covers every parameter that changes the
numbers; it goes into every checkpoint, and packing refuses modules that disagree.
"""

import argparse
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec, log_mel, num_frames
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.pitch import F0_CEILING, F0_FLOOR, track_f0, track_phase
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.common.shards import (
    Shard,
    ShardError,
    ShardStore,
    file_hash,
    finished_shard,
    write_shard,
    write_whole,
)

_DITHER = 2e-5  # amplitude of the noise added before logarithms: digital silence has no spectrum
_VERSION = 1


def feature_parameters(spec: MelSpec) -> dict[str, Any]:
    """Return everything that the cached numbers depend on, as plain values."""
    return {"mel": spec.to_dict(), "f0": [F0_FLOOR, F0_CEILING], "dither": _DITHER, "version": _VERSION}


def feature_hash(spec: MelSpec) -> str:
    """Return a short hash of everything that the cached numbers depend on."""
    return hashlib.sha256(json.dumps(feature_parameters(spec), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Features of one utterance.

    audio_T: int16 [F * hop]; mel_FM: float16 [F, bands]; f0_F: float32 [F] Hz, 0 unvoiced;
    phase_E: float32 [F + 1] cycles at frame edges; energy_F: float32 [F] log power
    """

    audio_T: NDArray[np.int16]
    mel_FM: NDArray[np.float16]
    f0_F: FloatArray
    phase_E: FloatArray
    energy_F: FloatArray


def extract(samples_T: FloatArray, spec: MelSpec, seed: int) -> Features:
    """Compute the features of one utterance from float32 samples at the spec's rate; `seed` fixes the dither."""
    frames = num_frames(len(samples_T), spec)
    padded = np.zeros(frames * spec.hop, np.float32)
    padded[: len(samples_T)] = samples_T
    noisy = padded + np.random.default_rng(seed).uniform(-_DITHER, _DITHER, len(padded)).astype(np.float32)
    f0_F = track_f0(noisy, spec.sample_rate, spec.hop, frames)
    mel_FM = log_mel(noisy, spec)
    return Features(
        audio_T=np.rint(np.clip(padded, -1, 1) * 32767).astype(np.int16),
        mel_FM=mel_FM.astype(np.float16),
        f0_F=f0_F,
        phase_E=track_phase(noisy, f0_F, spec.sample_rate, spec.hop).astype(np.float32),
        energy_F=np.log(np.mean(noisy.reshape(frames, spec.hop) ** 2, axis=1) + spec.floor).astype(np.float32),
    )


def read_manifest(path: Path) -> list[dict[str, Any]]:
    """Read a JSONL manifest; raises DataError for a line that is no object, by its number, and for another file."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected its manifest.jsonl")
    rows = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if line.strip():
            try:
                row = json.loads(line.decode("utf-8-sig"))
            except ValueError as error:
                raise DataError(f"{path}:{number}: not a JSON object ({error})") from None
            if not isinstance(row, dict):
                raise DataError(f"{path}:{number}: {line[:40]!r} is not a JSON object")
            rows.append(row)
    return rows


SHARD_SECONDS = 1800.0  # of audio in a shard: some 150 MB
_REMEDY = "run python -m deepvoice.recipes.common.features MANIFEST again, which makes what is missing or damaged"
_FLAT = {"audio": np.int16, "mel": np.float16, "f0": np.float32, "phase": np.float32, "energy": np.float32}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """One shard to compute: rows of a manifest, from row `first` on.

    root: folder that the audio paths of the rows begin from; out: feature folder
    """

    number: int
    first: int
    rows: tuple[dict[str, Any], ...]
    root: Path
    out: Path
    spec: MelSpec

    def path(self) -> Path:
        """Return its file, named by everything that goes into it: recordings, ids and parameters."""
        digest = hashlib.sha256(f"{feature_hash(self.spec)} {self.first}".encode())
        for row in self.rows:
            digest.update(f"{row['id']} {file_hash(self.root / row['audio'])}".encode())
        return self.out / f"{self.number:05d}-{digest.hexdigest()[:16]}.safetensors"


def plan_shards(
    manifest: Path, out: Path, spec: MelSpec, shard_seconds: float = SHARD_SECONDS
) -> tuple[ShardPlan, ...]:
    """Cut a manifest into shards of at least so many seconds, in its order."""
    plans: list[ShardPlan] = []
    chosen: list[dict[str, Any]] = []
    seconds, rows = 0.0, read_manifest(manifest)
    for number, row in enumerate(rows, 1):
        chosen.append(row)
        seconds += row["seconds"] if "seconds" in row else soundfile.info(manifest.parent / row["audio"]).duration
        if seconds >= shard_seconds or number == len(rows):
            first = number - len(chosen)
            plan = ShardPlan(
                number=len(plans), first=first, rows=tuple(chosen), root=manifest.parent, out=out, spec=spec
            )
            plans.append(plan)
            chosen, seconds = [], 0.0
    return tuple(plans)


def make_shard(plan: ShardPlan) -> Shard:
    """Compute the features of a shard and write it, unless it is there already."""
    path = plan.path()
    if (done := finished_shard(path)) and file_hash(path) == done.sha256:
        return done
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _FLAT}
    utterances = []
    for number, row in enumerate(plan.rows, plan.first):
        samples, rate = soundfile.read(plan.root / row["audio"], dtype="float32")
        if rate != plan.spec.sample_rate:
            raise DataError(
                f"{row['audio']}: {rate} Hz, expected {plan.spec.sample_rate}; resample it with recipes/corpora"
            )
        features = extract(samples, plan.spec, number)
        arrays = (features.audio_T, features.mel_FM, features.f0_F, features.phase_E, features.energy_F)
        for part, array in zip(parts.values(), arrays, strict=True):
            part.append(array)
        utterances.append((str(row["id"]), len(features.f0_F)))
    return write_shard(path, {name: np.concatenate(part) for name, part in parts.items()}, utterances)


def write_index(out: Path, shards: Sequence[Shard], spec: MelSpec) -> None:
    """Write the index of finished shards and remove shards of earlier versions of the corpus."""
    index = {"hash": feature_hash(spec), "spec": spec.to_dict(), "shards": [shard.to_json() for shard in shards]}
    write_whole(out / "index.json", json.dumps(index).encode())
    kept = {shard.file for shard in shards}
    for path in out.glob("[0-9]*-*.safetensors"):
        if path.name not in kept:
            path.unlink()
            path.with_suffix(".json").unlink(missing_ok=True)
    for name in _FLAT:  # of a cache made before there were shards
        (out / f"{name}.bin").unlink(missing_ok=True)


def build_cache(manifest: Path, out: Path, spec: MelSpec, shard_seconds: float = SHARD_SECONDS) -> None:
    """Compute the features of every utterance of a manifest into shards in `out`, the index last."""
    out.mkdir(parents=True, exist_ok=True)
    plans = plan_shards(manifest, out, spec, shard_seconds)
    write_index(out, [make_shard(plan) for plan in progress(plans, "shards of features")], spec)


def _flat_store(folder: Path, bands: int) -> dict[str, NDArray[Any]]:
    """Map the arrays of a cache made before there were shards: one file per array."""
    arrays = {name: np.memmap(folder / f"{name}.bin", dtype, "r") for name, dtype in _FLAT.items()}
    return {**arrays, "mel": arrays["mel"].reshape(-1, bands)}


class FeatureCache:
    """Features of a corpus by utterance id, mapped into memory; of many shards a few at a time."""

    def __init__(self, folder: Path, spec: MelSpec) -> None:
        """Open a cache; one made with other parameters is refused, one that lacks a shard raises ShardError."""
        if not (folder / "index.json").exists():
            raise FileNotFoundError(
                f"{folder} has no features; run python -m deepvoice.recipes.common.features MANIFEST"
            )
        index = json.loads((folder / "index.json").read_text())
        if index["hash"] != feature_hash(spec):
            raise DataError(
                f"{folder} was computed with other feature parameters: {index['spec']} (hash {index['hash']}), "
                f"expected {spec.to_dict()} (hash {feature_hash(spec)}); delete it and run the features step again"
            )
        self.spec = spec
        self._store: ShardStore | None = None
        if "shards" in index:
            shards = [Shard.from_json(row) for row in index["shards"]]
            self._store = ShardStore(folder, shards, remedy=_REMEDY)
            tables: list[Iterable[tuple[str, int]]] = [shard.utterances for shard in shards]
        else:
            self._flat = _flat_store(folder, spec.bands)
            tables = [[(u["id"], u["frames"]) for u in index["utterances"]]]
        self._place: dict[str, tuple[int, int, int, int]] = {}  # shard, number in it, first frame, frames
        for shard, table in enumerate(tables):
            start = 0
            for number, (name, frames) in enumerate(table):
                self._place[name] = shard, number, start, frames
                start += frames

    def __contains__(self, utterance: str) -> bool:
        return utterance in self._place

    def frames(self, utterance: str) -> int:
        """Return the number of frames of an utterance."""
        return self._place[utterance][3]

    def shard_of(self, utterance: str) -> int:
        """Return the number of the shard that holds an utterance."""
        return self._place[utterance][0]

    def seconds(self, frames: int) -> float:
        """Return how long so many frames last."""
        return frames * self.spec.hop / self.spec.sample_rate

    def check(self) -> None:
        """Read everything through; raises ShardError for a damaged shard. Caches without shards have no hashes."""
        if self._store is not None:
            self._store.check()

    def __getitem__(self, utterance: str) -> Features:
        shard, number, start, frames = self._place[utterance]
        arrays = self._flat if self._store is None else self._store.arrays(shard)
        hop, end = self.spec.hop, start + frames
        return Features(
            audio_T=arrays["audio"][start * hop : end * hop],
            mel_FM=arrays["mel"][start:end],
            f0_F=arrays["f0"][start:end],
            phase_E=arrays["phase"][start + number : end + number + 1],
            energy_F=arrays["energy"][start:end],
        )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--out", type=Path, help="default: features/ beside the manifest")
    parser.add_argument("--check", action="store_true", help="read all shards through and compare their hashes instead")
    arguments = parser.parse_args()
    out = arguments.out or arguments.manifest.parent / "features"
    if not arguments.check:
        build_cache(arguments.manifest, out, MelSpec())
        return
    try:
        FeatureCache(out, MelSpec()).check()
    except (ShardError, FileNotFoundError) as error:
        raise SystemExit(f"error: {error}") from None
    print(f"{out}: every shard is whole")


if __name__ == "__main__":
    main()
