"""The seam: what the speaking half expects of a voice is exactly what the torch modules hold."""

import numpy as np
import pytest
import torch

from deepvoice.audio.companding import expand
from deepvoice.configs import GraphemeToPhonemeConfig, HomographConfig, VocoderConfig
from deepvoice.kernels import wavenet as wavenet_kernel
from deepvoice.models.conditioner import Conditioner
from deepvoice.models.duration import Duration
from deepvoice.models.f0 import F0
from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme
from deepvoice.models.homographs import Homographs
from deepvoice.models.segmentation import Segmentation
from deepvoice.models.vocoder import Signals, WaveNet, predict
from deepvoice.networks.conditioner import frame_inputs
from deepvoice.networks.vocoder import CONDITIONER, VocoderNetwork
from deepvoice.voice import MODULES, expected_shapes

UNITS = ("", "AH0", "T")
WORDS = {"read": ("past R EH1 D", "present R IY1 D")}


def torch_modules(module, config):
    """The torch modules of one module of a voice, by the prefix of their tensors."""
    if module == "vocoder":
        return {"": WaveNet(config), CONDITIONER: Conditioner(config.conditioner, config.mel.bands)}
    kinds = {
        "segmentation": Segmentation,
        "homographs": Homographs,
        "grapheme_to_phoneme": GraphemeToPhoneme,
        "duration": Duration,
        "f0": F0,
    }
    return {"": kinds[module](config)}


@pytest.mark.parametrize("module", MODULES)
def test_names_and_shapes(module):
    kind = MODULES[module][0]
    needed = {GraphemeToPhonemeConfig: {"units": UNITS}, HomographConfig: {"words": WORDS}}
    config = kind(**needed.get(kind, {}))
    found = {
        prefix + name: tuple(tensor.shape)
        for prefix, network in torch_modules(module, config).items()
        for name, tensor in network.state_dict().items()
    }
    assert found == expected_shapes(module, config)


def test_biases_of_a_piece_equal_those_of_the_whole():
    torch.manual_seed(1)
    config = VocoderConfig()
    wavenet, conditioner = torch_modules("vocoder", config).values()
    tensors = {name: value.numpy() for name, value in wavenet.state_dict().items()}
    tensors |= {CONDITIONER + name: value.numpy() for name, value in conditioner.state_dict().items()}
    network = VocoderNetwork(tensors, config)
    random = np.random.default_rng(1)
    mel = random.normal(-6, 3, (50, config.mel.bands)).astype(np.float32)
    f0 = random.uniform(100, 300, 50).astype(np.float32)
    voiced = random.random(50) < 0.5
    with torch.no_grad():
        expected = wavenet.bias_net(torch.from_numpy(frame_inputs(mel, f0, voiced))[None])[0].numpy()
    for first, last in ((0, 50), (0, 7), (7, 8), (8, 31), (49, 50)):
        assert np.allclose(network.biases(mel, f0, voiced, first, last), expected[first:last], atol=2e-4), (first, last)


@pytest.mark.parametrize("config", [VocoderConfig(), VocoderConfig(bunch=1, dilations=(1, 2, 4), lpc_order=0)])
def test_the_kernel_computes_the_logits_of_the_trained_network(config):
    """Codes forced upon the kernel, and the signal that they decode to shown to torch, must give the same logits."""
    torch.manual_seed(2)
    random = np.random.default_rng(2)
    wavenet, conditioner = torch_modules("vocoder", config).values()
    tensors = {name: value.numpy() for name, value in wavenet.state_dict().items()}
    tensors |= {CONDITIONER + name: value.numpy() for name, value in conditioner.state_dict().items()}
    network = VocoderNetwork(tensors, config)
    frames, hop, margin = 6, config.mel.hop, config.history
    mel = random.normal(-6, 3, (frames, config.mel.bands)).astype(np.float32)
    f0, voiced = random.uniform(100, 300, frames).astype(np.float32), random.random(frames) < 0.7
    lpc = network.predictor(mel)
    pulses = random.uniform(-1, 1, (frames * hop // config.bunch, 2 * config.harmonics)).astype(np.float32)
    codes = np.clip(random.normal(127.5, 12, frames * hop), 0, 255).astype(np.uint8)
    biases = network.biases(mel, f0, voiced, 0, frames)
    scored = wavenet_kernel.teacher_forced(network.weights, biases, lpc, pulses, codes)

    y = np.concatenate([[0], scored.samples.astype(np.float64)])
    signal = (y[1:] - config.pre_emphasis * y[:-1]).astype(np.float32)
    past = torch.from_numpy(np.concatenate([np.zeros(margin, np.float32), signal]))[None]
    residual = np.concatenate([np.zeros(margin, np.float32), expand(codes, config.code_scale)])
    if config.lpc_order:
        prediction = predict(past[:, margin - config.lpc_order :], torch.from_numpy(lpc)[None], hop)
    else:
        prediction = torch.zeros(1, frames * hop)
    signals = Signals(past_BT=past, residual_BT=torch.from_numpy(residual)[None], prediction_BT=prediction)
    inputs = torch.from_numpy(frame_inputs(mel, f0, voiced))[None]
    with torch.no_grad():
        expected = wavenet.logits(signals, inputs, torch.from_numpy(pulses)[None], 0)[0].numpy()
    assert np.abs(scored.logits_TA - expected).max() < 2e-3
