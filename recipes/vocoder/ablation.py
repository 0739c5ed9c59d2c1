"""The vocoder's ablation bench: one design a row, all rows with the same data and the same processor time.

    python -m deepvoice.recipes.vocoder.ablation MANIFEST --row NAME [--row NAME ...] [--out DIR] [--seconds N]
    python -m deepvoice.recipes.vocoder.ablation --table [--out DIR]

A row is trained from random weights for N seconds of processor time (one thread; the rate falls with the share of them
that is spent), then read on held-out utterances: bits a sample, and speech from recorded spectra and tracked F0.
OUT/NAME gets the speech, OUT/rows.jsonl the figures; with the [eval] extra, or with --scorer COMMAND, which is given a
folder of wavs and prints their mean last, the predicted MOS too. --speed measures the int8 inner loop, random weights.
"""

import argparse
import dataclasses
import json
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
from torch import nn

from deepvoice.audio.lpc import lpc_from_mel
from deepvoice.audio.mel import FloatArray
from deepvoice.audio.pulses import interpolate_unvoiced, phase_from_f0, pulse_features
from deepvoice.configs import VocoderConfig
from deepvoice.kernels import wavenet
from deepvoice.kernels.bench.inputs import random_inputs
from deepvoice.kernels.bench.timing import best_seconds
from deepvoice.kernels.weights import WaveNetShape, random_weights
from deepvoice.models.vocoder import WaveNet
from deepvoice.networks.conditioner import frame_inputs
from deepvoice.networks.vocoder import VocoderNetwork, wavenet_weights
from deepvoice.recipes.common.data import split
from deepvoice.recipes.common.features import FeatureCache, Features
from deepvoice.recipes.vocoder.ablation_bias import RecurrentBiasNet
from deepvoice.recipes.vocoder.ablation_rows import ROWS, Row
from deepvoice.recipes.vocoder.data import SegmentSource, usable
from deepvoice.recipes.vocoder.evaluate import Sampling, predicted_mos, spectral_distance
from deepvoice.recipes.vocoder.objective import held_out_batches, loss_on

_RATE, _BATCH, _FRAMES, _EMA = 2e-3, 8, 60, 0.995
_WARMUP = 0.02  # share of the time in which the rate rises
HEART_SPEED, LITE_SPEED = 55, 110  # multiples of real time that the voices need
_SPOKEN = 800  # frames of each held-out utterance that are spoken, at most
SAMPLINGS = {"cool": Sampling(voiced=0.1, unvoiced=0.5, floor=0.002), "warm": Sampling(voiced=0.9, floor=0.002)}


def build(row: Row) -> WaveNet:
    """Return the untrained model of a row."""
    torch.manual_seed(0)
    model = WaveNet(row.config())
    if row.bias != "convolutions":
        model.bias_net = RecurrentBiasNet(row.bias, model.config)
    return model


def learn(model: WaveNet, row: Row, source: SegmentSource, seconds: float) -> dict[str, float]:
    """Train a model for an amount of processor time, leaving the averaged weights in it; returns how far it came."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    average = [value.detach().clone() for value in model.parameters()]
    started, steps, loss = time.process_time(), 0, torch.zeros(())
    while (done := (time.process_time() - started) / seconds) < 1:
        rate = _RATE * min(done / _WARMUP, 0.02 + 0.98 * (0.5 + 0.5 * float(np.cos(np.pi * done))))
        for group in optimizer.param_groups:
            group["lr"] = rate
        torch.manual_seed(steps)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_on(model, source.batch(steps), row.noise)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        steps += 1
        with torch.no_grad():
            torch._foreach_lerp_(average, list(model.parameters()), 1 - min(_EMA, (1 + steps) / (10 + steps)))
    with torch.no_grad():
        for value, mean in zip(model.parameters(), average, strict=True):
            value.copy_(mean)
    spent = time.process_time() - started
    return {
        "steps": steps,
        "audio_seconds": round(steps * source.audio_seconds(0)),
        "processor_seconds": round(spent, 1),
        "train_bits": round(float(loss.detach()), 4),
    }


def speak(model: WaveNet, features: Features, sampling: Sampling, seed: int) -> FloatArray:
    """Speak the beginning of an utterance from its recorded spectrum and tracked F0, float32 [T]."""
    config, count = model.config, min(_SPOKEN, len(features.f0_F))
    mel_FM = np.asarray(features.mel_FM[:count], np.float32)
    tracked_F = np.array(features.f0_F[:count])
    f0_F, voiced_F = interpolate_unvoiced(tracked_F), tracked_F > 0
    with torch.no_grad():
        cond_FC = model.bias_net(torch.from_numpy(frame_inputs(mel_FM, f0_F, voiced_F))[None])[0].float().numpy()
    lpc_FK = (
        lpc_from_mel(mel_FM, config.mel, config.lpc_order, config.pre_emphasis)
        if config.lpc_order
        else np.zeros((count, 0), np.float32)
    )
    phase_E = phase_from_f0(f0_F, config.mel.hop, config.mel.sample_rate)
    tensors = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    return wavenet.generate(
        wavenet_weights(tensors, config),
        np.ascontiguousarray(cond_FC),
        lpc_FK,
        pulse_features(phase_E, voiced_F, config.mel.hop, config.bunch, config.harmonics),
        np.random.default_rng(seed).random(count * config.mel.hop, dtype=np.float32),
        np.where(voiced_F, sampling.voiced, sampling.unvoiced).astype(np.float32),
        sampling.floor,
    ).samples.clip(-1, 1)


def shape_of(config: VocoderConfig) -> WaveNetShape:
    """Return the kernel's shape of a configuration."""
    zeros = {n: np.zeros(s, np.float32) for n, s in VocoderNetwork.expected_shapes(config).items()}
    return wavenet_weights(zeros, config).shape


def speed_of(config: VocoderConfig, frames: int = 100, repeats: int = 7) -> float:
    """Return the inner loop's multiple of real time in int8, random weights, on this thread."""
    weights = random_weights(shape_of(config), precision="int8")
    inputs = random_inputs(weights.shape, frames)
    seconds = best_seconds(lambda: wavenet.generate(weights, *inputs, SAMPLINGS["cool"].floor, backend="cpu"), repeats)
    return frames * config.mel.hop / config.mel.sample_rate / seconds


def score(model: WaveNet, manifest: Path, out: Path, utterances: int) -> dict[str, Any]:
    """Read the held-out bits and write free-running speech, one folder a sampling; returns the figures."""
    config = model.config
    cache, parts = FeatureCache(manifest.parent / "features", config.mel), split(manifest)
    held_out = held_out_batches(cache, [row["id"] for row in parts.dev][:40], config)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        bits = float(np.mean([float(loss_on(model, batch, None)) for batch in held_out]))
    rows = [row for row in parts.test if row["id"] in cache][:utterances]
    figures: dict[str, Any] = {"bits": round(bits, 4)}
    for kind, sampling in SAMPLINGS.items():
        (out / kind).mkdir(parents=True, exist_ok=True)
        distances = []
        for number, row in enumerate(rows):
            features = cache[row["id"]]
            samples = speak(model, features, sampling, number)
            count = len(samples) // config.mel.hop
            distances.append(
                spectral_distance(samples, dataclasses.replace(features, mel_FM=features.mel_FM[:count]), config)
            )
            soundfile.write(out / kind / f"{number:03d}.wav", samples, config.mel.sample_rate, subtype="PCM_16")
        figures[f"distance_{kind}"] = round(float(np.mean(distances)), 2)
    return figures


def mean_mos(folder: Path, scorer: str | None) -> float | None:
    """Return the predicted MOS of a folder of wavs; None without a scorer."""
    if scorer is None:
        if find_spec("distillmos") is None:
            return None
        return round(predicted_mos(sorted(folder.glob("*.wav"))), 3)
    result = subprocess.run([*shlex.split(scorer), str(folder)], capture_output=True, text=True, check=True)
    return float(result.stdout.split()[-1])


def parameters(model: WaveNet) -> int:
    """Return the number of values in the model."""
    return sum(value.numel() for value in model.parameters())


def run(name: str, manifest: Path, out: Path, seconds: float, utterances: int, scorer: str | None) -> dict[str, Any]:
    """Train and score one row; returns what rows.jsonl gets."""
    row = ROWS[name]
    model = build(row)
    cache = FeatureCache(manifest.parent / "features", model.config.mel)
    ids = usable(cache, [line["id"] for line in split(manifest).train], _FRAMES)
    source = SegmentSource(cache=cache, utterances=ids, config=model.config, batch_size=_BATCH, frames=_FRAMES)
    figures: dict[str, Any] = {"row": name, "values": parameters(model), **learn(model, row, source, seconds)}
    figures |= score(model, manifest, out / name, utterances)
    for kind in SAMPLINGS:
        figures[f"mos_{kind}"] = mean_mos(out / name / kind, scorer)
    return figures


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of every row, later lines over earlier ones."""
    rows: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        row = json.loads(line)
        rows.setdefault(row["row"], {}).update(row)
    return rows


def append(path: Path, figures: Mapping[str, Any]) -> None:
    """Add a line of figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(figures) + "\n")


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figures as a Markdown table, the best predicted MOS first."""
    head = ("row", "", "values", "x real time", "for", "steps", "audio, s", "bits", "dB", "DistillMOS cool", "warm")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, row in sorted(rows.items(), key=lambda item: -_best(item[1])):
        speed = row.get("speed", 0.0)
        fits = "lite" if speed >= LITE_SPEED else "heart" if speed >= HEART_SPEED else ""
        what = ROWS[name].what if name in ROWS else ""
        keys = ("steps", "audio_seconds", "bits", "distance_cool", "mos_cool", "mos_warm")
        cells = [
            f"`{name}`",
            what,
            f"{row['values'] / 1000:.0f} k" if "values" in row else "",
            f"{speed:.0f}" if speed else "",
            fits,
        ]
        cells += [_cell(row.get(key)) for key in keys]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _best(row: Mapping[str, Any]) -> float:
    return max(row.get("mos_cool") or 0.0, row.get("mos_warm") or 0.0)


def _cell(value: float | None) -> str:
    return "" if value is None else str(value) if isinstance(value, int) else f"{value:.2f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path, nargs="?", help="corpus, with features/ beside it")
    parser.add_argument("--row", action="append", default=[], choices=ROWS, metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--out", type=Path, default=Path("ablation"), metavar="DIR")
    parser.add_argument("--seconds", type=float, default=120.0, help="of processor time a row (default %(default)s)")
    parser.add_argument("--utterances", type=int, default=10, help="held-out utterances to speak (default %(default)s)")
    parser.add_argument("--scorer", metavar="COMMAND", help="prints the predicted MOS of a folder of wavs last")
    parser.add_argument("--speed", action="store_true", help="only measure the inner loop (default: of all rows)")
    parser.add_argument("--table", action="store_true", help="print what OUT/rows.jsonl has as a table")
    arguments = parser.parse_args(argv)
    path = arguments.out / "rows.jsonl"
    if arguments.speed:
        for name in arguments.row or ROWS:
            append(path, {"row": name, "speed": round(speed_of(ROWS[name].config()), 1)})
    elif arguments.row:
        if arguments.manifest is None:
            parser.error("a row needs the MANIFEST of the corpus that it learns from")
        torch.set_num_threads(1)  # processor time is shared out, and threads that wait use it up
        for name in arguments.row:
            figures = run(
                name, arguments.manifest, arguments.out, arguments.seconds, arguments.utterances, arguments.scorer
            )
            append(path, figures)
            print(json.dumps(figures), flush=True)
    if arguments.table or arguments.speed:
        print(table(read_rows(path)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
