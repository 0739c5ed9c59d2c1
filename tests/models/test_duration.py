import numpy as np
import pytest

from deepvoice import kernels
from deepvoice.configs import DurationConfig
from deepvoice.errors import ConfigError
from deepvoice.networks.duration import MAX_FRAMES, DurationNetwork, duration_features, whole_frames
from deepvoice.text.context import CONTEXT_FEATURES, context_features
from deepvoice.text.phones import NUM_SILENCES
from deepvoice.text.sequence import from_manifest

CONFIG = DurationConfig(channels=12, layers=2, width=3, recurrent=7, hidden=10, buckets=20)
SENTENCES = (
    from_manifest("sil DH AH0 K AE1 T , S AE1 T ?", [-1, 0, 0, 1, 1, 1, -1, 2, 2, 2, -1]),
    from_manifest("sil OW1 .", [-1, 0, -1]),
    from_manifest("sil S T AA1 P !", [-1, 0, 0, 0, 0, -1]),
)


def random_tensors(config=CONFIG, seed=0, scale=0.4):
    random = np.random.default_rng(seed)
    shapes = DurationNetwork.expected_shapes(config)
    return {name: (scale * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def torch_model(tensors, config=CONFIG):
    torch = pytest.importorskip("torch")
    from deepvoice.models.duration import Duration

    model = Duration(config)
    model.load_state_dict({name: torch.from_numpy(value) for name, value in tensors.items()})
    return model.eval()


def padded_batch(sentences):
    torch = pytest.importorskip("torch")
    size = max(len(s) for s in sentences)
    ids = torch.zeros(len(sentences), size, dtype=torch.int64)
    features = torch.full((len(sentences), size, CONFIG.features), 7.0)  # padding must not matter
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = torch.from_numpy(sentence.ids_P)
        features[row, : len(sentence)] = torch.from_numpy(duration_features(sentence, 1.2))
    return ids, features, torch.tensor([len(s) for s in sentences])


def test_speaking_half_agrees_with_torch_on_padded_batches():
    torch = pytest.importorskip("torch")
    tensors = random_tensors()
    model = torch_model(tensors)
    with torch.no_grad():
        logits = model(*padded_batch(SENTENCES))
        medians = model.median(logits).numpy()
    network = DurationNetwork(tensors, CONFIG)
    for row, sentence in enumerate(SENTENCES):
        said = network.logits(sentence, 1.2)
        np.testing.assert_allclose(said, logits[row, : len(sentence)].numpy(), atol=2e-4)
        np.testing.assert_allclose(network.median(said), medians[row, : len(sentence)], atol=2e-3)


def test_tensors_are_those_of_the_torch_module():
    model = torch_model(random_tensors())
    assert {n: tuple(v.shape) for n, v in model.state_dict().items()} == DurationNetwork.expected_shapes(CONFIG)


def test_kernels_and_reference_give_the_same_durations():
    network = DurationNetwork(random_tensors(), CONFIG)
    with kernels.using("reference"):
        reference = network.logits(SENTENCES[0], 1.0)
    np.testing.assert_allclose(network.logits(SENTENCES[0], 1.0), reference, atol=1e-4)


def test_bidirectional_gru_is_torch_on_packed_sequences():
    torch = pytest.importorskip("torch")
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    from deepvoice.models.phone_encoder import bidirectional_gru

    gru = torch.nn.GRU(5, 6, batch_first=True, bidirectional=True)
    x, lengths = torch.randn(3, 9, 5), torch.tensor([9, 1, 4])
    packed, _ = gru(pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True, total_length=9)
    mine = bidirectional_gru(gru, x, lengths)
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(mine[row, :length], expected[row, :length])


def test_optimiser_steps_lower_the_loss():
    torch = pytest.importorskip("torch")
    from deepvoice.models.duration import Duration

    torch.manual_seed(0)
    model = Duration(CONFIG)
    batch = padded_batch(SENTENCES)
    mask = (torch.arange(batch[0].shape[1]) < batch[2][:, None]).float()
    target = (batch[0] % 9).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(12):
        loss = model.loss(model(*batch), target, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.7 * losses[0]


def test_loss_is_least_at_the_true_duration():
    torch = pytest.importorskip("torch")
    model = torch_model(random_tensors())
    centres, mask = CONFIG.bucket_centres(), torch.ones(1, 1)
    logits = 20.0 * torch.eye(CONFIG.buckets)[:, None, None, :]
    losses = [float(model.loss(row, torch.tensor([[centres[7]]]), mask)) for row in logits]
    assert int(np.argmin(losses)) == 7 and losses[7] < 1e-6
    assert float(model.median(logits[7])) == pytest.approx(centres[7], abs=0.1)


@pytest.mark.parametrize("speed", [0.1, 0.5, 0.7, 1.0, 1.5, 2.0, 10.0])
def test_every_phone_is_heard_and_nothing_is_endless(speed):
    network = DurationNetwork(random_tensors(scale=2.0), CONFIG)
    for sentence in SENTENCES:
        durations = network(sentence, speed)
        assert durations.dtype == np.int64 and durations.shape == (len(sentence),)
        assert (durations >= (sentence.ids_P >= NUM_SILENCES)).all() and (durations <= MAX_FRAMES).all()


def test_speaking_rate_scales_durations_beyond_the_trained_range():
    network = DurationNetwork(random_tensors(), CONFIG)
    slow, slower = network(SENTENCES[0], CONFIG.slowest).sum(), network(SENTENCES[0], CONFIG.slowest / 2).sum()
    assert slower == pytest.approx(2 * slow, abs=len(SENTENCES[0]))


def test_same_sentence_same_durations():
    network = DurationNetwork(random_tensors(), CONFIG)
    assert (network(SENTENCES[0]) == network(SENTENCES[0])).all()


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
def test_senseless_speaking_rates_are_refused(speed):
    with pytest.raises(ValueError, match="speed"):
        DurationNetwork(random_tensors(), CONFIG)(SENTENCES[0], speed)


def test_weights_that_are_not_finite_still_give_durations():
    tensors = random_tensors()
    tensors["output.weight"][3] = np.inf
    tensors["output.bias"][5] = np.nan
    durations = DurationNetwork(tensors, CONFIG)(SENTENCES[0])
    assert (durations >= 0).all() and (durations <= MAX_FRAMES).all()


def test_rounding_keeps_the_length_of_the_sentence():
    random = np.random.default_rng(3)
    durations = random.uniform(1.0, 20.0, 200)
    whole = whole_frames(durations, np.zeros(200, np.int64))
    assert abs(whole.sum() - durations.sum()) <= 0.5
    assert np.abs(whole - durations).max() <= 1.0


def test_context_knows_phrases_and_marks():
    features = context_features(SENTENCES[0])
    assert features.shape == (11, CONTEXT_FEATURES)
    assert features[:, 10].all() and not features[:, 11].any()
    assert features[1:6, 8].all() and not features[7:, 8].any() and features[7:10, 9].all()
    np.testing.assert_allclose(features[[1, 5], 3], [0.0, 1.0])
    assert not features[[0, 6, 10]][:, [0, 1, 3, 4, 5, 6, 8, 9]].any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"channels": 0}, {"channels": 10**9}, {"layers": 17}, {"width": 4}, {"recurrent": 5000}, {"buckets": 1},
        {"bucket_ratio": 0.5}, {"bucket_ratio": 1.2, "buckets": 512}, {"slowest": 2.0}, {"fastest": 0.5},
    ],
)  # fmt: skip
def test_sizes_outside_their_limits_are_refused(wrong):
    with pytest.raises(ConfigError):
        DurationConfig(**wrong)
