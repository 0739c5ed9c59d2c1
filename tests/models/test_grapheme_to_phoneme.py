import dataclasses

import numpy as np
import pytest

from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import ConfigError, TextError, VoiceError
from deepvoice.networks import grapheme_to_phoneme
from deepvoice.networks.grapheme_to_phoneme import MAX_LETTERS, GraphemeToPhonemeNetwork, letters_of
from deepvoice.text.phones import PHONES, base
from deepvoice.text.pronounce import with_s

UNITS = ("", "AE1", "AH0", "B", "EH1", "IH0", "K", "K S", "S", "T", "Y UW1")
CONFIG = GraphemeToPhonemeConfig(
    units=UNITS, letter_dim=6, encoder_layers=2, encoder_dim=7, decoder_dim=9, unit_dim=5, dropout=0.1
)
PAIR = dataclasses.replace(CONFIG, reverse=True)


def random_tensors(config=CONFIG, seed=0, scale=0.6):
    random = np.random.default_rng(seed)
    shapes = GraphemeToPhonemeNetwork.expected_shapes(config)
    return {name: (scale * random.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def test_every_word_gets_phones_of_the_closed_set():
    network = GraphemeToPhonemeNetwork(random_tensors(), CONFIG)
    words = ["a", "cat", "O'Brien", "zzzz", "'tis", "Xylophone", "b" * 1000, "qu" * 40 + "'" * 80 + "s"]
    said = network(words)
    assert len(said) == len(words)
    assert all(phones and set(phones) <= set(PHONES) for phones in said)
    assert len(said[6]) >= 1000 / MAX_LETTERS


def test_same_word_same_phones_alone_and_in_company():
    network = GraphemeToPhonemeNetwork(random_tensors(), CONFIG)
    assert network(["cat", "tacks"]) == [*network(["cat"]), *network(["tacks"])]
    assert network(["tacks", "cat"])[::-1] == network(["cat", "tacks"])


def test_never_silent_even_when_the_network_prefers_silence():
    tensors = random_tensors()
    tensors["output.bias"][0] = 1e4
    for beam in (1, 4):
        said = GraphemeToPhonemeNetwork(tensors, CONFIG, beam)(["cat", "x" * 100])
        assert all(len(phones) >= 1 for phones in said)


@pytest.mark.parametrize("word", ["", "'", "''", "a1", "naïve-ish", "привет", "日本", "a b", "\0", "e.g.", "½", "-"])
def test_refuses_what_is_not_a_word_of_letters(word):
    network = GraphemeToPhonemeNetwork(random_tensors(), CONFIG)
    with pytest.raises(TextError, match="letter"):
        network([word])


def test_reads_accents_and_typographic_apostrophes():
    assert letters_of("Café") == "cafe"
    assert letters_of("don\u2019t") == "don't"
    assert letters_of("Stra\u00dfe") == "strasse"


def test_a_wider_beam_is_never_less_probable():
    tensors = random_tensors(seed=3)
    words = ["tabasco", "cable", "excuse", "beset"]

    def best(beam, word):
        return max(value for _, value in GraphemeToPhonemeNetwork(tensors, CONFIG, beam).search(word))

    for word in words:
        assert best(64, word) >= best(1, word) - 1e-5


def test_memory_decides_between_readings_and_knows_no_stress():
    asked = []

    def memory(letters, readings):
        asked.append((letters, list(readings)))
        return [100.0 if "T" in reading[0] else 0.0 for reading in readings]

    tensors = random_tensors()
    for word in ("tab", "best", "cask"):
        plain = GraphemeToPhonemeNetwork(tensors, CONFIG).search(word)
        first = {UNITS[units[0]] for units, _ in plain}
        said = GraphemeToPhonemeNetwork(tensors, CONFIG, memory=memory)([word])[0]
        assert ("T" in first) == (said[0] == "T") or len(plain) == 1
    assert asked
    for letters, readings in asked:
        assert len(set(readings)) == len(readings)
        assert all(len(reading) == len(letters) and not set("012") & set("".join(reading)) for reading in readings)


def test_a_possessive_is_the_word_and_its_ending():
    tensors = random_tensors()
    network = GraphemeToPhonemeNetwork(tensors, CONFIG)
    for word in ("tab", "best", "cask", "asks"):
        plain = {tuple(base(p) for u in units for p in UNITS[u].split()) for units, _ in network.search(word)}
        said = tuple(map(base, network([word + "'s"])[0]))
        assert said in {tuple(map(base, with_s(phones))) for phones in plain if phones}
    tensors["output.bias"][0] = 1e4
    assert len(GraphemeToPhonemeNetwork(tensors, CONFIG)(["cat's"])[0]) >= 2
    assert network(["'s"])[0]


@pytest.mark.parametrize(
    ("doubt", "whole", "said"),
    [
        ((-0.6, -0.8), {"EH1": -0.1, "AE1": -2.5}, "B EH1 T S"),  # the word is in doubt, its possessive is not
        ((-0.1, -3.0), {"EH1": -0.1, "AE1": -2.5}, "B AE1 T S"),
        ((-0.6, -0.8), {"IH0": -0.1, "AE1": -2.5}, "B AE1 T S"),  # what only the possessive says is not said
        ((-0.6, -0.8), {"IH0": -0.1}, "B AE1 T S"),
    ],
)
def test_a_possessive_chooses_among_the_readings_of_its_word(monkeypatch, doubt, whole, said):
    network = GraphemeToPhonemeNetwork(random_tensors(), CONFIG)
    ids = {unit: i for i, unit in enumerate(UNITS)}

    def search(word):
        shares = dict(zip(("AE1", "EH1"), doubt, strict=True)) if word == "bat" else whole
        ending = () if word == "bat" else (0, ids["S"])
        return [((ids["B"], ids[vowel], ids["T"], *ending), share) for vowel, share in shares.items()]

    monkeypatch.setattr(network, "search", search)
    assert " ".join(network(["bat's"])[0]) == said


def test_refuses_wrong_tensors_and_beams():
    tensors = random_tensors()
    with pytest.raises(ValueError, match="beam is 0"):
        GraphemeToPhonemeNetwork(tensors, CONFIG, beam=0)
    with pytest.raises(VoiceError, match=r"output\.bias"):
        GraphemeToPhonemeNetwork({k: v for k, v in tensors.items() if k != "output.bias"}, CONFIG)
    with pytest.raises(VoiceError, match="pack the voice again"):
        GraphemeToPhonemeNetwork({**tensors, "output.bias": np.zeros(3, np.float32)}, CONFIG)


@pytest.mark.parametrize(
    "change",
    [
        {"units": ("",)},
        {"units": ("B", "")},
        {"units": ("", "B", "B")},
        {"units": ("", "AA")},
        {"units": ("", "B  T")},
        {"units": ("", "sil")},
        {"encoder_dim": 100_000},
        {"encoder_layers": 0},
        {"dropout": 1.0},
    ],
)
def test_config_limits(change):
    with pytest.raises(ConfigError):
        GraphemeToPhonemeConfig(**{"units": UNITS, **change})


class TestAgainstTorch:
    def model(self, config=CONFIG):
        torch = pytest.importorskip("torch")
        from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme

        torch.manual_seed(0)
        model = GraphemeToPhoneme(config)
        model.load_state_dict({k: torch.from_numpy(v) for k, v in random_tensors(config).items()})
        return torch, model.eval()

    def test_tensor_names_and_shapes(self):
        for config in (CONFIG, PAIR):
            _, model = self.model(config)
            found = {name: tuple(value.shape) for name, value in model.state_dict().items()}
            assert found == GraphemeToPhonemeNetwork.expected_shapes(config)

    @pytest.mark.parametrize("word", ["a", "cat", "tacks'", "abcdefghijklmnopqrstuvwxyz"])
    def test_log_probabilities_agree(self, word):
        torch, model = self.model()
        letters = np.array(["'abcdefghijklmnopqrstuvwxyz".index(c) for c in word])
        for units, log_probability in GraphemeToPhonemeNetwork(random_tensors(), CONFIG, beam=3).search(word):
            units_BG = torch.tensor([units])
            with torch.no_grad():
                logits_BGU = model(torch.from_numpy(letters)[None], model.shift(units_BG))
            expected = logits_BGU.log_softmax(-1).gather(2, units_BG[..., None]).sum()
            assert log_probability == pytest.approx(float(expected), abs=2e-4)

    def test_a_second_network_has_its_share_in_every_reading(self, monkeypatch):
        torch, model = self.model(PAIR)
        tensors = random_tensors(PAIR)
        found = GraphemeToPhonemeNetwork(tensors, PAIR, beam=5).search("tabasco")
        assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
        letters = torch.tensor([["'abcdefghijklmnopqrstuvwxyz".index(c) for c in "tabasco"]])
        with torch.no_grad():
            together = model.log_probabilities(letters, torch.tensor([[units for units, _ in found]]))[0]
        assert [value for _, value in found] == pytest.approx(together.tolist(), abs=2e-4)
        first = {name: value for name, value in tensors.items() if not name.startswith("reverse.")}
        alone = dict(GraphemeToPhonemeNetwork(first, CONFIG, beam=5).search("tabasco"))
        assert set(alone) == {units for units, _ in found}
        assert any(abs(value - alone[units]) > 0.1 for units, value in found)
        monkeypatch.setattr(grapheme_to_phoneme, "DOUBT", 0.0)
        sure = GraphemeToPhonemeNetwork(tensors, PAIR, beam=5).search("tabasco")
        assert dict(sure) == alone

    def test_log_probability_of_given_units(self):
        torch, model = self.model()
        from deepvoice.models.grapheme_to_phoneme import log_probability

        word = "tabasco"
        found = GraphemeToPhonemeNetwork(random_tensors(), CONFIG).search(word)
        letters = ["'abcdefghijklmnopqrstuvwxyz".index(c) for c in word]
        values = log_probability(
            model, torch.tensor([letters] * len(found)), torch.tensor([units for units, _ in found])
        )
        assert values.tolist() == pytest.approx([value for _, value in found], abs=0.3)  # bfloat16

    def test_one_step_lowers_the_loss(self):
        torch, model = self.model()
        from deepvoice.models.grapheme_to_phoneme import loss

        random = torch.Generator().manual_seed(1)
        letters_BG = torch.randint(0, 27, (16, 6), generator=random)
        units_BG = letters_BG % len(UNITS)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        before, numbers = loss(model, letters_BG, units_BG)
        before.backward()
        optimizer.step()
        after, _ = loss(model, letters_BG, units_BG)
        assert 0.0 <= numbers["letter_accuracy"] <= 1.0
        assert float(after.detach()) < float(before.detach())

    def test_extra_words_begin_with_a_mark_of_their_own(self):
        torch, model = self.model()
        units_BG = torch.tensor([[3, 4, 5], [3, 4, 5]])
        previous_BG = model.shift(units_BG, torch.tensor([False, True]), forget=1.0)
        start = len(UNITS)
        assert previous_BG.tolist() == [[start, start, start], [0, start, start]]
        assert model.shift(units_BG).tolist() == [[start, 3, 4], [start, 3, 4]]
