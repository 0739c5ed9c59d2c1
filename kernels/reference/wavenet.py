"""Numpy reference of the bunch WaveNet: the specification, sample by sample.

One step of the trunk serves N samples. With u the step's inputs, h the residual stream, f the frame:

    h = tanh(W_in u + b_in)
    layer l: z = W_past h(d steps ago) + W_cur h + cond_l;  a = tanh(z_1) sigmoid(z_2)
             skip += W_skip a;  h += W_res a + b_res
    q = W_bunch relu(skip + cond_skip) + b_bunch
    sample i: k = relu(q_i + W_draw_i v);  logits = W_out k + b_out;  code drawn from softmax(logits / temperature)

where v holds the linear prediction of the sample and the last J samples, those drawn in this bunch included. The coded
value is the residual of the linear prediction of the pre-emphasised signal (LPCNet: Valin and Skoglund, 2019).
Matrices are in the precision of the weights, see `reference.precision`; W_in in bfloat16 where that is int8, W_draw
always in float32.
Arguments are checked by `deepvoice.kernels.wavenet`.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels._checks import FloatArray
from deepvoice.kernels.reference.ops import sigmoid
from deepvoice.kernels.reference.precision import Linear, row_steps
from deepvoice.kernels.weights import WaveNetWeights

SIGNAL_LIMIT = np.float32(2)  # the pre-emphasised signal is clipped here, so that a bad voice cannot diverge


def compress(values: FloatArray, levels: int, scale: float) -> FloatArray:
    """Mu-law companding to [-1, 1] of amplitudes times scale, mu = levels - 1."""
    magnitude = np.minimum(np.abs(values) * np.float32(scale), np.float32(1))
    companded = np.sign(values) * np.log1p(np.float32(levels - 1) * magnitude) / np.float32(math.log(levels))
    return np.asarray(companded, np.float32)


def level_amplitudes(levels: int, scale: float) -> FloatArray:
    """Amplitude of every code, float32 [levels]: the inverse of `compress` at code / (levels - 1) * 2 - 1."""
    position = np.arange(levels, dtype=np.float64) / (levels - 1) * 2 - 1
    magnitude = np.expm1(np.abs(position) * math.log(levels)) / (levels - 1) / scale
    return (np.sign(position) * magnitude).astype(np.float32)


def draw(logits_A: FloatArray, uniform: np.float32, temperature: np.float32, floor: np.float32) -> int:
    """Draw a code: softmax, take the floor off, and invert the cumulative distribution at `uniform`.

    Where rounding leaves no level above the target the last possible level is drawn; where the floor leaves no level at
    all, the likeliest.
    """
    scaled = logits_A / temperature
    weights = np.exp(scaled - scaled.max())
    weights = np.maximum(weights - floor * weights.sum(), np.float32(0))
    cumulative = np.cumsum(weights)
    if not cumulative[-1] > 0:
        return int(np.argmax(scaled))
    above = np.flatnonzero(cumulative > uniform * cumulative[-1])
    return int(above[0]) if len(above) else int(np.flatnonzero(weights > 0)[-1])


class StepTrace(NamedTuple):
    """Intermediate values of one step of the trunk, for tests."""

    hidden_LR: FloatArray  # input of each layer
    gated_LR: FloatArray  # tanh times sigmoid of each layer
    skip_S: FloatArray  # sum before the rectifier
    bunch_NH: FloatArray  # q, one row a sample


class Matrices(NamedTuple):
    """The large matrices in the precision of the weights; lists have one a layer."""

    input: Linear
    past: list[Linear]
    current: list[Linear]
    residual: list[Linear]  # the last layer has none
    skip: list[Linear]
    bunch: Linear
    output: Linear


def matrices(w: WaveNetWeights) -> Matrices:
    """Round the large matrices of a WaveNet. The two taps of a gate share the scales of their rows."""
    layers, kind = range(w.shape.layers), w.precision
    limits = np.ones(w.shape.layers + 2, np.float32) if w.limits is None else w.limits
    steps = [row_steps(w.past_weight[i], w.current_weight[i]) for i in layers]
    return Matrices(
        input=Linear(w.input_weight, "float32" if kind == "float32" else "bfloat16"),
        past=[Linear(w.past_weight[i], kind, limit=limits[i], steps_O=steps[i]) for i in layers],
        current=[Linear(w.current_weight[i], kind, limit=limits[i], steps_O=steps[i]) for i in layers],
        residual=[Linear(weight, kind) for weight in w.residual_weight],
        skip=[Linear(weight, kind) for weight in w.skip_weight],
        bunch=Linear(w.bunch_weight, kind, limit=limits[-2], rectified=True),
        output=Linear(w.output_weight, kind, limit=limits[-1], rectified=True),
    )


class State(Protocol):
    """The arrays of `deepvoice.kernels.wavenet.WaveNetState`, where they are described."""

    @property
    def signal(self) -> FloatArray: ...  # noqa: D102
    @property
    def residual(self) -> FloatArray: ...  # noqa: D102
    @property
    def output(self) -> FloatArray: ...  # noqa: D102
    @property
    def queues_DR(self) -> FloatArray: ...  # noqa: D102


class Run:
    """One run of the WaveNet over consecutive frames; holds the state as arrays that it replaces as it goes."""

    def __init__(self, weights: WaveNetWeights, state: State) -> None:
        self.weights = weights
        self.shape = weights.shape
        self.matrices = matrices(weights)
        self.signal = state.signal.copy()
        self.residual = state.residual.copy()
        self.output = state.output.copy()
        ends = np.cumsum(self.shape.dilations)
        self.queues = [q.copy() for q in np.split(state.queues_DR, ends[:-1])]
        self.amplitudes = level_amplitudes(self.shape.levels, self.shape.code_scale)
        self.step_index = 0
        self._samples: list[np.float32] = []

    def queue_rows(self) -> FloatArray:
        """Return the queues of all layers, each oldest first."""
        turned = [np.roll(q, -(self.step_index % len(q)), axis=0) for q in self.queues]
        return np.concatenate(turned)

    def samples(self) -> FloatArray:
        """Return the audio made so far in this run."""
        return np.array(self._samples, np.float32)

    def histories(self, length: int) -> FloatArray:
        """Return the last samples in three forms, oldest first: amplitude times gain, companded, residual companded."""
        x, e = self.signal[len(self.signal) - length :], self.residual[len(self.residual) - length :]
        return np.concatenate([np.float32(self.shape.signal_gain) * x, self.compress(x), self.compress(e)])

    def compress(self, values: FloatArray) -> FloatArray:
        """Compand with this WaveNet's levels and scale."""
        return compress(values, self.shape.levels, self.shape.code_scale)

    def step(self, cond_C: FloatArray, pulse_Q2: FloatArray) -> StepTrace:
        """Run the trunk for one bunch and remember the layers' inputs."""
        w, shape, R, matrix = self.weights, self.shape, self.shape.residual, self.matrices
        h = np.tanh(matrix.input(np.concatenate([self.histories(shape.history), pulse_Q2])) + w.input_bias)
        skip = np.zeros(shape.skip, np.float32)
        hidden, gated = [], []
        for layer, queue in enumerate(self.queues):
            slot = self.step_index % len(queue)
            z = matrix.past[layer](queue[slot]) + matrix.current[layer](h)
            z += cond_C[layer * 2 * R : (layer + 1) * 2 * R]
            a = np.tanh(z[:R]) * sigmoid(z[R:])
            queue[slot] = matrix.past[layer].seen(h)
            hidden.append(h)
            gated.append(a)
            skip += matrix.skip[layer](a)
            if layer + 1 < shape.layers:
                h = h + matrix.residual[layer](a) + w.residual_bias[layer]
        self.step_index += 1
        skip += cond_C[shape.layers * 2 * R :]
        q = matrix.bunch(np.maximum(skip, np.float32(0))) + w.bunch_bias
        return StepTrace(np.array(hidden), np.array(gated), skip, q.reshape(shape.bunch, shape.head))

    def predict(self, lpc_K: FloatArray) -> np.float32:
        """Linear prediction of the next pre-emphasised sample."""
        newest_first = self.signal[::-1][: len(lpc_K)]
        return np.float32(lpc_K @ newest_first)

    def logits(self, position: int, q_H: FloatArray, prediction: np.float32) -> FloatArray:
        """Logits of sample `position` of the bunch, given everything before it."""
        w, shape = self.weights, self.shape
        p = np.array([prediction], np.float32)
        v = np.concatenate([np.float32(shape.signal_gain) * p, self.compress(p), self.histories(shape.head_history)])
        k = np.maximum(q_H + w.draw_weight[position] @ v, np.float32(0))
        return np.asarray(self.matrices.output(k) + w.output_bias, np.float32)

    def accept(self, code: int, prediction: np.float32) -> None:
        """Append the sample that a code stands for to the histories and the audio."""
        e = self.amplitudes[code]
        x = np.fmin(np.fmax(prediction + e, -SIGNAL_LIMIT), SIGNAL_LIMIT)
        self.signal = np.append(self.signal[1:], x)
        self.residual = np.append(self.residual[1:], e)
        self.output = np.array([x + np.float32(self.shape.pre_emphasis) * self.output[0]], np.float32)
        self._samples.append(self.output[0])

    def generate(
        self,
        cond_FC: FloatArray,
        lpc_FK: FloatArray,
        pulse_NQ2: FloatArray,
        uniforms_T: FloatArray,
        temperature_F: FloatArray,
        floor: float,
    ) -> NDArray[np.uint8]:
        """Draw the codes of every frame; shapes as in `deepvoice.kernels.wavenet.generate`."""
        codes = np.zeros(len(uniforms_T), np.uint8)
        bunch = self.shape.bunch
        for n, pulse_Q2 in enumerate(pulse_NQ2):
            f = n * bunch // self.shape.hop
            q_NH = self.step(cond_FC[f], pulse_Q2).bunch_NH
            for i in range(bunch):
                t = n * bunch + i
                p = self.predict(lpc_FK[f])
                logits = self.logits(i, q_NH[i], p)
                codes[t] = draw(logits, uniforms_T[t], temperature_F[f], np.float32(floor))
                self.accept(codes[t], p)
        return codes

    def teacher_forced(
        self, cond_FC: FloatArray, lpc_FK: FloatArray, pulse_NQ2: FloatArray, codes_T: NDArray[np.uint8]
    ) -> FloatArray:
        """Compute the logits of every sample when the codes are given."""
        logits_TA = np.zeros((len(codes_T), self.shape.levels), np.float32)
        bunch = self.shape.bunch
        for n, pulse_Q2 in enumerate(pulse_NQ2):
            f = n * bunch // self.shape.hop
            q_NH = self.step(cond_FC[f], pulse_Q2).bunch_NH
            for i in range(bunch):
                t = n * bunch + i
                p = self.predict(lpc_FK[f])
                logits_TA[t] = self.logits(i, q_NH[i], p)
                self.accept(codes_T[t], p)
        return logits_TA
