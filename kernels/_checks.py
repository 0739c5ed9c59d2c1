"""Argument checks shared by the public kernels, done once, before any backend sees the arrays."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


def float_array(name: str, value: FloatArray, shape: tuple[int | None, ...]) -> FloatArray:
    """Check dtype and shape of a float32 array and return it C contiguous.

    name: for the message
    shape: expected sizes, None where any size will do
    Raises TypeError for another dtype or type, ValueError for another shape.
    """
    if not isinstance(value, np.ndarray) or value.dtype != np.float32:
        found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise TypeError(f"{name} must be a float32 numpy array, got {found}: convert it with numpy.asarray(x, 'f4')")
    if len(shape) != value.ndim or any(s is not None and s != v for s, v in zip(shape, value.shape, strict=False)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name} has shape {value.shape}, expected ({wanted})")
    return np.ascontiguousarray(value)


def optional_float_array(name: str, value: FloatArray | None, shape: tuple[int | None, ...]) -> FloatArray | None:
    """Check like `float_array`, let None through."""
    return None if value is None else float_array(name, value, shape)


def choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Raise ValueError unless value is one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(allowed)}")
    return value
