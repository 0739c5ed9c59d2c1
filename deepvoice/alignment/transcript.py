"""Text -> words with all the ways in which each may be said."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepvoice.alignment.graph import Phones, TextWord, distinct
from deepvoice.alignment.reduced import REDUCED
from deepvoice.text.frontend import FrontEnd, Report, Sentence
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.user_lexicon import UserLexicon
from deepvoice.text.weak_forms import WEAK

NEVER_SAID = ("emoji", "control character")  # of what the front end drops: no reader says them either
_TAG = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>")
_FIXED = ("user", "given")  # sources of pronunciations that somebody wrote on purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The words of a text, and its sentences as (first word, past the last word, characters of the text).

    unspoken: pieces of the text that no word was made of; emoji are none, for no reader says them
    """

    text: str
    words: tuple[TextWord, ...]
    sentences: tuple[tuple[int, int, tuple[int, int]], ...]
    unspoken: tuple[str, ...] = ()


def read_transcript(front_end: FrontEnd, text: str, lexicon: UserLexicon | None = None) -> Transcript:
    """Read a text as the voice would, and collect the pronunciations of its words.

    lexicon: pronunciations that come before all others
    Raises TextError when nothing in it can be spoken.
    """
    words: list[TextWord] = []
    spans = []
    analysis = front_end.analyse(text, lexicon=lexicon)
    for sentence in analysis.sentences:
        first = len(words)
        words += _words(sentence, front_end.lexicon, start=not words)
        spans.append((first, len(words), (sentence.start, sentence.end)))
    return Transcript(text=text, words=tuple(words), sentences=tuple(spans), unspoken=unspoken(text, analysis.report))


def unspoken(text: str, report: Report) -> tuple[str, ...]:
    """Return what of a text cannot be what was read: pieces without words, and the tags of markup."""
    lost = [piece.text for piece in report.dropped if piece.reason not in NEVER_SAID]
    return (*lost, *dict.fromkeys(_TAG.findall(text)))


def _words(sentence: Sentence, lexicon: Lexicon, *, start: bool) -> Iterator[TextWord]:
    """Yield the words of a sentence; the phones that the sentence has are the first variant."""
    symbols, word_of = sentence.sequence.symbols, sentence.sequence.word_of
    said: list[list[str]] = [[] for _ in sentence.words]
    paused = set()  # words with a pause before them
    for place, (symbol, owner) in enumerate(zip(symbols, word_of, strict=True)):
        if owner >= 0:
            said[owner].append(symbol)
            if len(said[owner]) == 1 and word_of[place - 1] < 0:
                paused.add(owner)
    for index, word in enumerate(sentence.words):
        variants = [tuple(said[index])]
        if word.source not in _FIXED:
            variants += other_readings(word.text, lexicon)
        yield TextWord(
            text=word.text,
            span=(word.start, word.end),
            variants=distinct(variants),
            pause=index in paused and not (start and index == 0),
        )


def other_readings(word: str, lexicon: Lexicon) -> Sequence[Phones]:
    """Return the readings of a lower-case word: those that the lexicon lists, and its weak and reduced forms."""
    entry = lexicon.lookup(word)
    return [*(entry.pronunciations if entry else ()), *WEAK.get(word, ()), *REDUCED.get(word, ())]
