"""Documents: inline pronunciations, given readings, breaks, marks, and positions in what the caller wrote."""

import pytest

from deepvoice.errors import TextError
from deepvoice.text.document import Break, Document, Mark, Reading
from deepvoice.text.frontend import ReportCollector
from deepvoice.text.inline import parse_inline
from deepvoice.text.options import TextOptions
from deepvoice.text.phones import PAUSES


def words(front_end, text):
    return [
        (word.text, " ".join(word.phones), word.source)
        for made in front_end.analyse(text).sentences
        for word in made.words
    ]


def test_inline_ipa(front_end):
    text = "I said [tomato](/təˈmɑːtoʊ/)’s [São Paulo](/saʊ ˈpaʊloʊ/)."
    found = words(front_end, text)
    assert ("tomato's", "T AH0 M AA1 T OW0 Z", "given") in found
    assert found[-2:] == [("são", "S AW1", "given"), ("paulo", "P AW1 L OW0", "given")]
    sentence = front_end.analyse(text).sentences[0]
    assert text[sentence.words[2].start : sentence.words[2].end] == "tomato" and sentence.end == len(text)


def test_inline_arpabet(front_end):
    text = "Say [[ T AH0 M EY1 T OW0 ]], please."
    sentence = front_end.analyse(text).sentences[0]
    assert sentence.words[1].phones == tuple("T AH0 M EY1 T OW0".split())
    assert text[sentence.words[1].start : sentence.words[1].end] == "T AH0 M EY1 T OW0"


@pytest.mark.parametrize(
    "text",
    [
        "See [the guide](/docs/).",
        "See [the guide](https://example.org/ə/).",
        "[x](/wiki/Café/)",
        "[[Main Page]]",
        "[[B]]",
        "[ɪ](/ʃ#/)",
    ],
)
def test_links_stay_links(text):
    assert parse_inline(text) == Document(text=text)


@pytest.mark.parametrize("text", ["[" * 50_000, "[[" * 30_000, "[a](/" * 20_000, "[[A " * 20_000])
def test_inline_parsing_keeps_what_it_does_not_read(text):
    assert parse_inline(text).text == text


def test_readings(front_end):
    text = "Call 911 on 03/04 about ABC [x]."
    document = Document(
        text=text,
        readings=(
            Reading(start=5, end=8, say_as="characters"),
            Reading(start=12, end=17, spoken="March 4th"),
            Reading(start=24, end=27, phones=(("EY1",), ("B",))),
        ),
    )
    made = front_end.analyse(document)
    said = [word.text for word in made.sentences[0].words]
    assert said == ["call", "nine", "one", "one", "on", "march", "fourth", "about", "abc", "abc", "x"]
    assert {text[word.start : word.end] for word in made.sentences[0].words} == {
        "Call", "911", "on", "03/04", "about", "ABC", "x"
    }  # fmt: skip
    assert ("03/04", "march fourth") in [(change.text, change.spoken) for change in made.report.normalised]


def test_a_reading_is_not_cut_by_what_it_covers(front_end):
    text = "It is Dr. No. Really!\n\nNext one here."
    document = Document(text=text, readings=(Reading(start=6, end=28, spoken="a test"),))
    (sentence,) = front_end.analyse(document).sentences
    assert [word.text for word in sentence.words] == ["it", "is", "a", "test", "one", "here"]


def test_text_that_cannot_be_said_as_wanted_is_refused(front_end):
    with pytest.raises(TextError, match="hello"):
        front_end.analyse(Document(text="hello there", readings=(Reading(start=0, end=5, say_as="cardinal"),)))


def test_breaks_inside_a_sentence(front_end):
    text = "One, two three four"
    breaks = (Break(position=5, seconds=0.5), Break(position=9, seconds=0.2), Break(position=15, seconds=0.0))
    (sentence,) = front_end.analyse(Document(text=text, breaks=breaks)).sentences
    symbols = sentence.sequence.symbols
    assert [(symbols[index], seconds) for index, seconds in sentence.breaks] == [(",", 0.5), (",", 0.2)]
    assert sum(symbol in PAUSES for symbol in symbols) == 2
    (without,) = front_end.analyse(Document(text="One, two", breaks=(Break(position=5, seconds=0.0),))).sentences
    assert not set(without.sequence.symbols) & set(PAUSES)


def test_breaks_between_sentences_and_at_the_end(front_end):
    text = "One. Two three. Four"
    breaks = (
        Break(position=0, seconds=0.1),
        Break(position=5, seconds=1.0),
        Break(position=9),
        Break(position=20, seconds=2.0),
    )
    made = front_end.analyse(Document(text=text, breaks=breaks)).sentences
    assert [[word.text for word in sentence.words] for sentence in made] == [["one"], ["two"], ["three"], ["four"]]
    assert [sentence.gap for sentence in made] == [0.1, 1.0, None, None]
    assert made[-1].breaks == ((len(made[-1].sequence) - 1, 2.0),)


def test_marks(front_end):
    text = "One two. Three"
    places = (0, 4, 8, 14)
    document = Document(text=text, marks=tuple(Mark(position=at, name=f"m{at}") for at in places))
    first, second = front_end.analyse(document).sentences
    assert first.marks == ((1, "m0"), (4, "m4"))
    assert second.marks == ((1, "m8"), (len(second.sequence) - 1, "m14"))
    assert first.sequence.symbols[4] == "T"


def test_a_long_sentence_keeps_its_marks(front_end):
    text = "river stone " * 200
    marks = tuple(Mark(position=12 * i, name=str(i)) for i in range(200))
    made = front_end.analyse(Document(text=text, marks=marks)).sentences
    assert len(made) > 1 and [name for sentence in made for _, name in sentence.marks] == [str(i) for i in range(200)]


def test_positions_lead_back_to_what_the_caller_wrote(front_end):
    written = "<s>Ein cat</s> <b>5</b> ✅ dogs"
    text = "Ein cat 5 ✅ dogs"
    origin = [*range(3, 10), 14, 18, *range(23, 31)]
    document = Document(text=text, origin=tuple(origin))
    made = front_end.analyse(document)
    (sentence,) = made.sentences
    assert [written[word.start : word.end] for word in sentence.words] == ["Ein", "cat", "5", "dogs"]
    assert written[sentence.start : sentence.end] == "Ein cat</s> <b>5</b> ✅ dogs"
    assert [written[entry.start : entry.end] for entry in made.report.dropped] == ["✅"]


def test_streaming_documents_gives_the_same_sentences(front_end):
    text = "One, two. Three four.\n\nFive [six](/sɪks/)."
    document = parse_inline(text)
    document = Document(
        text=document.text,
        readings=document.readings,
        origin=document.origin,
        breaks=(Break(position=9, seconds=0.3), Break(position=len(document.text), seconds=1.0)),
        marks=(Mark(position=5, name="a"),),
    )
    collector = ReportCollector()
    analysis = front_end.analyse(document)
    assert tuple(front_end.iterate(document, collector, options=TextOptions())) == analysis.sentences
    assert collector.report() == analysis.report


@pytest.mark.parametrize(
    "reading",
    [
        {"start": 3, "end": 3, "spoken": "x"},
        {"start": -1, "end": 3, "spoken": "x"},
        {"start": 0, "end": 3},
        {"start": 0, "end": 3, "spoken": "x", "say_as": "date"},
        {"start": 0, "end": 3, "phones": (("QQ",),)},
        {"start": 0, "end": 3, "phones": ((),)},
    ],
)
def test_wrong_readings_are_refused(reading):
    with pytest.raises(TextError):
        Reading(**reading)


def test_wrong_documents_are_refused():
    reading = Reading(start=0, end=2, spoken="x")
    with pytest.raises(TextError, match="overlap"):
        Document(text="abc", readings=(reading, Reading(start=1, end=3, spoken="y")))
    with pytest.raises(TextError, match="ends at 2"):
        Document(text="a", readings=(reading,))
    with pytest.raises(TextError, match="origin"):
        Document(text="abc", origin=(0, 1))
