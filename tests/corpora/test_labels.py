"""The front end that labels a corpus is that of the voice."""

import pytest

pytest.importorskip("torch")

import torch

from deepvoice.config import to_dict
from deepvoice.errors import ConfigError
from deepvoice.pipeline import build_front_end
from deepvoice.recipes.common.checkpoint import save_checkpoint
from deepvoice.recipes.corpora.labels import UnknownWordError, front_end, label_sentences
from deepvoice.voice import TEXT, load_voice

LINE = "I read the book that Zorblatt Quimberly read. The wind can wind the brillig toves."


@pytest.fixture(scope="module")
def folder():
    return load_voice(None, TEXT)


@pytest.fixture
def checkpoints(folder, tmp_path):
    """Write the text modules of the voice as checkpoints."""
    for name in TEXT:
        tensors = {key: torch.from_numpy(value.copy()) for key, value in folder.tensors[name].items()}
        save_checkpoint({"config": to_dict(folder.configs[name]), "ema": tensors}, tmp_path / f"{name}.pt")
    return tmp_path


def test_labels_are_those_of_the_voice(folder, checkpoints):
    labeller = front_end(checkpoints / "grapheme_to_phoneme.pt", checkpoints / "homographs.pt")
    spoken = build_front_end(folder.tensors, folder.configs).analyse(LINE).sentences
    labels = label_sentences(labeller, LINE)
    assert [label.phones for label in labels] == [" ".join(sentence.sequence.symbols) for sentence in spoken]
    assert {word.source for sentence in spoken for word in sentence.words} >= {"g2p", "lexicon"}
    assert any(word.reading for sentence in spoken for word in sentence.words)


def test_one_module_alone_is_refused(checkpoints):
    with pytest.raises(ConfigError, match="--homographs"):
        front_end(checkpoints / "grapheme_to_phoneme.pt")


def test_without_modules_unknown_words_are_refused():
    with pytest.raises(UnknownWordError):
        label_sentences(front_end(), "Zorblatt sang.")
