"""WaveNets at odd sizes and arguments for them: what the parity program and the tests of the kernels run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels import wavenet
from deepvoice.kernels._checks import FloatArray
from deepvoice.kernels.weights import WaveNetShape, WaveNetWeights

SHAPES: dict[str, dict[str, Any]] = {
    "small": {"bunch": 4, "dilations": (1, 2, 4, 8), "residual": 16, "skip": 16, "head": 16},
    "odd": {"bunch": 6, "dilations": (3, 1, 7), "residual": 20, "skip": 37, "head": 21, "levels": 250, "harmonics": 1},
    "plain": {"bunch": 1, "hop": 10, "dilations": (1, 2), "residual": 33, "skip": 15, "head": 64, "lpc_order": 0},
    "pair": {"bunch": 2, "dilations": (5,), "residual": 1, "skip": 1, "head": 1, "history": 1, "head_history": 3},
    "wide": {"bunch": 5, "hop": 25, "dilations": (1, 6), "residual": 96, "skip": 100, "head": 48, "lpc_order": 33},
    "silent": {"bunch": 12, "hop": 12, "dilations": (2, 9), "residual": 16, "skip": 80, "head": 17, "harmonics": 0},
    "voice": {"bunch": 6, "dilations": (1, 2, 4, 8, 16, 32) * 2, "residual": 64, "skip": 128, "head": 64},
}
_COMMON: dict[str, Any] = {
    "hop": 120,
    "levels": 256,
    "history": 16,
    "head_history": 8,
    "harmonics": 8,
    "lpc_order": 16,
    "pre_emphasis": 0.85,
    "signal_gain": 3.0,
    "code_scale": 2.5,
}


def named_shape(name: str, **changes: Any) -> WaveNetShape:
    """Return the shape of a WaveNet of SHAPES with some sizes changed."""
    return WaveNetShape(**{**_COMMON, **SHAPES[name], **changes})


def random_arguments(shape: WaveNetShape, frames: int, seed: int = 5) -> dict[str, FloatArray]:
    """Return random arguments of `wavenet.generate` by name."""
    random = np.random.default_rng(seed)
    steps = frames * shape.hop // shape.bunch
    lpc = random.standard_normal((frames, shape.lpc_order)) * 0.5 / max(shape.lpc_order, 1)
    return {
        "cond_FC": random.standard_normal((frames, shape.conditioning)).astype(np.float32),
        "lpc_FK": lpc.astype(np.float32),
        "pulse_NQ2": random.standard_normal((steps, 2 * shape.harmonics)).astype(np.float32),
        "uniforms_T": random.random(frames * shape.hop, dtype=np.float32),
        "temperature_F": random.uniform(0.7, 1.1, frames).astype(np.float32),
    }


def softmax_with_floor(logits_TA: FloatArray, temperature_T: FloatArray, floor: float) -> NDArray[np.float64]:
    """Return the chance of every level."""
    scaled = logits_TA.astype(np.float64) / temperature_T[:, None]
    chances = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    chances = np.maximum(chances / chances.sum(axis=1, keepdims=True) - floor, 0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def centred_uniforms(
    weights: WaveNetWeights, inputs: dict[str, FloatArray], floor: float
) -> tuple[FloatArray, wavenet.Generated]:
    """Return uniforms in the middle of the intervals that the reference drew, so that rounding cannot change a draw.

    The second item is what the reference drew.
    """
    given = (inputs["cond_FC"], inputs["lpc_FK"], inputs["pulse_NQ2"])
    draws = (inputs["uniforms_T"], inputs["temperature_F"], floor)
    drawn = wavenet.generate(weights, *given, *draws, backend="reference")
    scored = wavenet.teacher_forced(weights, *given, drawn.codes, backend="reference")
    temperature_T = np.repeat(inputs["temperature_F"], weights.shape.hop)
    chances = softmax_with_floor(scored.logits_TA, temperature_T, floor)
    edges = np.concatenate([np.zeros((len(chances), 1)), np.cumsum(chances, axis=1)], axis=1)
    rows = np.arange(len(chances))
    low, high = edges[rows, drawn.codes], edges[rows, drawn.codes.astype(int) + 1]
    if not (high > low).all():
        raise ValueError("the reference drew a level that has no chance")
    return ((low + high) / 2).astype(np.float32), drawn
