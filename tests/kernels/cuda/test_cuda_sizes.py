"""Every size that a voice's config allows runs on every card: from the config and its tensors to the kernel."""

from typing import Any

import numpy as np
import pytest

from deepvoice.audio.mel import MelSpec
from deepvoice.configs import VocoderConfig
from deepvoice.errors import ConfigError
from deepvoice.kernels import wavenet
from deepvoice.kernels.parity.cases import random_arguments
from deepvoice.kernels.weights import WaveNetWeights
from deepvoice.networks.vocoder import VocoderNetwork, wavenet_weights
from tests.kernels.cuda.conftest import ON_DEVICE
from tests.kernels.test_wavenet import FLOOR, centred_uniforms

SHARED_BYTES = {75: 65536, 80: 166912, 89: 101376, 90: 232448}  # that a block may ask for
LEAST = dict.fromkeys(("residual", "skip", "head"), 4) | dict.fromkeys(("bunch", "history", "head_history"), 1)
LEAST |= {"harmonics": 0, "lpc_order": 0}
MOST = {"residual": 512, "skip": 1024, "head": 512, "history": 64, "head_history": 64, "harmonics": 32, "lpc_order": 32}
EXTREMES: dict[str, dict[str, Any]] = {
    "least": {**LEAST, "dilations": (1,)},
    "most": {**MOST, "dilations": (1, 2), "bunch": 16},
    "most layers": {"dilations": (1024,) * 64, "residual": 16},
    "most layers and a wide skip": {"dilations": (1,) * 64, "skip": 1024, "bunch": 16},
    **{f"{name} {value}": {name: value} for name, value in MOST.items()},
    **{f"{name} {value}": {name: value} for name, value in LEAST.items()},
}
RUN = ("least", "residual 512", "head 4")  # the others' plans are looked at


def weights_of(sizes: dict[str, Any]) -> WaveNetWeights:
    bunch = sizes.get("bunch", 2)
    config = VocoderConfig(**{"dilations": (1, 3), **sizes, "bunch": bunch, "mel": MelSpec(hop=2 * bunch)})
    random = np.random.default_rng(1)
    tensors = {
        name: (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float16).astype(np.float32)
        for name, shape in VocoderNetwork.expected_shapes(config).items()
        if not name.startswith(("bias_net", "conditioner"))
    }
    return wavenet_weights(tensors, config)


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_sizes_fit_every_card(emulated, name):
    weights = weights_of(EXTREMES[name])
    wavenet.prepare(weights, backend="cuda")
    for capability, shared_bytes in SHARED_BYTES.items():
        emulated.set_capability(capability)
        made = weights._packed["cuda"]
        made.wish()  # forgets the plans of the card before
        for streams in (1, 32):
            plan = made.plan(streams)
            assert plan["shared_bytes"] <= shared_bytes
            assert plan["cluster"] == 1 or capability == 90
            assert sum(layers for _, layers, _ in plan["stages"]) == weights.shape.layers
            assert sum(samples for *_, samples in plan["stages"]) == weights.shape.bunch


@pytest.mark.parametrize("name", RUN)
def test_extreme_sizes_say_what_the_reference_says(assert_matches, name):
    weights = weights_of(EXTREMES[name])
    inputs = random_arguments(weights.shape, 2)
    inputs["uniforms_T"], expected = centred_uniforms(weights, inputs, FLOOR)
    wavenet.prepare(weights, backend="cuda")
    if not ON_DEVICE:
        weights._packed["cuda"].wish(threads=64)
    actual = wavenet.generate(weights, **inputs, floor=FLOOR, backend="cuda")
    assert np.array_equal(actual.codes, expected.codes)
    assert_matches(actual.samples, expected.samples, op="wavenet_samples")


@pytest.mark.parametrize("name", ["code_scale", "signal_gain"])
def test_no_config_holds_what_the_kernels_refuse(name):
    assert weights_of({name: 1000.0}).shape.bunch == 2
    with pytest.raises(ConfigError, match=rf"vocoder\.{name}"):
        VocoderConfig(**{name: 1001.0})
