"""Faults that users of other systems reported, each as a kind: the text and what is said for it.

The number is that of the fault in our list; where a fault is a whole kind (integers, long runs, unknown words), a test
is in test_properties.py, test_linear.py or test_frontend.py as well.
"""

import random

import pytest

from deepvoice.errors import TextError
from deepvoice.text.phones import PHONES, SILENCES
from tests.text.test_cases import canonical, said

TABLE = """
1 | We sold 3,497 seats. | we sold three thousand four hundred ninety seven seats
1 | They ordered 1,812 of them. | they ordered one thousand eight hundred twelve of them
2 | 1,234 items | one thousand two hundred thirty four items
2 | 3.14159 | three point one four one five nine
3 | $1.5 million | one point five million dollars
3 | £2.25bn and €3 trillion | two point two five billion pounds and three trillion euros
4 | $7,667.47 | seven thousand six hundred sixty seven dollars and forty seven cents
4 | It costs $100,000. | it costs one hundred thousand dollars
4 | Pi is 3.14. | pi is three point one four
6 | $12 | twelve dollars
6 | $1 and $0.05 | one dollar and five cents
7 | -0.4 degrees | minus zero point four degrees
7 | −0.05 | minus zero point zero five
9 | In 1397 | in thirteen ninety seven
9 | In 2005 | in two thousand five
9 | In 1905 | in nineteen oh five
9 | In 2000 | in two thousand
10 | The bill is 2358 dollars. | the bill is two thousand three hundred fifty eight dollars
10 | We walked 1984 steps. | we walked one thousand nine hundred eighty four steps
12 | the 24th | the twenty fourth
12 | 22nd, 101st, 1,001st | twenty second one hundred first one thousand first
14 | a 10m (32ft) passage | a ten meters thirty two feet passage
14 | 5km | five kilometers
14 | 20°C | twenty degrees celsius
14 | 3 kWh | three kilowatt hours
14 | 60 mph | sixty miles per hour
15 | 2/3 cup | two thirds cup
15 | 50g | fifty grams
15 | Sunset Blvd | sunset boulevard
15 | 1/2 | one half
16 | 1:49 PM | one forty nine P M
16 | 3:05 | three oh five
16 | 09:08 AM | nine oh eight A M
16 | 12:00 | twelve o'clock
18 | Your code is 276983. | your code is two seven six nine eight three
18 | 123-456-0987 | one two three four five six zero nine eight seven
20 | 2026-11-30 | november thirtieth twenty twenty six
20 | 03/04/2026 | march fourth twenty twenty six
22 | mail bob.lee@example.com | mail bob dot lee at example dot com
22 | see https://example.org/a-b?x=1 | see example dot org slash A dash B question mark X equals one
23 | **Bold** and *soft* | bold and soft
23 | # Title | title
23 | - item | item
23 | `x` | X
23 | 5 * 3 | five times three
24 | Done ✅👍🏽 → next | done next
24 | 👨‍👩‍👧 us | us
24 | ┌──┐ box | box
26 | this is a <test> of 3 < 5 | this is a test of three less than five
27 | No, it wasn’t. | no it wasn't
27 | we’re | we're
27 | don`t | don't
28 | IBM's mainframes | I B M's mainframes
28 | the MP3s | the M P threes
30 | FBI, CEO, NASA, US Army, AI | F B I C E O nasa U S army A I
33 | 你好 world | world
33 | zxqv brillig | Z X Q V brillig
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_reading(front_end, line):
    _, text, expected = line.split(" | ")
    heard = said(front_end, text)
    assert heard == canonical(expected)


def test_no_pause_inside_a_number(front_end):  # 4
    (sentence,) = front_end.analyse("It costs $100,000 or 3.14.").sentences
    assert not {",", ";", ":"} & set(sentence.sequence.symbols)


@pytest.mark.parametrize("apostrophe", "’‘ʼʹ′`´＇")
def test_apostrophes_of_all_kinds_are_one(front_end, apostrophe):  # 27
    text = "No, it wasn't. We're here, don't go."
    assert [s.sequence for s in front_end.analyse(text.replace("'", apostrophe)).sentences] == [
        s.sequence for s in front_end.analyse(text).sentences
    ]


def test_other_scripts_are_listed_and_unknown_words_are_spoken(front_end):  # 33
    report = front_end.analyse("你好 world, brillig мир").report
    assert [(d.text, d.reason) for d in report.dropped] == [("你好", "other script"), ("мир", "other script")]
    assert "brillig" in report.unknown


def test_every_phone_is_in_the_inventory(front_end):  # 34
    generator = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz'éñß"
    words = ["".join(generator.choice(letters) for _ in range(generator.randrange(1, 12))) for _ in range(2000)]
    for sentence in front_end.analyse("\n".join(" ".join(words[i : i + 20]) for i in range(0, 2000, 20))).sentences:
        assert set(sentence.sequence.symbols) <= {*PHONES, *SILENCES}


def test_list_lines_pause_and_wrapped_lines_do_not(front_end):  # 36
    assert len(front_end.analyse("apples\nripe pears\nplums\ncherries").sentences) == 4
    wrapped = "This paragraph was wrapped by an editor at a width of\nsixty columns and it reads on from line to\nline."
    (sentence,) = front_end.analyse(wrapped).sentences
    assert not {",", ";", ":", "-"} & set(sentence.sequence.symbols)


@pytest.mark.parametrize("text", ["", " ", "\n", "***", "...!?", "—", "()", '""', "\u200b"])
def test_nothing_to_say_is_a_text_error(front_end, text):  # 39
    with pytest.raises(TextError, match=r"empty|nothing in the text"):
        front_end.analyse(text)


def test_a_text_without_punctuation_is_spoken_to_its_end(front_end):  # 41, 42
    words = [f"word{'s' * (i % 3)}" for i in range(2000)]
    analysis = front_end.analyse(" ".join(words))
    assert len([word for sentence in analysis.sentences for word in sentence.words]) == 2000
    assert len(analysis.sentences) > 5
