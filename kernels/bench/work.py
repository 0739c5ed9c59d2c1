"""How much work a WaveNet is."""

from typing import NamedTuple

from deepvoice.kernels.weights import WaveNetShape

BYTES = {"float32": 2, "bfloat16": 2, "int8": 1}  # of a large matrix's weight; voices hold half-precision weights


class Work(NamedTuple):
    """Work of one step.

    products: of one stream, multiply-adds by the precision that they are made in
    weight_bytes: of the weights that it reads
    """

    products: dict[str, int]
    weight_bytes: int

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one stream, of all precisions."""
        return sum(self.products.values())


def step_work(shape: WaveNetShape, precision: str) -> Work:
    """Return the work of one step of the trunk and of the samples that it makes.

    The large matrices and the output layer are in the WaveNet's precision, the input layer is in bfloat16 where that is
    not float32, the draw layer always in float32 (`reference/precision.py`). Past halves count once a step, although
    several steps of a dilated layer may share a reading of their weights.
    """
    residual, skip, head, layers, bunch = shape.residual, shape.skip, shape.head, shape.layers, shape.bunch
    large = layers * 4 * residual**2 + (layers - 1) * residual**2 + layers * skip * residual + bunch * head * skip
    large += bunch * shape.levels * head  # the output layer, read again for every sample
    first = residual * (3 * shape.history + 2 * shape.harmonics)
    draw = bunch * head * (2 + 3 * shape.head_history)
    products = dict.fromkeys(BYTES, 0)
    products[precision] += large
    products["float32" if precision == "float32" else "bfloat16"] += first
    products["float32"] += draw
    return Work(products, weight_bytes=large * BYTES[precision] + 2 * first + 4 * draw)
