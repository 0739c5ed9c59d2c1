"""What the segmentation network makes of a recording's level, channel and speaker, and the changes it learns from."""

import numpy as np
import pytest

from deepvoice.audio.mel import MelSpec, band_edges_hz, log_mel
from deepvoice.config import ConfigError
from deepvoice.configs import SegmentationConfig
from deepvoice.networks.segmentation import SegmentationNetwork, normalise
from deepvoice.recipes.segmentation import augment
from deepvoice.recipes.segmentation.augment import Augmentation

SPEC = MelSpec()
CENTRES = band_edges_hz(SPEC)[1:-1]
TYPICAL = np.full(80, -6.0, np.float32)


def network(config):
    random = np.random.default_rng(0)
    shapes = SegmentationNetwork.expected_shapes(config)
    tensors = {name: random.standard_normal(shape).astype(np.float32) * 0.1 for name, shape in shapes.items()}
    return SegmentationNetwork(tensors | {"typical": TYPICAL}, config)


def speech_like(frames=400, seed=0):
    """Bursts of coloured power between stretches of near silence."""
    random = np.random.default_rng(seed)
    loud = np.repeat(random.random(frames // 20) < 0.7, 20)
    mel = random.standard_normal((frames, 80)) - 6 - 0.05 * np.arange(80)
    return np.where(loud[:, None], mel, -19.0).astype(np.float32)


@pytest.mark.parametrize("gain", [-6.0, -2.0, 3.0])
def test_the_level_does_not_matter(gain):
    mel = speech_like()
    assert np.allclose(normalise(mel, TYPICAL)[:20], normalise(mel + np.float32(gain), TYPICAL)[:20], atol=1e-4)


def test_a_long_recording_loses_its_channel_and_a_short_one_keeps_what_it_says():
    colour = np.linspace(-3, 3, 80).astype(np.float32)
    for frames, least, most in ((4000, -0.25, 0.25), (20, 0.5, 1.1)):
        mel = speech_like(frames)
        mel = np.maximum(mel, -12.0)  # so that nothing is cut
        left = normalise(mel + colour, TYPICAL) - normalise(mel, TYPICAL)
        tilt = (left.mean(axis=0)[-1] - left.mean(axis=0)[0]) * 3.0 / 6.0
        assert least <= tilt <= most


@pytest.mark.parametrize("value", [-20.7, 0.0, 60.0, 1000.0])
def test_a_constant_recording_gives_finite_scores(value):
    scores = network(SegmentationConfig(channels=8, layers=1))(np.full((10, 80), value, np.float32))
    assert all(np.isfinite(getattr(scores, name)).all() for name in ("left_TV", "right_TV", "boundary_T", "frame_FV"))


def test_an_empty_recording_gives_no_scores():
    scores = network(SegmentationConfig(channels=8, layers=1))(np.zeros((0, 80), np.float32))
    assert len(scores.frame_FV) == len(scores.left_TV) == 0


def test_scores_depend_on_their_surroundings_alone():
    config = SegmentationConfig(channels=8, layers=4, dilations=(1, 3), stem=5)
    assert config.reach == 2 * (2 + 1 + 3 + 1 + 3)
    mel = speech_like()
    changed = mel.copy()
    changed[200] += 1.0  # of 400 frames: the level and the mean hardly move
    apart = np.abs(network(config)(mel).frame_FV - network(config)(changed).frame_FV).max(axis=1)
    assert apart[200 - config.reach : 200 + config.reach].max() > 1e-2
    outside = np.delete(apart, np.arange(198 - config.reach, 204 + config.reach))
    assert outside.max() < 1e-2


def tone(hz, frames=60):
    samples = 0.3 * np.sin(2 * np.pi * hz * np.arange(frames * SPEC.hop) / SPEC.sample_rate)
    return log_mel(samples.astype(np.float32), SPEC)


@pytest.mark.parametrize(("formants", "pitch"), [(1.2, 1.2), (0.8, 0.8)])
def test_another_voice_has_its_frequencies_elsewhere(formants, pitch):
    mel = tone(1500.0)
    changed = augment.change_voice(mel, SPEC, formants, pitch, 1.0)
    assert changed.shape == mel.shape
    found = CENTRES[changed[30].argmax()]
    assert found == pytest.approx(1500.0 * formants, rel=0.06)


def test_factors_of_one_change_nothing():
    mel = speech_like()
    assert np.allclose(augment.change_voice(mel, SPEC, 1.0, 1.0, 1.0), mel, atol=1e-3)
    assert np.allclose(augment.change_speed(mel, 1.0, 1), mel, atol=1e-5)


def test_speed_keeps_room_for_the_phones():
    mel = speech_like(100)
    assert len(augment.change_speed(mel, 2.0, 1)) == 50
    assert len(augment.change_speed(mel, 2.0, 80)) == 80
    assert len(augment.change_speed(mel, 2.0, 200)) == 100  # it had no room before
    slow = augment.change_speed(mel, 0.5, 1)
    assert np.abs(slow[1:-1:2] - mel[:-1] * 0.75 - mel[1:] * 0.25).max() < 1.0 + np.abs(np.diff(mel, axis=0)).max()


def test_noise_lies_under_the_speech_by_the_ratio():
    mel = speech_like(2000)
    loud = np.percentile(np.log(np.exp(mel).sum(axis=1)), 95)
    noisy = augment.add_noise(mel, SPEC, 20.0, np.random.default_rng(0))
    quiet = noisy[mel[:, 0] < -18]
    power = np.log(np.exp(quiet).sum(axis=1).mean())
    assert (loud - power) * 10 / np.log(10) == pytest.approx(20.0, abs=1.0)


def test_a_narrow_band_has_nothing_outside():
    mel = speech_like()
    narrow = augment.narrow_band(mel, SPEC, 3400.0, telephone=True)
    inside = (CENTRES >= 300) & (CENTRES <= 3400)
    assert np.array_equal(narrow[:, inside], mel[:, inside])
    assert (narrow[:, ~inside] < -20).all()


def test_an_echo_fills_what_follows_a_sound_and_nothing_before_it():
    mel = np.full((60, 80), -18.0, np.float32)
    mel[20:25] = -4.0
    echoing = augment.add_echo(mel, 0.3, 0.2)
    assert (echoing[:20] < mel[:20] + 1.1).all()  # the echo of near silence is near silence
    assert echoing[26, 0] > -12
    assert echoing[26, 0] > echoing[40, 0]


def test_changes_are_a_function_of_the_random_numbers_and_a_share_stays_clean():
    mel = speech_like()
    rule = Augmentation(clean=0.5)
    results = [augment.augment(mel, SPEC, rule, np.random.default_rng(seed), 10) for seed in range(40)]
    again = [augment.augment(mel, SPEC, rule, np.random.default_rng(seed), 10) for seed in range(40)]
    assert all(np.array_equal(a, b) for a, b in zip(results, again, strict=True))
    assert 8 <= sum(result is mel for result in results) <= 32
    assert all(np.isfinite(result).all() and result.dtype == np.float32 for result in results)


def test_settings_out_of_range_are_refused():
    with pytest.raises(ConfigError, match=r"augmentation.clean"):
        Augmentation(clean=1.5)
    with pytest.raises(ConfigError, match=r"augmentation.most_snr"):
        Augmentation(least_snr=10.0, most_snr=5.0)
