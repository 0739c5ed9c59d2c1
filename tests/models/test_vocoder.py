"""The vocoder's torch half against its speaking half, and one optimiser step of each of its recipes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from deepvoice.audio.companding import encode as encode_levels
from deepvoice.audio.pulses import phase_from_f0, pulse_features
from deepvoice.configs import ConditionerConfig, VocoderConfig
from deepvoice.kernels import wavenet
from deepvoice.models.conditioner import Conditioner
from deepvoice.models.losses import output_entropy
from deepvoice.models.vocoder import GatedLayer, WaveNet, compress, encode, noisy_signals
from deepvoice.networks.conditioner import MEL_MEAN, MEL_SPREAD, conditioner_inputs, frame_inputs
from deepvoice.networks.vocoder import CONDITIONER, VocoderNetwork
from deepvoice.text.sequence import from_manifest

SMALL = VocoderConfig(
    dilations=(1, 2, 4),
    residual=12,
    skip=20,
    head=10,
    history=8,
    head_history=4,
    harmonics=3,
    conditioner=ConditionerConfig(
        phone_channels=16, phone_layers=1, frame_channels=16, frame_dilations=(1, 2), bias_channels=16
    ),
)
FRAMES = 12
SENTENCE = from_manifest("sil DH AH0 K AE1 T .", [-1, 0, 0, 1, 1, 1, -1])
DURATIONS = np.array([1, 2, 1, 2, 3, 1, 2], np.int64)


def made_up(config: VocoderConfig) -> dict[str, Any]:
    """A sentence of noise: F0, voicing, spectrum, filters and a signal, all from one seed."""
    random = np.random.default_rng(3)
    f0 = random.uniform(120, 250, FRAMES).astype(np.float32)
    voiced = random.random(FRAMES) < 0.6
    return {
        "f0": f0,
        "voiced": voiced,
        "mel": random.normal(-6, 3, (FRAMES, config.mel.bands)).astype(np.float32),
        "signal": random.normal(0, 0.03, FRAMES * config.mel.hop).astype(np.float32),
    }


def modules(config: VocoderConfig) -> tuple[WaveNet, Conditioner, VocoderNetwork]:
    torch.manual_seed(0)
    net, conditioner = WaveNet(config).eval(), Conditioner(config.conditioner, config.mel.bands).eval()
    tensors = {name: value.detach().numpy() for name, value in net.state_dict().items()}
    tensors |= {CONDITIONER + name: value.detach().numpy() for name, value in conditioner.state_dict().items()}
    assert {name: value.shape for name, value in tensors.items()} == VocoderNetwork.expected_shapes(config)
    return net, conditioner, VocoderNetwork(tensors, config)


def test_conditioner_is_the_same_in_both_halves() -> None:
    data = made_up(SMALL)
    _, conditioner, network = modules(SMALL)
    context, phone, frame = conditioner_inputs(SENTENCE, DURATIONS, data["f0"], data["voiced"])
    with torch.no_grad():
        scaled = conditioner(
            torch.from_numpy(SENTENCE.ids_P)[None],
            torch.from_numpy(context)[None],
            torch.tensor([len(SENTENCE)]),
            torch.from_numpy(phone)[None],
            torch.from_numpy(frame)[None],
        )[0].numpy()
    spectrum = network.spectrum(SENTENCE, DURATIONS, data["f0"], data["voiced"])
    np.testing.assert_allclose(spectrum, scaled * MEL_SPREAD + MEL_MEAN, atol=1e-3)


@pytest.mark.parametrize("bunch", [1, 4, 6])
@pytest.mark.parametrize("order", [0, 16])
def test_teacher_forced_logits_are_the_kernels(bunch: int, order: int) -> None:
    config = replace(SMALL, bunch=bunch, lpc_order=order)
    data = made_up(config)
    net, _, network = modules(config)
    lpc = network.predictor(data["mel"])
    pulses = pulse_features(phase_from_f0(data["f0"], 120, 24000), data["voiced"], 120, bunch, config.harmonics)
    # What the kernel makes of some codes is a signal whose teacher-forced codes are the same codes.
    codes = np.random.default_rng(4).integers(100, 156, FRAMES * 120).astype(np.uint8)
    cond = network.biases(data["mel"], data["f0"], data["voiced"], 0, FRAMES)
    scored = wavenet.teacher_forced(network.weights, cond, lpc, pulses, codes)
    emphasised = scored.samples - config.pre_emphasis * np.concatenate([[0], scored.samples[:-1]])
    signal = np.concatenate([np.zeros(config.history + order), emphasised]).astype(np.float32)
    with torch.no_grad():
        signals, found = noisy_signals(
            torch.from_numpy(signal)[None], torch.from_numpy(lpc)[None], config, noise_levels=None
        )
        frames = torch.from_numpy(frame_inputs(data["mel"], data["f0"], data["voiced"]))[None]
        logits = net.logits(signals, frames, torch.from_numpy(pulses)[None], 0)[0].numpy()
    assert (found[0].numpy() == codes).mean() > 0.999  # float32 rounding may move a value across a level's edge
    np.testing.assert_allclose(logits, scored.logits_TA, atol=2e-3)


def test_companding_is_the_same_in_both_halves() -> None:
    values = np.linspace(-0.2, 0.2, 1001, dtype=np.float32)
    assert (encode(torch.from_numpy(values), 8.0).numpy() == encode_levels(values, 8.0)).all()
    assert float(compress(torch.tensor([0.125]), 8.0)) == pytest.approx(1.0)


def test_training_noise_stays_on_target() -> None:
    """The codes lead from the noisy past back to the clean signal."""
    torch.manual_seed(1)
    clean = torch.randn(2, SMALL.history + 16 + 240) * 0.02
    lpc = torch.zeros(2, 2, 16)
    lpc[:, :, 0] = 0.5
    signals, codes = noisy_signals(clean, lpc, SMALL, noise_levels=torch.full((2, 1), 2.0))
    from deepvoice.audio.companding import level_amplitudes

    reached = signals.prediction_BT + torch.from_numpy(level_amplitudes(SMALL.code_scale))[codes]
    assert (signals.past_BT[:, SMALL.history :] - clean[:, -240:]).abs().max() > 1e-4
    assert (reached - clean[:, -240:]).abs().max() < 2e-3


@pytest.mark.parametrize("rows", [50, 1024, 2500])
def test_output_layer_with_its_loss_is_the_layer_and_then_the_loss(rows: int) -> None:
    torch.manual_seed(2)
    layer = torch.nn.Linear(12, 256)
    hidden = torch.randn(rows, 12, requires_grad=True)
    codes, weight = torch.randint(0, 256, (rows,)), torch.rand(rows)
    parameters = [hidden, layer.weight, layer.bias]
    loss = output_entropy(hidden, layer.weight, layer.bias, codes, weight)
    losses = torch.nn.functional.cross_entropy(layer(hidden), codes, reduction="none")
    expected = (losses * weight).sum() / weight.sum()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    for ours, theirs in zip(*(torch.autograd.grad(3 * x, parameters) for x in (loss, expected)), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        again = output_entropy(hidden, layer.weight, layer.bias, codes, weight)
    assert again.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dilation", [1, 5, 40])
def test_gate_and_its_gradient_are_autograds(dilation: int, kind: torch.dtype) -> None:
    """Bit for bit: the fused backward pass fills buffers once, it computes nothing else."""
    torch.manual_seed(3)
    layer = GatedLayer(SMALL, dilation).to(kind)
    width = SMALL.residual
    hidden = torch.randn(2, 30, width).to(kind).requires_grad_()
    bias = torch.randn(2, 6, 2 * width).to(kind).requires_grad_()

    def plain() -> tuple[torch.Tensor, torch.Tensor]:
        current, past = layer.taps(hidden).split(2 * width, dim=2)
        if dilation < 30:
            current = current + torch.nn.functional.pad(past[:, : 30 - dilation], (0, 0, dilation, 0))
        z = (current.reshape(2, 6, 5, -1) + bias[:, :, None]).reshape(2, 30, -1)
        first, second = z.chunk(2, dim=2)
        residual, skip = layer.out(torch.tanh(first) * torch.sigmoid(second)).split([width, SMALL.skip], dim=2)
        return hidden + residual + layer.bias, skip

    results = []
    for made, skip in (layer(hidden, bias, 5), plain()):
        given = [hidden, bias, layer.taps.weight, layer.out.weight]
        results.append([made, skip, *torch.autograd.grad(made.square().sum() + skip.sum(), given)])
    for ours, expected in zip(*results, strict=True):
        assert torch.equal(ours, expected)
