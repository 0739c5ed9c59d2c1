"""A front end whose model for unknown words is a plain rule, and a fixture that writes what it says."""

import re
from collections.abc import Callable, Sequence

import pytest

from deepvoice.text.frontend import FrontEnd
from deepvoice.text.lexicon import Lexicon


class RuleG2p:
    """Vowel letters are AH0, others T; remembers what it was asked, and takes what the real model takes."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        self.calls.append(list(words))
        assert all(re.fullmatch("[a-z'-]+", word) for word in words), words
        return [tuple("AH0" if c in "aeiou" else "T" for c in word if c.isalpha()) for word in words]


@pytest.fixture(scope="session")
def lexicon() -> Lexicon:
    return Lexicon()


@pytest.fixture
def g2p() -> RuleG2p:
    return RuleG2p()


@pytest.fixture
def front_end(lexicon: Lexicon, g2p: RuleG2p) -> FrontEnd:
    return FrontEnd(lexicon, g2p)


@pytest.fixture
def spoken(front_end: FrontEnd) -> Callable[[str], str]:
    """What is said: words and pauses; letters that are spelled in capitals ("PM"); sentences end in their mark."""

    def say(text: str) -> str:
        pieces: list[str] = []
        for sentence in front_end.analyse(text).sentences:
            last = -1
            for symbol, index in zip(sentence.sequence.symbols[1:], sentence.sequence.word_of[1:], strict=True):
                if index < 0:
                    pieces.append(symbol)
                elif index != last:
                    word = sentence.words[index]
                    pieces.append(
                        word.text.replace(" ", "").upper().replace("'S", "'s")
                        if word.source == "letters"
                        else word.text
                    )
                last = index
        return " ".join(pieces)

    return say
