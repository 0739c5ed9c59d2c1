"""The layers of the front-end networks: time and multiply-adds a second of each, held to the reference first."""

from collections.abc import Callable
from typing import Any

import numpy as np

from deepvoice import kernels
from deepvoice.kernels._checks import FloatArray
from deepvoice.kernels.bench.limits import measure_limits
from deepvoice.kernels.bench.timing import best_seconds
from deepvoice.kernels.packed import LayerPrecision
from deepvoice.kernels.tolerances import TOLERANCES

_FRAMES = 400  # two seconds of frames
_PHONES = 60
Call = Callable[[str], FloatArray]  # backend -> output


def _normal(*shape: int) -> FloatArray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def _packed(outputs: int, taps: int, inputs: int, precision: LayerPrecision) -> kernels.Packed:
    weight = _normal(outputs, taps, inputs) / np.float32(np.sqrt(taps * inputs))
    return kernels.Packed(weight.astype(np.float16).astype(np.float32), _normal(outputs), precision)


def _cases(precision: LayerPrecision) -> list[tuple[str, str, int, Call]]:
    """Name, tolerance, multiply-adds and call of every op, at sizes of the shipped voice."""
    frames, phones = _normal(_FRAMES, 192), _normal(_PHONES, 128)
    conv, out = _packed(192, 3, 192, precision), _packed(1664, 1, 128, precision)
    scale, shift = np.ones(192, np.float32), np.zeros(192, np.float32)
    hidden = _normal(32, 128)
    cases: list[tuple[str, str, int, Call]] = [
        (
            "residual convolution 192 x 3 x 192",
            "conv1d" if precision == "float32" else "bfloat16_norm",
            _FRAMES * 192 * 3 * 192,
            lambda backend: kernels.residual_conv(frames, scale, shift, conv, 2, backend=backend),
        ),
        (
            "dense 1664 x 128, 32 rows",
            "dense",
            32 * 1664 * 128,
            lambda backend: kernels.affine(hidden, out, backend=backend),
        ),
    ]
    if precision == "float32":
        given, recurrent = _packed(288, 1, 128, precision), _packed(288, 1, 96, precision)
        cases.append(
            (
                "GRU of 96 units, 60 steps",
                "gru",
                _PHONES * 288 * (128 + 96),
                lambda backend: kernels.packed_gru(phones, given, recurrent, backend=backend)[0],
            )
        )
    return cases


def measure_layers(isas: list[str], repeats: int = 5) -> list[dict[str, Any]]:
    """Verify and time every op on every instruction set.

    Raises RuntimeError for an op that is further from the reference than its tolerance.
    """
    rows = []
    before = kernels.isa()
    try:
        for isa in isas:
            kernels.set_isa(isa)
            limits = measure_limits()
            precisions: tuple[LayerPrecision, ...] = ("float32", "bfloat16")
            for precision in precisions[: 1 + kernels.fast_bfloat16()]:
                for name, tolerance, work, call in _cases(precision):
                    expected, actual = call("reference"), call("cpu")
                    error = float(np.max(np.abs(actual - expected) / (1 + np.abs(expected))))
                    if not error <= TOLERANCES[tolerance]:
                        raise RuntimeError(f"{isa}: {name} is off by {error:.3g}, allowed {TOLERANCES[tolerance]:.3g}")
                    seconds = best_seconds(lambda call=call: call("cpu"), repeats)  # type: ignore[misc]
                    by_numpy = best_seconds(lambda call=call: call("reference"), 2)  # type: ignore[misc]
                    share = work / seconds / limits.multiply_adds.get(precision, limits.multiply_adds["float32"])
                    rows.append({
                        "op": name, "isa": isa, "precision": precision, "error": error, "us": 1e6 * seconds,
                        "giga_multiply_adds": 1e-9 * work / seconds, "share": share, "numpy_gap": by_numpy / seconds,
                    })  # fmt: skip
    finally:
        if before is not None:
            kernels.set_isa(before)
    return rows
