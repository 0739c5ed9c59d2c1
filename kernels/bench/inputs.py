"""Shapes and arguments for timing a WaveNet."""

from typing import NamedTuple

import numpy as np

from deepvoice.kernels._checks import FloatArray
from deepvoice.kernels.weights import WaveNetShape

PAPER_RATE = 16384  # Hz
PAPER_CYCLE = tuple(2**i for i in range(10))  # dilations of ten layers


class Inputs(NamedTuple):
    """Arguments of `wavenet.generate`, in its order."""

    cond_FC: FloatArray
    lpc_FK: FloatArray
    pulse_NQ2: FloatArray
    uniforms_T: FloatArray
    temperature_F: FloatArray


def make_shape(residual: int, skip: int, head: int, bunch: int, dilations: tuple[int, ...]) -> WaveNetShape:
    """Return the shape of a 24 kHz WaveNet with the given sizes."""
    return WaveNetShape(
        hop=120,
        bunch=bunch,
        dilations=dilations,
        residual=residual,
        skip=skip,
        head=head,
        history=16,
        head_history=8,
        harmonics=8,
        lpc_order=16,
        pre_emphasis=0.85,
        signal_gain=3.0,
        code_scale=3.0,
    )


def paper_shape(layers: int, residual: int, skip: int) -> WaveNetShape:
    """Return the paper's WaveNet: one sample a step, frames of 64 samples at 16,384 Hz, an output layer of 256.

    Its first layer sees two samples. What ours has beside it (three views of a sample, a head that sees the newest
    sample once more) adds less than a hundredth to its products.
    """
    return WaveNetShape(
        hop=64,
        bunch=1,
        dilations=(PAPER_CYCLE * -(-layers // len(PAPER_CYCLE)))[:layers],
        residual=residual,
        skip=skip,
        head=256,
        history=2,
        head_history=1,
        harmonics=0,
        lpc_order=0,
        pre_emphasis=0.0,
        signal_gain=1.0,
        code_scale=1.0,
    )


def random_inputs(shape: WaveNetShape, frames: int) -> Inputs:
    """Return arguments of `wavenet.generate` for a number of frames."""
    random = np.random.default_rng(1)
    steps = frames * shape.hop // shape.bunch
    return Inputs(
        cond_FC=random.standard_normal((frames, shape.conditioning)).astype(np.float32),
        lpc_FK=(0.03 * random.standard_normal((frames, shape.lpc_order))).astype(np.float32),
        pulse_NQ2=random.standard_normal((steps, 2 * shape.harmonics)).astype(np.float32),
        uniforms_T=random.random(frames * shape.hop, dtype=np.float32),
        temperature_F=np.ones(frames, np.float32),
    )
