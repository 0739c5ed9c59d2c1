"""What holds for any text: no error but TextError, all of it spoken or reported, spans in order, saying it twice."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepvoice.errors import ConfigError, TextError
from deepvoice.text.frontend import FrontEnd
from deepvoice.text.hygiene import APOSTROPHES, _replacement, clean
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.normalize import normalize
from deepvoice.text.options import CLASSES, TextOptions
from deepvoice.text.sentences import split
from tests.text.conftest import RuleG2p
from tests.text.test_numbers import value

FIXED = settings(max_examples=300, deadline=None, derandomize=True, database=None)

SAMPLES = (
    "the cat Dr. St. Main U.S. FBI NASA Henry VIII World War II $5 5km 3:05 3/4 2026-11-30 p.m. No. 5 e.g. 10-15 -5 "
    "3.14 bob@example.com https://example.org/a?b=1 #tag @me **bold** `x` don't it's IBM's 1990s '90s 20°C 50% x^2 α ½ "
    "naïve [a](b) <b> &amp; — – ... ? ! \n \n\n - ( ) \" ' , ; : 1,234 A I a LOUD WORDS iPhone 1st 22nd w/o 5'11\" "
    "I-95 v1.2.3 你好 👍 ★★★ \u200b \u00a0 /usr/bin C:\\x 1e5 0x1F 16:9 €1,50 kg m² Jan 5 Mon-Fri Sat. O'Brien "
    "rock'n'roll"
)
WORDS = st.sampled_from(SAMPLES.split(" "))
TEXTS = st.one_of(
    st.text(max_size=120),
    st.text(alphabet="aAbI1209 .,;:!?'\"-–—()[]$€%&@#/\\*+=<>\n\t’“”½²°éαΩ`~^_|{}\u0301\u200d👍你\ue000", max_size=80),
    st.lists(WORDS, max_size=14).map(" ".join),
    st.lists(WORDS, max_size=6).map("".join),
)
OPTIONS = st.builds(
    TextOptions,
    dates=st.sampled_from(["mdy", "dmy"]),
    emoji=st.sampled_from(["drop", "describe"]),
    markdown=st.booleans(),
    off=st.frozensets(st.sampled_from(sorted(CLASSES)), max_size=5),
)


@pytest.fixture(scope="module")
def shared_front_end(lexicon):
    return FrontEnd(lexicon, RuleG2p())


@FIXED
@given(text=TEXTS, options=OPTIONS)
def test_any_text_is_spoken_or_refused_and_its_spans_lie_in_order(shared_front_end, text, options):
    try:
        analysis = shared_front_end.analyse(text, options=options)
    except TextError:
        return
    end = 0
    for sentence in analysis.sentences:
        assert 0 <= sentence.start < sentence.end <= len(text)
        assert sentence.start >= end
        end = sentence.end
        starts = [word.start for word in sentence.words]
        assert starts == sorted(starts)
        assert all(sentence.start <= word.start < word.end <= sentence.end for word in sentence.words)
        assert all(word.phones for word in sentence.words)
    for place in (*analysis.report.normalised, *analysis.report.dropped):
        assert 0 <= place.start < place.end <= len(text)
        assert place.text == text[place.start : place.end]


SILENT = set(" \n\r\t\v\f.,;:!?'\"()[]-–—|｜•▪●◦¿¡`´ˈ" + APOSTROPHES)


def silent(char):
    """Tell whether a character is punctuation, which need neither be spoken nor listed."""
    known = char in SILENT or unicodedata.normalize("NFC", char) in SILENT
    return known or char.isspace() or unicodedata.category(char)[0] in "MZCP"


def lost(front_end, text):
    """Return the characters of a text that are neither spoken nor reported nor punctuation."""
    try:
        analysis = front_end.analyse(text)
    except TextError:
        return []
    covered = [False] * len(text)
    words = [word for sentence in analysis.sentences for word in sentence.words]
    for place in (*words, *analysis.report.normalised, *analysis.report.dropped):
        covered[place.start : place.end] = [True] * (place.end - place.start)
    return [char for char, said in zip(text, covered, strict=True) if not said and not silent(char)]


@FIXED
@given(text=TEXTS)
def test_every_character_is_spoken_or_reported(shared_front_end, text):
    """Letters, digits and symbols lie in the span of a word or of an entry of the report; punctuation may be silent."""
    assert not lost(shared_front_end, text), text


PLACES = (
    "{}|a {} b|a{}b|well{}known|1{}2|1 {} 2|2 {} 1|{}5|5{}|⁰{}|{}{}|{} {}|({})|'{}5'|go. {}|{} go|go {}|x{}1|1{}x|{}x{}"
    "|5 {}|{} 5|a, {}, b|${}5|{}$5|{}.5|x²{}y²|H₂{}|Jan 5{}Jan 7|A{}Z|A{}|noon{}3|10{}³|3e{}4|10^{}6|{} one\n{} two"
).split("|")


def test_every_symbol_is_spoken_or_reported_wherever_it_stands(shared_front_end):
    """All characters of Unicode that become no letter and no digit, such as the mathematical minus signs."""
    symbols = []
    for char in map(chr, range(sys.maxunicode + 1)):
        if not silent(char):
            plain, reason = _replacement(char)
            if not reason and not any(c.isalnum() for c in plain):
                symbols.append(char)
    assert {"−", "⁻", "₋", "+", "∞", "≠"} <= set(symbols)
    texts = [place.replace("{}", char) for char in symbols for place in PLACES]
    assert not [text for text in texts if lost(shared_front_end, text)]


def test_a_greek_letter_in_an_address_has_a_name(shared_front_end):
    words = shared_front_end.analyse("see http://a.org/0/Α/µ").sentences[0].words
    assert [word.text for word in words][-4:] == ["slash", "alpha", "slash", "mu"]


MINUS = r"""
⁰⁻ => zero minus
0− => zero minus
a − b => A minus B
x = a + b => X equals A plus B
5−3 => five minus three
3 − 5 = −2 => three minus five equals minus two
x−−5 => x minus minus five
-−0 => minus zero
©−0 => copyright minus zero
−x² => minus x squared
(−x) => minus x
−∞ => minus infinity
−$5 and $−5 => minus five dollars and minus five dollars
it is −5°C => it is minus five degrees celsius
3e−4 => three times ten to the minus four
10⁻³ => ten to the minus three
'−5' => minus five
−.5 => minus point five
&minus;5 and 5 &minus; 3 => minus five and five minus three
H₂O₋ => h two o minus
− => minus
well−known => well known
− eggs\n− milk => eggs milk
3-5 and 5 - 2 => three to five and five minus two
1990–1995 => nineteen ninety to nineteen ninety five
+ 5 => plus five
"""


@pytest.mark.parametrize("line", MINUS.strip().splitlines())
def test_a_minus_sign_is_no_dash(shared_front_end, line):
    text, expected = line.replace("\\n", "\n").split(" => ")
    words = [word for sentence in shared_front_end.analyse(text).sentences for word in sentence.words]
    assert " ".join(word.text for word in words).lower() == expected.lower()


@pytest.mark.parametrize("text", ["a − b", "a + b", "a = 5", "a × b", "A − B", "a² + b²", "a^2"])
def test_a_letter_that_is_reckoned_with_is_no_article(shared_front_end, text):
    assert shared_front_end.analyse(text).sentences[0].words[0].phones == ("EY1",)


def spoken_form(known, text):
    """What is said, written so that it can be read again: spelled letters are capitals that stand alone."""
    cleaned = clean(text)
    pieces = []
    for span in split(cleaned.text):
        for token in normalize(cleaned.text, span.start, span.end, known).tokens:
            if token.kind == "letters":
                pieces.append(token.text.upper().replace("'S", "'s"))
            elif token.kind == "word":
                pieces.append(token.text)
    return " ".join(pieces)


@FIXED
@given(text=st.lists(WORDS, min_size=1, max_size=10).map(" ".join))
def test_what_is_said_is_said_the_same_again(shared_front_end, text):
    known = shared_front_end._is_known
    once = spoken_form(known, text)
    assert spoken_form(known, once).lower() == once.lower()


@FIXED
@given(number=st.integers(0, 10**15), separators=st.booleans())
def test_integers_are_read_as_their_value(shared_front_end, number, separators):
    written = f"{number:,}" if separators else str(number)
    words = [word.text for s in shared_front_end.analyse(f"exactly {written} people").sentences for word in s.words]
    assert words[0] == "exactly" and words[-1] == "people"
    assert value(" ".join(words[1:-1])) == number


def test_all_integers_to_ten_thousand_are_read_as_their_value(shared_front_end):
    text = "\n".join(f"exactly {number} people" for number in range(10_001))
    sentences = shared_front_end.analyse(text).sentences
    assert len(sentences) == 10_001
    for number, sentence in enumerate(sentences):
        assert value(" ".join(word.text for word in sentence.words[1:-1])) == number


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_a_class_can_be_switched_off(shared_front_end, kind):
    example = re.sub("^off$", "👍", CLASSES[kind].partition(":")[0].partition(";")[0])
    options = TextOptions(off=frozenset([kind]), emoji="describe")
    assert shared_front_end.analyse(f"see {example} here", options=options).sentences


OFF = """
cardinal | 12 => one two
ordinal | 24th => twenty four th
decimal | 3.14 => three dot fourteen
fraction | 2/3 => two slash three
sign | -5 => five
range | 10-15 => ten fifteen
year | 1905 => one thousand nine hundred five
decade | the 1990s => the one thousand nine hundred ninety seconds
date | 3/14/2026 => three slash fourteen slash twenty twenty six
time | 3:05 => three to five
money | $5 => dollars five
percent | 5% => five percent
unit | 5km => five K M
temperature | 20°C => twenty degrees C
phone | 555-1234 => five hundred fifty five to twelve thirty four
code | PIN 2769 => pin two thousand seven hundred sixty nine
version | 1.2.3 => one point two dot three
roman | Henry VIII => henry viii
abbreviation | approx. 5 => approx five
title | Dr. Lee => dr lee
street | Sunset Blvd => sunset blvd
initialism | FBI => fbi
acronym | NASA => N A S A
shout | LET US GO => let U S go
email | a@b.com => a at B dot com
url | example.org/x => example dot org X
path | src/main.py => S R C main dot py
hashtag | #cat => cat
handle | @bob => at bob
emoji | hi 👍 => hi
emoticon | hi :-) => hi
markdown | *b* => asterisk B asterisk
entity | a &amp; b => A and amp B
math | 3 × 4 => three four
greek | α x => X
lookalike | pаy => P Y
quote | 12" long => twelve long
dash | a - b => A B
"""


@pytest.mark.parametrize("line", OFF.strip().splitlines())
def test_readings_without_a_class(shared_front_end, line):
    kind, case = line.split(" | ")
    text, expected = case.split(" => ")
    sentences = shared_front_end.analyse(text, options=TextOptions(off=frozenset([kind]))).sentences
    assert " ".join(word.text for s in sentences for word in s.words).lower() == expected.lower()


def test_options():
    def read(text, **options):
        sentences = shared.analyse(text, options=TextOptions(**options)).sentences
        return " ".join(word.text for s in sentences for word in s.words)

    shared = FrontEnd(Lexicon(), RuleG2p())
    assert read("03/04/2026", dates="dmy") == "april third twenty twenty six"
    assert read("On 25/12/2026", dates="mdy") == "on december twenty fifth twenty twenty six"
    assert read("ok 👍🏽 ❤️ 🇺🇸", emoji="describe") == "ok thumbs up red heart flag of u s"
    assert read("**b**", markdown=False) == "asterisk asterisk b asterisk asterisk"
    assert read("x.org?session=0123456789abcdef0123", queries="full").startswith("x dot org question mark session")
    for bad in ({"dates": "ymd"}, {"emoji": "say"}, {"off": {"colour"}}, {"off": "money"}):
        with pytest.raises(ConfigError, match="expected"):
            TextOptions(**bad)
