"""What the segmentation recipe reads: spectra and phone lines, in batches that are a function of the step alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray, MelSpec
from deepvoice.networks.segmentation import DEPTH, SPREAD, normalise, relative_spectrum
from deepvoice.recipes.common.data import Split, split
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.shuffle import WINDOW, WindowedShuffle
from deepvoice.recipes.segmentation.augment import Augmentation, augment
from deepvoice.text.phones import BASE_IDS, NUM_SILENCES, base

IntArray = NDArray[np.int64]
FRAME_MS = 5.0
SILENCE = 0  # the one class of all silences in the frame reading


class Utterance(NamedTuple):
    """One recording: id, base ids of its symbols, frames of 5 ms, word of each symbol where the manifest has it."""

    id: str
    bases_P: IntArray
    frames: int
    word_of: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A manifest with its features."""

    manifest: Path
    cache: FeatureCache
    rows: Split

    def utterances(self, rows: Sequence[dict[str, Any]], hours: float = float("inf")) -> list[Utterance]:
        """Return the first rows that fill so many hours; a row whose phones cannot fit its sound is left out."""
        chosen, left = [], hours * 3600 * self.cache.spec.sample_rate / self.cache.spec.hop
        for row in rows:
            if left <= 0:
                break
            bases_P = base_ids(row["phones"].split())
            frames = self.cache.frames(row["id"])
            if frames >= 2 * len(bases_P):
                chosen.append(Utterance(row["id"], bases_P, frames, row.get("word_of", ())))
                left -= frames
        return chosen


def open_corpus(manifest: Path, features: Path | None = None) -> Corpus:
    """Open a manifest and the features beside it."""
    return Corpus(
        manifest=manifest, cache=FeatureCache(features or manifest.parent / "features", MelSpec()), rows=split(manifest)
    )


def chosen_rows(corpus: Corpus, name: str) -> list[dict[str, Any]]:
    """Return the rows of a part of a corpus: dev, test, held_out (both) or all."""
    split_rows = corpus.rows
    parts = {
        "dev": split_rows.dev, "test": split_rows.test, "held_out": (*split_rows.dev, *split_rows.test),
        "all": (*split_rows.train, *split_rows.dev, *split_rows.test),
    }  # fmt: skip
    return list(parts[name])


def base_ids(symbols: Sequence[str]) -> IntArray:
    """Return the ids of symbols without their stress, int64 [P]."""
    return np.array([BASE_IDS[base(symbol)] for symbol in symbols], np.int64)


def classes_of(bases_P: IntArray) -> IntArray:
    """Return the class of each symbol in the frame reading: all silences are one."""
    return np.where(bases_P < NUM_SILENCES, SILENCE, bases_P)


class Batch(NamedTuple):
    """Utterances of similar length.

    mel_BFM: float32, padded with silence to whole steps; steps_B: steps of each
    left_BU, right_BU: the line of pairs, padded with 0; pairs_B: pairs of each
    phone_BF: class of each frame, -1 unknown; left_BT, right_BT: pair whose boundary falls into a step, -1 none;
    boundary_BT: float32, 1 where a boundary falls into a step, -1 unknown. Only with alignments.
    """

    mel_BFM: torch.Tensor
    steps_B: torch.Tensor
    left_BU: torch.Tensor
    right_BU: torch.Tensor
    pairs_B: torch.Tensor
    phone_BF: torch.Tensor | None = None
    left_BT: torch.Tensor | None = None
    right_BT: torch.Tensor | None = None
    boundary_BT: torch.Tensor | None = None


class Item(NamedTuple):
    """One utterance of a batch: its symbols, its normalised spectrum and, where known, the frames of each symbol."""

    bases_P: IntArray
    mel_FM: FloatArray
    durations_P: IntArray | None = None


def typical_spectrum(cache: FeatureCache, utterances: Sequence[Utterance]) -> FloatArray:
    """Return the mean spectrum of speech relative to its level, float32 [bands], over some utterances."""
    total_M, count = np.zeros(cache.spec.bands), 0
    for utterance in utterances:
        _, mean_M, frames = relative_spectrum(cache[utterance.id].mel_FM)
        total_M, count = total_M + frames * mean_M, count + frames
    return (total_M / max(count, 1)).astype(np.float32)


def collate(
    cache: FeatureCache,
    utterances: Sequence[Utterance],
    stack: int,
    typical_M: FloatArray,
    alignments: Mapping[str, Sequence[int]] | None = None,
    change: Callable[[FloatArray, int], FloatArray] | None = None,
) -> Batch:
    """Build a batch; with alignments (frames per symbol) also the frame-wise targets.

    typical_M: see `networks.segmentation.normalise`
    change: makes another spectrum of one (and of the least number of frames that its symbols need)
    """
    items = []
    for utterance in utterances:
        mel_FM = np.asarray(cache[utterance.id].mel_FM, np.float32)
        if change is not None:
            mel_FM = change(mel_FM, 2 * len(utterance.bases_P))
        durations_P = None if alignments is None else np.asarray(alignments[utterance.id], np.int64)
        if durations_P is not None and len(mel_FM) != utterance.frames:
            durations_P = stretched(durations_P, len(mel_FM))
        items.append(Item(utterance.bases_P, normalise(mel_FM, typical_M), durations_P))
    return batch_of(items, stack, silence_M=(-DEPTH - typical_M) / SPREAD)


def stretched(durations_P: IntArray, frames: int) -> IntArray:
    """Scale the frames of symbols to another sum; those with frames keep one at least, int64 [P]."""
    result_P = np.zeros_like(durations_P)
    held_P = durations_P > 0
    edges = np.cumsum(durations_P[held_P])[:-1] * (frames / durations_P.sum())
    result_P[held_P] = whole_durations(edges, frames)
    return result_P


def batch_of(items: Sequence[Item], stack: int, silence_M: FloatArray) -> Batch:
    """Pad utterances to a batch, their spectra with `silence_M`."""
    B = len(items)
    F = -(-max(len(item.mel_FM) for item in items) // stack) * stack
    U = max(len(item.bases_P) for item in items) - 1
    mel_BFM = np.tile(silence_M.astype(np.float32), (B, F, 1))
    lines_2BU = np.zeros((2, B, U), np.int64)
    for b, item in enumerate(items):
        mel_BFM[b, : len(item.mel_FM)] = item.mel_FM
        lines_2BU[0, b, : len(item.bases_P) - 1] = item.bases_P[:-1]
        lines_2BU[1, b, : len(item.bases_P) - 1] = item.bases_P[1:]
    batch = Batch(
        mel_BFM=torch.from_numpy(mel_BFM),
        steps_B=torch.tensor([-(-len(item.mel_FM) // stack) for item in items]),
        left_BU=torch.from_numpy(lines_2BU[0]),
        right_BU=torch.from_numpy(lines_2BU[1]),
        pairs_B=torch.tensor([len(item.bases_P) - 1 for item in items]),
    )
    return _with_targets(batch, items, stack) if all(item.durations_P is not None for item in items) else batch


def _with_targets(batch: Batch, items: Sequence[Item], stack: int) -> Batch:
    B, F, _ = batch.mel_BFM.shape
    phone_BF = np.full((B, F), -1, np.int64)
    pair_2BT = np.full((2, B, F // stack), -1, np.int64)
    boundary_BT = np.full((B, F // stack), -1.0, np.float32)
    for b, (all_P, mel_FM, frames_P) in enumerate(items):
        if frames_P is None:
            continue
        bases_P, durations_P = all_P[frames_P > 0], frames_P[frames_P > 0]
        phone_BF[b, : len(mel_FM)] = np.repeat(classes_of(bases_P), durations_P)
        boundary_BT[b, : -(-len(mel_FM) // stack)] = 0.0
        steps = np.cumsum(durations_P)[:-1] // stack
        boundary_BT[b, steps] = 1.0
        pair_2BT[0, b, steps], pair_2BT[1, b, steps] = bases_P[:-1], bases_P[1:]
    return batch._replace(
        phone_BF=torch.from_numpy(phone_BF),
        left_BT=torch.from_numpy(pair_2BT[0]),
        right_BT=torch.from_numpy(pair_2BT[1]),
        boundary_BT=torch.from_numpy(boundary_BT),
    )


def whole_durations(boundaries_P: NDArray[np.float64], frames: int) -> IntArray:
    """Round boundaries (in frames, P - 1 of them) to durations of at least one frame each, int64 [P], sum `frames`.

    Raises ValueError where there are fewer frames than symbols.
    """
    P = len(boundaries_P) + 1
    if frames < P:
        raise ValueError(f"{frames} frames for {P} symbols; expected at least one frame each")
    index = np.arange(1, P)
    cuts = np.rint(boundaries_P).astype(np.int64)
    cuts = np.maximum.accumulate(np.maximum(cuts - index, 0)) + index
    cuts = np.minimum(cuts, frames - index[::-1])
    return np.diff(cuts, prepend=0, append=frames)


class UtteranceBatches:
    """Every utterance once an epoch, in batches of similar length and random order."""

    def __init__(
        self,
        cache: FeatureCache,
        utterances: Sequence[Utterance],
        batch_size: int,
        stack: int,
        typical_M: FloatArray,
        alignments: Mapping[str, Sequence[int]] | None = None,
        augmentation: Augmentation | None = None,
        seed: int = 0,
        window: int = WINDOW,
    ) -> None:
        """Keep the utterances; `alignments` (frames per symbol by id) add frame-wise targets.

        typical_M: see `networks.segmentation.normalise`; augmentation: every utterance is changed by it
        window: shards of the cache that are read at a time, where it has more
        """
        if not utterances:
            raise DataError("no utterance to train on; expected a manifest with phones that fit their recordings")
        self.cache, self.utterances, self.stack, self.alignments = cache, list(utterances), stack, alignments
        self.typical_M, self.augmentation = typical_M, augmentation
        self.batch_size, self.seed = min(batch_size, len(utterances)), seed
        self.steps_per_epoch = len(self.utterances) // self.batch_size
        self._shuffle = WindowedShuffle([cache.shard_of(u.id) for u in self.utterances], window=window, seed=seed)
        self._epoch, self._plan = -1, np.empty((0, 0), np.int64)

    def batch(self, step: int) -> Batch:
        """Return the batch of a step."""
        rule, random = self.augmentation, np.random.default_rng([self.seed, step, 1])

        def change(mel_FM: FloatArray, least_frames: int) -> FloatArray:
            return mel_FM if rule is None else augment(mel_FM, self.cache.spec, rule, random, least_frames)

        return collate(self.cache, self._chosen(step), self.stack, self.typical_M, self.alignments, change)

    def audio_seconds(self, step: int) -> float:
        """Return how much speech a step learns from."""
        return self.cache.seconds(sum(u.frames for u in self._chosen(step)))

    def _chosen(self, step: int) -> list[Utterance]:
        epoch, position = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._plan = epoch, self._shuffled(epoch)
        return [self.utterances[i] for i in self._plan[position]]

    def _shuffled(self, epoch: int) -> IntArray:
        """Sort by length with some noise, cut into batches, shuffle those; int64 [steps_per_epoch, batch_size].

        With more shards than are read at a time this is done within each window of shards; the batch that two windows
        share belongs to the first.
        """
        random = np.random.default_rng([self.seed, epoch])
        lengths = np.array([u.frames for u in self.utterances]) + random.uniform(-60, 60, len(self.utterances))
        total = self.steps_per_epoch * self.batch_size
        if self._shuffle.whole:
            kept = random.permutation(len(lengths))[:total]  # the rest waits an epoch
            by_length = kept[np.argsort(lengths[kept])]
            return random.permutation(by_length.reshape(self.steps_per_epoch, self.batch_size))
        windows = self._shuffle.windows(epoch)
        kept = np.concatenate(windows)[:total]
        ends = -(-np.cumsum([len(part) for part in windows]) // self.batch_size) * self.batch_size
        parts = [part for part in np.split(kept, ends[ends < total]) if len(part)]
        return np.concatenate(
            [random.permutation(part[np.argsort(lengths[part])].reshape(-1, self.batch_size)) for part in parts]
        )
