"""Row D7 of reported faults: recordings without any voiced frame. What a logarithm of 0 Hz would do must not happen."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pyworld")

import torch

from deepvoice.audio.mel import MelSpec
from deepvoice.audio.pulses import interpolate_unvoiced
from deepvoice.configs import F0Config
from deepvoice.models.f0 import F0
from deepvoice.recipes.common.features import extract
from deepvoice.recipes.common.sentences import Sentence
from deepvoice.recipes.f0.prepare import heard_f0
from deepvoice.recipes.f0.train import collate, loss_of, normalised, signed_f0
from deepvoice.text.sequence import PhoneSequence


def whisper(seconds):
    """Noise in bursts, as a whisper is."""
    random = np.random.default_rng(3)
    count = round(seconds * 24000)
    envelope = np.interp(np.arange(count), np.linspace(0, count, 12), random.uniform(0, 0.2, 12))
    return (envelope * random.standard_normal(count)).clip(-1, 1).astype(np.float32)


def sentence(f0_F):
    sequence = PhoneSequence(symbols=("sil", "HH", "S", "."), word_of=(-1, 0, 0, -1))
    durations = np.array([10, 20, 20, len(f0_F) - 50])
    return Sentence(name="a", sequence=sequence, durations_P=durations, speed=1.0, f0_F=f0_F)


@pytest.mark.parametrize("kind", ["whisper", "digital silence"])
def test_features_without_pitch_are_finite(kind):
    samples = whisper(1.0) if kind == "whisper" else np.zeros(24000, np.float32)
    features = extract(samples, MelSpec(), seed=0)
    f0_F = heard_f0(features)
    assert np.mean(f0_F > 0) < 0.2 and (f0_F >= 0).all()
    for array in (features.mel_FM, features.f0_F, features.phase_E, features.energy_F):
        assert np.isfinite(np.asarray(array, np.float32)).all()
    assert np.isfinite(interpolate_unvoiced(np.zeros(200, np.float32))).all()


def test_losses_of_a_sentence_without_pitch_are_finite_and_voicing_is_apart():
    unvoiced = sentence(np.zeros(200, np.float32))
    assert (signed_f0(unvoiced.f0_F) < 0).all()  # the flag is the sign: no value stands for both
    config = F0Config(channels=8, layers=1, recurrent=8, frame_channels=8, frame_dilations=(1,))
    torch.manual_seed(0)
    model = F0(config)
    loss, metrics = loss_of(model, collate([unvoiced], config.frame_step), 1.0)
    loss.backward()
    assert np.isfinite([loss.item(), *metrics.values()]).all()
    assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters() if p.grad is not None)


def test_mean_and_spread_come_from_voiced_frames_alone():
    voiced = np.tile([180.0, 0.0, 220.0, 0.0], 50).astype(np.float32)
    config = normalised(F0Config(), [sentence(voiced), sentence(np.zeros(200, np.float32))])
    assert config.log_mean == pytest.approx(np.log([180.0, 220.0]).mean(), abs=1e-5)
    with pytest.raises(ValueError, match="no frame of the corpus is voiced"):
        normalised(F0Config(), [sentence(np.zeros(200, np.float32))])
