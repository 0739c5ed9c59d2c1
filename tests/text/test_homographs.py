"""Homographs with the classifier of the shipped voice: plain sentences, names of readings, and any input."""

from pathlib import Path

import pytest

from deepvoice.networks.homographs import HomographNetwork
from deepvoice.text.frontend import FrontEnd
from deepvoice.text.heteronyms import Spoken, certain
from deepvoice.voice import load_voice

CASES = Path(__file__).with_name("cases") / "homographs.txt"


@pytest.fixture(scope="module")
def homograph_sentences():
    """Reading, sentence, and where the homograph starts."""
    found = []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            reading, _, sentence = line.partition(" ")
            found.append((reading, sentence.replace("{", "").replace("}", ""), sentence.index("{")))
    return found


@pytest.fixture(scope="module")
def network():
    folder = load_voice(None, ("homographs",))
    return HomographNetwork(folder.tensors["homographs"], folder.configs["homographs"])


@pytest.fixture(scope="module")
def read(lexicon, network):
    """The phones of each homograph of a text, in order."""
    front_end = FrontEnd(lexicon, lambda words: [("AH0",)] * len(words), network)

    def read(text):
        return [
            " ".join(word.phones)
            for sentence in front_end.analyse(text).sentences
            for word in sentence.words
            if word.reading
        ]

    return read


@pytest.mark.parametrize(
    ("text", "phones"),
    [
        ("She will lead the team past the lead pipe.", ["L IY1 D", "L EH1 D"]),
        ("I read it yesterday; I will read more.", ["R EH1 D", "R IY1 D"]),
        ("We live for live music.", ["L IH1 V", "L AY1 V"]),
        ("He wound it round the wound.", ["W AW1 N D", "W UW1 N D"]),
        ("The wind was so strong that nobody could wind the sail.", ["W IH1 N D", "W AY1 N D"]),
        ("A tear ran down my face when I saw them tear up the letter.", ["T IH1 R", "T EH1 R"]),
        ("They were too close to the door to close it.", ["K L OW1 S", "K L OW1 Z"]),
        ("She tied her hair with a bow and took a deep bow.", ["B OW1", "B AW1"]),
        ("They want to record a new record.", ["R AH0 K AO1 R D", "R EH1 K ER0 D"]),
        ("It is no use if you cannot use it.", ["Y UW1 S", "Y UW1 Z"]),
        ("I object to that strange object.", ["AH0 B JH EH1 K T", "AA1 B JH EH0 K T"]),
        ("I refuse to carry out the refuse.", ["R AH0 F Y UW1 Z", "R EH1 F Y UW2 S"]),
        ("Wait a minute, it is only a minute difference.", ["M IH1 N AH0 T", "M AY0 N UW1 T"]),
        ("A soldier who would desert in the desert.", ["D IH0 Z ER1 T", "D EH1 Z ER0 T"]),
        ("She was content with the content of the book.", ["K AH0 N T EH1 N T", "K AA1 N T EH0 N T"]),
        ("Let me present you with this present.", ["P R IY0 Z EH1 N T", "P R EH1 Z AH0 N T"]),
        ("He lives for the lives he saves.", ["L IH1 V Z", "L AY1 V Z"]),
        ("He caught a bass and played the bass.", ["B AE1 S", "B EY1 S"]),
        ("The dove dove into the bushes.", ["D AH1 V", "D OW1 V"]),
        ("Let's resume.", ["R IH0 Z UW1 M"]),
        ("Send us your resume.", ["R EH1 Z AH0 M EY2"]),
        ("He could lead if he would get the lead out.", ["L IY1 D", "L EH1 D"]),
        ("There was a row about money, so we had to row.", ["R AW1", "R OW1"]),
    ],
)
def test_plain_sentences(read, text, phones):
    assert read(text) == phones


READ = """
PAST I have read it. | She has read the book. | They had already read it. | Have you read it? | He has not read it yet.
PAST I've never read that. | We've all read it. | Having read it, she left. | I should have read it.
PAST The book has been read by many. | It was read aloud. | What have you read lately? | Is it being read?
PRESENT I can read it. | Did you read it? | You have to read it. | He has to read a lot. | I had to read it.
PRESENT Let us read it. | You'll never read it. | To really read it takes time. | Don't you ever read? | I read books.
"""


@pytest.mark.parametrize(
    ("text", "phones"),
    [
        (text, "R EH1 D" if line.startswith("PAST") else "R IY1 D")
        for line in READ.strip().splitlines()
        for text in line.split(" ", 1)[1].split(" | ")
    ],
)
def test_read_after_auxiliaries(read, text, phones):
    assert read(text)[-1] == phones


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("have you ever read", "read_past"),
        ("having to read", "read_present"),
        ("it was widely read", "read_past"),
        ("he read", "read_past"),  # not "reads"
        ("then she read", "read_past"),
        ("let it read", "read_present"),
        ("does he read", "read_present"),
        ("she is well read", "read_past"),
        ("we read", None),
        ("read", None),
        ("have , read", None),
        ("have led", None),
    ],
)
def test_what_grammar_settles(text, reading):
    words = [Spoken(word) for word in text.split()]
    assert certain(words, len(words) - 1) == reading


def test_most_of_a_longer_list_is_right(network, lexicon, homograph_sentences):
    """Sentences that the classifier has not seen, one after the other."""
    front_end = FrontEnd(lexicon, lambda words: [("AH0",)] * len(words), network)
    wrong = []
    for reading, sentence, start in homograph_sentences:
        found = [w.reading for s in front_end.analyse(sentence).sentences for w in s.words if w.start == start]
        if found != [reading]:
            wrong.append((reading, sentence))
    assert len(wrong) <= 0.1 * len(homograph_sentences), wrong


def test_the_reading_is_named(read, lexicon, network):
    front_end = FrontEnd(lexicon, lambda words: [("AH0",)] * len(words), network)
    (sentence,) = front_end.analyse("I read it yesterday in the house.").sentences
    assert [word.reading for word in sentence.words if word.reading] == ["read_past", "house_nou"]
    (plain,) = front_end.analyse("[read](/ɹiːd/) it").sentences
    assert plain.words[0].reading is None and plain.words[0].phones == ("R", "IY1", "D")


def test_scores_say_what_is_chosen(network):
    words = [Spoken("i"), Spoken("read"), Spoken("it"), Spoken(","), Spoken("yesterday")]
    scores = network.scores(words, 1)
    assert scores.shape == (2,) and scores[0] * scores[1] == 0
    assert network(words, 1).reading == network._config.words["read"][int(scores.argmax())].split(" ")[0]
    assert "read" in network and "cat" not in network


def test_any_place_has_a_reading(network):
    for words in (["read"], [",", "read"], ["read"] * 3, ["é", "read", "x" * 200]):
        index = words.index("read")
        assert network([Spoken(word) for word in words], index).phones
