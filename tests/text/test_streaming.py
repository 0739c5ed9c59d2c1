"""Text in pieces gives the sentences of the whole text, each as early as it is decided."""

import random

import pytest

from deepvoice.text.hygiene import clean
from deepvoice.text.sentences import chunks, opens_paragraph, split
from deepvoice.text.streaming import Splitter

TEXTS = [
    "One. Two! Three? Four",
    "Dr. Smith paid $3.50 for it at 5 p.m. He left. She (Mrs. Jones) said “No.” Then they went... and came back.",
    "A heading\n\nThe first paragraph. It has two sentences.\n\n\n- item one\n- item two\n\nThe end.",
    "This is a paragraph that was wrapped. By an editor at about\nsixty columns, so no line end in it means any"
    "thing to\nthe reader. And it is one sentence from here to the end of\nit. Or so.",
    "# Title #\nText with [a link. Two](https://example.org/a) and `code. Code` in it. More <b>bold. Text</b> here.",
    "Wait. What?! Really... no. J. R. R. Tolkien wrote it. See No. 5. No. 6 is out. The U.S. Army left the U.S. It is.",
    "word " * 4000,
    "a." * 6000,
    "Sentence number one is here. " * 600,
    "apples\npears\nplums\n" * 50,
]


def sentences_of(text, opens=False, column=0):
    found = []
    for start, end in chunks(text):
        cleaned = clean(text[start:end]).text
        first = start == 0
        for span in split(
            cleaned, opens=opens if first else opens_paragraph(text, start), column=column if first else 0
        ):
            found.append((" ".join(cleaned[span.start : span.end].split()), span.mark))
    return found


def parts_of(text, sizes):
    splitter, parts, position = Splitter(), [], 0
    while position < len(text):
        size = next(sizes)
        parts += splitter.feed(text[position : position + size])
        position += size
    return parts + list(splitter.finish())


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("largest", [3, 40, 100_000])
def test_parts_read_like_the_whole(text, largest):
    generator = random.Random(largest)
    parts = parts_of(text, iter(lambda: generator.randint(1, largest), 0))
    assert "".join(part.text for part in parts) == text
    found = [sentence for part in parts for sentence in sentences_of(part.text, part.opens, part.column)]
    assert [words for words, _ in found if words] == [words for words, _ in sentences_of(text) if words]


def test_a_sentence_is_ready_when_the_next_word_is_there():
    splitter = Splitter()
    given = ["The fir", "st one.", " Th", "e", " second"]
    assert [[part.text for part in splitter.feed(piece)] for piece in given] == [[], [], [], [], ["The first one. "]]
    assert [part.text for part in splitter.finish()] == ["The second"]


def test_an_abbreviation_is_not_a_sentence():
    splitter = Splitter()
    assert not list(splitter.feed("He met Dr. Smith and "))


def test_paragraphs_are_marked():
    parts = parts_of("One.\n\nTwo.", iter(lambda: 1, 0))
    assert [(part.text, part.opens) for part in parts] == [("One.\n\n", False), ("Two.", True)]
