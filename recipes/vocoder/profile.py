"""Where the time of the vocoder's training step goes.

    python -m deepvoice.recipes.vocoder.profile MANIFEST [--config FILE] [--threads N] [--steps N] [--batch-size N]

Prints seconds of speech learned per second, the share of data, forward pass, backward pass and optimiser, and the
operations that take longest. The steps are those of `train`; only the checkpoints and the readings are left out.
"""

import argparse
import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from deepvoice.config import load_toml
from deepvoice.models.vocoder import WaveNet
from deepvoice.recipes.common.data import split
from deepvoice.recipes.common.distributed import ranks
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.options import TrainOptions
from deepvoice.recipes.common.step import Gradients
from deepvoice.recipes.common.trainer import Trainer
from deepvoice.recipes.vocoder.data import Batch, SegmentSource, usable
from deepvoice.recipes.vocoder.objective import loss_on
from deepvoice.recipes.vocoder.settings import VocoderTraining

_WARM = 3  # steps before the clock starts


class _Clock:
    """Adds up the time inside the calls that it wraps."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call whose time counts under a name."""

        def wrapped(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

        return wrapped


class _Timed:
    """A source of batches on the clock."""

    def __init__(self, source: SegmentSource, clock: _Clock) -> None:
        self.batch = clock.timed("data", source.batch)


def measure(manifest: Path, training: VocoderTraining, steps: int, top: int) -> tuple[dict[str, float], float, str]:
    """Return the seconds a step of each part, the seconds of speech learned per second, and a table of operations."""
    config = training.vocoder
    cache = FeatureCache(manifest.parent / "features", config.mel)
    source = SegmentSource(
        cache=cache, utterances=usable(cache, [row["id"] for row in split(manifest).train], training.segment_frames),
        config=config, batch_size=training.batch_size, frames=training.segment_frames,
    )  # fmt: skip
    clock = _Clock()

    def loss_fn(model: nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, float]]:
        assert isinstance(model, WaveNet)
        return loss_on(model, batch, training.noise_levels), {}

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        options = TrainOptions(out_dir=Path(folder), steps=steps, learning_rate=training.learning_rate)
        trainer = Trainer(WaveNet(config), options, {}, {})
        timed_loss = clock.timed("forward", loss_fn)
        gradients = Gradients(
            trainer.model, timed_loss, lambda batch: [batch.weight_BT.sum().clamp(min=1.0)], options, ranks()
        )
        gradients.compute = clock.timed("gradients", gradients.compute)  # type: ignore[method-assign]
        step = clock.timed("step", lambda: trainer.train_step(gradients, _Timed(source, clock)))
        for _ in range(_WARM):
            step()
        clock.seconds.clear()
        for _ in range(steps):
            step()
        parts = {name: seconds / steps for name, seconds in clock.seconds.items()}
        with profile(activities=[ProfilerActivity.CPU]) as record:
            for _ in range(_WARM):
                step()
    operations = record.key_averages().table(sort_by="self_cpu_time_total", row_limit=top, max_name_column_width=40)
    shares = {
        "data": parts["data"],
        "forward": parts["forward"],
        "backward": parts["gradients"] - parts["forward"] - parts["data"],
        "optimiser": parts["step"] - parts["gradients"],
    }
    return shares, source.audio_seconds(0) / parts["step"], operations


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path, help="corpus, with features/ beside it")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings (default: the shipped size)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N", help="default: all cores")
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="steps on the clock (default %(default)s)")
    parser.add_argument("--batch-size", type=int, metavar="N", help="segments a step")
    parser.add_argument("--top", type=int, default=15, metavar="N", help="operations to list (default %(default)s)")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    training = load_toml(VocoderTraining, arguments.config) if arguments.config else VocoderTraining()
    if arguments.batch_size is not None:
        training = dataclasses.replace(training, batch_size=arguments.batch_size)
    shares, speed, operations = measure(arguments.manifest, training, arguments.steps, arguments.top)
    total = sum(shares.values())
    print(operations)
    print("| part | ms a step | share |\n|---|---|---|")
    for name, seconds in shares.items():
        print(f"| {name} | {1000 * seconds:.0f} | {100 * seconds / total:.0f} % |")
    print(f"\n{arguments.threads} threads: {speed:.1f} s of speech a second, {1000 * total:.0f} ms a step")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
