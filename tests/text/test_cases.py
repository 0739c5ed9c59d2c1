"""Tables of texts and what a careful reader of US English says: own.tsv, and blind.tsv by someone who saw no rules.

expected_failures.tsv lists the texts that are still read otherwise; one that is listed and passes fails the test.
"""

import re
from pathlib import Path

import pytest

from deepvoice.errors import TextError
from deepvoice.text.hygiene import fold
from deepvoice.text.phones import BASE_IDS
from deepvoice.text.pronounce import spell

FOLDER = Path(__file__).parent / "cases"
TABLES = ("own.tsv", "blind.tsv")


def rows(name):
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("# ") and "\t" in line:
            cells = [re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), cell) for cell in line.split("\t")]
            yield tuple(cells[:3])


def canonical(words):
    """Words to compare: folded, hyphens as spaces, a letter's plural and possessive alike, no outer apostrophes."""
    pieces = [fold(piece).strip("'") for piece in re.sub(r"[-.,;:!?\"]", " ", words.replace("’", "'")).split()]
    return " ".join(re.sub(r"^([a-z])'?s$", r"\1's", piece) for piece in pieces if piece)


def heard(word):
    """A word as it is heard: letter by letter when its phones are the names of its letters ("pdf")."""
    bases = [phone.rstrip("012") for phone in word.phones]
    named = [phone.rstrip("012") for phone in spell(word.text)] if word.text.isalpha() and len(word.text) > 1 else []
    assert all(base in BASE_IDS for base in bases)
    return " ".join(word.text) if bases == named else word.text


def said(front_end, text):
    """Return all words of a text in order, spelled letters one by one; nothing when it cannot be spoken."""
    try:
        analysis = front_end.analyse(text)
    except TextError:
        return ""
    return canonical(" ".join(heard(word) for sentence in analysis.sentences for word in sentence.words))


def is_right(front_end, text, expected):
    return said(front_end, text) in [canonical(reading) for reading in expected.split(" / ")]


CASES = [(table, *row) for table in TABLES for row in rows(table)]
FAILURES = {(table, text) for table, text, _ in rows("expected_failures.tsv")}


@pytest.mark.parametrize(("table", "kind", "text", "expected"), CASES)
def test_case(front_end, table, kind, text, expected):
    right = is_right(front_end, text, expected)
    if (table, text) in FAILURES:
        assert not right, f"{text!r} is right now: take it off expected_failures.tsv"
    else:
        assert right, f"{text!r}: {said(front_end, text)!r}, not {expected!r}"


def test_the_tables_are_large_and_nearly_all_right():
    assert len(CASES) >= 630 and sum(1 for case in CASES if case[0] == "blind.tsv") >= 210
    assert len(FAILURES) <= 0.01 * len(CASES)
    listed = {(table, text) for table, _, text, _ in CASES}
    assert listed >= FAILURES
