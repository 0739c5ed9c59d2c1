"""The same WaveNet in PyTorch, three ways, on one thread: what the compiled kernels are compared with.

    python -m deepvoice.recipes.bench.torch_loops [--voice FOLDER | --sizes L,R,S,N] [--steps 40] [--compile]

naive     float32, eager: every step recomputes exactly the receptive field, then draws its samples
cached    float32, eager: every layer keeps its past, as the kernels do
compiled  the cached step through torch.compile

Each draws the codes that the numpy reference draws, or it is not timed. A step makes as many samples as a bunch has;
a few are timed and scaled to a second of sound.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from deepvoice.kernels import wavenet
from deepvoice.kernels.bench.inputs import Inputs, paper_shape, random_inputs
from deepvoice.kernels.weights import WaveNetWeights, random_weights

_CHECKED_STEPS = 6
_LIMIT = 2.0  # the pre-emphasised signal is clipped here
_FLOOR = 0.001

State = dict[str, torch.Tensor]


class TorchNet:
    """The weights as tensors, and the parts of a step."""

    def __init__(self, weights: WaveNetWeights) -> None:
        self.shape = weights.shape
        self.w = {name: torch.from_numpy(np.array(value)) for name, value in weights.tensors().items()}
        levels = np.arange(self.shape.levels, dtype=np.float64) / (self.shape.levels - 1) * 2 - 1
        decoded = np.sign(levels) * np.expm1(np.abs(levels) * np.log(self.shape.levels))
        self.amplitudes = torch.from_numpy(
            (decoded / (self.shape.levels - 1) / self.shape.code_scale).astype(np.float32)
        )

    def compress(self, values: torch.Tensor) -> torch.Tensor:
        """Mu-law companding."""
        magnitude = (values.abs() * self.shape.code_scale).clamp(max=1.0)
        return torch.sign(values) * torch.log1p((self.shape.levels - 1) * magnitude) / math.log(self.shape.levels)

    def views(self, signal: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """The last samples in the three forms that the network is given, along the last axis."""
        return torch.cat([signal * self.shape.signal_gain, self.compress(signal), self.compress(residual)], dim=-1)

    def gated(self, z: torch.Tensor) -> torch.Tensor:
        """Multiply the two halves of a gate."""
        return torch.tanh(z[..., : self.shape.residual]) * torch.sigmoid(z[..., self.shape.residual :])

    def heads(self, skip: torch.Tensor) -> torch.Tensor:
        """Skip sum [S] -> what every sample of the bunch starts from, [N, H]."""
        q = functional.linear(functional.relu(skip), self.w["bunch_weight"], self.w["bunch_bias"])
        return q.reshape(self.shape.bunch, self.shape.head)

    def draw(
        self, q: torch.Tensor, signal: torch.Tensor, residual: torch.Tensor, frame: State
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Draw the samples of a bunch one after the other; returns codes [N] and the histories with them."""
        shape, codes = self.shape, []
        for i in range(shape.bunch):
            prediction = frame["lpc"] @ signal[len(signal) - shape.lpc_order :]
            views = self.views(signal[-shape.head_history :], residual[-shape.head_history :])
            v = torch.cat([(prediction * shape.signal_gain)[None], self.compress(prediction)[None], views])
            k = functional.relu(q[i] + functional.linear(v, self.w["draw_weight"][i]))
            logits = functional.linear(k, self.w["output_weight"], self.w["output_bias"]) / frame["temperature"]
            chances = torch.exp(logits - logits.max())
            chances = (chances - _FLOOR * chances.sum()).clamp(min=0)
            total = torch.cumsum(chances, 0)
            code = (total <= frame["uniforms"][i] * total[-1]).sum().clamp(max=shape.levels - 1)
            e = self.amplitudes[code]
            x = (prediction + e).clamp(-_LIMIT, _LIMIT)
            signal, residual = torch.cat([signal[1:], x[None]]), torch.cat([residual[1:], e[None]])
            codes.append(code)
        return torch.stack(codes), signal, residual

    def cached_step(self, state: State, frame: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        """One step with the past of every layer given, past_LR: returns codes, state, and this step's inputs [L, R]."""
        w, shape = self.w, self.shape
        views = self.views(state["signal"][-shape.history :], state["residual"][-shape.history :])
        h = torch.tanh(functional.linear(torch.cat([views, frame["pulse"]]), w["input_weight"], w["input_bias"]))
        width, skip, hidden = 2 * shape.residual, frame["cond"][2 * shape.residual * shape.layers :], []
        for layer in range(shape.layers):
            z = functional.linear(h, w["current_weight"][layer], frame["cond"][layer * width : (layer + 1) * width])
            a = self.gated(z + functional.linear(state["past_LR"][layer], w["past_weight"][layer]))
            hidden.append(h)
            skip = skip + functional.linear(a, w["skip_weight"][layer])
            if layer + 1 < shape.layers:
                h = h + functional.linear(a, w["residual_weight"][layer], w["residual_bias"][layer])
        codes, signal, residual = self.draw(self.heads(skip), state["signal"], state["residual"], frame)
        return codes, {"signal": signal, "residual": residual}, torch.stack(hidden)

    def naive_step(self, state: State, frames: State, frame: State) -> tuple[torch.Tensor, State]:
        """One step that recomputes every layer over the whole receptive field, W steps."""
        w, shape = self.w, self.shape
        window, length = len(frames["pulse"]), shape.history
        histories = [
            state[name].unfold(0, length, shape.bunch)[-window:] for name in ("signal", "residual")
        ]  # the samples before each step of the field
        inputs = torch.cat([self.views(*histories), frames["pulse"]], dim=1)
        h = torch.tanh(functional.linear(inputs, w["input_weight"], w["input_bias"]))
        width, skip = 2 * shape.residual, frames["cond"][:, 2 * shape.residual * shape.layers :]
        for layer, dilation in enumerate(shape.dilations):
            z = (
                functional.linear(h, w["current_weight"][layer])
                + frames["cond"][:, layer * width : (layer + 1) * width]
            )
            past = functional.linear(h[: max(0, window - dilation)], w["past_weight"][layer])
            a = self.gated(z + functional.pad(past, (0, 0, window - len(past), 0)))
            skip = skip + functional.linear(a, w["skip_weight"][layer])
            if layer + 1 < shape.layers:
                h = h + functional.linear(a, w["residual_weight"][layer], w["residual_bias"][layer])
        codes, signal, residual = self.draw(self.heads(skip[-1]), state["signal"], state["residual"], frame)
        return codes, {"signal": signal, "residual": residual}


class Runner:
    """Steps through a sound with one of the three implementations."""

    def __init__(self, net: TorchNet, inputs: Inputs) -> None:
        self.net, self.shape = net, net.shape
        self.inputs = {name: torch.from_numpy(value) for name, value in inputs._asdict().items()}
        self.step_of_frame = self.shape.hop // self.shape.bunch
        self.field = sum(self.shape.dilations) + 1

    def frame(self, n: int) -> State:
        """What step n is given."""
        f, bunch = n // self.step_of_frame, self.shape.bunch
        return {
            "cond": self.inputs["cond_FC"][f],
            "lpc": self.inputs["lpc_FK"][f].flip(0),
            "pulse": self.inputs["pulse_NQ2"][n],
            "temperature": self.inputs["temperature_F"][f],
            "uniforms": self.inputs["uniforms_T"][n * bunch : (n + 1) * bunch],
        }

    def cached(self, steps: int, first_timed: int, step: Callable[..., Any]) -> tuple[list[int], float]:
        """Run with the past kept; returns the codes and the median seconds of the steps from `first_timed` on."""
        shape = self.shape
        state = {"signal": torch.zeros(shape.signal_history), "residual": torch.zeros(shape.signal_history)}
        queues = [torch.zeros(dilation, shape.residual) for dilation in shape.dilations]
        codes, times = [], []
        for n in range(steps):
            started = time.perf_counter()
            past_LR = torch.stack([queue[n % len(queue)] for queue in queues])
            drawn, state, hidden_LR = step({**state, "past_LR": past_LR}, self.frame(n))
            for queue, hidden in zip(queues, hidden_LR, strict=True):
                queue[n % len(queue)] = hidden
            times.append(time.perf_counter() - started)
            codes += drawn.tolist()
        return codes, statistics.median(times[first_timed:])

    def naive(self, steps: int) -> tuple[list[int], float]:
        """Run with the receptive field recomputed at every step, which sees silence before the sound."""
        shape = self.shape
        # Steps before the sound would have no frame: the field begins with the sound, as the kernels' pasts are zero.
        length = shape.history + (self.field + steps) * shape.bunch
        state = {name: torch.zeros(max(length, shape.signal_history)) for name in ("signal", "residual")}
        codes, times = [], []
        for n in range(steps):
            window = min(n + 1, self.field)
            numbers = torch.arange(n - window + 1, n + 1)
            frames = {
                "cond": self.inputs["cond_FC"][numbers // self.step_of_frame],
                "pulse": self.inputs["pulse_NQ2"][numbers],
            }
            started = time.perf_counter()
            drawn, state = self.net.naive_step(state, frames, self.frame(n))
            times.append(time.perf_counter() - started)
            codes += drawn.tolist()
        return codes, statistics.median(times[-max(1, steps - self.field) :])


def measure(weights: WaveNetWeights, steps: int, compile_: bool, sample_rate: int) -> dict[str, Any]:
    """Verify and time the implementations; seconds a step and multiples of real time of each."""
    shape = weights.shape
    field = sum(shape.dilations) + 1
    frames = -(-(field + steps + 1) * shape.bunch // shape.hop)
    inputs = random_inputs(shape, frames)
    runner = Runner(TorchNet(weights), inputs)
    first = -(-_CHECKED_STEPS * shape.bunch // shape.hop)
    part = Inputs(*(value[: len(value) * first // frames] for value in inputs))
    expected = wavenet.generate(weights, *part, _FLOOR, backend="reference").codes.tolist()
    net, found = runner.net, {}
    with torch.no_grad():
        found["cached"] = runner.cached(steps + 10, 10, net.cached_step)
        found["naive"] = runner.naive(field + steps)
        if compile_:
            step = torch.compile(net.cached_step, dynamic=False)
            found["compiled"] = runner.cached(steps + 10, 10, step)
    result: dict[str, Any] = {"torch": torch.__version__, "steps": steps, "field": field}
    for name, (codes, seconds) in found.items():
        checked = expected[: _CHECKED_STEPS * shape.bunch]
        if codes[: len(checked)] != checked:
            raise RuntimeError(f"{name} draws other codes than the reference: {codes[: len(checked)]}, {checked}")
        result[name] = {"seconds_a_step": seconds, "x": shape.bunch / sample_rate / seconds}
    return result


def main(arguments: list[str] | None = None) -> int:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m deepvoice.recipes.bench.torch_loops", description=__doc__)
    parser.add_argument("--voice", help="name or folder of a voice (default: the default voice)")
    parser.add_argument("--sizes", help="L,R,S of the paper's WaveNet with random weights, in place of a voice")
    parser.add_argument("--steps", type=int, default=40, help="steps that are timed (default %(default)s)")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too (it takes minutes to compile)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.sizes:
        layers, residual, skip = (int(size) for size in options.sizes.split(","))
        weights, rate = random_weights(paper_shape(layers, residual, skip)), 16384
    else:
        weights, rate = _voice_weights(options.voice)
    json.dump(measure(weights, options.steps, options.compile, rate), sys.stdout)
    print()
    return 0


def _voice_weights(name: str | None) -> tuple[WaveNetWeights, int]:
    from deepvoice.networks.vocoder import wavenet_weights
    from deepvoice.voice import load_voice

    folder = load_voice(name, ("vocoder",))
    return wavenet_weights(folder.tensors["vocoder"], folder.configs["vocoder"]), folder.manifest.sample_rate


if __name__ == "__main__":
    raise SystemExit(main())
