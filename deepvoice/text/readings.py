"""Places of a text whose reading is given: they go through cleaning and normalisation as one character.

The character is a circled letter, lower or upper case as the text it stands for: no rule takes it for part of a word
or a number, and the sentence splitter sees whether a capital follows a full stop. Cleaning never leaves a circled
letter that the caller wrote.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from deepvoice.errors import TextError
from deepvoice.text.document import Reading
from deepvoice.text.hygiene import CleanText, clean
from deepvoice.text.normalize import normalize
from deepvoice.text.options import TextOptions
from deepvoice.text.pronounce import Pronunciation
from deepvoice.text.say_as import say_as
from deepvoice.text.scanner import Scanner, Token
from deepvoice.text.sentences import split

_LOWER, _UPPER = "ⓦ", "Ⓦ"


class Prepared(NamedTuple):
    """Clean text with a placeholder for each reading, and the readings by the position of their placeholder."""

    cleaned: CleanText
    readings: dict[int, Reading]


def prepare(text: str, start: int, end: int, readings: Sequence[Reading], options: TextOptions) -> Prepared:
    """Clean text[start:end], in which `readings` lie in order and without overlap."""
    if not readings:
        return Prepared(clean(text[start:end], start, options), {})
    pieces: list[CleanText] = []
    places: dict[int, Reading] = {}
    position, length = start, 0
    for reading in readings:
        piece = clean(text[position : reading.start], position, options, opens=not pieces)
        places[length + len(piece.text)] = reading
        pieces += [piece, CleanText(_placeholder(text, reading), [reading.start], [reading.end], ())]
        length += len(piece.text) + 1
        position = reading.end
    pieces.append(clean(text[position:end], position, options, opens=False))
    cleaned = CleanText(
        "".join(piece.text for piece in pieces),
        [position for piece in pieces for position in piece.starts],
        [position for piece in pieces for position in piece.ends],
        tuple(dropped for piece in pieces for dropped in piece.dropped),
        tuple(change for piece in pieces for change in piece.normalised),
    )
    return Prepared(cleaned, places)


def _placeholder(text: str, reading: Reading) -> str:
    """Return the character that stands for a reading; one without letters counts as a capital."""
    first = next((char for char in text[reading.start : reading.end] if char.isalpha()), "A")
    return _LOWER if first.islower() else _UPPER


def tokens_of(
    reading: Reading, text: str, place: int, known: Callable[[str], bool], options: TextOptions
) -> tuple[Token, ...]:
    """Return what a reading says, as tokens of the placeholder at `place` of the clean text.

    text: what the positions of the reading are in
    Raises TextError when the text cannot be said as the reading wants.
    """
    written = text[reading.start : reading.end]
    if reading.phones:
        return tuple(_given(reading, written, place))
    if reading.say_as is not None:
        spoken = say_as(written.strip(), reading.say_as, reading.detail)
        return tuple(token._replace(start=place, end=place + 1) for token in tokens_of_spoken(spoken, known))
    cleaned = clean(reading.spoken or "", 0, options).text
    tokens: list[Token] = []
    for span in split(cleaned):
        if tokens:
            tokens.append(Token("pause", ";", 0, 0))
        tokens += normalize(cleaned, span.start, span.end, known, options).tokens
    return tuple(token._replace(start=place, end=place + 1) for token in tokens)


def tokens_of_spoken(spoken: str, known: Callable[[str], bool]) -> list[Token]:
    """Return the tokens of spoken words in the normaliser's notation: pieces in capitals are spelled."""
    scanner = Scanner("", 0, known, shouted=False)
    scanner.say(spoken, 0, changed=False)
    return scanner.tokens


def _given(reading: Reading, written: str, place: int) -> Iterator[Token]:
    words = written.split()
    if len(words) != len(reading.phones):
        words = [" ".join(words)] * len(reading.phones)
    for word, phones in zip(words, reading.phones, strict=True):
        yield Token("word", word.lower(), place, place + 1, Pronunciation(phones, "given"))


def spoken_form(reading: Reading, tokens: Sequence[Token]) -> str:
    """Return how a reading is listed in the report: its words, or its phones between brackets."""
    if reading.phones:
        return f"[[ {' | '.join(' '.join(word) for word in reading.phones)} ]]"
    return " ".join(token.text for token in tokens).replace(" ,", ",")


__all__ = ["Prepared", "TextError", "prepare", "spoken_form", "tokens_of", "tokens_of_spoken"]
