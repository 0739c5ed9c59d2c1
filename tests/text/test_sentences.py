"""Sentence ends, list lines, wrapped paragraphs, and bounded pieces."""

from itertools import pairwise

import pytest

from deepvoice.text.sentences import CHUNK_CHARS, SENTENCE_CHARS, chunks, split


def sentences(text):
    return [text[s.start : s.end] for a, b in chunks(text) for s in split(text[a:b])] if len(text) < CHUNK_CHARS else []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("Dr. Smith met Mr. Jones at 5 p.m. on Monday.", 1),
        ("It was 5 p.m. He left.", 2),
        ("Pi is 3.14. It goes on.", 2),
        ("J. R. R. Tolkien wrote it. We read it.", 2),
        ("He works at Acme Inc. in Boston.", 1),
        ("He works at Acme Inc. The pay is good.", 2),
        ("The U.S. Army came. It left the U.S. It is gone.", 3),
        ("See No. 5 and Fig. 3. No. He left.", 3),
        ('"What?" he said. "No!" She left.', 3),
        ("He waited... and waited... Then he left.", 2),
        ("He lives on Main St. She lives in St. Louis.", 2),
        ("well. ok. fine then.", 3),
        ("The end.Next sentence.", 2),
        ("See www.example.com for more. Or not.", 2),
        ("So did I. The rest did not.", 2),
        ("Use a saw, a drill, etc. Then paint it.", 2),
    ],
)
def test_sentence_ends(text, count):
    assert len(sentences(text)) == count


def test_marks():
    assert [s.mark for s in split("Go! Why? So. Really?! No mark")] == ["!", "?", ".", "?", "."]


def test_list_lines_are_sentences_of_their_own():
    assert sentences("Apples\nBananas\nCherries\nDates") == ["Apples", "Bananas", "Cherries", "Dates"]
    assert sentences("Shopping list\n- two apples\n- some milk from the shop\n1. wash up") == [
        "Shopping list", "two apples", "some milk from the shop", "1. wash up",
    ]  # fmt: skip


def test_a_wrapped_paragraph_reads_on():
    text = (
        "This is a paragraph that was wrapped by an editor at about\nsixty columns, so no line end in it means any"
        "thing to\nthe reader, and it is one sentence from here to the end of\nit."
    )
    assert len(sentences(text)) == 1


def test_blank_lines_end_sentences():
    assert len(sentences("A heading\n\nThe text begins")) == 2


@pytest.mark.parametrize("text", ["word " * 5000, "a" * 50_000, "A sentence here. " * 3000, "line\n" * 9000])
def test_chunks_and_sentences_cover_the_text_and_are_bounded(text):
    pieces = list(chunks(text))
    assert pieces[0][0] == 0 and pieces[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(pieces))
    for start, end in pieces:
        assert end - start <= CHUNK_CHARS
        covered = 0
        for span in split(text[start:end]):
            assert span.end - span.start <= SENTENCE_CHARS
            covered += len(text[start:end][span.start : span.end].replace(" ", "").replace("\n", ""))
        assert covered == len(text[start:end].replace(" ", "").replace("\n", ""))
