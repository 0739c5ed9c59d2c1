"""The bunch WaveNet: conditioning in, samples out. The equations are in `deepvoice.kernels.reference.wavenet`.

Randomness is an input (one uniform number a sample) and the state is an explicit value, so that the same input gives
the same samples, in one call or in many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels._checks import FloatArray, float_array
from deepvoice.kernels._dispatch import Backend, extension, resolve
from deepvoice.kernels.reference import wavenet as reference
from deepvoice.kernels.weights import PRECISIONS, WaveNetShape, WaveNetWeights

_STREAMS = 16  # of a step of the kernels for processors
_MANY = 65536  # more than any device runs at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaveNetState:
    """What a WaveNet remembers between two calls. Values are never changed in place, so a state may be used again.

    signal: float32 [max(M, J, K)], the last pre-emphasised samples, oldest first
    residual: float32 [max(M, J, K)], the last coded residuals, oldest first
    output: float32 [1], the last sample
    queues_DR: float32 [sum of dilations, R], for each layer its last d inputs, oldest first
    """

    signal: FloatArray
    residual: FloatArray
    output: FloatArray
    queues_DR: FloatArray

    @classmethod
    def initial(cls, shape: WaveNetShape) -> "WaveNetState":
        """Return the state before the first sample: silence."""
        past = shape.signal_history
        return cls(
            signal=np.zeros(past, np.float32),
            residual=np.zeros(past, np.float32),
            output=np.zeros(1, np.float32),
            queues_DR=np.zeros((sum(shape.dilations), shape.residual), np.float32),
        )

    def check(self, shape: WaveNetShape) -> "WaveNetState":
        """Raise ValueError or TypeError unless the state fits a WaveNet of this shape."""
        past = (shape.signal_history,)
        return WaveNetState(
            signal=float_array("state.signal", self.signal, past),
            residual=float_array("state.residual", self.residual, past),
            output=float_array("state.output", self.output, (1,)),
            queues_DR=float_array("state.queues_DR", self.queues_DR, (sum(shape.dilations), shape.residual)),
        )

    def copy(self) -> "WaveNetState":
        """Return a state with arrays of its own."""
        return WaveNetState(
            signal=self.signal.copy(),
            residual=self.residual.copy(),
            output=self.output.copy(),
            queues_DR=self.queues_DR.copy(),
        )


class Generated(NamedTuple):
    """Result of `generate`."""

    samples: FloatArray  # float32 [T], pre-emphasis undone; not clipped to [-1, 1]
    codes: NDArray[np.uint8]  # [T]
    state: WaveNetState


class Piece(NamedTuple):
    """What `generate` takes for one stream, in its order and with its shapes: an item of `generate_many`."""

    cond_FC: FloatArray
    lpc_FK: FloatArray
    pulse_NQ2: FloatArray
    uniforms_T: FloatArray
    temperature_F: FloatArray
    floor: float = 0.0
    state: WaveNetState | None = None


class Scored(NamedTuple):
    """Result of `teacher_forced`."""

    logits_TA: FloatArray  # float32 [T, A], before the temperature
    samples: FloatArray  # float32 [T], what the codes sound like
    state: WaveNetState


class _Inputs(NamedTuple):
    """Checked per-frame inputs."""

    cond_FC: FloatArray
    lpc_FK: FloatArray
    pulse_NQ2: FloatArray
    state: WaveNetState
    samples: int  # T


def _check_inputs(
    shape: WaveNetShape, cond_FC: FloatArray, lpc_FK: FloatArray, pulse_NQ2: FloatArray, state: WaveNetState | None
) -> _Inputs:
    cond_FC = float_array("cond_FC", cond_FC, (None, shape.conditioning))
    frames = cond_FC.shape[0]
    return _Inputs(
        cond_FC=cond_FC,
        lpc_FK=float_array("lpc_FK", lpc_FK, (frames, shape.lpc_order)),
        pulse_NQ2=float_array("pulse_NQ2", pulse_NQ2, (frames * shape.hop // shape.bunch, 2 * shape.harmonics)),
        state=WaveNetState.initial(shape) if state is None else state.check(shape),
        samples=frames * shape.hop,
    )


def _packed(weights: WaveNetWeights, backend: Backend) -> Any:
    """Return a compiled backend's packed copy of the weights, made at first use."""
    with weights._lock:
        engine = weights._packed.get(backend)
        if engine is None:
            shape = weights.shape
            engine = weights._packed[backend] = extension(backend).WaveNet(
                hop=shape.hop,
                bunch=shape.bunch,
                dilations=list(shape.dilations),
                residual=shape.residual,
                skip=shape.skip,
                head=shape.head,
                levels=shape.levels,
                history=shape.history,
                head_history=shape.head_history,
                harmonics=shape.harmonics,
                lpc_order=shape.lpc_order,
                pre_emphasis=shape.pre_emphasis,
                signal_gain=shape.signal_gain,
                code_scale=shape.code_scale,
                **weights.tensors(),
                limits=weights.limits,
                precision=PRECISIONS.index(weights.precision),
            )
        return engine


def _state(run: reference.Run) -> WaveNetState:
    return WaveNetState(signal=run.signal, residual=run.residual, output=run.output, queues_DR=run.queue_rows())


def prepare(weights: WaveNetWeights, *, backend: str = "auto") -> None:
    """Pack the weights now rather than in the first call of `generate`."""
    chosen = resolve(backend)
    if chosen != "reference":
        _packed(weights, chosen)


def streams_at_once(weights: WaveNetWeights, *, backend: str = "auto") -> int:
    """Return how many pieces `generate_many` makes side by side; more of them take turns."""
    chosen = resolve(backend)
    if chosen != "cuda":
        return _STREAMS
    return int(_packed(weights, chosen).plan(_MANY)["streams"])


def generate(
    weights: WaveNetWeights,
    cond_FC: FloatArray,
    lpc_FK: FloatArray,
    pulse_NQ2: FloatArray,
    uniforms_T: FloatArray,
    temperature_F: FloatArray,
    floor: float = 0.0,
    state: WaveNetState | None = None,
    *,
    threads: int = 1,
    backend: str = "auto",
) -> Generated:
    """Draw samples one after the other.

    cond_FC: float32 [F, 2RL + S], conditioning of every frame, F may be 0
    lpc_FK: float32 [F, K], predictor coefficients
    pulse_NQ2: float32 [F hop / N, 2Q], pulse features of every step
    uniforms_T: float32 [F hop] in [0, 1)
    temperature_F: float32 [F], positive; below 1 makes likely levels likelier
    floor: probability that is taken off every level before the draw, in [0, 1)
    state: of an earlier call, silence when None; it is not changed
    threads: 1, or 2 to share the work of a large WaveNet with another core (the same samples)
    Returns samples, codes and the state after the last sample.
    Raises TypeError or ValueError for arguments that do not fit, KernelUnavailableError for a missing backend.
    """
    if threads not in (1, 2):
        raise ValueError(f"threads is {threads}, expected 1 or 2")
    piece = Piece(cond_FC, lpc_FK, pulse_NQ2, uniforms_T, temperature_F, floor, state)
    if threads == 1 or resolve(backend) != "cpu":
        return generate_many(weights, [piece], backend=backend)[0]
    call, result = _call(_check_piece(weights.shape, piece))
    _packed(weights, "cpu").generate_paired(*call)
    return result


class _Stream(NamedTuple):
    """A piece, checked."""

    inputs: _Inputs
    uniforms_T: FloatArray
    temperature_F: FloatArray
    floor: float


def _check_piece(shape: WaveNetShape, piece: Piece) -> _Stream:
    inputs = _check_inputs(shape, piece.cond_FC, piece.lpc_FK, piece.pulse_NQ2, piece.state)
    uniforms_T = float_array("uniforms_T", piece.uniforms_T, (inputs.samples,))
    temperature_F = float_array("temperature_F", piece.temperature_F, (len(inputs.cond_FC),))
    if not np.all((uniforms_T >= 0) & (uniforms_T < 1)):
        raise ValueError("uniforms_T has values outside [0, 1)")
    if not np.all((temperature_F > 1e-3) & (temperature_F < 1e3)):
        raise ValueError("temperature_F has values outside (0.001, 1000)")
    if not 0 <= piece.floor < 1:
        raise ValueError(f"floor is {piece.floor}, expected a probability in [0, 1)")
    return _Stream(inputs, uniforms_T, temperature_F, float(piece.floor))


def generate_many(weights: WaveNetWeights, pieces: Sequence[Piece], *, backend: str = "auto") -> list[Generated]:
    """Draw the samples of several streams side by side; each result is bit for bit that of `generate` alone.

    pieces: any number of them, each with its own number of frames, temperatures and state
    Returns one result a piece, in their order. The errors are those of `generate`, for whichever piece they concern.
    """
    streams = [_check_piece(weights.shape, piece) for piece in pieces]
    chosen = resolve(backend)
    if chosen == "reference":
        return [_by_reference(weights, stream) for stream in streams]
    calls = [_call(stream) for stream in streams]
    _packed(weights, chosen).generate_many([arguments for arguments, _ in calls])
    return [result for _, result in calls]


def _call(stream: _Stream) -> tuple[tuple[Any, ...], Generated]:
    """Return the extension's arguments for a stream, and the arrays that it fills."""
    (cond_FC, lpc_FK, pulse_NQ2, state, count), *rest = stream
    samples, codes, new = np.empty(count, np.float32), np.empty(count, np.uint8), state.copy()
    arrays = (new.signal, new.residual, new.output, new.queues_DR, samples, codes)
    return (cond_FC, lpc_FK, pulse_NQ2, *rest, *arrays), Generated(samples, codes, new)


def _by_reference(weights: WaveNetWeights, stream: _Stream) -> Generated:
    run = reference.Run(weights, stream.inputs.state)
    codes = run.generate(*stream.inputs[:3], stream.uniforms_T, stream.temperature_F, stream.floor)
    return Generated(run.samples(), codes, _state(run))


def teacher_forced(
    weights: WaveNetWeights,
    cond_FC: FloatArray,
    lpc_FK: FloatArray,
    pulse_NQ2: FloatArray,
    codes_T: NDArray[np.uint8],
    state: WaveNetState | None = None,
    *,
    backend: str = "auto",
) -> Scored:
    """Compute the logits of every sample when the drawn codes are given instead of drawn.

    codes_T: uint8 [F hop], each below A; the histories hold what these codes decode to
    The other arguments and the errors are those of `generate`.
    """
    shape = weights.shape
    inputs = _check_inputs(shape, cond_FC, lpc_FK, pulse_NQ2, state)
    if not isinstance(codes_T, np.ndarray) or codes_T.dtype != np.uint8 or codes_T.shape != (inputs.samples,):
        raise ValueError(f"codes_T must be a uint8 array of shape ({inputs.samples},)")
    if inputs.samples and int(codes_T.max()) >= shape.levels:
        raise ValueError(f"codes_T holds {int(codes_T.max())}, but there are {shape.levels} levels")
    chosen = resolve(backend)
    if chosen == "reference":
        run = reference.Run(weights, inputs.state)
        logits_TA = run.teacher_forced(inputs.cond_FC, inputs.lpc_FK, inputs.pulse_NQ2, codes_T)
        return Scored(logits_TA, run.samples(), _state(run))
    samples, logits_TA = np.empty(inputs.samples, np.float32), np.empty((inputs.samples, shape.levels), np.float32)
    new = inputs.state.copy()
    _packed(weights, chosen).teacher_forced(
        *(inputs.cond_FC, inputs.lpc_FK, inputs.pulse_NQ2, np.ascontiguousarray(codes_T)),
        *(new.signal, new.residual, new.output, new.queues_DR, samples, logits_TA),
    )
    return Scored(logits_TA, samples, new)
