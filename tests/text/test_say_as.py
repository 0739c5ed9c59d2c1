"""Texts read as what the caller says they are."""

import contextlib

import pytest

from deepvoice.errors import TextError
from deepvoice.text.say_as import KINDS, say_as

TABLE = """
characters | aB1-é | A B one dash E
spell-out | FBI x | F B I , X
verbatim | α? | alpha question mark
digits | 120-45 | one two zero , four five
cardinal | -1,234.5 | minus one thousand two hundred thirty four point five
cardinal | XIV | fourteen
number | 007 | seven
ordinal | 22nd | twenty second
ordinal | IV | fourth
fraction | 2/3 | two thirds
fraction | 1 1/2 | one and a half
percent | 4.5% | four point five percent
roman | xii | twelve
year | 1905 | nineteen oh five
year | 44 BC | forty four BC
date | 2026-11-30 | november thirtieth , twenty twenty six
date | 03/04/2026 | march fourth , twenty twenty six
date:dmy | 03/04/2026 | april third , twenty twenty six
date:ymd | 20261130 | november thirtieth , twenty twenty six
date:mdy | 11302026 | november thirtieth , twenty twenty six
date:my | 11/2026 | november twenty twenty six
date:md | 11/30 | november thirtieth
date:dm | 5.6. | june fifth
date:y | 1999 | nineteen ninety nine
date:d | 3 | the third
date:m | 3 | march
date | 30 Nov 2026 | november thirtieth , twenty twenty six
date | March 4th, 2021 | march fourth , twenty twenty one
time | 3:05pm | three oh five PM
time | 12:00 | twelve o'clock
time:hms12 | 15:30 | three thirty PM
time:hms24 | 15:30:20 | fifteen thirty twenty
time | 1'21" | one minute twenty one seconds
telephone | +1 (555) 123-4567 x9 | plus one , five five five , one two three , four five six seven , extension nine
currency | $12.50 | twelve dollars and fifty cents
currency:EUR | 12 | twelve euros
unit | -3 km/h | minus three kilometers per hour
email | bob.lee@example.com | bob dot lee at example dot com
url | https://example.org/ab | example dot org slash AB
address | 150 5th Ave. | one fifty fifth avenue
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_readings(line):
    kind, text, spoken = line.split(" | ")
    name, _, detail = kind.partition(":")
    assert say_as(text, name, detail) == spoken


REFUSED = """
cardinal | hello
date | 13/45/2020
date | 1/2/3/4
date:mdy | 1999
date:q | 12
time | 25:99
money | x
currency:XYZ | 5
roman | IIX
email | hello
telephone | nothing
fraction | ...
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_what_is_not_of_the_kind_is_refused(line):
    kind, text = line.split(" | ")
    name, _, detail = kind.partition(":")
    with pytest.raises(TextError, match=r"cannot be said|is unknown"):
        say_as(text, name, detail)


ODD = ["", " ", "\n", "a", "1", "-", "½", "👍", "12:", "//", "$", "@", "1" * 400, "é" * 50, "⁄", "٣", "...", "'"]


@pytest.mark.parametrize("kind", KINDS)
def test_odd_texts_raise_only_text_errors(kind):
    for text in ODD:
        with contextlib.suppress(TextError):
            assert say_as(text, kind, "ymd").split()
