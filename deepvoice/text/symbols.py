"""What starts with a symbol: money, signs of arithmetic, operators of code, hashtags and handles, marks of markup."""

import re

from deepvoice.text import numbers as say
from deepvoice.text.codes import read_phone_number
from deepvoice.text.measures import read_unit
from deepvoice.text.money import read_money
from deepvoice.text.scanner import Scanner
from deepvoice.text.units import PER_UNITS
from deepvoice.text.vocabulary import CURRENCY_SIGNS, OPERATORS, SILENT_OPERATORS, SYMBOLS

_SLASH_UNIT = re.compile(r"/([A-Za-z]+[²³]?)(?![A-Za-z])")
_NOTE = re.compile(r"(?<![A-Za-z])[A-G]$")  # "F#", and the language "C#"
_OPERATOR = re.compile(r"\+/-|[-<>=!&|+*:~]{2,3}")
_HANDLE = re.compile(r"@([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)")
_HASHTAG = re.compile(r"#(?=[A-Za-z_]|\d+[A-Za-z_])[A-Za-z0-9_]+")
_TICKER = re.compile(r"[A-Z]{1,5}(?![A-Za-z0-9])")
_SHARP = re.compile(r"#(m(?:aj|in)?|dim|aug|sus|add)?(?=\d{0,2}(?![A-Za-z0-9]))")
_CHORDS = {"m": "minor", "min": "minor", "maj": "major", "dim": "diminished", "aug": "augmented"}
_POWER = re.compile(r"\^[({]?([-−]?)(\d{1,3})[)}]?(?![\d.])")
_LETTER_POWER = re.compile(r"\^[({]?([A-Za-z])[)}]?(?![A-Za-z])")
_EQUATION = re.compile(r"[=≈≠≤≥×÷√]|[\d)] [*+] [\d(]")  # what makes a spaced slash a division
_PER_WORDS = frozenset(
    "second minute hour day week month year night person capita unit user mile km meter gallon liter pound share head "
    "page point".split()
)
_PLAIN = {"*": "asterisk", "_": "underscore", "#": "number sign", "`": "backtick", "~": "tilde", "\\": "backslash"}
_MATHS = frozenset("+=×÷±≈≤≥≠<>√∞²³^∑∏∫∂∇∪∩∈∉⊂⊆∅∀∃¬∧∨⊥∥∠∝∴∵*")


def read_symbol(scanner: Scanner, char: str, run: int) -> None:
    """Read the symbol at the position; `run` is where its repetitions end. What is only seen is listed."""
    position, context = scanner.position, scanner.context()
    if (char in CURRENCY_SIGNS and scanner.take(read_money(position, context))) or (
        char == "+" and scanner.take(read_phone_number(position, context))
    ):
        return
    if char in "§¶" and run - position == 2:
        scanner.say(f"{SYMBOLS[char]}s", run)
        return
    if char == "$" and scanner.before in ("", " ", "(") and _TICKER.match(scanner.text, run):
        scanner.silent(run)
        return
    if char in "<>=!&|+*:-~" and _read_operator(scanner):
        return
    if run - position >= 3 and char not in "*_~`{}":
        scanner.drop(position, run, "row of symbols")
    elif char in _TAKERS and _TAKERS[char](scanner):
        return
    elif (spoken := _symbol(scanner, char, run)) and (char not in _MATHS or scanner.options.reads("math")):
        scanner.say(spoken, position + 1)
    elif char in "*_~`#=/\\{}<>^|" or char in SYMBOLS:
        scanner.silent(run)
    else:
        scanner.drop(position, run, "symbol")


def _read_operator(scanner: Scanner) -> bool:
    """Read an operator of several marks ("!=", "+/-", "->")."""
    match = _OPERATOR.match(scanner.text, scanner.position)
    if not match or not scanner.options.reads("math"):
        return False
    marks, text = match.group(), scanner.text
    after = text[match.end() : match.end() + 1]
    if marks == "++":
        glued = scanner.before.isalpha() and not after.isalnum()
        spoken = "plus plus" if glued else ""
    elif marks == "+/-":
        spoken = OPERATORS[marks]
    elif marks in OPERATORS:  # between operands, spaced or not; "**" and "||" would be markup when they are glued
        spaced = scanner.before == " " and after == " "
        glued = scanner.before.isalnum() and after.isalnum() and marks not in ("**", "||", "<>", "<<", ">>")
        spoken = OPERATORS[marks] if (spaced or glued) and scanner.words else ""
    else:
        spoken = ""
    if spoken:
        scanner.say(spoken, match.end())
        return True
    if marks.startswith(SILENT_OPERATORS) and marks in SILENT_OPERATORS and marks != "~~":
        scanner.pause(",")
        scanner.silent(match.end())
        return True
    return False


def _read_tag(scanner: Scanner) -> bool:
    """Read the mark of a hashtag or of a handle; the name itself is read as words, a handle with its marks."""
    text, position = scanner.text, scanner.position
    char = text[position]
    if char == "#" and (sharp := _SHARP.match(text, position)) and _NOTE.search(text[max(0, position - 2) : position]):
        kind = sharp[1] or ""
        scanner.say(f"sharp {_CHORDS.get(kind, kind)}", sharp.end())
        return True
    if scanner.before.isalnum():
        return False
    if char == "#":
        if not _HASHTAG.match(text, position) or not scanner.options.reads("hashtag"):
            return False
        scanner.say("hashtag", position + 1)
        return True
    handle = _HANDLE.match(text, position)
    if not handle or not scanner.options.reads("handle"):
        return False
    if "_" not in handle[1] and "." not in handle[1]:
        scanner.say("at", position + 1)
        return True
    pieces = [_handle_piece(scanner, piece) for piece in re.findall(r"[A-Za-z]+|\d+|[_.]", handle[1])]
    scanner.say(" ".join(["at", *pieces]), handle.end())
    return True


def _handle_piece(scanner: Scanner, piece: str) -> str:
    if piece in "_.":
        return "underscore" if piece == "_" else "dot"
    if piece.isdigit():
        return say.cardinal(piece) if len(piece) <= 2 and piece[0] != "0" else say.spell_digits(piece)
    spelled = len(piece) == 1 or (len(piece) <= 3 and not scanner.known(piece.lower()))
    return piece.upper() if spelled else piece.lower()


def _read_power(scanner: Scanner) -> bool:
    """Read the exponent of "10^6", "x^2", "2^n"."""
    if not (scanner.before.isalnum() or scanner.before in ")]") or not scanner.options.reads("math"):
        return False
    match = _POWER.match(scanner.text, scanner.position)
    if match:
        minus, digits = match.groups()
        if minus:
            spoken = f"to the minus {say.cardinal(digits)}"
        else:
            spoken = {"2": "squared", "3": "cubed"}.get(digits) or f"to the {say.ordinal(digits)}"
        counted = scanner.before.isdigit()
        unit = read_unit(scanner.text, match.end(), one=False, options=scanner.options) if counted else None
        scanner.say(f"{spoken} {unit.spoken}" if unit else spoken, unit.end if unit else match.end())
        return True
    letter = _LETTER_POWER.match(scanner.text, scanner.position)
    if letter:
        scanner.say(f"to the power of {letter[1].upper()}", letter.end())
        return True
    return False


def _read_per(scanner: Scanner) -> bool:
    """Read the slash of "$5/month" and "requests/second": after a quantity or a plural, before a word."""
    following = _SLASH_UNIT.match(scanner.text, scanner.position)
    if not following or not scanner.options.reads("unit"):
        return False
    if scanner.words[-1:] and scanner.words[-1] in ("celsius", "fahrenheit"):
        return False  # "180 °C/350 °F"
    quantity = scanner.number_end == scanner.position
    plural = scanner.before == "s" and bool(scanner.words) and following[1] in _PER_WORDS
    if quantity and not plural and not _is_measured(scanner) and following[1] not in {*_PER_WORDS, *PER_UNITS}:
        return False
    if not (quantity or plural):
        return False
    unit = PER_UNITS.get(following[1]) if quantity else None
    if unit:
        scanner.say(f"per {unit}", following.end())
    else:
        scanner.say("per", scanner.position + 1)
    return True


def _is_measured(scanner: Scanner) -> bool:
    """Tell whether the quantity just read has a unit or is money."""
    last = scanner.changes[-1]
    written = scanner.text[last.start - scanner.offset : last.end - scanner.offset]
    return any(not (c.isdigit() or c in ".,/") for c in written)


def _symbol(scanner: Scanner, char: str, run: int) -> str:
    """Return what a symbol is read as, "" for one that is only seen."""
    before, after, text = scanner.before, scanner.after, scanner.text
    spaced = before == " " and after == " "
    following = after if after != " " else text[scanner.position + 2 : scanner.position + 3]
    markup = scanner.options.markdown and scanner.options.reads("markdown")
    if char == "/":
        if spaced and following.isalnum() and _is_operand(scanner) and _EQUATION.search(text):
            return "divided by"
        slash = "slash" if before.isdigit() and after.isdigit() else ""
        return "over" if before == ")" and after.isalnum() else slash
    if char == "#":
        if after.isdigit():
            return "number"
    elif char in "<>":
        return _comparison(scanner, char, spaced, following)
    elif char == "*":
        factors = before.isdigit() and (after.isdigit() or after.isalpha())
        if (spaced and scanner.words) or (factors and run == scanner.position + 1):
            return "times"
    elif char == "~" and after.isdigit():
        return "about"
    elif char == "^" and before.isalnum() and after.isalnum():
        return "to the power of"
    if char in _PLAIN:
        return "" if markup or char == "^" else _PLAIN[char]
    return SYMBOLS.get(char, "")


def _comparison(scanner: Scanner, char: str, spaced: bool, following: str) -> str:
    """Return what an angle bracket says: a comparison before a number or between spaces, nothing around a word."""
    if not (spaced or following.isdigit()):
        return ""
    operand = scanner.before.isdigit() or (spaced and _is_operand(scanner))
    return SYMBOLS[char] if operand or char == "<" else "more than"


def _is_operand(scanner: Scanner) -> bool:
    """Tell whether a number or a letter was just read, so that a comparison follows."""
    last = scanner.text[max(0, scanner.position - 3) : scanner.position - 1]
    return last[-1:].isdigit() or (last[-1:].isalpha() and not last[:-1].isalpha()) or last[-1:] in ")]%"


_TAKERS = {"#": _read_tag, "@": _read_tag, "^": _read_power, "/": _read_per}
