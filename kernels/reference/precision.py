"""Products with matrices in the precisions that the kernels have: what int8 and bfloat16 mean, in numpy."""

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels._checks import FloatArray


def to_bfloat16(values: FloatArray) -> FloatArray:
    """Round to the nearest bfloat16 number, ties to even; still float32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def row_steps(*weights: FloatArray) -> FloatArray:
    """What one unit of an int8 weight stands for, a number a row: largest magnitude / 127, over all of the matrices."""
    most = np.max([np.abs(w).max(axis=1) for w in weights], axis=0)
    return np.where(most > 0, most / np.float32(127), np.float32(1)).astype(np.float32)


def quantise(values: FloatArray, unit: np.float32, low: int, high: int) -> FloatArray:
    """Whole numbers of units, ties to even, clipped to low..high."""
    return np.asarray(np.rint(np.clip(values * (np.float32(1) / unit), low, high)), np.float32)


def int8_weights(weight_OI: FloatArray, steps_O: FloatArray) -> NDArray[np.int8]:
    """The weights as whole numbers of steps, -127 to 127."""
    return np.clip(np.rint(weight_OI / steps_O[:, None]), -127, 127).astype(np.int8)


class Linear:
    """A matrix without bias in one precision.

    weight_OI: float32 [O, I]
    limit: largest input (int8); inputs beyond it are clipped
    rectified: inputs are never negative, so int8 has 0 to 255 units for them instead of -127 to 127
    steps_O: scales of the int8 rows where they are not those of `row_steps`
    """

    def __init__(
        self,
        weight_OI: FloatArray,
        precision: str = "float32",
        *,
        limit: float = 1.0,
        rectified: bool = False,
        steps_O: FloatArray | None = None,
    ) -> None:
        self.precision = precision
        self.low, self.high = (0, 255) if rectified else (-127, 127)
        self.unit = np.float32(limit) / np.float32(self.high)
        self.weight_OI = to_bfloat16(weight_OI) if precision == "bfloat16" else weight_OI
        if precision == "int8":
            steps_O = row_steps(weight_OI) if steps_O is None else steps_O
            self.weight_OI = int8_weights(weight_OI, steps_O).astype(np.float64)
            self.scale_O = steps_O * self.unit

    def seen(self, values: FloatArray) -> FloatArray:
        """Return what the matrix sees of its input; seeing it again changes nothing."""
        if self.precision == "bfloat16":
            return to_bfloat16(values)
        if self.precision == "int8":
            return quantise(values, self.unit, self.low, self.high) * self.unit
        return values

    def sums(self, values: FloatArray) -> NDArray[np.int32]:
        """Return the integer sums of an int8 product; exact in float64, whose products are fast."""
        return np.asarray(self.weight_OI @ quantise(values, self.unit, self.low, self.high), np.int32)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return W x."""
        if self.precision == "int8":
            return self.sums(values).astype(np.float32) * self.scale_O
        return np.asarray(self.weight_OI @ self.seen(values), np.float32)
