"""The compiled extension by itself: its bindings check every size, its sources keep the rules of dispatch."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from nanobind.stubgen import StubGen

from deepvoice import kernels
from deepvoice.kernels import wavenet
from deepvoice.kernels._dispatch import extension

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "kernels" / "_cpu.pyi"
ISA_SOURCES = sorted(
    path for pattern in ("isa_*.cpp", "simd_*.hpp", "int8_*.hpp", "*_body.hpp", "table.hpp", "model.hpp")
    for path in (ROOT / "kernels" / "cpu").glob(pattern)
)  # fmt: skip
ISA_OBJECTS = sorted(ROOT.glob("build/cp*/CMakeFiles/dv_cpu.dir/cpu/isa_*.o"))


def arguments(weights) -> dict:
    shape = weights.shape
    sizes = {name: getattr(shape, name) for name in shape.__slots__ if name != "dilations"}
    return {**sizes, "dilations": list(shape.dilations), **weights.tensors(), "limits": weights.limits, "precision": 0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("residual", 2**62),
        ("residual", -1),
        ("skip", 2**40),
        ("bunch", 0),
        ("hop", 2**63 - 1),
        ("dilations", [1, 2, 4, 2**62]),
        ("dilations", [4096] * 64),
        ("dilations", [1] * 1000),
        ("levels", 257),
        ("lpc_order", 65),
        ("history", 2**31),
        ("code_scale", float("nan")),
        ("pre_emphasis", float("inf")),
        ("residual", 17),  # allowed, but not the size of the tensors
        ("head", 15),
        ("harmonics", 7),
        ("precision", 3),
        ("precision", -1),
        ("limits", np.ones(3, np.float32)),
    ],
)
def test_sizes_are_checked_without_the_python_layer(isa, make_weights, name, value):
    with pytest.raises(ValueError, match=r"WaveNet|axis"):
        extension().WaveNet(**{**arguments(make_weights()), name: value})


def test_tensors_are_checked_without_the_python_layer(isa, make_weights):
    given = arguments(make_weights())
    for name in make_weights().tensors():
        with pytest.raises(ValueError, match=name):
            extension().WaveNet(**{**given, name: np.ascontiguousarray(given[name][..., :-1])})
        with pytest.raises(TypeError):
            extension().WaveNet(**{**given, name: given[name].astype(np.float64)})


def test_run_arrays_are_checked_without_the_python_layer(isa, make_weights):
    shape = make_weights().shape
    net = extension().WaveNet(**arguments(make_weights()))
    sizes = [
        *((2, shape.conditioning), (2, shape.lpc_order), (60, 16), (240,), (2,)),
        *((shape.signal_history,), (shape.signal_history,), (1,), (sum(shape.dilations), shape.residual), (240,)),
    ]
    good = [np.ones(size, np.float32) for size in sizes]
    codes = np.zeros(240, np.uint8)
    net.generate(*good[:5], 0.0, *good[5:], codes)
    for i, size in enumerate(sizes):
        bad = list(good)
        bad[i] = np.ones((*size[:-1], size[-1] + 1), np.float32)
        with pytest.raises(ValueError, match="axis"):
            net.generate(*bad[:5], 0.0, *bad[5:], codes)
    with pytest.raises(ValueError, match="codes"):
        net.generate(*good[:5], 0.0, *good[5:], codes[1:])
    few = extension().WaveNet(**arguments(make_weights(levels=10)))
    logits = np.empty((240, 10), np.float32)
    with pytest.raises(ValueError, match="below the number of levels"):
        few.teacher_forced(*good[:3], np.full(240, 10, np.uint8), *good[5:], logits)


def test_patience_is_checked_without_the_python_layer(isa, make_weights, make_inputs):
    weights = make_weights()
    state, codes = wavenet.WaveNetState.initial(weights.shape), np.zeros(240, np.uint8)
    arrays = (state.signal, state.residual, state.output, state.queues_DR, np.zeros(240, np.float32), codes)
    with pytest.raises(ValueError, match="patience"):
        extension().WaveNet(**arguments(weights)).generate_paired(
            *make_inputs(weights.shape, 2).values(), 0.0, *arrays, patience=-1
        )


def test_int8_needs_limits_without_the_python_layer(isa, make_weights):
    given = {**arguments(make_weights()), "precision": 2}
    for limits in (None, given["limits"] * 0, given["limits"] * np.float32("nan")):
        with pytest.raises(ValueError, match="limit"):
            extension().WaveNet(**{**given, "limits": limits})


def test_streams_are_checked_without_the_python_layer(isa, make_weights):
    net = extension().WaveNet(**arguments(make_weights()))
    for wrong in [(1, 2), (np.ones((2, 3), np.float32),) * 12, ("x",) * 12]:
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            net.generate_many([wrong])
    net.generate_many([])


def test_integer_sums_are_checked_without_the_python_layer(isa):
    weight, x = np.ones((3, 4), np.float32), np.ones((2, 4), np.float32)
    sums = np.zeros((2, 16), np.int32)
    extension().int8_sums(weight, x, False, 1.0, sums)
    for bad in (
        (weight, x[:, 1:].copy(), False, 1.0, sums),
        (weight, x, False, 1.0, sums[:1]),
        (weight, x, False, 0.0, sums),
        (np.ones((3, 1025), np.float32), np.ones((2, 1025), np.float32), False, 1.0, sums),
    ):
        with pytest.raises(ValueError, match=r"axis|limit|inputs"):
            extension().int8_sums(*bad)


def test_layer_arrays_are_checked_without_the_python_layer(isa):
    def ones(*size: int) -> np.ndarray:
        return np.ones(size, np.float32)

    for call in (
        lambda e: e.dense(ones(2, 3), ones(4, 5), None, 0, ones(2, 4)),
        lambda e: e.dense(ones(2, 3), ones(4, 3), ones(5), 0, ones(2, 4)),
        lambda e: e.dense(ones(2, 3), ones(4, 3), None, 9, ones(2, 4)),
        lambda e: e.conv1d(ones(2, 3), ones(4, 3, 2), None, 1, 0, False, ones(2, 4)),
        lambda e: e.conv1d(ones(2, 3), ones(4, 3, 3), None, 2**60, 0, False, ones(2, 4)),
        lambda e: e.gru(ones(2, 3), ones(6, 3), ones(6, 2), ones(6), ones(5), ones(2), False, ones(2, 2), ones(2)),
        lambda e: e.qrnn_pool(ones(2, 3), ones(2, 3), ones(2, 4), ones(3), ones(2, 3), ones(3)),
        lambda e: e.elementary("tanh", ones(2), ones(3)),
        lambda e: e.elementary("cosh", ones(2), ones(2)),
    ):
        with pytest.raises(ValueError, match=r"axis|unknown|must be"):
            call(extension())


@pytest.mark.parametrize("stub", [path for path in (STUB,) if path.exists()])
def test_the_stub_is_current(isa, stub):
    generator = StubGen(extension(), quiet=True)
    generator.put(extension())
    assert generator.get() == stub.read_text(), (
        "kernels/_cpu.pyi is out of date: python -m nanobind.stubgen -m deepvoice.kernels._cpu -o kernels/_cpu.pyi"
    )


@pytest.mark.parametrize("path", ISA_SOURCES, ids=lambda path: path.name)
def test_instruction_set_sources_use_nothing_that_the_linker_could_share(path):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    assert "std::" not in text
    system = re.findall(r"#include <([^>]+)>", text)
    assert set(system) <= {"arm_neon.h", "cstddef", "cstdint", "immintrin.h"}


@pytest.mark.parametrize("path", ISA_OBJECTS, ids=lambda path: path.name)
def test_instruction_set_objects_have_no_weak_symbols(path):
    symbols = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout.splitlines()
    weak = [line for line in symbols if re.match(r"^[0-9a-f]* +[VWuvw] ", line)]
    assert weak == []


def test_the_extension_is_used_unless_it_is_missing():
    assert bool(kernels.supported_isas()) == (kernels.available()["cpu"] is None)
