"""Normalisation: one sentence of clean text to the words that are said and the pauses between them.

A scanner walks once over the sentence; at each position the first rule that fits consumes some text and says what it
is read as. Each word keeps the span of the text it came from. Every rule consumes at least one character and looks
no further than the sentence, whose length the splitter bounds, so the whole is linear in the text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from deepvoice.text import quantities
from deepvoice.text.capitals import is_shouted
from deepvoice.text.letters import read_letters
from deepvoice.text.marks import read_mark
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.scanner import Change, Scanner, Token, Unread

_OPENING = frozenset(" (\"'<[`*_=")


class Normalized(NamedTuple):
    """One sentence, normalised; spans are in the clean text."""

    tokens: tuple[Token, ...]
    changes: tuple[Change, ...]  # spoken "" for marks that are only seen
    dropped: tuple[Unread, ...]


def normalize(
    text: str,
    start: int,
    end: int,
    known: Callable[[str], bool],
    options: TextOptions = DEFAULT_OPTIONS,
    given: Mapping[int, Sequence[Token]] | None = None,
) -> Normalized:
    """Normalise the sentence at text[start:end].

    known: tells whether a lower-case word is in the lexicon (decides what capitals and mixed case are read as)
    options: date order, classes switched off
    given: what single characters of the text say, by their position (see `deepvoice.text.readings`)
    """
    sentence = text[start:end].replace("\n", " ")
    shouted = is_shouted(sentence) and options.reads("shout")
    scanner = Scanner(sentence, start, known, shouted=shouted, options=options)
    while scanner.position < len(sentence):
        start = scanner.position
        if given and scanner.offset + start in given:
            scanner.give(given[scanner.offset + start])
            continue
        _read(scanner, sentence[start])
        if scanner.position == start:  # no rule may stand still; what none reads is not spoken, and listed
            scanner.drop(start, start + 1, "symbol")
    tokens = scanner.tokens
    while tokens and tokens[-1].kind == "pause":
        tokens.pop()
    return Normalized(tuple(tokens), tuple(scanner.changes), tuple(scanner.dropped))


def _read(scanner: Scanner, char: str) -> None:
    """Let the first rule that fits consume text at the position, which holds `char`."""
    if char == " ":
        scanner.position += 1
    elif not (char.isalpha() or "0" <= char <= "9"):
        read_mark(scanner)
    elif (not scanner.position or scanner.before in _OPENING) and scanner.take_address():
        return
    elif char.isalpha():
        read_letters(scanner)
    else:
        scanner.take(quantities.read(scanner.position, scanner.context()))
