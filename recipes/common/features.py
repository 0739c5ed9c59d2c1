"""The one feature function: mel, F0, phase and energy of a corpus, computed once and cached.

    python -m deepvoice.recipes.common.features MANIFEST [--out DIR]

Writes flat arrays over all utterances (so that training can map them into memory) and an index. The feature hash covers
every parameter that changes the numbers; it goes into every checkpoint, and packing refuses modules that disagree.
"""

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec, log_mel, num_frames
from deepvoice.recipes.common.pitch import F0_CEILING, F0_FLOOR, track_f0, track_phase
from deepvoice.recipes.common.progress import progress

_DITHER = 2e-5  # amplitude of the noise added before logarithms: digital silence has no spectrum
_VERSION = 1


def feature_hash(spec: MelSpec) -> str:
    """Return a short hash of everything that the cached numbers depend on."""
    parameters = {"mel": spec.to_dict(), "f0": [F0_FLOOR, F0_CEILING], "dither": _DITHER, "version": _VERSION}
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()[:16]


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
    """Read a JSONL manifest; an unreadable line raises with its number."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}:{number}: not a JSON object ({error.msg})") from None
    return rows


_ARRAYS = ("audio", "mel", "f0", "phase", "energy")


def build_cache(manifest: Path, out: Path, spec: MelSpec) -> None:
    """Compute the features of every utterance of a manifest into `out`; under a temporary name until complete."""
    rows = read_manifest(manifest)
    out.mkdir(parents=True, exist_ok=True)
    handles = {name: (out / f"{name}.part").open("wb") for name in _ARRAYS}
    index, start = [], 0
    for number, row in enumerate(progress(rows, "features")):
        samples, rate = soundfile.read(manifest.parent / row["audio"], dtype="float32")
        if rate != spec.sample_rate:
            raise ValueError(
                f"{row['audio']}: {rate} Hz, expected {spec.sample_rate}; resample it with recipes/corpora"
            )
        features = extract(samples, spec, number)
        arrays = (features.audio_T, features.mel_FM, features.f0_F, features.phase_E, features.energy_F)
        for name, array in zip(_ARRAYS, arrays, strict=True):
            handles[name].write(array.tobytes())
        index.append({"id": row["id"], "start": start, "frames": len(features.f0_F)})
        start += len(features.f0_F)
    for name, handle in handles.items():
        handle.close()
        (out / f"{name}.part").replace(out / f"{name}.bin")
    (out / "index.json").write_text(
        json.dumps({"hash": feature_hash(spec), "spec": spec.to_dict(), "utterances": index})
    )


class FeatureCache:
    """Memory-mapped features of a corpus, by utterance id."""

    def __init__(self, folder: Path, spec: MelSpec) -> None:
        """Open a cache; one made with other parameters is refused."""
        if not (folder / "index.json").exists():
            raise FileNotFoundError(
                f"{folder} has no features; run python -m deepvoice.recipes.common.features MANIFEST"
            )
        index = json.loads((folder / "index.json").read_text())
        if index["hash"] != feature_hash(spec):
            raise ValueError(
                f"{folder} was computed with other feature parameters: {index['spec']} (hash {index['hash']}), "
                f"expected {spec.to_dict()} (hash {feature_hash(spec)}); delete it and run the features step again"
            )
        self.spec = spec
        self._place = {u["id"]: (number, u["start"], u["frames"]) for number, u in enumerate(index["utterances"])}
        shapes = {"audio": np.int16, "mel": np.float16, "f0": np.float32, "phase": np.float32, "energy": np.float32}
        self._arrays = {name: np.memmap(folder / f"{name}.bin", dtype, "r") for name, dtype in shapes.items()}
        self._arrays["mel"] = self._arrays["mel"].reshape(-1, spec.bands)

    def __contains__(self, utterance: str) -> bool:
        return utterance in self._place

    def frames(self, utterance: str) -> int:
        """Return the number of frames of an utterance."""
        return self._place[utterance][2]

    def __getitem__(self, utterance: str) -> Features:
        number, start, frames = self._place[utterance]
        hop, end = self.spec.hop, start + frames
        return Features(
            audio_T=self._arrays["audio"][start * hop : end * hop],
            mel_FM=self._arrays["mel"][start:end],
            f0_F=self._arrays["f0"][start:end],
            phase_E=self._arrays["phase"][start + number : end + number + 1],
            energy_F=self._arrays["energy"][start:end],
        )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--out", type=Path, help="default: features/ beside the manifest")
    arguments = parser.parse_args()
    build_cache(arguments.manifest, arguments.out or arguments.manifest.parent / "features", MelSpec())


if __name__ == "__main__":
    main()
