"""int8 and bfloat16: what they mean, and that every instruction set computes the same."""

import numpy as np
import pytest

from deepvoice import kernels
from deepvoice.errors import KernelUnavailableError
from deepvoice.kernels import wavenet
from deepvoice.kernels._dispatch import extension
from deepvoice.kernels.reference.precision import Linear, int8_weights, quantise, row_steps, to_bfloat16
from deepvoice.kernels.tolerances import TOLERANCES
from deepvoice.kernels.weights import WaveNetWeights, random_weights

FUSED = [name for name in kernels.supported_isas() if name != "scalar"]  # these multiply and add with one rounding


def given_codes(weights: WaveNetWeights, inputs: dict) -> dict:
    codes = (inputs["uniforms_T"] * weights.shape.levels).astype(np.uint8)
    return {**{name: inputs[name] for name in ("cond_FC", "lpc_FK", "pulse_NQ2")}, "codes_T": codes}


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize(
    ("outputs", "inputs"), [(1, 1), (16, 4), (17, 3), (64, 64), (128, 65), (200, 37), (33, 1024), (300, 7)]
)
def test_integer_sums_are_those_of_the_reference_bit_for_bit(isa, outputs, inputs, rectified):
    random = np.random.default_rng(outputs * inputs)
    weight_OI = random.standard_normal((outputs, inputs)).astype(np.float32)
    x_CI = (random.standard_normal((5, inputs)) * 2).astype(np.float32)
    x_CI[1], x_CI[2], weight_OI[0] = 100, -100, 1  # the largest sums: nothing may saturate
    sums = np.zeros((5, -(-outputs // 16) * 16), np.int32)
    extension().int8_sums(weight_OI, x_CI, rectified, 3.0, sums)
    offset = extension().int8_sums(weight_OI, np.zeros_like(x_CI), rectified, 3.0, zero := np.zeros_like(sums))
    assert offset is None
    assert not zero.any()  # whatever stands for an input of 0 is taken off again
    matrix = Linear(weight_OI, "int8", limit=3.0, rectified=rectified)
    assert np.array_equal(sums[:, :outputs], [matrix.sums(x) for x in x_CI])
    assert not sums[:, outputs:].any()


def test_weights_are_quantised_by_rows_to_the_nearest_step():
    weight_OI = np.array([[1.0, -0.5, 0.0039], [0, 0, 0], [-254, 3, 1]], np.float32)
    steps_O = row_steps(weight_OI)
    assert np.allclose(steps_O, [1 / 127, 1, 2])
    assert int8_weights(weight_OI, steps_O).tolist() == [[127, -64, 0], [0, 0, 0], [-127, 2, 0]]  # ties to even
    assert quantise(np.array([9, 0.5, 1.5, -9], np.float32), np.float32(1), -2, 2).tolist() == [2, 0, 2, -2]


def test_seeing_an_input_again_changes_nothing():
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    for precision in ("float32", "bfloat16", "int8"):
        for limit in (0.7, 1.0, 3.3):
            matrix = Linear(np.ones((2, 1000), np.float32), precision, limit=limit)
            seen = matrix.seen(values)
            assert np.array_equal(matrix.seen(seen), seen)
            assert np.array_equal(matrix(seen), matrix(values))


def test_bfloat16_rounds_to_the_nearest_number_ties_to_even():
    values = np.array([1, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -3.14159], np.float32)
    assert to_bfloat16(values).tolist() == [1, 1, 1 + 2**-6, 1 + 2**-7, -3.140625]


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
@pytest.mark.parametrize("half", [True, False])
def test_logits_match_the_reference(isa, make_weights, make_inputs, wavenet_name, precision, half):
    """Where a value lies near the edge between two steps, rounding decides; such a step is small, and rare."""
    weights = make_weights(wavenet_name, half=half, precision=precision)
    given = given_codes(weights, make_inputs(weights.shape, 2))
    expected = wavenet.teacher_forced(weights, **given, backend="reference").logits_TA
    actual = wavenet.teacher_forced(weights, **given, backend="cpu").logits_TA
    error = np.abs(actual - expected) / (1 + np.abs(expected))
    assert np.median(error) <= TOLERANCES[f"wavenet_logits_{precision}_median"]
    assert error.max() <= TOLERANCES[f"wavenet_logits_{precision}"]
    exact = random_weights(weights.shape, seed=3, half=half)
    precise = wavenet.teacher_forced(exact, **given, backend="reference").logits_TA
    assert np.abs(expected - precise).max() > error.max()  # or the precision would not be what is tested


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_instruction_sets_with_fused_multiply_add_agree_bit_for_bit(make_weights, make_inputs, wavenet_name, precision):
    """A voice says the same samples on every such machine, and on one with faster instructions for the precision."""
    weights = make_weights(wavenet_name, precision=precision)
    inputs = make_inputs(weights.shape, 3)
    before = kernels.isa()
    results = []
    for name in FUSED:
        kernels.set_isa(name)
        results.append(wavenet.generate(weights, **inputs, floor=0.001, backend="cpu"))
    if before is not None:
        kernels.set_isa(before)
    for other in results[1:]:
        assert np.array_equal(other.samples, results[0].samples)
        assert np.array_equal(other.state.queues_DR, results[0].state.queues_DR)


def test_int8_needs_usable_limits(make_weights):
    weights = make_weights()
    limits = np.full(weights.shape.layers + 2, 3, np.float32)
    for wrong, message in (
        (None, "calibrate"),
        (limits[1:], "limits"),
        (limits * 0, "limits"),
        (limits * np.float32("nan"), "limits"),
        (limits * np.float32("inf"), "limits"),
    ):
        with pytest.raises(ValueError, match=message):
            WaveNetWeights.from_tensors(weights.shape, weights.tensors(), precision="int8", limits=wrong)
    with pytest.raises(ValueError, match="precision"):
        WaveNetWeights.from_tensors(weights.shape, weights.tensors(), precision="int4", limits=limits)


def test_precision_is_chosen_by_argument_environment_and_instruction_set(isa, monkeypatch):
    monkeypatch.delenv("DEEPVOICE_PRECISION", raising=False)
    assert kernels.choose_precision(calibrated=True, backend="cpu") == ("float32" if isa == "scalar" else "int8")
    assert kernels.choose_precision(calibrated=False, backend="cpu") == "float32"
    assert kernels.choose_precision(calibrated=True, backend="reference") == "float32"
    assert kernels.choose_precision("bfloat16", calibrated=False) == "bfloat16"
    monkeypatch.setenv("DEEPVOICE_PRECISION", "bfloat16")
    assert kernels.choose_precision(calibrated=True) == "bfloat16"
    assert kernels.choose_precision("float32", calibrated=True) == "float32"  # an argument wins
    monkeypatch.setenv("DEEPVOICE_PRECISION", "int8")
    with pytest.raises(KernelUnavailableError, match=r"DEEPVOICE_PRECISION.*not calibrated"):
        kernels.choose_precision(calibrated=False)
    monkeypatch.setenv("DEEPVOICE_PRECISION", "int4")
    with pytest.raises(KernelUnavailableError, match="unknown precision 'int4'"):
        kernels.choose_precision(calibrated=True)
