"""What starts with a letter: words, abbreviations, months, initials, initialisms, names in mixed case."""

import re

from deepvoice.text import numbers as say
from deepvoice.text import quantities
from deepvoice.text.capitals import read_capitals, read_roman
from deepvoice.text.hygiene import GREEK_NAMES
from deepvoice.text.scanner import Scanner
from deepvoice.text.vocabulary import (
    ABBREVIATIONS,
    ABBREVIATIONS_CAPITALISED,
    ABBREVIATIONS_THAT_ARE_WORDS,
    BARE_ABBREVIATIONS,
    DOTTED,
    MONTH_ABBREVIATIONS,
    MONTHS,
    UNITS,
)

LONGEST_WORD = 60  # letters; a longer run is no word and is spelled
_SPELLED_AT_ONCE = 5  # letters of a long run that make one spoken unit
_POWERS = {"²": "square", "³": "cubic"}
_MONEY_PREFIXES = "USCANH"

_WORD = re.compile(r"[^\W\d_²³]+(?:'[^\W\d_²³]+)*")  # \d does not have the raised digits, \w does
_DOTTED = re.compile(r"(?:[A-Za-z]\.){2,}(?:[A-Za-z](?![A-Za-z]))?|Ph\.D\.?")
_SUFFIX = re.compile(r"'?s(?![A-Za-z])")
_MONTH_DAY = re.compile(r"\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?![\d:/]|,\d{3}|\.\d|\s?[ap]\.?m)")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_BEFORE_NUMBER = re.compile(r"\.\s?\d")
_BEFORE_CAPITAL = re.compile(r"\.?\s+[A-Z]")
_STOP_BEFORE_NAME = re.compile(r"\.\s+[A-Z0-9]")
_AFTER_NAME = re.compile(r"[A-Z0-9][A-Za-z0-9]*\s$")
_INITIAL = re.compile(r"\.\s?[A-Z]")
_BEFORE_YEAR = re.compile(r"\s\d{4}")


def read_letters(scanner: Scanner) -> None:
    """Read what starts with the letter at the position."""
    text, position = scanner.text, scanner.position
    if text[position] in _MONEY_PREFIXES and scanner.take(quantities.read_money(position, scanner.context())):
        return
    if text[position + 1 : position + 2] == "." or text.startswith("Ph.D", position):
        dotted = _DOTTED.match(text, position)
        if dotted:
            _read_dotted(scanner, dotted.group(), dotted.end())
            return
    match = _WORD.match(text, position)
    if match is None:  # a letter that is no word character cannot occur in clean text
        scanner.drop(position, position + 1, "symbol")
        return
    word, end = match.group(), match.end()
    if len(word) > LONGEST_WORD:
        _spell_run(scanner, word)
    elif not _read_abbreviation(scanner, word, end) and not _read_month(scanner, word, end):
        _read_word(scanner, word, end)


def _spell_run(scanner: Scanner, run: str) -> None:
    """Spell a run of letters that is too long to be a word."""
    start = scanner.position
    letters = [(i, c.lower()) for i, c in enumerate(run) if c.isalpha()]
    for k in range(0, len(letters), _SPELLED_AT_ONCE):
        group = letters[k : k + _SPELLED_AT_ONCE]
        scanner.emit("letters", " ".join(c for _, c in group), start + group[0][0], start + group[-1][0] + 1)
    scanner.record(start + len(run), " ".join(c for _, c in letters))
    scanner.position = start + len(run)


def _read_dotted(scanner: Scanner, token: str, end: int) -> None:
    """Read U.S., a.m., J.R.R.; a possessive may follow."""
    spoken = DOTTED.get(token.lower() if token.endswith(".") else token.lower() + ".")
    if spoken is not None:
        scanner.say(spoken, end)
        return
    letters = token.replace(".", "")
    suffix = _SUFFIX.match(scanner.text, end)
    if len(letters) > _SPELLED_AT_ONCE:
        _spell_run(scanner, token)
    elif suffix:
        scanner.spell(letters, suffix.end(), "'s")
    else:
        scanner.spell(letters, end)


# --- abbreviations and months ---------------------------------------------------------------------------------------


def _read_abbreviation(scanner: Scanner, word: str, end: int) -> bool:
    key, text = word.lower(), scanner.text
    dot = text[end : end + 1] == "."
    if key in ("no", "nos", "p", "pp") and dot and _BEFORE_NUMBER.match(text, end):
        scanner.say({"no": "number", "nos": "numbers", "p": "page", "pp": "pages"}[key], end + 1)
        return True
    if key in ("st", "dr") and word[0].isupper():
        return _read_saint_or_street(scanner, word, end, dot)
    spoken = ABBREVIATIONS.get(key)
    if spoken is None or not _abbreviates(scanner, word, end, dot):
        return False
    scanner.say(spoken, end + dot)
    return True


def _abbreviates(scanner: Scanner, word: str, end: int, dot: bool) -> bool:
    """Tell whether a word of the table is an abbreviation here."""
    key, capital = word.lower(), word[0].isupper()
    if not dot:
        return key in ("vs", "etc") or (key in BARE_ABBREVIATIONS and capital)
    if key in ABBREVIATIONS_CAPITALISED and not capital:
        return False
    return key not in ABBREVIATIONS_THAT_ARE_WORDS or _STOP_BEFORE_NAME.match(scanner.text, end) is not None


def _read_saint_or_street(scanner: Scanner, word: str, end: int, dot: bool) -> bool:
    """Read St. and Dr.: the saint and the doctor stand before a name, the street and the drive after one."""
    text = scanner.text
    before_name = _BEFORE_CAPITAL.match(text, end) is not None
    after_name = _AFTER_NAME.search(text[max(0, scanner.position - 30) : scanner.position]) is not None
    if word.lower() == "st":
        ends_name = after_name and text[end + dot : end + dot + 1] in ("", ",", ".", ";")
        spoken = "saint" if before_name and not ends_name else "street"
    else:
        spoken = "doctor" if before_name or not after_name else "drive"
    scanner.say(spoken, end + dot)
    return True


def _read_month(scanner: Scanner, word: str, end: int) -> bool:
    """Read a month before a day, and a month's abbreviation."""
    if not word[0].isupper():
        return False
    lower = word.lower()
    name = lower if lower in MONTHS else MONTH_ABBREVIATIONS.get(lower)
    if name is None:
        return False
    day = _MONTH_DAY.match(scanner.text, end)
    if day and 1 <= int(day[1]) <= 31:
        scanner.say(f"{name} {say.ordinal(day[1])}", day.end())
        scanner.after_date = True
        return True
    if lower == name:
        return False
    dot = scanner.text[end : end + 1] == "."
    if not (dot and len(scanner.text) > end + 1) and not _BEFORE_YEAR.match(scanner.text, end):
        return False
    scanner.say(name, end + dot)
    return True


# --- words ----------------------------------------------------------------------------------------------------------


def _read_word(scanner: Scanner, word: str, end: int) -> None:
    text, lower = scanner.text, word.lower()
    if text[end : end + 1] in _POWERS and word in UNITS and (len(word) > 1 or word == "m"):
        scanner.say(f"{_POWERS[text[end]]} {UNITS[word][1]}", end + 1)  # "in km²"
    elif len(word) == 1:
        _read_single_letter(scanner, word, end)
    elif not word.isascii() and any(c in GREEK_NAMES for c in lower):
        scanner.drop(scanner.position, end, "other script")
    elif word.islower() and not text[end : end + 1].isdecimal():
        scanner.say(lower, end, changed=False)
    elif len(word) <= 3 and word.isupper() and "&" in (text[end : end + 1], scanner.before):
        scanner.spell(word, end)  # "AT&T"
    elif (roman := read_roman(word, scanner.words, text, end)) is not None:
        scanner.say(roman, end)
    elif (capitals := read_capitals(word, shouted=scanner.shouted, known=scanner.known)) is not None:
        scanner.spell(capitals[0], end, capitals[1])
    elif scanner.known(lower):
        scanner.say(lower, end, changed=False)
    elif text[end : end + 1].isdecimal() and len(word) <= 4 and word.isascii():
        scanner.spell(word, end)  # "mp3", "x86"
    elif not word.isupper() and re.search("[a-z][A-Z]", word) and word.isascii():
        _read_camel(scanner, word, end)
    else:
        scanner.say(lower, end, changed=False)


def _read_single_letter(scanner: Scanner, word: str, end: int) -> None:
    """Read a letter that stands alone: a word ("a", "I", "o") or the name of the letter."""
    text, lower = scanner.text, word.lower()
    if lower in GREEK_NAMES:
        scanner.say(GREEK_NAMES[lower], end)
        return
    following = text[end : end + 1]
    glued = following.isdigit() or scanner.before.isdigit() or following == "&" or scanner.before == "&"
    initial = word.isupper() and following == "." and _INITIAL.match(text, end) is not None
    listed = following == ")" and not scanner.words
    marked = word == "A" and following in (",", ".", ";", "?", "!", '"')
    named = glued or initial or listed or marked or following == "-"
    if not named and (word == "a" or word == "I" or (word == "A" and not _is_named(scanner))):
        scanner.say(lower, end, changed=False)
        return
    scanner.spell(word, end, changed=glued or not word.isupper())
    if initial:
        scanner.position += 1


def _is_named(scanner: Scanner) -> bool:
    """Tell "plan A" and "vitamin A" from the article of a title or a sentence's first word."""
    return bool(scanner.tokens) and scanner.tokens[-1].kind != "pause" and not scanner.shouted


def _read_camel(scanner: Scanner, word: str, end: int) -> None:
    """Read the parts of a name in mixed case ("OpenMind")."""
    start = scanner.position
    for match in _CAMEL.finditer(word):
        scanner.position = start + match.start()
        _read_word(scanner, match.group(), start + match.end())
    scanner.position = end
