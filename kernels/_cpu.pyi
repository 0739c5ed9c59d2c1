"""
CPU kernels of deepvoice. Use them through deepvoice.kernels, which checks and documents arguments.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


interface_version: int = 4

def supported_isas() -> list[str]:
    """
    Instruction sets that this build has and this machine runs, slowest first.
    """

def isa() -> str:
    """The instruction set in use."""

def set_isa(name: str) -> None:
    """Use another supported instruction set from now on."""

def elementary(name: str, x: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def dense(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, activation: int, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def conv1d(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, dilation: int, activation: int, causal: bool, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def gru(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], w_ih: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], w_hh: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], b_ih: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], b_hh: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], h0: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], reverse: bool, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], h: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def qrnn_pool(candidate: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], forget: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], output: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], h0: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], c: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def bfloat_products() -> bool:
    """
    Whether the instruction set in use multiplies bfloat16 numbers by itself.
    """

def layer_norm(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def packed_gru(input: Layer, recurrent: Layer, x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], reverse: bool, h: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def multiply_adds(kind: int, rounds: int) -> int:
    """Do multiply-adds from registers, for timing; returns how many."""

def read_all(data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rounds: int) -> float:
    """Read an array, for timing."""

class Layer:
    def __init__(self, weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, bfloat: bool) -> None: ...

    def apply(self, x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], dilation: int, activation: int, causal: bool, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

    def residual(self, x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], norm_weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], norm_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], dilation: int, y: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def viterbi_many(problems: Sequence[tuple[object, ...]]) -> list[float]: ...

def int8_sums(weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], rectified: bool, limit: float, sums: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

class WaveNet:
    def __init__(self, *, hop: int, bunch: int, dilations: Sequence[int], residual: int, skip: int, head: int, levels: int, history: int, head_history: int, harmonics: int, lpc_order: int, pre_emphasis: float, signal_gain: float, code_scale: float, input_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], input_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], past_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], current_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], residual_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], residual_bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], skip_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bunch_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], bunch_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], draw_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], output_weight: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], output_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], limits: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, precision: int) -> None: ...

    def generate(self, cond: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], lpc: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], pulse: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], uniforms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], temperature: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], floor: float, signal: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], residual: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], output: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], queues: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], samples: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def generate_paired(self, cond: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], lpc: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], pulse: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], uniforms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], temperature: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], floor: float, signal: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], residual: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], output: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], queues: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], samples: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], patience: int = 4000) -> int: ...

    def generate_many(self, streams: Sequence[tuple[object, ...]]) -> None: ...

    def teacher_forced(self, cond: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], lpc: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], pulse: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], signal: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], residual: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], output: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], queues: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], samples: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], logits: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...
