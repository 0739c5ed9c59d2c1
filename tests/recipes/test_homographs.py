"""The homographs recipe on a few made-up sentences: reading, holding out, classes, training, scoring."""

import json

import numpy as np
import pytest

from deepvoice.config import load_toml
from deepvoice.errors import ConfigError
from deepvoice.recipes.homographs import data, evaluate, train
from deepvoice.recipes.homographs.classes import ClassSettings, classify
from deepvoice.recipes.homographs.score import majority, score_choice
from deepvoice.text.phones import PHONES

NOUNS = ["The {} is old.", "It was a {}.", "My {} is here.", "She saw this {}.", "Every {} counts."]
VERBS = ["They will {} it.", "I want to {} them.", "We must {} now.", "You can {} this.", "He did not {} her."]


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """A file in the layout of the public data; an accent before the homograph tells bytes from characters."""
    lines = []
    for word in ("record", "permit", "insult", "convict"):
        for kind, frames in (("nou", NOUNS), ("vrb", VERBS)):
            for frame in frames:
                for name in ("José", "Ann", "Zoë", "Bo"):
                    text = f"{name} said: {frame.format(word)}"
                    start = len(text[: text.index(word)].encode())
                    lines.append(f'"{word}"\t"{word}_{kind}"\t"{text}"\t{start}\t{start + len(word)}')
    path = tmp_path_factory.mktemp("homographs") / "sentences.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def found(sentences):
    return list(data.places(data.read_rows(sentences), data.read_readings(data.default_readings())))


def test_places(found):
    assert len(found) == 160 and all(place.words[place.index].text == place.word for place in found)
    assert {place.words[0].text for place in found} == {"josé", "ann", "zoë", "bo"}
    assert 0 < sum(place.held_out for place in found) < 40
    assert data.is_held_out("x") == data.is_held_out("x")


def test_the_recipes_own_files():
    readings = data.read_readings(data.default_readings())
    assert all(len({r.name for r in entry}) == len(entry) >= 2 for entry in readings.values())
    assert all(set(r.phones.split()) <= set(PHONES) for entry in readings.values() for r in entry)
    rows = data.read_own(data.own_sentences())
    assert len(rows) > 300
    assert all(row.sentence[row.start :].lower().startswith(row.word) for row in rows)
    assert len(list(data.places(rows, readings))) == len(rows)


@pytest.mark.parametrize("line", ["read_past no braces", "read_past open {read", "read_past empty {}"])
def test_wrong_sentences_are_refused(tmp_path, line):
    path = tmp_path / "own.txt"
    path.write_text("# comment\n\n" + line, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"own\.txt:3"):
        data.read_own(path)


def test_unknown_readings_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="no reading 'read_future'"):
        list(data.places([data.Row("read", "read_future", "I read.", 2)], data.read_readings(data.default_readings())))
    path = tmp_path / "readings.txt"
    path.write_text("read read_past\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"readings\.txt:1"):
        data.read_readings(path)


def test_words_in_similar_places_share_a_class():
    text = [f"the {noun} is {adjective} now".split() for noun in ("cat", "dog", "fox") for adjective in ("old", "big")]
    settings = ClassSettings(least=2, contexts=50, dimensions=4, rounds=10)
    table, coarse = classify(text * 3, settings, bits=10, classes=4, coarse=2)
    number = {word: table[data_class(word)] for word in ("cat", "dog", "fox", "is", "zebra")}
    assert number["cat"] == number["dog"] == number["fox"] != number["is"] and number["zebra"] == 0
    assert coarse.shape == (5,) and coarse[0] == 0 and set(coarse[1:]) <= {1.0, 2.0}


def data_class(word):
    from deepvoice.networks.homographs import class_of

    return class_of(word, 10)


def test_training_and_evaluation(found, sentences, tmp_path, capsys):
    settings = load_toml(train.Settings, write_config(tmp_path / "config.toml"))
    train.train(settings, found, found[:4], [], tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert rows[-1]["train"] < 0.5 * rows[0]["train"] and rows[-1]["held_out_right"] > 90.0
    evaluate.main(
        [str(sentences), "--checkpoint", str(tmp_path / "run" / "last.pt"), "--json", str(tmp_path / "s.json")]
    )
    figures = json.loads((tmp_path / "s.json").read_text())
    assert figures["table"]["classifier"]["right"] > figures["table"]["majority"]["right"]
    assert "| classifier |" in capsys.readouterr().out


def write_config(path):
    path.write_text(
        "[model]\nshared_bits = 10\nown_bits = 12\nclass_bits = 10\nclasses = 8\ncoarse = 3\n"
        "[training]\nepochs = 6\nbatch = 16\nlearning_rate = 0.05\nshared_decay = 1e-5\nown_decay = 1e-5\n"
        "own_repeats = 1\nseed = 0\n[classes]\nleast = 2\ncontexts = 50\ndimensions = 6\nrounds = 5\n"
    )
    return path


def test_scores(found):
    always = score_choice(lambda place: 0, lambda place: place.reading, found)
    assert always.right == always.mean == 50.0 and always.places == 160 and always.words["record"] == (20, 40)
    assert 0.0 <= majority(found).right <= 100.0
    assert np.isclose(score_choice(lambda p: 1, lambda p: 1, []).right, 0.0)
