"""Sentences with homographs, as the front end hands them to the classifier, and the readings that they may have."""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from deepvoice.errors import ConfigError
from deepvoice.text.frontend import FrontEnd
from deepvoice.text.heteronyms import Chosen, Spoken
from deepvoice.text.lexicon import Lexicon

HELD_OUT = 10  # one sentence in so many


class Reading(NamedTuple):
    """One reading of a word: its name, N (noun or adjective), V (verb) or X (neither tells), and its phones."""

    name: str
    kind: str
    phones: str


class Place(NamedTuple):
    """A homograph in a sentence.

    words: the spoken words and pauses of its sentence; index: its place among them
    reading: number of the right reading; held_out: whether training may not see it
    """

    words: tuple[Spoken, ...]
    index: int
    reading: int
    held_out: bool

    @property
    def word(self) -> str:
        """The homograph."""
        return self.words[self.index].text


class Row(NamedTuple):
    """A sentence with the name of the reading of the homograph that starts at character `start`."""

    word: str
    reading: str
    sentence: str
    start: int


def default_readings() -> Path:
    """Return the path of the recipe's readings."""
    return Path(__file__).with_name("readings.txt")


def own_sentences() -> Path:
    """Return the path of the sentences that were written for this recipe."""
    return Path(__file__).with_name("sentences.txt")


def read_readings(path: Path) -> dict[str, list[Reading]]:
    """Read `word name kind PHONES` lines; `#` starts a comment."""
    words: dict[str, list[Reading]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) < 4 or fields[2] not in "NVX":
            raise ConfigError(f"{path}:{number}: {line!r}; expected a word, a reading, N, V or X, and phones")
        words.setdefault(fields[0], []).append(Reading(fields[1], fields[2], " ".join(fields[3:])))
    return words


def read_rows(path: Path) -> list[Row]:
    """Read the public data: homograph, reading, sentence, and the homograph's first and last byte in it."""
    rows = []
    with path.open(encoding="utf-8", newline="") as file:
        for word, reading, sentence, start, _ in csv.reader(file, delimiter="\t"):
            if start.isdigit():  # not the head
                rows.append(Row(word, reading, sentence, len(sentence.encode()[: int(start)].decode())))
    return rows


def read_own(path: Path) -> list[Row]:
    """Read lines of a reading and a sentence with the homograph between braces; `#` starts a comment line."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        reading, _, marked = line.partition(" ")
        before, _, rest = marked.strip().partition("{")
        word, closed, after = rest.partition("}")
        if not closed or not word:
            raise ConfigError(f"{path}:{number}: {line!r}; expected a reading and a sentence with a {{word}}")
        rows.append(Row(word.lower(), reading, before + word + after, len(before)))
    return rows


def is_held_out(sentence: str) -> bool:
    """Tell whether a sentence is kept for evaluation; it depends on its text alone."""
    return int(hashlib.sha256(sentence.encode()).hexdigest(), 16) % HELD_OUT == 0


class _Recorder:
    """Stands in for the classifier and keeps what it is asked."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(words)
        self.asked: list[tuple[tuple[Spoken, ...], int]] = []

    def __contains__(self, word: object) -> bool:
        return word in self._words

    def __call__(self, words: Sequence[Spoken], index: int) -> Chosen:
        self.asked.append((tuple(words), index))
        return Chosen("", ("AH0",))


def places(rows: Iterable[Row], readings: dict[str, list[Reading]]) -> Iterator[Place]:
    """Yield the homographs of sentences in their context; raises ConfigError for an unknown word or reading."""
    recorder = _Recorder(readings)
    front_end = FrontEnd(Lexicon(), lambda words: [("AH0",)] * len(words), recorder)
    for row in rows:
        names = [reading.name for reading in readings.get(row.word, ())]
        if row.reading not in names:
            raise ConfigError(f"{row.word!r} has no reading {row.reading!r}; add it to readings.txt ({names})")
        recorder.asked.clear()
        front_end.analyse(row.sentence)
        for words, index in recorder.asked:
            if words[index].text == row.word and words[index].start <= row.start < words[index].start + len(row.word):
                yield Place(words, index, names.index(row.reading), is_held_out(row.sentence))
                break
