"""The course of a tuning in one picture: what was measured on held-out recordings, module by module."""

import json
from collections.abc import Mapping
from pathlib import Path

_SHOWN = {
    "segmentation": ("dev_pairs", "CTC loss of phone pairs"),
    "duration": ("held_out_error_ms", "ms a phone"),
    "f0": ("held_out_error_hz", "Hz, voiced"),
    "conditioner": ("held_out_mel_decibels", "dB of the spectrum"),
    "vocoder": ("held_out_bits", "bits a sample"),
}


def held_out(log: Path, name: str) -> list[tuple[int, float]]:
    """Return (step, figure) of a training's log, in order; empty where it has none."""
    if not log.is_file():
        return []
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [(int(row["step"]), float(row[name])) for row in rows if name in row]


def draw_training(logs: Mapping[str, Path], path: Path) -> None:
    """Write a PNG with a curve for each module that has a log."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    curves = {module: held_out(logs[module], _SHOWN[module][0]) for module in _SHOWN if module in logs}
    figure, axes = pyplot.subplots(1, len(curves), figsize=(3 * len(curves), 2.6), squeeze=False)
    for axis, (module, points) in zip(axes[0], curves.items(), strict=True):
        axis.plot([step for step, _ in points], [value for _, value in points], marker=".")
        axis.set_title(module)
        axis.set_ylabel(_SHOWN[module][1])
        axis.set_xlabel("step")
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)
