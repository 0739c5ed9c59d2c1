"""Speed of the WaveNet kernel: `python -m deepvoice.kernels.bench`.

Random weights of the given sizes; every instruction set is first held to the numpy reference, then timed on one core. A
multiple of real time is seconds of sound for a second of processor time, so that a busy machine disturbs it little.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deepvoice import kernels
from deepvoice.kernels import wavenet
from deepvoice.kernels._checks import FloatArray
from deepvoice.kernels.tolerances import TOLERANCES
from deepvoice.kernels.weights import WaveNetShape, WaveNetWeights, random_weights

_VERIFIED_FRAMES = 3


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deepvoice.kernels.bench", description=__doc__)
    parser.add_argument("--residual", type=int, default=64, help="R (default %(default)s)")
    parser.add_argument("--skip", type=int, default=128, help="S (default %(default)s)")
    parser.add_argument("--head", type=int, default=64, help="H (default %(default)s)")
    parser.add_argument("--bunch", type=int, default=6, help="samples a step (default %(default)s)")
    parser.add_argument("--dilations", default="1,2,4,8,16,32,1,2,4,8,16,32", help="(default %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of the sound (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="the best counts (default %(default)s)")
    parser.add_argument("--full-precision", action="store_true", help="weights that half precision cannot hold")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args(arguments)


def make_shape(residual: int, skip: int, head: int, bunch: int, dilations: tuple[int, ...]) -> WaveNetShape:
    """Return the shape of a 24 kHz WaveNet with the given sizes."""
    return WaveNetShape(
        hop=120,
        bunch=bunch,
        dilations=dilations,
        residual=residual,
        skip=skip,
        head=head,
        history=16,
        head_history=8,
        harmonics=8,
        lpc_order=16,
        pre_emphasis=0.85,
        signal_gain=3.0,
        code_scale=3.0,
    )


class Inputs(NamedTuple):
    """Arguments of `wavenet.generate`, in its order."""

    cond_FC: FloatArray
    lpc_FK: FloatArray
    pulse_NQ2: FloatArray
    uniforms_T: FloatArray
    temperature_F: FloatArray


def random_inputs(shape: WaveNetShape, frames: int) -> Inputs:
    """Return arguments of `wavenet.generate` for a number of frames."""
    random = np.random.default_rng(1)
    steps = frames * shape.hop // shape.bunch
    return Inputs(
        cond_FC=random.standard_normal((frames, shape.conditioning)).astype(np.float32),
        lpc_FK=(0.03 * random.standard_normal((frames, shape.lpc_order))).astype(np.float32),
        pulse_NQ2=random.standard_normal((steps, 2 * shape.harmonics)).astype(np.float32),
        uniforms_T=random.random(frames * shape.hop, dtype=np.float32),
        temperature_F=np.ones(frames, np.float32),
    )


def verify(weights: WaveNetWeights) -> float:
    """Compare the logits of the compiled kernel with the reference; return the largest relative error.

    Raises RuntimeError when that is above the tolerance: a wrong kernel is not worth timing.
    """
    inputs = random_inputs(weights.shape, _VERIFIED_FRAMES)
    codes_T = (inputs.uniforms_T * weights.shape.levels).astype(np.uint8)
    expected = wavenet.teacher_forced(weights, *inputs[:3], codes_T, backend="reference").logits_TA
    actual = wavenet.teacher_forced(weights, *inputs[:3], codes_T, backend="cpu").logits_TA
    error = float(np.max(np.abs(actual - expected) / (1 + np.abs(expected))))
    allowed = TOLERANCES["wavenet_logits"]
    if not error <= allowed:
        raise RuntimeError(f"{kernels.isa()}: logits are off by {error:.3g}, allowed {allowed:.3g}")
    return error


def best_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least processor time of several calls, after one that is not counted."""
    call()
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        call()
        times.append(time.thread_time() - started)
    return min(times)


def measure(weights: WaveNetWeights, frames: int, repeats: int) -> list[dict[str, Any]]:
    """Verify and time every instruction set; one row each, slowest first."""
    inputs = random_inputs(weights.shape, frames)
    samples = frames * weights.shape.hop
    rows = []
    before = kernels.isa()
    for isa in kernels.supported_isas():
        kernels.set_isa(isa)
        error = verify(weights)
        seconds = best_seconds(lambda: wavenet.generate(weights, *inputs, 0.001, backend="cpu"), repeats)
        x = samples / 24000 / seconds
        rows.append({"isa": isa, "error": error, "ns_a_sample": 1e9 * seconds / samples, "x": x})
    if before is not None:
        kernels.set_isa(before)
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return the exit status."""
    options = _parse(arguments)
    kernels.resolve("cpu")
    dilations = tuple(int(d) for d in options.dilations.split(","))
    shape = make_shape(options.residual, options.skip, options.head, options.bunch, dilations)
    weights = random_weights(shape, half=not options.full_precision)
    rows = measure(weights, max(1, round(options.seconds * 200)), options.repeats)
    if options.json:
        json.dump({"residual": shape.residual, "skip": shape.skip, "bunch": shape.bunch, "rows": rows}, sys.stdout)
        print()
        return 0
    print(f"WaveNet R {shape.residual}, S {shape.skip}, H {shape.head}, bunch {shape.bunch}, dilations {dilations}")
    print(f"{'isa':8} {'error':>9} {'ns/sample':>10} {'x real time at 24 kHz':>22}")
    for row in rows:
        print(f"{row['isa']:8} {row['error']:9.1e} {row['ns_a_sample']:10.0f} {row['x']:22.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
