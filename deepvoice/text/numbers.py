"""Numbers to English words (US): cardinals, ordinals, decimals, years, fractions, digit strings, Roman numerals.

Every function takes digits without separators and returns lower-case words separated by spaces, without hyphens
and without "and" ("one hundred one"), so that each word is looked up by itself.
"""

from functools import lru_cache

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = (
    "_ thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion"
).split()
MOST_DIGITS = 3 * len(_SCALES)  # longer numbers are read digit by digit
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def _below_thousand(n: int) -> str:
    words = []
    if n >= 100:
        words += [_ONES[n // 100], "hundred"]
        n %= 100
    if n >= 20:
        words.append(_TENS[n // 10])
        n %= 10
        if n:
            words.append(_ONES[n])
    elif n or not words:
        words.append(_ONES[n])
    return " ".join(words)


@lru_cache(maxsize=4096)
def cardinal(digits: str) -> str:
    """Read "1234" as "one thousand two hundred thirty four"; digit by digit past the decillions."""
    significant = digits.lstrip("0")
    if not significant:
        return "zero"
    if len(significant) > MOST_DIGITS:
        return spell_digits(digits)
    words = []
    for position in range(0, len(significant), 3):
        group = int(significant[max(0, len(significant) - position - 3) : len(significant) - position])
        if group:
            scale = _SCALES[position // 3]
            words.append(_below_thousand(group) if position == 0 else f"{_below_thousand(group)} {scale}")
    return " ".join(reversed(words))


def ordinal(digits: str) -> str:
    """Read "22" as "twenty second"."""
    before, _, last = cardinal(digits).rpartition(" ")
    if last in _ORDINALS:
        last = _ORDINALS[last]
    elif last.endswith("y"):
        last = last[:-1] + "ieth"
    else:
        last += "th"
    return f"{before} {last}".strip()


def spell_digits(digits: str) -> str:
    """Read "0049" as "zero zero four nine"."""
    return " ".join(_ONES[int(d)] for d in digits)


def decimal(whole: str, fraction: str) -> str:
    """Read ("3", "14") as "three point one four" and ("", "5") as "point five"."""
    point = f"point {spell_digits(fraction)}"
    return f"{cardinal(whole)} {point}" if whole else point


def year(digits: str) -> str:
    """Read a year of four digits: "1905" nineteen oh five, "2005" two thousand five, "1900" nineteen hundred."""
    century, rest = int(digits[:2]), int(digits[2:])
    if century % 10 == 0 and rest < 10:
        return cardinal(digits)
    if rest == 0:
        return f"{cardinal(digits[:2])} hundred"
    return f"{cardinal(digits[:2])} {pair(digits[2:])}"


def pair(digits: str) -> str:
    """Read two digits of a year, a time or a room: "05" oh five, "49" forty nine, "00" oh oh."""
    if digits == "00":
        return "oh oh"
    return f"oh {_ONES[int(digits)]}" if digits[0] == "0" else cardinal(digits)


def decade(digits: str) -> str:
    """Read "1990" as "nineteen nineties" and "90" as "nineties"."""
    words = year(digits) if len(digits) == 4 else cardinal(digits)
    return plural_number(words)


def plural_number(words: str) -> str:
    """Make the last number word plural: "forty six" -> "forty sixes", "twenty" -> "twenties"."""
    if words.endswith("y"):
        return words[:-1] + "ies"
    return words + ("es" if words.endswith("six") else "s")


def fraction(numerator: str, denominator: str) -> str:
    """Read ("2", "3") as "two thirds", ("1", "2") as "one half"; "over" where no ordinal is usual."""
    top, bottom = int(numerator), int(denominator)
    if bottom == 2 and top > 0:
        return f"{cardinal(numerator)} {'half' if top == 1 else 'halves'}"
    if bottom == 4 and top > 0:
        return f"{cardinal(numerator)} {'quarter' if top == 1 else 'quarters'}"
    if bottom < 2 or bottom > 100 or top == 0 or bottom % 10 in (1, 2):
        return f"{cardinal(numerator)} over {cardinal(denominator)}"
    return f"{cardinal(numerator)} {ordinal(denominator)}{'' if top == 1 else 's'}"


def roman(numeral: str) -> int:
    """Return the value of a well-formed Roman numeral below 4000, or 0."""
    total = 0
    for i, letter in enumerate(numeral):
        value = _ROMAN.get(letter, 0)
        if not value:
            return 0
        total += -value if i + 1 < len(numeral) and _ROMAN.get(numeral[i + 1], 0) > value else value
    return total if to_roman(total) == numeral else 0


def to_roman(value: int) -> str:
    """Return the usual Roman numeral of a number from 1 to 3999, "" outside."""
    if not 0 < value < 4000:
        return ""
    numeral = ""
    for amount, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        numeral += letters * (value // amount)
        value %= amount
    return numeral
