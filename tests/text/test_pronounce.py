"""Words that the lexicon lacks: derived, weighed by analogy, or spelled, and never lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepvoice.text.lexicon import Lexicon
from deepvoice.text.phones import PHONES
from deepvoice.text.pronounce import LETTERS, Pronouncer, spell


def no_model(words):
    raise AssertionError(f"the model was asked for {words}")


def says_t(words):
    return [("T",) for _ in words]


@pytest.fixture(scope="module")
def lexicon():
    return Lexicon()


@pytest.mark.parametrize(
    ("word", "usual"),
    [("sooo", "so"), ("goood", "good"), ("yesss", "yes"), ("pleeease", "please"), ("nooooo", "no"), ("freee", "free"),
     ("wayyyy", "way"), ("hellooo", "hello")],
)  # fmt: skip
def test_drawn_out_words_are_said_as_usual(lexicon, word, usual):
    reader = Pronouncer(lexicon, no_model)
    assert reader.known(word).phones == reader.known(usual).phones


@pytest.mark.parametrize("word", ["xkcd", "bcdfg", "qwrt", "xkcd's", "mtv's"])
def test_consonant_strings_are_spelled(lexicon, word):
    said = Pronouncer(lexicon, no_model).guess([word])[word]
    assert said.source == "letters"
    assert said.phones == spell(word)


def test_model_is_asked_for_stems_of_unknown_words_only(lexicon):
    asked = []

    def model(words):
        asked.extend(words)
        return [("B", "AH1") for _ in words]

    found = Pronouncer(lexicon, model).guess(["zorblax", "zorblax's", "xkcd"])
    assert asked == ["zorblax"]
    assert found["zorblax's"].phones == ("B", "AH1", "Z")


@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyz'", min_size=1, max_size=30), max_size=4))
def test_no_word_is_lost_and_none_raises(words):
    lexicon = Lexicon()
    reader = Pronouncer(lexicon, says_t)
    words = [word for word in words if any(letter in LETTERS for letter in word)]
    known = {word: reader.known(word) for word in words}
    guessed = reader.guess([word for word in words if known[word] is None])
    for word in words:
        phones = (known[word] or guessed[word]).phones
        assert phones
        assert set(phones) <= set(PHONES)


@pytest.mark.parametrize(
    "name", ["o'shaughnessy", "mc'donalds", "nguyen", "przybylski", "d'artagnan's", "'tis", "y'all"]
)
def test_names_and_odd_apostrophes_are_read(lexicon, name):
    reader = Pronouncer(lexicon, says_t)
    assert (reader.known(name) or reader.guess([name])[name]).phones


@pytest.mark.parametrize("word", ["recieve", "teh", "definately", "wierd", "untill", "accomodate", "langauge", "thier"])
def test_typos_are_read(lexicon, word):
    reader = Pronouncer(lexicon, says_t)
    assert (reader.known(word) or reader.guess([word])[word]).phones
