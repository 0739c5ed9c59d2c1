"""Hold the CUDA kernels to the reference, then time them: one stream, many streams, and shares of the device's limits.

    python -m deepvoice.kernels.bench.device --clock-mhz 1980 --json device.json
    python -m deepvoice.kernels.bench.device --emulate        # the same code on the emulated kernels, much smaller

Times are wall-clock and include the copies to and from the device. `kernels/cuda/device_check.sh` runs it.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepvoice.errors import DeepVoiceError
from deepvoice.kernels import cuda, wavenet
from deepvoice.kernels.bench.inputs import PAPER_RATE, make_shape, paper_shape, random_inputs
from deepvoice.kernels.bench.timing import median_seconds
from deepvoice.kernels.bench.work import step_work
from deepvoice.kernels.packed import Packed, packed_gru
from deepvoice.kernels.wavenet import Piece
from deepvoice.kernels.weights import WaveNetShape, WaveNetWeights, random_weights

_SHARED_BYTES = 128  # that a multiprocessor reads from shared memory in a cycle
_FLOAT_PRODUCTS = 128  # multiply-adds of a multiprocessor in a cycle
_TENSOR_PRODUCTS = 1024  # in half precision by its tensor units, of 9.0 (8.0: half as many, 7.5 and 8.9: a quarter)
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class Case(NamedTuple):
    """A WaveNet to time."""

    name: str
    shape: WaveNetShape
    rate: int


class Effort(NamedTuple):
    """How much is run."""

    verified_frames: int
    seconds: float  # of audio in a timed call of one stream
    piece_seconds: float  # of audio of each stream in a timed call of many
    batches: Sequence[int]
    repeats: int


DEVICE = Effort(20, 2.0, 0.5, _BATCHES, 3)
EMULATED = Effort(1, 0.005, 0.005, (1, 2), 1)


def cases() -> tuple[Case, ...]:
    """Return the shipped shape and the paper's."""
    shipped = make_shape(residual=64, skip=128, head=64, bunch=6, dilations=(1, 2, 4, 8, 16, 32) * 2)
    return Case("shipped", shipped, 24000), Case("paper 20/64/128", paper_shape(20, 64, 128), PAPER_RATE)


def verify(weights: WaveNetWeights, frames: int) -> float:
    """Draw what the reference draws; returns the largest difference. Raises DeepVoiceError for another code."""
    inputs = random_inputs(weights.shape, frames)
    expected = wavenet.generate(weights, *inputs, backend="reference")
    actual = wavenet.generate(weights, *inputs, backend="cuda")
    differ = np.flatnonzero(expected.codes != actual.codes)
    if len(differ):
        # A uniform number may lie so near the edge between two codes that rounding decides: see the parity tests.
        raise DeepVoiceError(f"code {differ[0]} of {len(expected.codes)} is another one than the reference's")
    return float(np.abs(expected.samples - actual.samples).max())


def many_seconds(weights: WaveNetWeights, frames: int, streams: int, repeats: int) -> float:
    """Return how long one call for several streams takes."""
    piece = Piece(*random_inputs(weights.shape, frames))
    return median_seconds(lambda: wavenet.generate_many(weights, [piece] * streams, backend="cuda"), repeats)


def limits(case: Case, device: cuda.Device, rate_x: float, streams: int, clock_mhz: float | None) -> dict[str, float]:
    """Return which share of the device's arithmetic a total speed (in multiples of real time) is, and of its reads.

    A cluster reads every weight once a step for the streams of one group, so reads are those of the streams divided by
    how many share them.
    """
    if clock_mhz is None:
        return {}
    cycles = device.multiprocessors * clock_mhz * 1e6
    steps = rate_x * case.rate / case.shape.bunch  # of all streams, a second
    work = step_work(case.shape, "float32")
    together = min(8, max(1, streams))
    return {
        "float_share": steps * work.multiply_adds / (cycles * _FLOAT_PRODUCTS),
        "tensor_share": steps * work.multiply_adds / (cycles * _TENSOR_PRODUCTS),
        "shared_memory_share": steps / together * work.weight_bytes / (cycles * _SHARED_BYTES),
    }


def time_case(case: Case, effort: Effort, clock_mhz: float | None) -> dict[str, Any]:
    """Verify one WaveNet and time it alone and side by side."""
    weights = random_weights(case.shape)
    result: dict[str, Any] = {"rate": case.rate, "difference": verify(weights, effort.verified_frames)}
    frames_a_second = case.rate / case.shape.hop
    frames = max(1, round(effort.seconds * frames_a_second))
    one = many_seconds(weights, frames, 1, effort.repeats)
    result["one_stream_x"] = frames / frames_a_second / one
    result["microseconds_a_sample"] = 1e6 * one / (frames * case.shape.hop)
    result["first_chunk_ms"] = 1000 * many_seconds(weights, min(8, frames), 1, effort.repeats)
    result["streams_at_once"] = wavenet.streams_at_once(weights, backend="cuda")
    frames = max(1, round(effort.piece_seconds * frames_a_second))
    rows = []
    for streams in effort.batches:
        seconds = many_seconds(weights, frames, streams, effort.repeats)
        each = frames / frames_a_second / seconds
        shares = limits(case, cuda.device(), each * streams, streams, clock_mhz)
        total = each * streams
        rows.append({"streams": streams, "each_x": each, "total_x": total, "samples": total * case.rate, **shares})
    result["batches"] = rows
    result["most_total_x"] = max(row["total_x"] for row in rows)
    result["streams_in_real_time"] = max((row["streams"] for row in rows if row["each_x"] >= 1), default=0)
    return result


def time_gru(hidden: int, rows: int, repeats: int) -> dict[str, float]:
    """Time one direction of a recurrent layer, a row at a time by nature."""
    random = np.random.default_rng(2)

    def layer(columns: int) -> Packed:
        weight = random.standard_normal((3 * hidden, columns)).astype(np.float32) / np.float32(np.sqrt(columns))
        return Packed(weight, np.zeros(3 * hidden, np.float32))

    x_TI, given, recurrent = random.standard_normal((rows, hidden)).astype(np.float32), layer(hidden), layer(hidden)
    wanted, _ = packed_gru(x_TI[:8], given, recurrent, backend="reference")
    found, _ = packed_gru(x_TI[:8], given, recurrent, backend="cuda")
    seconds = median_seconds(lambda: packed_gru(x_TI, given, recurrent, backend="cuda"), repeats)
    difference = float(np.abs(wanted - found).max())
    return {"hidden": hidden, "difference": difference, "microseconds_a_row": 1e6 * seconds / rows}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write one JSON object and say on stderr how it goes; returns 1 when the kernels cannot run or are wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file, not to stdout")
    parser.add_argument("--clock-mhz", type=float, help="clock of the multiprocessors, for shares of the limits")
    parser.add_argument("--emulate", action="store_true", help="run the emulated kernels, to try this program")
    options = parser.parse_args(arguments)
    if options.emulate:
        os.environ[cuda.EMULATION_ENVIRONMENT] = "1"
    effort = EMULATED if options.emulate else DEVICE
    try:
        result: dict[str, Any] = {"device": cuda.device()._asdict(), "emulated": options.emulate, "wavenets": {}}
        result["clock_mhz"] = options.clock_mhz
        for case in cases():
            started = time.perf_counter()
            result["wavenets"][case.name] = time_case(case, effort, options.clock_mhz)
            print(f"{case.name}: {time.perf_counter() - started:.1f} s", file=sys.stderr)
        rows = 4 if options.emulate else 512
        result["gru"] = [time_gru(hidden, rows, effort.repeats) for hidden in (64, 128, 256, 512)]
    except DeepVoiceError as error:
        print(error, file=sys.stderr)
        return 1
    text = json.dumps(result, indent=1)
    if options.json:
        options.json.write_text(text + "\n")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
