"""Numbers to words, held against an independent reader of number words."""

import random

import pytest

from deepvoice.text import numbers

UNITS = {w: i for i, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
UNITS |= {w: i for i, w in enumerate("thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(), 13)}
TENS = {w: 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
SCALES = {w: 1000**i for i, w in enumerate("thousand million billion trillion quadrillion quintillion".split(), 1)}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}


def value(words: str) -> int:
    """Read cardinal words back; the grammar is written from the other side, so the two share no table."""
    total = group = 0
    for word in words.split():
        if word in UNITS:
            assert group % 10 == 0 and (UNITS[word] < 10 or group % 100 == 0)
            group += UNITS[word]
        elif word in TENS:
            assert group % 100 == 0
            group += TENS[word]
        elif word == "hundred":
            assert 0 < group < 10
            group *= 100
        else:
            assert 0 < group < 1000 and (total == 0 or total % (SCALES[word] * 1000) == 0)
            total, group = total + group * SCALES[word], 0
    return total + group


def test_cardinals_round_trip_from_0_to_10000():
    for n in range(10_001):
        assert value(numbers.cardinal(str(n))) == n


def test_large_cardinals_round_trip():
    generator = random.Random(7)
    for digits in range(4, 19):
        for _ in range(60):
            n = generator.randrange(10 ** (digits - 1), 10**digits)
            assert value(numbers.cardinal(str(n))) == n
    assert numbers.cardinal("1" + "0" * 15) == "one quadrillion"


def test_numbers_past_the_scales_are_read_digit_by_digit():
    assert numbers.cardinal("9" * 40) == " ".join(["nine"] * 40)


def test_ordinals_round_trip_from_1_to_10000():
    for n in range(1, 10_001):
        *before, last = numbers.ordinal(str(n)).split()
        if last in ORDINALS:
            last_value = ORDINALS[last]
            assert value(" ".join(before)) + last_value == n if before else last_value == n
            continue
        stem = last[:-4] + "y" if last.endswith("ieth") else last[:-2]
        assert value(" ".join([*before, stem])) == n


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        ("1397", "thirteen ninety seven"),
        ("1905", "nineteen oh five"),
        ("1900", "nineteen hundred"),
        ("2000", "two thousand"),
        ("2005", "two thousand five"),
        ("2010", "twenty ten"),
        ("1066", "ten sixty six"),
    ],
)
def test_years(digits, words):
    assert numbers.year(digits) == words


@pytest.mark.parametrize(
    ("top", "bottom", "words"),
    [
        ("1", "2", "one half"),
        ("3", "2", "three halves"),
        ("1", "4", "one quarter"),
        ("2", "3", "two thirds"),
        ("5", "16", "five sixteenths"),
        ("7", "0", "seven over zero"),
        ("1", "101", "one over one hundred one"),
    ],
)
def test_fractions(top, bottom, words):
    assert numbers.fraction(top, bottom) == words


def test_roman_numerals_round_trip_and_refuse_bad_ones():
    for n in range(1, 4000):
        assert numbers.roman(numbers.to_roman(n)) == n
    assert [numbers.roman(bad) for bad in ("IIX", "VV", "IC", "ABC", "")] == [0] * 5


def test_decades_and_plurals():
    assert numbers.decade("1990") == "nineteen nineties"
    assert numbers.plural_number("forty six") == "forty sixes"
