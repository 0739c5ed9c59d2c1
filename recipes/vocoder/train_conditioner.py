"""Train the vocoder's conditioner: phones, aligned durations and tracked F0 -> log-mel spectrum.

python -m deepvoice.recipes.vocoder.train_conditioner MANIFEST --out RUN_DIR
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from deepvoice.audio.mel import FloatArray
from deepvoice.audio.pulses import interpolate_unvoiced
from deepvoice.config import load_toml, to_dict
from deepvoice.configs import VocoderConfig
from deepvoice.models.conditioner import Conditioner
from deepvoice.models.share import mean
from deepvoice.networks.conditioner import MEL_MEAN, MEL_SPREAD, conditioner_inputs
from deepvoice.recipes.common.command import training_parser
from deepvoice.recipes.common.data import meta_of, read_alignments, sequence_of, split
from deepvoice.recipes.common.distributed import Ratios, measure, ranks, weighted
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.launch import command
from deepvoice.recipes.common.options import Launch, TrainOptions
from deepvoice.recipes.common.origin import origin
from deepvoice.recipes.common.plot import draw_spectra
from deepvoice.recipes.common.samples import Samples
from deepvoice.recipes.common.shuffle import WINDOW, WindowedShuffle
from deepvoice.recipes.common.train_loop import Metrics, Trainer, train
from deepvoice.recipes.vocoder.settings import VocoderTraining

_KEPT = 20_000  # prepared sentences, some 40 KB each
_FRAME_SECONDS = 0.005
_EDGE = 12  # frames at either end of a window without loss: the convolutions see zeros beyond them


class Windows(NamedTuple):
    """A batch of windows of F frames; see Conditioner.forward.

    target_BFM: scaled log-mel; weight_BF: 1 where the loss counts
    """

    ids_BP: torch.Tensor
    context_BPX: torch.Tensor
    lengths_B: torch.Tensor
    phone_BF: torch.Tensor
    frame_BFX: torch.Tensor
    target_BFM: torch.Tensor
    weight_BF: torch.Tensor


class Sentence(NamedTuple):
    """The whole of one utterance, ready for the conditioner."""

    ids_P: Any
    context_PX: FloatArray
    phone_F: Any
    frame_FX: FloatArray


def prepare(row: dict[str, Any], cache: FeatureCache, durations: Sequence[int]) -> Sentence:
    """Compute the conditioner's inputs of a manifest row."""
    f0_F = np.array(cache[row["id"]].f0_F)
    sequence = sequence_of(row)
    context_PX, phone_F, frame_FX = conditioner_inputs(
        sequence, np.asarray(durations, np.int64), interpolate_unvoiced(f0_F), f0_F > 0
    )
    return Sentence(ids_P=sequence.ids_P, context_PX=context_PX, phone_F=phone_F, frame_FX=frame_FX)


@dataclass(frozen=True, kw_only=True)
class WindowSource:
    """Random windows; the batch is a function of (seed, step).

    window: shards of the cache that are read at a time, where it has more
    """

    rows: Sequence[dict[str, Any]]
    cache: FeatureCache
    alignments: dict[str, list[int]]
    batch_size: int = 16
    frames: int = 256
    seed: int = 0
    window: int = WINDOW
    _prepared: dict[str, Sentence] = field(default_factory=dict)

    @cached_property
    def _shuffle(self) -> WindowedShuffle:
        shards = [self.cache.shard_of(row["id"]) for row in self.rows]
        return WindowedShuffle(shards, window=self.window, seed=self.seed)

    def batch(self, step: int) -> Windows:
        """Draw the windows of a step."""
        return collate([self._window(*place) for place in self._places(step)])

    def share(self, step: int, index: int, of: int) -> Windows | None:
        """Draw every of-th window of a step, from `index` on; None where there is none."""
        places = self._places(step)[index::of]
        return collate([self._window(*place) for place in places]) if places else None

    def _places(self, step: int) -> list[tuple[dict[str, Any], int]]:
        """Return the row and the first frame of every window."""
        random = np.random.default_rng([self.seed, step])
        if self._shuffle.whole:
            chosen = random.integers(0, len(self.rows), self.batch_size)
        else:
            steps = -(-len(self.rows) // self.batch_size)  # of an epoch
            chosen = random.choice(self._shuffle.candidates(step // steps, step % steps / steps), self.batch_size)
        spare = [max(1, self.cache.frames(self.rows[i]["id"]) - self.frames + 1) for i in chosen]
        return [(self.rows[i], int(random.integers(0, count))) for i, count in zip(chosen, spare, strict=True)]

    def audio_seconds(self, step: int) -> float:
        """Return how much speech a step learns from."""
        return self.cache.seconds(self.batch_size * self.frames)

    def _window(self, row: dict[str, Any], start: int) -> tuple[Any, ...]:
        name = row["id"]
        if name not in self._prepared:
            if len(self._prepared) >= _KEPT:  # a large corpus: prepare anew rather than keep it all
                self._prepared.clear()
            self._prepared[name] = prepare(row, self.cache, self.alignments[name])
        sentence, mel_FM = self._prepared[name], self.cache[name].mel_FM
        return window(sentence, mel_FM, start, self.frames)


def window(sentence: Sentence, mel_FM: Any, start: int, frames: int) -> tuple[Any, ...]:
    """Cut a window of a sentence, padded at its end."""
    total = len(mel_FM)
    stop = min(start + frames, total)
    pad = frames - (stop - start)
    weight = np.ones(frames, np.float32)
    if start > 0:
        weight[:_EDGE] = 0
    weight[frames - pad if pad else (frames if stop == total else frames - _EDGE) :] = 0
    target = (np.asarray(mel_FM[start:stop], np.float32) - MEL_MEAN) / MEL_SPREAD
    return (
        sentence.ids_P, sentence.context_PX, np.pad(sentence.phone_F[start:stop], (0, pad), mode="edge"),
        np.pad(sentence.frame_FX[start:stop], ((0, pad), (0, 0)), mode="edge"),
        np.pad(target, ((0, pad), (0, 0))).astype(np.float32), weight,
    )  # fmt: skip


def collate(windows: Sequence[tuple[Any, ...]]) -> Windows:
    """Pad the phones and stack."""
    longest = max(len(w[0]) for w in windows)
    ids = np.stack([np.pad(w[0], (0, longest - len(w[0]))) for w in windows])
    context = np.stack([np.pad(w[1], ((0, longest - len(w[1])), (0, 0))) for w in windows])
    lengths = np.array([len(w[0]) for w in windows])
    rest = [np.stack([w[i] for w in windows]) for i in range(2, 6)]
    return Windows(*(torch.from_numpy(array) for array in (ids, context, lengths, *rest)))


def loss_on(model: nn.Module, batch: Windows) -> tuple[torch.Tensor, Metrics]:
    """L1 on the scaled spectrum, with a smaller squared term that pulls on large errors."""
    predicted = model(batch.ids_BP, batch.context_BPX, batch.lengths_B, batch.phone_BF, batch.frame_BFX)
    error = (predicted - batch.target_BFM) * batch.weight_BF[..., None]
    (count,) = counts(batch)
    absolute, squared = error.abs().sum(), error.square().sum()
    decibels = float(absolute.detach() / count) * MEL_SPREAD * 10 / np.log(10)
    return mean(absolute + 0.5 * squared, count), {"mel_decibels": decibels}


def show(model: nn.Module, batch: Windows, samples: Samples) -> None:
    """Draw the recorded and the predicted spectrum of the first window."""
    device = next(model.parameters()).device
    with torch.no_grad():
        predicted_FM = model(*(tensor[:1].to(device) for tensor in batch[:5]))[0].float().cpu().numpy()
    spectra = {"recording": batch.target_BFM[0].numpy(), "predicted": predicted_FM}
    scaled = {name: mel_FM * MEL_SPREAD + MEL_MEAN for name, mel_FM in spectra.items()}
    samples.picture("spectrum", draw_spectra(scaled))


def counts(batch: Windows) -> list[torch.Tensor]:
    """Return the number of values that count, a scalar."""
    return [batch.weight_BF.sum() * batch.target_BFM.shape[2]]


def run(manifest: Path, config: VocoderConfig, options: TrainOptions, alignments: Path) -> Trainer:
    """Train (or resume) the conditioner."""
    cache = FeatureCache(manifest.parent / "features", config.mel)
    aligned = read_alignments(alignments)
    parts = split(manifest)

    def source(rows: Sequence[dict[str, Any]], batch_size: int) -> WindowSource:
        kept = [row for row in rows if row["id"] in aligned and row["id"] in cache]
        return WindowSource(rows=kept, cache=cache, alignments=aligned, batch_size=batch_size)

    dev = source(parts.dev, 16)

    def evaluate(model: nn.Module, step: int) -> Metrics:
        def of(batch: Windows) -> Ratios:
            with torch.autocast(batch.weight_BF.device.type, torch.bfloat16):
                return weighted(loss_on(model, batch)[1], float(batch.weight_BF.sum()))

        values = measure([dev.batch(i) for i in range(6)], of, lambda batch: batch.weight_BF.numel() * _FRAME_SECONDS)
        if ranks().first:
            show(model, dev.batch(0), Samples(options.out_dir, step))
        return values

    torch.manual_seed(options.seed)
    model = Conditioner(config.conditioner, config.mel.bands)
    return train(
        model,
        source(parts.train, 16),
        loss_on,
        options,
        config=to_dict(config),
        meta=meta_of(config.mel),
        evaluate=evaluate,
        counts=counts,
        origin=origin([manifest, alignments], config.mel),
    )


def start(arguments: argparse.Namespace, launch: Launch) -> None:
    """Train as the command line says."""
    config = load_toml(VocoderTraining, arguments.config).vocoder if arguments.config else VocoderConfig()
    options = TrainOptions(
        out_dir=arguments.out, steps=3000, learning_rate=1e-3, ema=0.998, evaluate_every=250,
        best="held_out_mel_decibels",
    )  # fmt: skip
    alignments = arguments.alignments or arguments.data.parent / "alignments.jsonl"
    run(arguments.data, config, launch.applied(options), alignments)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = training_parser(__doc__, manifest=True)
    parser.add_argument("--alignments", type=Path, help="default: alignments.jsonl beside the manifest")
    return command(start, parser, argv)


if __name__ == "__main__":
    raise SystemExit(main())
