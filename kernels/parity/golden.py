"""Write the golden tensors of the parity program: `python -m deepvoice.kernels.parity.golden FILE`.

Every op and every kind of WaveNet at odd sizes, computed by the numpy reference. The file has a line `case OP NAME` for
each case, then lines `number NAME VALUE` and `tensor NAME COUNT`, the latter followed by that many 4-byte values
(integers in `expected_sums`, otherwise float32) and a line end.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels import packed, wavenet
from deepvoice.kernels._checks import FloatArray
from deepvoice.kernels.ops import ACTIVATIONS, dense, qrnn_pool
from deepvoice.kernels.parity.cases import SHAPES, centred_uniforms, named_shape, random_arguments
from deepvoice.kernels.reference.precision import Linear
from deepvoice.kernels.tolerances import TOLERANCES
from deepvoice.kernels.weights import LIMITS, PRECISIONS, WaveNetWeights, random_weights

_FLOOR = 0.001


class Case(NamedTuple):
    """One comparison: the numbers and tensors that parity.cpp asks for by name."""

    op: str
    name: str
    numbers: dict[str, float]
    tensors: dict[str, NDArray[Any]]


def _normal(*size: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng([seed, *size]).standard_normal(size).astype(np.float32)


def _elementary() -> Iterator[Case]:
    x = np.concatenate([np.linspace(-12, 12, 997), [0.0, 1e-30, -1e-30]]).astype(np.float32)
    for which, name in enumerate(("tanh", "sigmoid", "exp", "log")):
        given = np.abs(x[x != 0]) if name == "log" else x
        exact = given.astype(np.float64)
        expected = (1 / (1 + np.exp(-exact)) if name == "sigmoid" else getattr(np, name)(exact)).astype(np.float32)
        numbers = {"which": which, "tolerance": TOLERANCES[name]}
        yield Case("elementary", name, numbers, {"x": given, "expected": expected})


def _dense() -> Iterator[Case]:
    for i, (rows, inputs, outputs) in enumerate([(1, 1, 1), (3, 17, 5), (5, 64, 33), (2, 37, 16), (7, 130, 9)]):
        x, weight, bias = _normal(rows, inputs), _normal(outputs, inputs, seed=1), _normal(outputs, seed=2)
        kind = ACTIVATIONS[i % len(ACTIVATIONS)]
        expected = dense(x, weight, bias, kind, backend="reference")
        numbers = {"rows": rows, "inputs": inputs, "outputs": outputs, "activation": ACTIVATIONS.index(kind)}
        tensors = {"x": x, "weight": weight, "bias": bias, "expected": expected}
        yield Case("dense", f"{rows}x{inputs}x{outputs}", {**numbers, "tolerance": TOLERANCES["dense"]}, tensors)


def _packed(outputs: int, taps: int, inputs: int, kind: str) -> packed.Packed:
    """Return a layer in float32, bfloat16, or with weights of half precision."""
    weight = _normal(outputs, taps, inputs, seed=1) / np.float32(np.sqrt(taps * inputs))
    if kind == "half":
        weight = weight.astype(np.float16).astype(np.float32)
    return packed.Packed(weight, _normal(outputs, seed=2), "bfloat16" if kind == "bfloat16" else "float32")


def _sizes(layer: packed.Packed, rows: int, dilation: int) -> dict[str, float]:
    sizes = {"outputs": layer.outputs, "taps": layer.taps, "inputs": layer.inputs}
    return {**sizes, "rows": rows, "dilation": dilation, "bfloat": layer.precision == "bfloat16"}


def _layers() -> Iterator[Case]:
    for kind in ("float32", "half", "bfloat16"):
        for rows, outputs, taps, inputs, dilation, causal in (
            *((1, 5, 1, 7, 1, True), (7, 80, 1, 33, 1, True), (9, 130, 1, 64, 1, True)),
            *((31, 21, 3, 13, 1, False), (12, 64, 5, 16, 4, False), (20, 17, 4, 9, 3, True)),
        ):
            layer, x = _packed(outputs, taps, inputs, kind), _normal(rows, inputs)
            activation = ACTIVATIONS[(rows + taps) % len(ACTIVATIONS)]
            expected = packed.affine(x, layer, activation, dilation, causal, backend="reference")
            numbers = {**_sizes(layer, rows, dilation), "left": (taps - 1 if causal else taps // 2) * dilation}
            numbers |= {"activation": ACTIVATIONS.index(activation), "tolerance": TOLERANCES["conv1d"]}
            tensors = {"x": x, "weight": layer.weight_OKI, "bias": _normal(outputs, seed=2), "expected": expected}
            yield Case("layer", f"{kind}-{rows}x{outputs}x{taps}x{inputs}", numbers, tensors)
        for rows, channels, taps, dilation in ((1, 1, 1, 1), (17, 35, 3, 4), (20, 96, 5, 2)):
            layer, x = _packed(channels, taps, channels, kind), _normal(rows, channels)
            norms = _normal(channels, seed=3), _normal(channels, seed=4)
            expected = packed.residual_conv(x, *norms, layer, dilation, backend="reference")
            tolerance = TOLERANCES["bfloat16_norm" if kind == "bfloat16" else "conv1d"]
            tensors = {"x": x, "weight": layer.weight_OKI, "bias": _normal(channels, seed=2), "expected": expected}
            tensors |= {"norm_weight": norms[0], "norm_bias": norms[1]}
            numbers = {**_sizes(layer, rows, dilation), "tolerance": tolerance}
            yield Case("residual", f"{kind}-{rows}x{channels}x{taps}", numbers, tensors)


def _rows() -> Iterator[Case]:
    for rows, channels in ((1, 1), (3, 100), (2, 131)):
        x, weight, bias = 3 + 2 * _normal(rows, channels), _normal(channels), _normal(channels, seed=1)
        expected = packed.layer_norm(x, weight, bias, backend="reference")
        numbers = {"rows": rows, "channels": channels, "tolerance": TOLERANCES["dense"]}
        tensors = {"x": x, "weight": weight, "bias": bias, "expected": expected}
        yield Case("layer_norm", f"{rows}x{channels}", numbers, tensors)
    for rows, hidden, reverse in ((1, 1, False), (70, 20, True), (9, 64, False)):
        given, recurrent = _packed(3 * hidden, 1, 11, "float32"), _packed(3 * hidden, 1, hidden, "half")
        x, h0 = _normal(rows, 11), _normal(hidden)
        expected, last = packed.packed_gru(x, given, recurrent, h0, reverse, backend="reference")
        numbers = {"rows": rows, "inputs": 11, "hidden": hidden, "reverse": reverse, "tolerance": TOLERANCES["gru"]}
        tensors = {"x": x, "h0": h0, "input_weight": given.weight_OKI, "recurrent_weight": recurrent.weight_OKI}
        tensors |= {"bias": _normal(3 * hidden, seed=2), "expected": expected, "expected_last": last}
        yield Case("gru", f"{rows}x{hidden}", numbers, tensors)
    for rows, hidden in ((1, 1), (12, 37)):
        tensors = {name: np.tanh(_normal(rows, hidden)) for name in ("candidate", "forget", "output")}
        tensors["h0"] = _normal(hidden)
        y, last = qrnn_pool(*tensors.values(), backend="reference")
        numbers = {"rows": rows, "hidden": hidden, "tolerance": TOLERANCES["qrnn_pool"]}
        yield Case("qrnn_pool", f"{rows}x{hidden}", numbers, {**tensors, "expected": y, "expected_last": last})


def _sums() -> Iterator[Case]:
    sizes = ((1, 1), (16, 4), (17, 3), (64, 64), (128, 65), (200, 37), (33, 1024), (300, 7))
    for (outputs, inputs), rectified in ((size, rectified) for size in sizes for rectified in (False, True)):
        weight, x = _normal(outputs, inputs), 2 * _normal(5, inputs, seed=1)
        x[1], x[2], weight[0] = 100, -100, 1  # the largest sums: nothing may saturate
        matrix = Linear(weight, "int8", limit=3.0, rectified=rectified)
        expected = np.array([matrix.sums(row) for row in x], np.int32)
        numbers = {"outputs": outputs, "inputs": inputs, "columns": 5, "rectified": rectified, "limit": 3.0}
        tensors = {"weight": weight, "x": x, "expected_sums": expected}
        yield Case("int8_sums", f"{outputs}x{inputs}-{'unsigned' if rectified else 'signed'}", numbers, tensors)


def _wavenet(name: str, precision: str, half: bool) -> Case:
    shape = named_shape(name)
    weights = random_weights(shape, seed=3, half=half, precision=precision)  # type: ignore[arg-type]
    inputs = random_arguments(shape, 2)
    drawn = None
    if precision == "float32":
        inputs["uniforms_T"], drawn = centred_uniforms(weights, inputs, _FLOOR)
    codes = (np.random.default_rng(7).random(2 * shape.hop) * shape.levels).astype(np.uint8)
    given = (inputs["cond_FC"], inputs["lpc_FK"], inputs["pulse_NQ2"])
    scored = wavenet.teacher_forced(weights, *given, codes, backend="reference")
    suffix = "" if precision == "float32" else f"_{precision}"
    sizes = (*LIMITS, "pre_emphasis", "signal_gain", "code_scale")
    numbers: dict[str, float] = {key: getattr(shape, key) for key in sizes}
    numbers |= {"frames": 2, "floor": _FLOOR, "precision": PRECISIONS.index(weights.precision)}
    numbers |= {"tolerance": TOLERANCES[f"wavenet_logits{suffix}"], "tolerance_samples": TOLERANCES["wavenet_samples"]}
    numbers["tolerance_median"] = TOLERANCES.get(f"wavenet_logits{suffix}_median", numbers["tolerance"])
    tensors: dict[str, NDArray[Any]] = {**_tensors(weights), **inputs, "codes": codes}
    tensors |= {"expected_logits": scored.logits_TA, "expected_samples": scored.samples}
    if drawn is not None:
        tensors |= {"expected_drawn": drawn.samples, "expected_codes": drawn.codes}
    return Case("wavenet", f"{name}-{precision}{'' if half else '-full'}", numbers, tensors)


def _tensors(weights: WaveNetWeights) -> dict[str, NDArray[Any]]:
    assert weights.limits is not None
    return {**weights.tensors(), "limits": weights.limits, "dilations": np.array(weights.shape.dilations)}


def cases() -> Iterator[Case]:
    """Yield every case."""
    for group in (_elementary, _dense, _layers, _rows, _sums):
        yield from group()
    for name in SHAPES:
        for precision in PRECISIONS:
            yield _wavenet(name, precision, half=True)
    yield _wavenet("odd", "float32", half=False)


def write(path: Path) -> None:
    """Write the file."""
    with path.open("wb") as out:
        for case in cases():
            out.write(f"case {case.op} {case.name}\n".encode())
            for name, number in case.numbers.items():
                out.write(f"number {name} {float(number)!r}\n".encode())
            for name, tensor in case.tensors.items():
                values = tensor.astype("<i4" if name == "expected_sums" else "<f4")
                out.write(f"tensor {name} {values.size}\n".encode() + values.tobytes() + b"\n")


def main(arguments: list[str] | None = None) -> int:
    """Write the file that is named; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m deepvoice.kernels.parity.golden", description=__doc__)
    parser.add_argument("file", type=Path)
    write(parser.parse_args(arguments).file)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
