import numpy as np
import pytest

from deepvoice import kernels
from deepvoice.configs import F0Config
from deepvoice.errors import ConfigError
from deepvoice.networks.f0 import F0Network, f0_features
from deepvoice.text.context import FRAME_FEATURES, frame_features, timing_features
from deepvoice.text.sequence import from_manifest

CONFIG = F0Config(channels=12, layers=1, recurrent=7, frame_channels=9, frame_width=3, frame_dilations=(1, 2))
SENTENCES = (
    from_manifest("sil DH AH0 K AE1 T , S AE1 T ?", [-1, 0, 0, 1, 1, 1, -1, 2, 2, 2, -1]),
    from_manifest("sil OW1 .", [-1, 0, -1]),
)
DURATIONS = (np.array([0, 3, 5, 4, 9, 1, 0, 6, 12, 2, 7]), np.array([1, 1, 1]))


def random_tensors(config=CONFIG, seed=0, scale=0.4):
    random = np.random.default_rng(seed)
    shapes = F0Network.expected_shapes(config)
    return {name: (scale * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def torch_model(tensors, config=CONFIG):
    torch = pytest.importorskip("torch")
    from deepvoice.models.f0 import F0

    model = F0(config)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in tensors.items()})
    return model.eval()


def padded(arrays):
    torch = pytest.importorskip("torch")
    stacked = np.full((len(arrays), max(map(len, arrays)), *arrays[0].shape[1:]), 3, arrays[0].dtype)  # not zero
    for row, array in zip(stacked, arrays, strict=True):
        row[: len(array)] = array
    return torch.from_numpy(stacked)


def padded_batch():
    torch = pytest.importorskip("torch")
    spread = [frame_features(durations, CONFIG.frame_step) for durations in DURATIONS]
    phones = padded([phone_N for phone_N, _ in spread]).clamp(max=2)
    phones[0] = torch.from_numpy(spread[0][0])
    return (
        padded([s.ids_P for s in SENTENCES]),
        padded([f0_features(s, d) for s, d in zip(SENTENCES, DURATIONS, strict=True)]),
        torch.tensor([len(s) for s in SENTENCES]),
        phones,
        padded([features for _, features in spread]),
        torch.tensor([len(phone_N) for phone_N, _ in spread]),
    )


@pytest.mark.parametrize("step", [1, 2, 3])
def test_speaking_half_agrees_with_torch(step):
    torch = pytest.importorskip("torch")
    config = F0Config(
        channels=12, layers=1, recurrent=7, frame_step=step, frame_channels=9, frame_width=3, frame_dilations=(1, 2)
    )
    tensors = random_tensors(config)
    model = torch_model(tensors, config)
    sentence, durations = SENTENCES[0], DURATIONS[0]
    phone_N, features_NY = frame_features(durations, step)
    with torch.no_grad():
        voicing, pitch = model(
            torch.from_numpy(sentence.ids_P)[None],
            torch.from_numpy(f0_features(sentence, durations))[None],
            torch.tensor([len(sentence)]),
            torch.from_numpy(phone_N)[None],
            torch.from_numpy(features_NY)[None],
            torch.tensor([len(phone_N)]),
        )
    said_voicing, said_pitch = F0Network(tensors, config).outputs(sentence, durations)
    frames = durations.sum()
    np.testing.assert_allclose(said_voicing, voicing[0, :frames].numpy(), atol=2e-4)
    np.testing.assert_allclose(said_pitch, pitch[0, :frames].numpy(), atol=2e-4)


def test_padding_does_not_matter():
    torch = pytest.importorskip("torch")
    tensors = random_tensors()
    with torch.no_grad():
        voicing, pitch = torch_model(tensors)(*padded_batch())
    network = F0Network(tensors, CONFIG)
    for row, (sentence, durations) in enumerate(zip(SENTENCES, DURATIONS, strict=True)):
        said_voicing, said_pitch = network.outputs(sentence, durations)
        np.testing.assert_allclose(said_voicing, voicing[row, : durations.sum()].numpy(), atol=2e-4)
        np.testing.assert_allclose(said_pitch, pitch[row, : durations.sum()].numpy(), atol=2e-4)


def test_tensors_are_those_of_the_torch_module():
    model = torch_model(random_tensors())
    assert {n: tuple(v.shape) for n, v in model.state_dict().items()} == F0Network.expected_shapes(CONFIG)


def test_kernels_and_reference_agree():
    network = F0Network(random_tensors(), CONFIG)
    with kernels.using("reference"):
        reference = network.outputs(SENTENCES[0], DURATIONS[0])
    for ours, expected in zip(network.outputs(SENTENCES[0], DURATIONS[0]), reference, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_optimiser_steps_lower_the_loss():
    torch = pytest.importorskip("torch")
    from deepvoice.models.f0 import F0

    torch.manual_seed(0)
    model = F0(CONFIG)
    batch = padded_batch()
    frames = batch[3].shape[1] * CONFIG.frame_step
    f0 = torch.where(torch.arange(frames) % 7 < 4, 200.0 + torch.arange(frames), -190.0).expand(2, frames)
    mask = torch.ones(2, frames)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(15):
        loss = sum(model.loss(*model(*batch), f0, mask))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]


def test_contour_is_continuous_and_in_range():
    for scale in (0.4, 30.0):
        network = F0Network(random_tensors(scale=scale), CONFIG)
        for sentence, durations in zip(SENTENCES, DURATIONS, strict=True):
            f0, voiced = network(sentence, durations)
            assert f0.dtype == np.float32 and voiced.dtype == np.bool_
            assert f0.shape == voiced.shape == (durations.sum(),)
            assert (f0 >= CONFIG.floor * 0.999).all() and (f0 <= CONFIG.ceiling * 1.001).all()


def test_same_input_same_contour():
    network = F0Network(random_tensors(), CONFIG)
    for first, second in zip(network(SENTENCES[0], DURATIONS[0]), network(SENTENCES[0], DURATIONS[0]), strict=True):
        assert (first == second).all()


def test_weights_that_are_not_finite_still_give_a_contour():
    tensors = random_tensors()
    tensors["output.bias"][:] = np.nan
    f0, voiced = F0Network(tensors, CONFIG)(SENTENCES[0], DURATIONS[0])
    assert np.isfinite(f0).all() and not voiced.any()


def test_no_frames_no_contour():
    f0, voiced = F0Network(random_tensors(), CONFIG)(SENTENCES[0], np.zeros(11, np.int64))
    assert len(f0) == len(voiced) == 0


@pytest.mark.parametrize("durations", [np.ones(4, np.int64), np.array([1] * 10 + [-1])])
def test_durations_that_do_not_fit_are_refused(durations):
    with pytest.raises(ValueError, match="durations"):
        F0Network(random_tensors(), CONFIG)(SENTENCES[0], durations)


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_frames_know_their_phone(step):
    durations = DURATIONS[0]
    phone_N, features = frame_features(durations, step)
    assert (phone_N == np.repeat(np.arange(len(durations)), durations)[::step]).all()
    assert features.shape == (len(phone_N), FRAME_FEATURES)
    assert (features >= 0).all() and (features <= 2).all()


def test_timing_starts_anew_in_every_phrase():
    features = timing_features(SENTENCES[0], DURATIONS[0])
    assert features[1, 1] == features[7, 1] == 0.0 and features[5, 2] == features[9, 2] == 0.0
    assert (np.diff(features[:, 3]) >= 0).all() and features[2, 1] > 0 and features[8, 2] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"channels": 0}, {"frame_width": 2}, {"frame_dilations": (1,) * 17}, {"frame_dilations": (0,)},
        {"frame_step": 0}, {"log_deviation": 0.0}, {"floor": 1.0}, {"floor": 400.0, "ceiling": 300.0},
    ],
)  # fmt: skip
def test_sizes_outside_their_limits_are_refused(wrong):
    with pytest.raises(ConfigError):
        F0Config(**wrong)
