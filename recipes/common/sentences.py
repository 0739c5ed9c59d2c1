"""Aligned sentences for the prosody recipes: phones, durations, speaking rate, and F0 where it is asked for.

`build` checks a corpus once and writes one file per split; training and evaluation read nothing else.
"""

import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.io import replacing
from deepvoice.audio.mel import MelSpec
from deepvoice.recipes.common.data import meta_of, read_alignments, sequence_of, split
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.features import FeatureCache, Features
from deepvoice.text.phones import NUM_SILENCES, SYMBOLS
from deepvoice.text.sequence import PhoneSequence

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One aligned utterance.

    durations_P: int64 [P] frames of 5 ms; speed: speaking rate it was spoken at
    f0_F: float32 [F] Hz, 0 where unvoiced; empty where the table has none
    """

    name: str
    sequence: PhoneSequence
    durations_P: NDArray[np.int64]
    speed: float
    f0_F: NDArray[np.float32]


def _check(row: dict[str, Any], durations: Sequence[int], frames: int) -> None:
    """Raise ValueError unless an alignment fits its utterance."""
    symbols = row["phones"].split()
    problem = ""
    if len(durations) != len(symbols):
        problem = f"{len(durations)} durations for {len(symbols)} symbols"
    elif sum(durations) != frames:
        problem = f"durations add up to {sum(durations)} frames, the audio has {frames}"
    elif any(d < (s in SYMBOLS[NUM_SILENCES:]) for d, s in zip(durations, symbols, strict=True)):
        problem = "a phone lasts less than one frame"
    if problem:
        raise DataError(f"alignment of {row['id']}: {problem}; run the alignment step again on this manifest")


def _pack(sentences: Sequence[Sentence]) -> dict[str, NDArray[Any]]:
    return {
        "names": np.array([s.name for s in sentences]),
        "speeds": np.array([s.speed for s in sentences]),
        "phones": np.array([len(s.sequence) for s in sentences]),
        "frames": np.array([len(s.f0_F) for s in sentences]),
        "ids": np.concatenate([s.sequence.ids_P for s in sentences]).astype(np.uint8),
        "word_of": np.concatenate([s.sequence.word_of for s in sentences]).astype(np.int16),
        "durations": np.concatenate([s.durations_P for s in sentences]).astype(np.int32),
        "f0": np.concatenate([s.f0_F for s in sentences]).astype(np.float32),
    }


def build(
    manifest: Path,
    alignments: Path,
    out: Path,
    features: Path | None = None,
    f0_of: Callable[[Features], NDArray[np.float32]] | None = None,
) -> dict[str, int]:
    """Write train.npz, dev.npz and test.npz into `out`; utterances that the aligner left out are left out here.

    features: the feature cache, by default features/ beside the manifest
    f0_of: what F0 the sentences are given; none when it is None
    Returns the number of sentences of each split. An alignment that does not fit raises ValueError with its utterance.
    """
    cache = FeatureCache(features or manifest.parent / "features", MelSpec())
    aligned = read_alignments(alignments)
    out.mkdir(parents=True, exist_ok=True)
    counts = {}
    parts = split(manifest)
    for part in SPLITS:
        sentences = []
        for row in getattr(parts, part):
            if row["id"] not in aligned:
                continue
            durations = aligned[row["id"]]
            _check(row, durations, cache.frames(row["id"]))
            f0_F = np.zeros(0, np.float32) if f0_of is None else np.array(f0_of(cache[row["id"]]))
            sentences.append(
                Sentence(
                    name=str(row["id"]),
                    sequence=sequence_of(row),
                    durations_P=np.array(durations, np.int64),
                    speed=float(row.get("speed", 1.0)),
                    f0_F=f0_F,
                )
            )
        if not sentences:
            raise DataError(f"no utterance of the {part} split of {manifest} is in {alignments}; align it first")
        save(sentences, out / f"{part}.npz")
        counts[part] = len(sentences)
    return counts


def save(sentences: Sequence[Sentence], path: Path) -> None:
    """Write sentences and the hashes of the features and phones they were made with, atomically."""
    meta = meta_of(MelSpec())
    with replacing(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, meta=np.array([f"{key}={value}" for key, value in sorted(meta.items())]), **_pack(sentences))


def load(path: Path) -> list[Sentence]:
    """Read what `save` wrote.

    Raises FileNotFoundError where there is nothing, DataError for a damaged table or one made with other features
    or phones.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; run the prepare step of this recipe first")
    try:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        made_with = arrays["meta"].tolist()
    except (ValueError, LookupError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is damaged or not of the prepare step ({error}); run it again") from None
    expected = [f"{key}={value}" for key, value in sorted(meta_of(MelSpec()).items())]
    if made_with != expected:
        raise DataError(f"{path} was made with {made_with}, expected {expected}; run prepare again")
    phone_edges = np.concatenate([[0], np.cumsum(arrays["phones"])])
    frame_edges = np.concatenate([[0], np.cumsum(arrays["frames"])])
    sentences = []
    for i, name in enumerate(arrays["names"].tolist()):
        phones = slice(phone_edges[i], phone_edges[i + 1])
        sequence = PhoneSequence(
            symbols=tuple(SYMBOLS[k] for k in arrays["ids"][phones]),
            word_of=tuple(arrays["word_of"][phones].tolist()),
        )
        sentences.append(
            Sentence(
                name=name,
                sequence=sequence,
                durations_P=arrays["durations"][phones].astype(np.int64),
                speed=float(arrays["speeds"][i]),
                f0_F=arrays["f0"][frame_edges[i] : frame_edges[i + 1]],
            )
        )
    return sentences


class LengthBatches:
    """Which sentences make up the batch of a step: shuffled anew every epoch, lengths within a batch alike."""

    _POOL = 8  # batches that are sorted by length together

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        self._lengths = np.asarray(lengths)
        self._size = min(batch_size, len(lengths))
        self._seed = seed
        self.per_epoch = max(1, len(lengths) // self._size)

    def indices(self, step: int) -> NDArray[np.int64]:
        """Return the sentences of a step, int64 [batch_size]; the same step gives the same ones in every run."""
        epoch, position = divmod(step, self.per_epoch)
        random = np.random.default_rng([self._seed, epoch])
        order = random.permutation(len(self._lengths))[: self.per_epoch * self._size]
        pool = self._POOL * self._size
        for start in range(0, len(order), pool):
            part = order[start : start + pool]
            order[start : start + pool] = part[np.argsort(self._lengths[part], kind="stable")]
        batch = random.permutation(self.per_epoch)[position]
        return order[batch * self._size : (batch + 1) * self._size]
