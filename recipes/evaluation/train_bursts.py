"""Train and score the burst detector.

    python -m deepvoice.recipes.evaluation.train_bursts AUDIO_DIR [AUDIO_DIR ...] --out bursts.safetensors [--steps N]
    python -m deepvoice.recipes.evaluation.train_bursts AUDIO_DIR --score bursts.safetensors

AUDIO_DIR holds wav or flac files of clean speech, any rate. Of every four files one is held out (by a hash of its
name): the threshold is chosen on half of those, and the figures are of the other half. Half of all pieces get bursts:
noise of 4 to 40 ms, of any tilt, at -36 to -10 dBFS. Needs the [train] extra.
"""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import soundfile
import torch
from safetensors.numpy import save_file
from torch import nn

from deepvoice.audio.mel import FloatArray
from deepvoice.audio.resample import resample
from deepvoice.recipes.evaluation.bursts import (
    BANDS,
    DILATIONS,
    HOP,
    KERNEL,
    RATE,
    BurstDetector,
    band_powers,
    burst,
    inject,
    peaks,
)

_CHANNELS = 24
_PIECE = 2.0  # seconds
_BATCH = 16
_LEVELS = (-36.0, -10.0)  # dBFS
_LENGTHS = (0.004, 0.04)  # s
_NEAR = 0.03  # s: a detection so near to a burst has found it


class BurstNetwork(nn.Module):
    """The network of `BurstDetector`, for training."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [BANDS] + [_CHANNELS] * len(DILATIONS)
        self.convs = nn.ModuleList(
            nn.Conv1d(sizes[i], _CHANNELS, KERNEL, dilation=d, padding=KERNEL // 2 * d) for i, d in enumerate(DILATIONS)
        )
        self.output = nn.Linear(_CHANNELS, 1)

    def forward(self, powers_BFC: torch.Tensor) -> torch.Tensor:
        """Return logits [B, F]."""
        hidden_BCF = powers_BFC.transpose(1, 2)
        for i, conv in enumerate(self.convs):
            new_BCF = torch.relu(conv(hidden_BCF))
            hidden_BCF = new_BCF if i == 0 else hidden_BCF + new_BCF
        return self.output(hidden_BCF.transpose(1, 2))[..., 0]

    def tensors(self, threshold: float) -> dict[str, FloatArray]:
        """Return the weights as `BurstDetector` reads them, float16 but for the threshold."""
        found = {"threshold": np.array([threshold], np.float32)}
        for i, conv in enumerate(self.convs):
            weight_OKI = conv.weight.detach().numpy().transpose(0, 2, 1)
            found[f"conv{i}.weight"] = np.ascontiguousarray(weight_OKI, np.float16)
            found[f"conv{i}.bias"] = conv.bias.detach().numpy().astype(np.float16)
        found["output.weight"] = self.output.weight.detach().numpy().astype(np.float16)
        found["output.bias"] = self.output.bias.detach().numpy().astype(np.float16)
        return found


def _read(path: Path) -> FloatArray:
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    mono = np.ascontiguousarray(samples.mean(axis=1), np.float32)
    return mono if rate == RATE else resample(mono, rate, RATE)


def _share(path: Path) -> str:
    number = hashlib.sha256(path.stem.encode()).digest()[0]
    return ("choose" if number & 4 else "report") if number % 4 == 0 else "train"


def files(folders: Sequence[Path], share: str) -> list[Path]:
    """Return the audio files of one share: train, choose or report."""
    found = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".wav", ".flac"))
    chosen = [path for path in found if _share(path) == share]
    if not chosen:
        raise SystemExit(f"{len(found)} wav and flac files, none for {share!r}; expected at least some dozens")
    return chosen


def _tilted(random: np.random.Generator, length: int, level: float) -> FloatArray:
    """Return a burst whose spectrum falls or rises."""
    noise = burst(random, length + 1, 0.0, edge=int(random.integers(1, 49)))
    tilt = np.float32(random.uniform(-0.7, 0.7) if random.random() < 0.5 else 0.0)
    noise = noise[1:] + tilt * noise[:-1]
    return noise * np.float32(10 ** (level / 20) / max(float(np.sqrt(np.mean(noise**2))), 1e-9))


def pieces(paths: Sequence[Path], seed: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield powers [F, BANDS] and targets [F]: 1 in a burst, 0 elsewhere, -1 at its edges."""
    random = np.random.default_rng(seed)
    length = int(_PIECE * RATE)
    while True:
        samples = _read(paths[random.integers(len(paths))])
        if len(samples) < length:
            samples = np.pad(samples, (0, length - len(samples)))
        start = int(random.integers(len(samples) - length + 1))
        piece = samples[start : start + length] * np.float32(10 ** (random.uniform(-12, 6) / 20))
        target = np.zeros(length // HOP + 1, np.float32)
        piece = piece.copy()
        for _ in range(int(random.integers(1, 4)) if random.random() < 0.5 else 0):
            size = int(np.exp(random.uniform(*np.log(_LENGTHS))) * RATE)
            first = int(random.integers(length - size))
            piece[first : first + size] += _tilted(random, size, random.uniform(*_LEVELS))
            low, high = first // HOP, -(-(first + size) // HOP)
            target[max(low - 2, 0) : high + 3] = -1
            target[low : high + 1] = 1
        if random.random() < 0.3:  # recordings of 16 kHz
            piece = resample(resample(piece, RATE, 16000), 16000, RATE)[:length]
        yield band_powers(piece), target


def train(paths: Sequence[Path], steps: int) -> BurstNetwork:
    """Train on pieces of these files."""
    torch.manual_seed(0)
    model, stream = BurstNetwork(), pieces(paths, 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    total = 0.0
    for step in range(1, steps + 1):
        powers, targets = zip(*(next(stream) for _ in range(_BATCH)), strict=True)
        target_BF = torch.from_numpy(np.stack(targets))
        logits_BF = model(torch.from_numpy(np.stack(powers)))
        loss = nn.functional.binary_cross_entropy_with_logits(logits_BF, target_BF.clamp(min=0), reduction="none")
        loss = loss[target_BF >= 0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += float(loss.detach())
        if step % 100 == 0:
            print(f"step {step}/{steps} loss {total / 100:.5f}", flush=True)
            total = 0.0
    return model


def false_alarms(detector: BurstDetector, paths: Sequence[Path]) -> tuple[list[float], float]:
    """Return the logits of everything that looks most like a burst in clean speech, and the hours heard."""
    tops, seconds = [], 0.0
    for path in paths:
        samples = _read(path)
        seconds += len(samples) / RATE
        tops += [found.logit for found in peaks(detector.logits(samples), 0.0)]
    return sorted(tops, reverse=True), seconds / 3600


def hits(detector: BurstDetector, paths: Sequence[Path], level: float, seconds: float, count: int) -> list[float]:
    """Inject one burst at a random place of each of `count` files; return the highest logit near each."""
    random, found = np.random.default_rng(1), []
    for i in range(count):
        samples = _read(paths[i % len(paths)])
        time = float(random.uniform(0, len(samples) / RATE - seconds))
        logits = detector.logits(inject(samples, RATE, [time], level, seconds, i))
        low, high = int((time - _NEAR) * RATE / HOP), int((time + seconds + _NEAR) * RATE / HOP)
        found.append(float(logits[max(low, 0) : high + 1].max()))
    return found


def report(detector: BurstDetector, paths: Sequence[Path]) -> None:
    """Print false alarms per hour and the share of injected bursts that are found."""
    tops, hours = false_alarms(detector, paths)
    alarms = sum(top > detector.threshold for top in tops)
    print(f"threshold {detector.threshold:.2f}: {alarms} false alarms in {hours:.2f} hours of clean speech")
    print("| burst, ms | level, dBFS | found of 100 |\n|---|---|---|")
    for seconds in (0.005, 0.01, 0.02, 0.04):
        for level in (-36, -30, -24):
            right = sum(top > detector.threshold for top in hits(detector, paths, level, seconds, 100))
            print(f"| {seconds * 1000:.0f} | {level} | {right} |")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audio", type=Path, nargs="+", help="folders of clean speech, wav or flac")
    parser.add_argument("--out", type=Path, metavar="FILE", help="train, and write the weights here")
    parser.add_argument("--score", type=Path, metavar="FILE", help="score these weights")
    parser.add_argument("--steps", type=int, default=1500)
    arguments = parser.parse_args()
    if (arguments.out is None) == (arguments.score is None):
        parser.error("expected either --out FILE, to train, or --score FILE")
    if arguments.out is not None:
        model = train(files(arguments.audio, "train"), arguments.steps)
        save_file(model.tensors(0.0), arguments.out)
        tops, hours = false_alarms(BurstDetector(arguments.out), files(arguments.audio, "choose"))
        allowed = int(hours / 4)  # at most one in four hours, so that one in an hour is far
        threshold = max(tops[allowed] if allowed < len(tops) else 0.0, 1.0) + 1.0  # a margin for other voices
        save_file(model.tensors(threshold), arguments.out)
    report(BurstDetector(arguments.out or arguments.score), files(arguments.audio, "report"))


if __name__ == "__main__":
    main()
