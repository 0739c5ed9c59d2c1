"""How much work a WaveNet is."""

from typing import NamedTuple

from deepvoice.kernels.weights import WaveNetShape

BYTES = {"float32": 2, "bfloat16": 2, "int8": 1}  # of a large matrix's weight; voices hold half-precision weights


class Work(NamedTuple):
    """Work of one step.

    multiply_adds: of one stream
    weight_bytes: of the weights that it reads
    """

    multiply_adds: int
    weight_bytes: int


def step_work(shape: WaveNetShape, precision: str) -> Work:
    """Return the work of one step of the trunk and of the samples that it makes.

    Past halves count once a step, although several steps of a dilated layer may share a reading of their weights.
    """
    residual, skip, head, layers, bunch = shape.residual, shape.skip, shape.head, shape.layers, shape.bunch
    large = layers * 4 * residual**2 + (layers - 1) * residual**2 + layers * skip * residual + bunch * head * skip
    output = shape.levels * head  # read again for every sample
    small = residual * (3 * shape.history + 2 * shape.harmonics)
    draw = head * (2 + 3 * shape.head_history)  # read again for every sample, one a sample
    return Work(
        multiply_adds=large + small + bunch * (output + draw),
        weight_bytes=(large + bunch * output) * BYTES[precision] + 4 * (small + bunch * draw),
    )
