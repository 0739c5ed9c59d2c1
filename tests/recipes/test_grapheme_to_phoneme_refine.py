import math

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from deepvoice.config import to_dict
from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import ConfigError
from deepvoice.models.grapheme_to_phoneme import GraphemeToPhoneme, expected_error, log_probability
from deepvoice.networks.grapheme_to_phoneme import LETTERS
from deepvoice.recipes.common.checkpoint import load_checkpoint, save_checkpoint
from deepvoice.recipes.common.faults import DataError
from deepvoice.recipes.grapheme_to_phoneme import average, hypotheses, pair, refine
from deepvoice.recipes.grapheme_to_phoneme.evaluate import from_checkpoint
from deepvoice.recipes.grapheme_to_phoneme.lexicon import word_families
from deepvoice.recipes.grapheme_to_phoneme.prepare import build, write
from deepvoice.text.phones import phone_set_hash

VOWELS = {"a": "AE1", "i": "IH1", "o": "AA1"}
WORDS = {
    first + vowel + last: [(first.upper(), VOWELS[vowel], last.upper())]
    for first in "bdkts" for vowel in "aio" for last in "bdkts"
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """An untrained network, its data, and the readings it finds."""
    folder = tmp_path_factory.mktemp("g2p")
    entries, units = build(WORDS, min_count=1)
    write(entries, units, folder / "data")
    config = GraphemeToPhonemeConfig(units=units, letter_dim=8, encoder_layers=1, encoder_dim=12, decoder_dim=16,
                                     unit_dim=8, dropout=0.1)  # fmt: skip
    torch.manual_seed(0)
    weights = GraphemeToPhoneme(config).state_dict()
    (folder / "first").mkdir()
    state = {
        "config": to_dict(config),
        "meta": {"phones": phone_set_hash()},
        "step": 5,
        "ema": weights,
        "model": weights,
    }
    save_checkpoint(state, folder / "first" / "last.pt")
    command = ["--data", str(folder / "data"), "--teacher", str(folder / "first" / "last.pt")]
    assert hypotheses.main([*command, "--out", str(folder / "readings.npz")]) == 0
    return folder, entries, units


def test_hypotheses_hold_a_listed_reading_of_every_training_word(trained):
    folder, entries, units = trained
    found = hypotheses.load(folder / "readings.npz")
    assert sum(len(row.letters_WG) for row in found.values()) == sum(e.split == "train" for e in entries)
    for length, row in found.items():
        assert row.units_WKG.shape == (len(row.letters_WG), hypotheses.READINGS, length)
        real = np.isfinite(row.memory_WK)
        assert real[:, 0].all() and not (row.listed_WK & ~real).any() and row.taught_WK.any(1).all()
        assert not (row.taught_WK & ~row.listed_WK).any()
        taught = row.units_WKG[0, row.taught_WK[0]]
        said = [tuple(" ".join(units[unit] for unit in reading).split()) for reading in taught]
        word = "".join(LETTERS[i] for i in row.letters_WG[0])
        assert said == [WORDS[word][0]]


def test_words_of_a_family_are_in_one_part_and_the_parts_are_about_equal():
    families = word_families([*WORDS, "carry", "carries", "carrying"])
    assert len({hypotheses.part_of(families[word]) for word in ("carry", "carries", "carrying")}) == 1
    counts = [0] * hypotheses.PARTS
    for number in range(2000):
        counts[hypotheses.part_of(f"word{number}")] += 1
    assert min(counts) > 140 and max(counts) < 260


def test_expected_error_counts_what_is_not_listed():
    config = GraphemeToPhonemeConfig(units=("", "AE1", "B", "IH1"), letter_dim=4, encoder_layers=1, encoder_dim=4,
                                     decoder_dim=4, unit_dim=4, dropout=0.0)  # fmt: skip
    model = GraphemeToPhoneme(config).eval()
    letters, units = torch.tensor([[2, 1]]), torch.tensor([[[2, 1], [2, 3], [2, 3]]])
    memory = torch.tensor([[0.0, 0.7, -math.inf]])
    listed = torch.tensor([[False, True, False]])
    with torch.no_grad():
        one, two = model.log_probabilities(letters, units)[0, :2].tolist()
        for k in range(2):
            value = float(log_probability(model, letters, units[:, k]))
            assert value == pytest.approx((one, two)[k], abs=0.05)  # in bfloat16
        right = math.exp(two + 0.7) / (math.exp(two + 0.7) + math.exp(one))
        value, numbers = expected_error(model, letters, units, memory, listed, listed, 0.0)
        assert float(value) == pytest.approx(1.0 - right, abs=1e-5) and numbers["right"] == float(right > 0.5)
        value, _ = expected_error(model, letters, units, memory, listed, listed, 0.3)
        assert float(value) == pytest.approx(1.0 - right - 0.3 * two / 2, abs=1e-5)


def test_refining_makes_listed_readings_likelier_and_resumes_exactly(trained, tmp_path):
    folder, _, _ = trained
    begin = folder / "first" / "last.pt"
    schedule = refine.RefineSettings(
        steps=30, letters_per_batch=90, learning_rate=2e-2, weight_decay=0.0, ema=0.5, clip=1.0, dropout=0.0,
        likelihood=0.3, seed=0,
    )  # fmt: skip
    settings = refine.Settings(training=schedule)
    whole = refine.run(settings, folder / "readings.npz", tmp_path / "whole", begin)
    refine.run(settings, folder / "readings.npz", tmp_path / "halves", begin, minutes=0.0)
    halves = refine.run(settings, folder / "readings.npz", tmp_path / "halves", begin)
    assert all(bool((halves.ema[name] == value).all()) for name, value in whole.ema.items())
    batch = refine.HypothesisBatches(hypotheses.load(folder / "readings.npz"), 10_000, 0).batch(0)
    errors = []
    for path in (begin, tmp_path / "whole" / "last.pt"):
        model = GraphemeToPhoneme(whole.model.config).eval()
        model.load_state_dict(load_checkpoint(path)["ema"])
        with torch.no_grad():
            errors.append(float(expected_error(model, *batch, 0.0)[0]))
    assert errors[1] < 0.7 * errors[0]
    command = ["--data", str(folder / "readings.npz"), "--out", str(tmp_path / "other"), "--steps", "1"]
    assert refine.main([*command, "--start", str(begin), "--seed", "3"]) == 0
    assert load_checkpoint(tmp_path / "other" / "last.pt")["step"] == 1
    with pytest.raises(DataError, match="no word has both"):
        refine.HypothesisBatches({}, 100, 0)


@pytest.fixture
def two_networks(trained, tmp_path):
    """Two checkpoints that differ in their weights, and their paths."""
    paths = [trained[0] / "first" / "last.pt", tmp_path / "other.pt"]
    first = load_checkpoint(paths[0])
    other = {**first, "ema": {name: value + 1.0 for name, value in first["ema"].items()}}
    save_checkpoint(other, paths[1])
    return first, other, paths


def test_pair_of_networks(two_networks, tmp_path):
    first, other, paths = two_networks
    assert pair.main([*map(str, paths), "--out", str(tmp_path / "both")]) == 0
    both = load_checkpoint(tmp_path / "both" / "last.pt")
    assert both["config"] == {**first["config"], "reverse": True} and both["meta"] == first["meta"]
    for name, value in first["ema"].items():
        assert torch.equal(both["ema"][name], value) and torch.equal(both["ema"][f"reverse.{name}"], value + 1.0)
    network = from_checkpoint(tmp_path / "both" / "last.pt", beam=4)
    assert all(network(["bad", "kit"]))
    with pytest.raises(ConfigError, match="is a pair already"):
        pair.pair(paths[0], tmp_path / "both" / "last.pt")
    save_checkpoint({**other, "config": {**first["config"], "unit_dim": 9}}, tmp_path / "other.pt")
    with pytest.raises(ConfigError, match="unit_dim"):
        pair.pair(*paths)


def test_average_of_weights(two_networks, tmp_path):
    first, other, paths = two_networks
    assert average.main([*map(str, paths), "--out", str(tmp_path / "mean")]) == 0
    mean = load_checkpoint(tmp_path / "mean" / "last.pt")
    assert mean["config"] == first["config"] and mean["meta"] == first["meta"]
    assert all(torch.allclose(mean["ema"][name], value + 0.5) for name, value in first["ema"].items())
    save_checkpoint({**other, "config": {**first["config"], "unit_dim": 9}}, tmp_path / "other.pt")
    with pytest.raises(ConfigError, match="unit_dim"):
        average.average(paths)
