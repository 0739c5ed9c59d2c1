"""Sizes and weights of the bunch WaveNet, checked by name and shape before any kernel sees them.

The tensors, float32 and C contiguous; z rows 0..R-1 are the tanh half of a gate, R..2R-1 the sigmoid half:

    input_weight     [R, 3M + 2Q]   history as amplitudes, companded, residual companded (M each), pulses (2Q)
    input_bias       [R]
    past_weight      [L, 2R, R]     on the layer's input d steps ago
    current_weight   [L, 2R, R]     on the layer's input now
    residual_weight  [L - 1, R, R]  the last layer has none
    residual_bias    [L - 1, R]
    skip_weight      [L, S, R]
    bunch_weight     [N H, S]       one block of H rows per sample of the bunch
    bunch_bias       [N H]
    draw_weight      [N, H, 2 + 3J] prediction, prediction companded, then the three histories (J each)
    output_weight    [A, H]         shared by the samples of the bunch
    output_bias      [A]

The gate and skip biases are part of the conditioning: `cond_FC` has C = 2RL + S columns.

The large matrices (past, current, residual, skip, bunch, output) are kept in a precision: float32; bfloat16, inputs
too; or int8, whose inputs need limits, the largest magnitudes that calibration saw:

    limits           [L + 2]        of the residual stream before each layer, of relu(skip), of the last hidden layer
"""

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np

from deepvoice.kernels._checks import FloatArray, float_array

# Upper limits: no honest voice comes near them, and no product of sizes within them overflows.
LIMITS = {
    "hop": (1, 4096),
    "bunch": (1, 64),
    "residual": (1, 512),
    "skip": (1, 1024),
    "head": (1, 512),
    "levels": (2, 256),
    "history": (1, 256),
    "head_history": (1, 256),
    "harmonics": (0, 64),
    "lpc_order": (0, 64),
}
Precision = Literal["float32", "bfloat16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
LIMIT_RANGE = (1e-6, 1e6)  # of a calibrated limit
_RANDOM_LIMIT = 6.0  # signals of random weights stay below it
MAX_LAYERS = 64
MAX_DILATION = 4096
MAX_DILATION_SUM = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveNetShape:
    """Everything about a WaveNet but its weights. Raises ValueError for a size outside its limits."""

    hop: int  # samples a conditioning frame
    bunch: int  # samples a step, N; divides hop
    dilations: tuple[int, ...]  # steps, one a layer
    residual: int  # R
    skip: int  # S
    head: int  # H
    levels: int = 256  # A
    history: int  # M, samples that a step sees
    head_history: int  # J, samples that a head sees
    harmonics: int  # Q; a step is given 2Q pulse features
    lpc_order: int  # K, 0 is no prediction
    pre_emphasis: float
    signal_gain: float  # g, makes amplitudes fit inputs
    code_scale: float  # c, makes amplitudes fill the companding range

    def __post_init__(self) -> None:
        """Check every size against its limits."""
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise ValueError(f"WaveNet {name} is {value!r}, expected a whole number from {low} to {high}")
        if self.hop % self.bunch:
            raise ValueError(f"WaveNet bunch {self.bunch} does not divide the hop {self.hop}")
        dilations = self.dilations
        if not isinstance(dilations, tuple) or not 1 <= len(dilations) <= MAX_LAYERS:
            raise ValueError(f"WaveNet dilations are {dilations!r}, expected a tuple of 1 to {MAX_LAYERS} numbers")
        if any(type(d) is not int or not 1 <= d <= MAX_DILATION for d in dilations):
            raise ValueError(f"WaveNet dilations are {dilations}, expected whole numbers from 1 to {MAX_DILATION}")
        if sum(dilations) > MAX_DILATION_SUM:
            raise ValueError(f"WaveNet dilations add up to {sum(dilations)}, at most {MAX_DILATION_SUM} are allowed")
        for name, least, most in (("pre_emphasis", 0, 0.99), ("signal_gain", 1e-3, 1e3), ("code_scale", 1e-3, 1e3)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value) or not least <= value <= most:
                raise ValueError(f"WaveNet {name} is {value!r}, expected a number from {least} to {most}")

    @property
    def layers(self) -> int:
        """Number of layers L."""
        return len(self.dilations)

    @property
    def conditioning(self) -> int:
        """Columns of the conditioning: 2R a layer, then S for the skip sum."""
        return 2 * self.residual * self.layers + self.skip

    @property
    def signal_history(self) -> int:
        """Samples of past signal that must be kept."""
        return max(self.history, self.head_history, self.lpc_order)

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor by name, in the order of the module's docstring."""
        R, S, H, L, N = self.residual, self.skip, self.head, self.layers, self.bunch
        return {
            "input_weight": (R, 3 * self.history + 2 * self.harmonics),
            "input_bias": (R,),
            "past_weight": (L, 2 * R, R),
            "current_weight": (L, 2 * R, R),
            "residual_weight": (L - 1, R, R),
            "residual_bias": (L - 1, R),
            "skip_weight": (L, S, R),
            "bunch_weight": (N * H, S),
            "bunch_bias": (N * H,),
            "draw_weight": (N, H, 2 + 3 * self.head_history),
            "output_weight": (self.levels, H),
            "output_bias": (self.levels,),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaveNetWeights:
    """The tensors of one WaveNet; checked when made, never written to afterwards.

    A backend's packed copy is made at first use and kept here: it is made once however many sentences are spoken.
    Raises TypeError or ValueError for a tensor of another type or shape.
    """

    shape: WaveNetShape
    input_weight: FloatArray
    input_bias: FloatArray
    past_weight: FloatArray
    current_weight: FloatArray
    residual_weight: FloatArray
    residual_bias: FloatArray
    skip_weight: FloatArray
    bunch_weight: FloatArray
    bunch_bias: FloatArray
    draw_weight: FloatArray
    output_weight: FloatArray
    output_bias: FloatArray
    precision: Precision = "float32"
    limits: FloatArray | None = None
    _packed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check every tensor and make it contiguous."""
        for name, wanted in self.shape.tensor_shapes().items():
            object.__setattr__(self, name, float_array(name, getattr(self, name), wanted))
        if self.precision not in PRECISIONS:
            raise ValueError(f"WaveNet precision is {self.precision!r}, expected one of {', '.join(PRECISIONS)}")
        if self.limits is None:
            if self.precision == "int8":
                raise ValueError("WaveNet precision int8 needs limits: calibrate the weights first")
            return
        object.__setattr__(self, "limits", float_array("limits", self.limits, (self.shape.layers + 2,)))
        low, high = LIMIT_RANGE
        if not np.all((self.limits >= low) & (self.limits <= high)):
            raise ValueError(f"WaveNet limits are {self.limits}, expected numbers from {low:g} to {high:g}")

    @classmethod
    def from_tensors(
        cls,
        shape: WaveNetShape,
        tensors: Mapping[str, FloatArray],
        *,
        precision: Precision = "float32",
        limits: FloatArray | None = None,
    ) -> "WaveNetWeights":
        """Build from a mapping that has exactly the tensors of the module's docstring but the limits.

        Raises ValueError naming missing or unknown tensors.
        """
        wanted = set(shape.tensor_shapes())
        if wanted != set(tensors):
            missing, unknown = sorted(wanted - set(tensors)), sorted(set(tensors) - wanted)
            raise ValueError(f"WaveNet tensors do not fit: missing {missing}, unknown {unknown}")
        return cls(shape=shape, precision=precision, limits=limits, **tensors)

    def tensors(self) -> dict[str, FloatArray]:
        """Return the tensors by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name in self.shape.tensor_shapes()}


def random_weights(
    shape: WaveNetShape, seed: int = 0, half: bool = True, precision: Precision = "float32"
) -> WaveNetWeights:
    """Draw weights that keep signals at a natural size, for tests and benchmarks.

    half: round to float16 values, as the weights of a voice folder are
    """
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, size in shape.tensor_shapes().items():
        fan_in = size[-1] if name.endswith("weight") else 100
        values = (rng.standard_normal(size) / math.sqrt(max(fan_in, 1))).astype(np.float32)
        tensors[name] = values.astype(np.float16).astype(np.float32) if half else values
    limits = np.full(shape.layers + 2, _RANDOM_LIMIT, np.float32)
    return WaveNetWeights.from_tensors(shape, tensors, precision=precision, limits=limits)
