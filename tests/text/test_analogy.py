"""The memory of known words that weighs the network's readings."""

import numpy as np
import pytest

from deepvoice.errors import VoiceError
from deepvoice.text.analogy import COMPOUND_LOG, FIRST_TOKEN, Analogy, Graphones, gram_hashes, pack
from deepvoice.text.lexicon import Entry, Lexicon
from deepvoice.text.lexicon import pack as pack_lexicon

TOKENS = [("b", "B"), ("a", "AE"), ("a", "EY"), ("e", ""), ("t", "T")]
B, AE, EY, E, T = range(FIRST_TOKEN, FIRST_TOKEN + len(TOKENS))
BEGIN, END = 1, 2
GRAMS = {
    (BEGIN,): (0.0, -1.0), (END,): (-2.0, 0.0), (B,): (-1.0, -0.5), (AE,): (-1.0, -0.5), (EY,): (-2.0, -0.5),
    (T,): (-1.0, -0.5), (E,): (-3.0, -0.25), (BEGIN, B): (-0.5, 0.0), (B, AE): (-0.25, 0.0), (EY, T): (-0.75, -0.5),
    (EY, T, E): (-0.1, 0.0),
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "graphones.bin"
    path.write_bytes(pack(3, TOKENS, GRAMS, weight=0.5))
    return path


@pytest.fixture
def lexicon(tmp_path):
    path = tmp_path / "lexicon.bin"
    words = {"back": "B AE1 K", "rest": "R EH1 S T", "book": "B UH1 K", "keeper": "K IY1 P ER0"}
    path.write_bytes(pack_lexicon({w: Entry((tuple(p.split()),), supplement=False) for w, p in words.items()}))
    return Lexicon(path)


def test_log_probabilities_back_off(file):
    found = Graphones(file).log_probabilities("bat", [["B", "AE", "T"], ["B", "EY", "T"]])
    bat = -0.5 + -0.25 + (-0.5 - 1.0) + (-0.5 - 2.0)  # begin b | b AE | AE T backed off | T end backed off
    bait = -0.5 + (-0.5 - 2.0) + -0.75 + (-0.5 - 0.5 - 2.0)
    assert found.tolist() == pytest.approx([bat, bait], abs=0.15)


def test_longest_gram_wins_and_the_unknown_is_finite(file):
    model = Graphones(file)
    seen, silent, odd = (model.log_probabilities("ate", [r])[0] for r in (["EY", "T", ""], ["AE", "T", ""], ["OW"] * 3))
    assert seen > silent > odd > -100.0


def test_one_reading_alone_and_in_company(file):
    model = Graphones(file)
    readings = [["B", "AE", "T"], ["B", "EY", "T"], ["B", "", "T"]]
    together = model.log_probabilities("bat", readings).tolist()
    assert together == [model.log_probabilities("bat", [reading])[0] for reading in readings]


def test_hashes_tell_padding_from_tokens():
    grams = {(1,), (2,), (1, 2), (2, 1), (1, 1), (1, 1, 1), (3, 2, 1), (1, 2, 3)}
    assert len({int(gram_hashes(np.array([gram]), len(gram))[-1, 0, -1]) for gram in grams}) == len(grams)
    start = gram_hashes(np.array([[1, 3, 4]]), 4)
    assert len({int(value) for value in start.reshape(-1)}) == start.size


@pytest.mark.parametrize("damage", [slice(0, 0), slice(0, 30), slice(0, -1)])
def test_cut_short(file, damage):
    file.write_bytes(file.read_bytes()[damage])
    with pytest.raises(VoiceError, match="reinstall"):
        Graphones(file)


@pytest.mark.parametrize("at", [0, 8, 12, 16, 60, -1])
def test_altered(file, at):
    raw = bytearray(file.read_bytes())
    raw[at] ^= 0x55
    file.write_bytes(raw)
    with pytest.raises(VoiceError, match="damaged"):
        Graphones(file)


def test_compounds_of_lexicon_words(file, lexicon):
    analogy = Analogy(lexicon, Graphones(file))
    assert list(analogy.compounds("backrest")) == [("B", "AE", "K", "R", "EH", "S", "T")]
    assert ("B", "AE", "K", "R", "EH", "S", "T", "S") in set(analogy.compounds("backrest's"))
    whole = {" ".join(said) for said in analogy.compounds("bookkeeper")}
    assert whole == {"B UH K K IY P ER", "B UH K IY P ER"}
    assert not list(analogy.compounds("restful"))


def test_a_compound_gets_a_bonus(file, lexicon):
    analogy = Analogy(lexicon, Graphones(file))
    readings = [["B", "AE", "K", "", "R", "EH", "S", "T"], ["B", "AE", "K", "", "R", "IH", "S", "T"]]
    right, wrong = analogy("backrest", readings)
    assert right - wrong == pytest.approx(COMPOUND_LOG)
