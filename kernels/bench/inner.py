"""The inner loop: every instruction set and precision, alone and side by side, first verified, then timed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deepvoice import kernels
from deepvoice.kernels import wavenet
from deepvoice.kernels.bench.inputs import Inputs, random_inputs
from deepvoice.kernels.bench.limits import Limits, measure_limits
from deepvoice.kernels.bench.timing import best_seconds, best_wall_seconds
from deepvoice.kernels.bench.work import step_work
from deepvoice.kernels.tolerances import TOLERANCES
from deepvoice.kernels.weights import PRECISIONS, Precision, WaveNetShape, WaveNetWeights, random_weights

_VERIFIED_FRAMES = 3
_DEEPER = 8.0  # the medians' tolerances are made for 12 layers; errors add up over more
_FLOOR = 0.001


class Row(NamedTuple):
    """One measurement.

    error: relative error of a logit against the reference of this precision: the largest in float32, otherwise the
        median
    x: seconds of sound for a second of one core, all streams together
    limit: the multiple of real time at which the binding resource would be used up
    """

    isa: str
    precision: str
    streams: int
    error: float
    ns_a_sample: float
    x: float
    limit: float
    binds: str

    @property
    def share(self) -> float:
        """Share of the limit that is reached."""
        return self.x / self.limit


def verify(shape: WaveNetShape, precision: Precision) -> float:
    """Compare the logits of the compiled kernel with the reference; return the relative error.

    Random weights of the same sizes, for which the tolerances are made.
    Raises RuntimeError when it is above the tolerance: a wrong kernel is not worth timing.
    """
    weights = random_weights(shape, precision=precision)
    inputs = random_inputs(weights.shape, _VERIFIED_FRAMES)
    codes_T = (inputs.uniforms_T * weights.shape.levels).astype(np.uint8)
    expected = wavenet.teacher_forced(weights, *inputs[:3], codes_T, backend="reference").logits_TA
    actual = wavenet.teacher_forced(weights, *inputs[:3], codes_T, backend="cpu").logits_TA
    errors = np.abs(actual - expected) / (1 + np.abs(expected))
    if precision == "float32":
        found, allowed = float(np.max(errors)), TOLERANCES["wavenet_logits"]
    else:  # a few inputs near the edge between two numbers are rounded to the other
        found, allowed = float(np.median(errors)), _DEEPER * TOLERANCES[f"wavenet_logits_{precision}_median"]
    if not found <= allowed:
        raise RuntimeError(f"{kernels.isa()}, {precision}: logits are off by {found:.3g}, allowed {allowed:.3g}")
    return found


def pieces_of(inputs: Inputs, streams: int) -> list[wavenet.Piece]:
    """Return as many pieces as there are streams, each with its own random numbers."""
    rolled = (np.roll(inputs.uniforms_T, 997 * i) for i in range(streams))
    return [wavenet.Piece(*inputs[:3], uniforms_T, inputs.temperature_F, _FLOOR, None) for uniforms_T in rolled]


def measure(
    weights: WaveNetWeights,
    *,
    sample_rate: int,
    isas: Sequence[str],
    precisions: Sequence[Precision] = PRECISIONS,
    streams: Sequence[int] = (1, 8, 16),
    frames: int = 100,
    repeats: int = 3,
    say: Callable[[str], object] = lambda _: None,
) -> tuple[list[Row], list[Limits]]:
    """Verify and time every variant, slowest instruction set first; returns the rows and the limits of each."""
    rows, limits = [], []
    before = kernels.isa()
    try:
        for isa in isas:
            kernels.set_isa(isa)
            limits.append(measure_limits())
            for precision in precisions:
                if precision == "int8" and weights.limits is None:
                    continue  # not calibrated
                say(f"inner loop: {isa}, {precision}")
                variant = replace(weights, precision=precision)
                error = verify(variant.shape, precision)
                for count in streams:
                    seconds = _time(variant, count, frames, repeats)
                    rows.append(_row(variant.shape, limits[-1], precision, count, error, seconds, sample_rate))
    finally:
        if before is not None:
            kernels.set_isa(before)
    return rows, limits


def _time(weights: WaveNetWeights, streams: int, frames: int, repeats: int) -> float:
    """Return the seconds that a sample takes."""
    pieces = pieces_of(random_inputs(weights.shape, frames), streams)
    seconds = best_seconds(lambda: wavenet.generate_many(weights, pieces, backend="cpu"), repeats)
    return seconds / (frames * weights.shape.hop * streams)


def time_pair(weights: WaveNetWeights, *, sample_rate: int, frames: int = 64, repeats: int = 15) -> float:
    """Return the multiple of real time of one stream on two threads, by the clock on the wall.

    Raises RuntimeError when two threads do not draw what one draws.
    """
    inputs = random_inputs(weights.shape, frames)
    alone = wavenet.generate(weights, *inputs, _FLOOR, backend="cpu")
    if not np.array_equal(wavenet.generate(weights, *inputs, _FLOOR, threads=2, backend="cpu").samples, alone.samples):
        raise RuntimeError(f"{kernels.isa()}, {weights.precision}: two threads differ from one")
    seconds = best_wall_seconds(lambda: wavenet.generate(weights, *inputs, _FLOOR, threads=2, backend="cpu"), repeats)
    return frames * weights.shape.hop / sample_rate / seconds


def _row(
    shape: WaveNetShape, limits: Limits, precision: str, streams: int, error: float, seconds: float, sample_rate: int
) -> Row:
    work = step_work(shape, precision)
    least = limits.seconds(work, streams) / shape.bunch
    return Row(
        isa=limits.isa,
        precision=precision,
        streams=streams,
        error=error,
        ns_a_sample=1e9 * seconds,
        x=1 / (sample_rate * seconds),
        limit=1 / (sample_rate * least),
        binds=limits.binds(work, streams),
    )


def reference_seconds(weights: WaveNetWeights, frames: int = 1) -> float:
    """Return the seconds that the numpy reference takes for a sample."""
    inputs = random_inputs(weights.shape, frames)
    seconds = best_seconds(lambda: wavenet.generate(weights, *inputs, _FLOOR, backend="reference"), 1)
    return seconds / (frames * weights.shape.hop)


def as_dict(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    return {**row._asdict(), "share": row.share}
