"""Homographs: both halves give the same scores, the loss is learned, configs and tables are checked."""

import numpy as np
import pytest
import torch

from deepvoice.configs import HomographConfig
from deepvoice.errors import ConfigError, VoiceError
from deepvoice.models.homographs import Homographs, loss
from deepvoice.networks.homographs import HomographNetwork, indices_of
from deepvoice.text.heteronyms import Spoken

CONFIG = HomographConfig(
    words={
        "record": ("record_nou R EH1 K ER0 D", "record_vrb R AH0 K AO1 R D"),
        "august": ("august AA1 G AH0 S T", "august_adj AO0 G AH1 S T", "august_nam AW1 G UH0 S T"),
    },
    shared=("record",),
    shared_bits=8,
    own_bits=9,
    class_bits=8,
    classes=5,
    coarse=2,
)
SENTENCES = [("to record a song", 1), ("a record of it", 1), ("in august , it rained", 1), ("record", 0)]


def spoken(text):
    return tuple(Spoken(word, word == "august") for word in text.split())


def random_tensors():
    random = np.random.default_rng(1)
    shapes = HomographNetwork.expected_shapes(CONFIG)
    tensors = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    tensors["classes"] = random.integers(0, 6, shapes["classes"]).astype(np.float32)
    tensors["coarse"] = random.integers(0, 3, shapes["coarse"]).astype(np.float32)
    return tensors


def test_both_halves_give_the_same_scores():
    tensors = random_tensors()
    network, model = HomographNetwork(tensors, CONFIG), Homographs(CONFIG)
    model.load_state_dict({name: torch.from_numpy(values) for name, values in tensors.items()})
    places = [(spoken(text), index) for text, index in SENTENCES]
    batch = [indices_of(words, index, CONFIG, tensors["classes"], tensors["coarse"]) for words, index in places]
    with torch.no_grad():
        scores = model(batch).numpy()
    for row, (words, index) in zip(scores, places, strict=True):
        found = network.scores(words, index)
        assert np.allclose(row[: len(found)], found, atol=1e-4) and np.isneginf(row[len(found) :]).all()
        assert network(words, index).reading == CONFIG.words[words[index].text][int(found.argmax())].split(" ")[0]


def test_the_loss_is_learned_and_the_penalty_counts():
    model = Homographs(CONFIG)
    classes, coarse = model.classes.numpy(), model.coarse.numpy()
    batch = [indices_of(spoken(text), index, CONFIG, classes, coarse) for text, index in SENTENCES[:3]]
    right = torch.tensor([1, 0, 0])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(30):
        value = loss(model, batch, right, (1e-4, 1e-4))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    assert model(batch).argmax(1).tolist() == right.tolist()
    with torch.no_grad():
        assert loss(model, batch, right, (1.0, 1.0)) > loss(model, batch, right, (0.0, 0.0)) + 0.1


def test_words_of_the_shared_table_learn_from_each_other():
    config = HomographConfig(
        words={word: (f"{word}_nou T", f"{word}_vrb D") for word in ("record", "desert")}, shared=("record", "desert")
    )
    model = Homographs(config)
    classes, coarse = model.classes.numpy(), model.coarse.numpy()
    batch = [indices_of(spoken(text), 1, config, classes, coarse) for text in ("to record it", "the record is")]
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(20):
        value = loss(model, batch, torch.tensor([1, 0]), (1e-5, 1e-5))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
    network = HomographNetwork({name: value.numpy() for name, value in model.state_dict().items()}, config)
    assert network(spoken("to desert it"), 1).reading == "desert_vrb"
    assert network(spoken("the desert is"), 1).reading == "desert_nou"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"words": {}}, "number of words"),
        ({"words": {"a": ("x T",)}}, "number of readings"),
        ({"words": {"a": ("x T", "y QQ")}}, "expected a name and ARPAbet"),
        ({"words": {"a": ("x T", "y")}}, "expected a name and ARPAbet"),
        ({"words": {"a": ("x T", "y D")}, "shared": ("b",)}, "shared holds 'b'"),
        ({"words": {"a": ("x T", "y D")}, "own_bits": 30}, "own_bits"),
    ],
)
def test_wrong_configs_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        HomographConfig(**settings)


def test_wrong_tables_are_refused():
    tensors = random_tensors()
    with pytest.raises(VoiceError, match="missing"):
        HomographNetwork({name: value for name, value in tensors.items() if name != "own"}, CONFIG)
    with pytest.raises(VoiceError, match="pack the voice again"):
        HomographNetwork({**tensors, "shared": np.zeros(3, np.float32)}, CONFIG)
    with pytest.raises(VoiceError, match="no classes"):
        HomographNetwork({**tensors, "classes": tensors["classes"] + 1.0}, CONFIG)
