"""Sentence ends, list lines, wrapped paragraphs, and bounded pieces."""

from itertools import pairwise

import pytest

from deepvoice.text.hygiene import clean
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
        ("I said no. 5 people left room no. 7.", 2),
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


MORE = """
2|Mr. Brown left at 3 p.m. and Mrs. Green stayed. Nobody knew why.
2|He earned a Ph.D. in 1990. Then he left.
1|The cost (approx. $5.50) was fine.
2|Is that you? Yes.
2|"Is that you?" she asked. "Yes."
3|He said, "Stop. Now." Then he ran.
1|Visit St. Louis, Mo. or Washington, D.C. in May.
2|We met in Washington, D.C. The city was hot.
1|J.K. Rowling and C. S. Lewis wrote books.
2|It was no. 1. We won.
2|I like it... She does not.
1|I like it... but she does not.
1|Wow!! said the man.
2|Wow!! Said the man.
3|One. (Two is here.) Three.
2|See Fig. 3.2 and Sec. 4. Then read on.
1|The U.K. government and the U.N. agreed.
2|He works for Acme Corp. They pay well.
1|Smith et al. (2020) found it.
2|Use apples, pears, etc. Wash them first.
1|Use apples, pears, etc. and wash them.
2|Ver. 2.0 is out. Get it.
1|He was born on Jan. 5, 1980 in Ill.
2|e.g. this one. I.e. that one.
3|1. Wash it. 2. Dry it. 3. Fold it.
2|What the... Who did that?
2|"I don't know…" He paused.
1|The temp. is 5.5 deg. today.
2|She has 5 cats. 3 are black.
1|Go to example.com.
2|Go to example.com. Then log in.
2|Hello world.This is next.
1|Version 1.2.3.4 was bad.
1|Capt. James T. Kirk of the U.S.S. Enterprise
2|She got an A. He got a B.
2|Plan B. It works.
2|It was me and I. We left.
2|Call 555-1234. Ask for Bob.
1|vs. the world
2|Roe v. Wade was decided. It stood.
2|He is 6 ft. He is tall.
1|He is 6 ft. tall and 200 lbs. in weight.
2|"Really?!" "Yes!"
1|Dr. and Mrs. A. B. Lee Jr. live at 5 Elm St. in Salem.
2|They live on Elm St. It is quiet.
2|At 5 a.m. Monday we left. It rained.
2|He left at 5 a.m. She stayed.
1|No. 5 is alive.
3|No. No. No.
2|“Stop!” he cried. “Go!”
2|It costs $5. That's cheap.
1|a.k.a. Bob
2|He won (again). She lost.
2|What?He left.
1|i.e. this
2|The end. the beginning.
"""


@pytest.mark.parametrize("line", MORE.strip().splitlines())
def test_more_sentence_ends(line):
    count, text = line.split("|", 1)
    assert len(sentences(clean(text).text)) == int(count)


def test_silence_before_paragraphs_headings_and_items():
    text = "# Title\nFirst. Second.\n\nNew paragraph. More.\n- item\n- other item"
    spans = list(split(clean(text).text))
    assert [span.gap for span in spans] == [None, 0.7, None, 0.7, None, 0.5, 0.5]
    assert [span.gap for span in split("Again. And.", opens=True)] == [0.7, None]


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
