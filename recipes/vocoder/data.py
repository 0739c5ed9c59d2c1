"""Segments of speech for the vocoder: audio, spectrum, filter and pitch phase of the same frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from deepvoice.audio.lpc import lpc_from_mel
from deepvoice.audio.mel import FloatArray
from deepvoice.audio.pulses import interpolate_unvoiced, pulse_features
from deepvoice.configs import VocoderConfig
from deepvoice.networks.conditioner import frame_inputs
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.shuffle import WINDOW, WindowedShuffle


class Batch(NamedTuple):
    """Segments of F frames (all tensors float32).

    signal_BT: pre-emphasised audio with history + lpc_order samples before the F * hop samples to predict
    lpc_BFK; frames_BFC with `CONTEXT` frames on either side; pulses_BNQ
    weight_BT: 1 where the loss counts
    """

    signal_BT: torch.Tensor
    lpc_BFK: torch.Tensor
    frames_BFC: torch.Tensor
    pulses_BNQ: torch.Tensor
    weight_BT: torch.Tensor


CONTEXT = 2  # frames that the bias network sees beyond a segment on either side
WARM_FRAMES = 3  # frames at the start of a segment without loss: the trunk's queues are filling


@dataclass(frozen=True, kw_only=True)
class SegmentSource:
    """Random segments of a list of utterances; the batch is a function of (seed, step).

    spectra: predicted log-mel by utterance id (float16 [F, bands]) used instead of the recording's, where given
    window: shards of the cache that are read at a time, where it has more
    """

    cache: FeatureCache
    utterances: Sequence[str]
    config: VocoderConfig
    batch_size: int
    frames: int
    seed: int = 0
    spectra: Mapping[str, Any] | None = None
    predicted_share: float = 1.0  # share of segments that use `spectra`
    window: int = WINDOW

    @cached_property
    def _lengths(self) -> FloatArray:
        return np.array([self.cache.frames(u) for u in self.utterances], np.float64)

    @cached_property
    def _shuffle(self) -> WindowedShuffle:
        shards = [self.cache.shard_of(u) for u in self.utterances]
        return WindowedShuffle(shards, self._lengths, window=self.window, seed=self.seed)

    def batch(self, step: int) -> Batch:
        """Draw the batch of a step; utterances are drawn in proportion to their length."""
        return collate([self._segment(*place) for place in self._places(step)])

    def share(self, step: int, index: int, of: int) -> Batch | None:
        """Draw every of-th segment of a step, from `index` on; None where there is none."""
        places = self._places(step)[index::of]
        return collate([self._segment(*place) for place in places]) if places else None

    def _places(self, step: int) -> list[tuple[str, int, bool]]:
        """Return the utterance, the first frame, and whether its predicted spectrum is used, of every segment."""
        random = np.random.default_rng([self.seed, step])
        if self._shuffle.whole:
            chosen = random.choice(len(self._lengths), self.batch_size, p=self._lengths / self._lengths.sum())
        else:
            steps = max(1, round(self._lengths.sum() / (self.batch_size * self.frames)))  # of an epoch
            candidates = self._shuffle.candidates(step // steps, step % steps / steps)
            lengths = self._lengths[candidates]
            chosen = random.choice(candidates, self.batch_size, p=lengths / lengths.sum())
        return [self._place(self.utterances[i], random) for i in chosen]

    def audio_seconds(self, step: int) -> float:
        """Return how much speech a step learns from."""
        return self.cache.seconds(self.batch_size * self.frames)

    def _place(self, utterance: str, random: np.random.Generator) -> tuple[str, int, bool]:
        start = int(random.integers(-4, max(1, self.cache.frames(utterance) - self.frames)))
        return utterance, max(start, 0), self.spectra is not None and random.random() < self.predicted_share

    def _segment(self, utterance: str, start: int, predicted: bool) -> tuple[FloatArray, ...]:
        mel = self.spectra[utterance] if predicted and self.spectra is not None else None
        return segment(self.cache, utterance, start, self.frames, self.config, mel)


def segment(
    cache: FeatureCache, utterance: str, start: int, frames: int, config: VocoderConfig, mel: Any | None = None
) -> tuple[FloatArray, ...]:
    """Cut one segment, padded with silence beyond the utterance; arrays as in `Batch` without the batch axis."""
    features, spec = cache[utterance], config.mel
    low, high = start - CONTEXT, start + frames + CONTEXT
    rows = np.clip(np.arange(low, high), 0, len(features.f0_F) - 1)
    mel_FM = np.asarray(features.mel_FM if mel is None else mel)[rows].astype(np.float32)
    f0_F = np.array(features.f0_F[max(0, low - 200) : high + 200])
    continuous = interpolate_unvoiced(f0_F)[rows - max(0, low - 200)]
    voiced = features.f0_F[rows] > 0
    inside = slice(CONTEXT, CONTEXT + frames)
    edges = np.clip(np.arange(start, start + frames + 1), 0, len(features.f0_F))
    pulses = pulse_features(
        features.phase_E[edges].astype(np.float64), voiced[inside], spec.hop, config.bunch, config.harmonics
    )
    lpc = (
        lpc_from_mel(mel_FM[inside], spec, config.lpc_order, config.pre_emphasis)
        if config.lpc_order
        else np.zeros((frames, 0), np.float32)
    )
    before = config.history + config.lpc_order
    audio = features.audio_T
    first, last = start * spec.hop - before - 1, (start + frames) * spec.hop
    samples = np.zeros(last - first, np.float32)
    take = slice(max(first, 0), min(last, len(audio)))
    samples[take.start - first : take.stop - first] = audio[take].astype(np.float32) / 32767
    samples += np.random.default_rng(start).uniform(-2e-5, 2e-5, len(samples)).astype(np.float32)
    signal = samples[1:] - np.float32(config.pre_emphasis) * samples[:-1]
    weight = np.ones(frames * spec.hop, np.float32)
    if start > 0:
        weight[: WARM_FRAMES * spec.hop] = 0
    weight[max(0, len(audio) - start * spec.hop) :] = 0
    return signal, lpc, frame_inputs(mel_FM, continuous, voiced), pulses, weight


def collate(segments: Sequence[tuple[FloatArray, ...]]) -> Batch:
    """Stack segments of equal length into a batch."""
    return Batch(*(torch.from_numpy(np.stack(column)) for column in zip(*segments, strict=True)))


def usable(cache: FeatureCache, ids: Sequence[str], frames: int) -> list[str]:
    """Return the utterances that are long enough for a segment."""
    kept = [u for u in ids if u in cache and cache.frames(u) >= frames]
    if not kept:
        raise DataError(f"no utterance has {frames} frames; shorten segment_frames or check the feature cache")
    return kept


__all__ = ["CONTEXT", "Batch", "Path", "SegmentSource", "collate", "segment", "usable"]
