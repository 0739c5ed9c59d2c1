"""What starts with a mark: pauses, dashes, apostrophes, brackets and symbols."""

import re

from deepvoice.text import numbers as say
from deepvoice.text import quantities
from deepvoice.text.scanner import Scanner
from deepvoice.text.vocabulary import PER_UNITS, SYMBOLS

_CLIPPED = re.compile(r"'(?:em|tis|twas|til|cause|bout|round|n|cuse)(?![A-Za-z])", re.IGNORECASE)
_SHORT_YEAR = re.compile(r"\d\d(?!\d|'?s)")
_ENDS_IN_DIGIT = re.compile(r"[\d.]\d\s$|\d\s$")
_SPACE_DIGIT = re.compile(r"\s\d")
_SLASH_UNIT = re.compile(r"/([A-Za-z]+)")
_SHORT_LETTERS = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,2}$")
_NOTE = re.compile(r"(?<![A-Za-z])[A-G]$")  # "F#", and the language "C#"
_CURRENCY = "$£€¥₹"
_PUNCTUATION = ",;:.!?-–—|•()[]"
_PAUSING = {",": ",", ";": ";", ":": ":", "!": ",", "?": ",", "|": ",", "•": ","}


def read_mark(scanner: Scanner) -> None:
    """Read the mark at the position, with its repetitions."""
    char, run = scanner.text[scanner.position], scanner.position + 1
    while scanner.text[run : run + 1] == char:
        run += 1
    if char in "-–—":
        _read_dash(scanner, char, run)
    elif char == ".":
        _read_stop(scanner, run)
    elif char == "'":
        _read_apostrophe(scanner, run)
    elif char in "()[]":
        _read_bracket(scanner, char, run)
    elif char in _PAUSING:
        if char != ":" or not (scanner.before.isalnum() and scanner.after.isalnum()):
            scanner.pause(_PAUSING[char])
        scanner.position = run
    elif char in '"_{}':
        scanner.position = run
    elif run - scanner.position >= 3:
        scanner.drop(scanner.position, run, "row of symbols")
    else:
        _read_symbol(scanner, char)


def _read_apostrophe(scanner: Scanner, run: int) -> None:
    text, before = scanner.text, scanner.before
    clipped = _CLIPPED.match(text, scanner.position)
    if clipped and not before.isalpha():
        scanner.say(clipped.group().lower(), clipped.end(), changed=False)
        return
    scanner.position = run
    year = _SHORT_YEAR.match(text, run)
    if year and not before.isalnum():
        scanner.say(say.pair(year.group()), year.end())


def _read_bracket(scanner: Scanner, char: str, run: int) -> None:
    """Pause at a bracket between words; "(s)" glued to a word makes none."""
    if char == "(" and scanner.take(quantities.read_phone_number(scanner.position, scanner.context())):
        return
    if char in "([":
        if scanner.before in ("", " "):
            scanner.pause(",")
    elif scanner.text[run : run + 1] in (" ", ""):
        scanner.pause(",")
    scanner.position = run


def _read_dash(scanner: Scanner, char: str, run: int) -> None:
    """Read a minus, the "to" of a range, a hyphen (silent), or a pause."""
    text, position, before, after = scanner.text, scanner.position, scanner.before, scanner.after
    if run > position + 1 or char == "—":
        scanner.pause("-")
        scanner.position = run
        return
    numeric = after.isdigit() or (after in (*_CURRENCY, ".") and text[position + 2 : position + 3].isdigit())
    if numeric and (before.isdigit() or before in ("%", "°") or _after_quantity(scanner)):
        scanner.say("to", run)
    elif numeric and not before.isalpha() and before != ")":
        scanner.say("minus", run)
    elif before in ("", " ") and after in ("", " "):
        between = _ENDS_IN_DIGIT.search(text[max(0, position - 3) : position]) and _SPACE_DIGIT.match(text, run)
        if between:
            scanner.say("minus" if char == "-" else "to", run)
        else:
            scanner.pause("-")
    scanner.position = run


def _after_quantity(scanner: Scanner) -> bool:
    """Tell whether what ends at the position was read as a quantity ("9am-5pm")."""
    last = scanner.changes[-1] if scanner.changes else None
    if last is None or last.end != scanner.offset + scanner.position:
        return False
    return scanner.text[last.start - scanner.offset].isdigit()


def _read_stop(scanner: Scanner, run: int) -> None:
    """Read a full stop inside a sentence: a decimal point, the "dot" of a name, an ellipsis, or a pause."""
    before, after = scanner.before, scanner.after
    if run > scanner.position + 1:
        if run < len(scanner.text):
            scanner.pause("-")
    elif after.isdigit() and not before.isalnum():
        if scanner.take(quantities.read_decimal(scanner.position, scanner.context())):
            return
    elif before.isalnum() and after.isalnum():
        scanner.say("dot", run)
        return
    elif after and scanner.tokens and not _SHORT_LETTERS.search(scanner.text[max(0, run - 4) : run - 1]):
        scanner.pause(",")  # not after an initial or a short unknown abbreviation
    scanner.position = run


def _read_symbol(scanner: Scanner, char: str) -> None:
    position, context = scanner.position, scanner.context()
    if char in _CURRENCY and scanner.take(quantities.read_money(position, context)):
        return
    if char == "+" and scanner.take(quantities.read_phone_number(position, context)):
        return
    if char == "/" and _read_per(scanner):
        return
    spoken = _symbol(scanner, char)
    if spoken:
        scanner.say(spoken, position + 1)
    else:
        scanner.position += 1


def _symbol(scanner: Scanner, char: str) -> str:
    """Return what a symbol is read as, "" for one that is only seen."""
    before, after = scanner.before, scanner.after
    spaced = before == " " and after == " "
    following = after if after != " " else scanner.text[scanner.position + 2 : scanner.position + 3]
    if char == "/":
        return "slash" if before.isdigit() and after.isdigit() else ""
    if char == "#":
        if after.isdigit():
            return "number"
        if after.isalpha():
            return "" if before.isalnum() else "hashtag"
        return "sharp" if _NOTE.search(scanner.text[max(0, scanner.position - 2) : scanner.position]) else ""
    if char in "<>":
        return SYMBOLS[char] if spaced or following.isdigit() else ""
    if char == "*":
        return "times" if spaced and scanner.words else ""
    if char == "~":
        return "about" if after.isdigit() else ""
    if char == "^":
        return "to the power of" if before.isalnum() and after.isalnum() else ""
    return SYMBOLS.get(char, "")


def _read_per(scanner: Scanner) -> bool:
    """Read the slash of "$5/month": after something that was read as a quantity, before a word."""
    following = _SLASH_UNIT.match(scanner.text, scanner.position)
    if not following or not scanner.changes or scanner.changes[-1].end != scanner.offset + scanner.position:
        return False
    if (
        not scanner.before.isdigit()
        and scanner.before not in _CURRENCY
        and not scanner.changes[-1].spoken.endswith("s")
    ):
        return False
    unit = PER_UNITS.get(following[1])
    if unit:
        scanner.say(f"per {unit}", following.end())
    else:
        scanner.say("per", scanner.position + 1)
    return True
