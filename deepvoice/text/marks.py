"""What starts with a mark of punctuation: pauses, dashes, full stops, apostrophes, brackets."""

import re

from deepvoice.text import numbers as say
from deepvoice.text import quantities
from deepvoice.text.codes import read_phone_number
from deepvoice.text.dates import month_name
from deepvoice.text.scanner import Scanner
from deepvoice.text.symbols import read_symbol
from deepvoice.text.vocabulary import CURRENCY_SIGNS, EXCLAIMED

_CLIPPED = re.compile(r"'(?:em|tis|twas|til|cause|bout|round|n|cuse)(?![A-Za-z])", re.IGNORECASE)
_FACTORIAL = re.compile(r"(?:^|[^A-Za-z0-9])(?:\d{1,3}|[A-Za-z])!\s?[-=+×÷*/<>≈)]")
_VARIABLE = re.compile(r"(?:^|[^A-Za-z])[B-HJ-Zb-hj-z] $")
_SHORT_YEAR = re.compile(r"\d\d(?!\d|'?s)")
_NUMBER_BEFORE = re.compile(r"(\d[\d,]*)(?:\.\d+)?%?\s$")
_NUMBER_AFTER = re.compile(r"\s(\d[\d,]*)")
_SIGNED_AFTER = re.compile(r"\s[-+]\d")
_SHORT_LETTERS = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,2}$")
_CODE = re.compile(r"[A-Za-z]\d{1,8}$")
_DIFFERENCE = re.compile(r"\d[\d.,]{0,12}\s?=\s?[\d-]")
_FLAG = re.compile(r"-[A-Za-z](?![A-Za-z'-])|--[a-z][a-z-]+[a-z](?![A-Za-z])")
_MONTH_AFTER = re.compile(r"\s?[-–]\s?([A-Z][a-z]{2,8})")
_GRADE = re.compile(r"[A-DF]-(?=[\s,.;)]|$)")
_LETTER_RANGE = re.compile(r"[-–]([a-z](?![A-Za-z])|[A-Z](?![A-Za-z]))")
_FUNCTION = re.compile(r"(?<![A-Za-z])[fghFGHPp]$")
_ARGUMENT = re.compile(r"\([a-zA-Z](?:, ?[a-zA-Z])*\)")
_EMOTICON = re.compile(
    r"(?:[:;=8][-^o~]?(?:[()\[\]DPpOo|\\*$@]+|/(?!/))|:'[()]|(?:<3){2,}|<3(?!\d)|\^_\^|-_-|>:[()]|\\o/)(?=[\s.,!?]|$)"
)
_PAUSING = {",": ",", ";": ";", ":": ":", "!": ",", "?": ",", "|": ",", "•": ","}


def read_mark(scanner: Scanner) -> None:
    """Read the mark at the position, with its repetitions."""
    text, position = scanner.text, scanner.position
    char, run = text[position], position + 1
    while text[run : run + 1] == char:
        run += 1
    if char in "!:;=8<^->\\/~." and _read_run(scanner, char):
        return
    if char in "-–—":
        _read_dash(scanner, char, run)
    elif char == ".":
        _read_stop(scanner, run)
    elif char == "'":
        _read_apostrophe(scanner, run)
    elif char in "()[]":
        _read_bracket(scanner, char, run)
    elif char in _PAUSING and not (char == "|" and run - position > 1):
        if char not in ":;" or not (scanner.before.isalnum() and scanner.after.isalnum()):
            scanner.pause(_PAUSING[char])
        scanner.position = run
    elif char in '"¿¡':
        scanner.position = run
    else:
        read_symbol(scanner, char, run)


def _read_run(scanner: Scanner, char: str) -> bool:
    """Read what several marks make together: an emoticon, a path, a mark of logic."""
    text, position = scanner.text, scanner.position
    starts = scanner.before in ("", " ", "(", '"', "'", "<", "[", "=")
    if starts and char in ":;=8<^->\\" and scanner.options.reads("emoticon"):
        emoticon = _EMOTICON.match(text, position)
        if emoticon and not (char == "<" and emoticon.end() - position == 2 and _is_less(scanner)):
            scanner.drop(position, emoticon.end(), "emoticon")
            return True
    if starts and char in "/~.\\" and scanner.take_address():
        return True
    return char == "!" and _read_logic(scanner)


def _is_less(scanner: Scanner) -> bool:
    """Tell whether "<3" compares: nothing or a variable is before it."""
    before = _VARIABLE.search(scanner.text, max(0, scanner.position - 3), scanner.position)
    return not scanner.words or before is not None


def _read_logic(scanner: Scanner) -> bool:
    """Read an exclamation mark that is none: of a factorial ("5! = 120"), of "!=", of "!ready", of a name."""
    text, position = scanner.text, scanner.position
    after = scanner.after
    if scanner.words and scanner.words[-1] in EXCLAIMED and after in (" ", ",", "'"):
        scanner.position += 1
        return True
    if not scanner.options.reads("math"):
        return False
    if after == "=":
        read_symbol(scanner, "!", position + 1)
        return scanner.position > position
    if scanner.before.isalnum() and _FACTORIAL.search(text[max(0, position - 4) : position + 4]):
        scanner.say("factorial", position + 1)
        return True
    if scanner.before in (" ", "(") and after.isalpha() and scanner.words:
        scanner.say("not", position + 1)
        return True
    return False


def _read_apostrophe(scanner: Scanner, run: int) -> None:
    text, before = scanner.text, scanner.before
    clipped = _CLIPPED.match(text, scanner.position)
    if clipped and not before.isalpha():
        scanner.say(clipped.group().lower(), clipped.end(), changed=False)
        return
    scanner.position = run
    year = _SHORT_YEAR.match(text, run)
    if year and not before.isalnum() and scanner.options.reads("year"):
        scanner.say(say.pair(year.group()), year.end())


def _read_bracket(scanner: Scanner, char: str, run: int) -> None:
    """Pause at a bracket between words; "(s)" glued to a word makes none."""
    text, position = scanner.text, scanner.position
    if char == "(" and scanner.take(read_phone_number(position, scanner.context())):
        return
    function = char == "(" and scanner.before.isalpha() and _FUNCTION.search(text, max(0, position - 2), position)
    if function and _ARGUMENT.match(text, position) and scanner.options.reads("math"):
        scanner.say("of", position + 1)
        return
    if text.startswith("(s)", position) and scanner.before.isalpha() and scanner.tokens[-1].kind == "word":
        _read_optional_plural(scanner)
        return
    if char in "([":
        if scanner.before in ("", " "):
            scanner.pause(",")
    elif text[run : run + 1] in (" ", ""):
        scanner.pause(",")
    scanner.position = run


def _read_optional_plural(scanner: Scanner) -> None:
    """Read "page(s)" as the plural."""
    last, end = scanner.tokens[-1], scanner.position + 3
    scanner.tokens[-1] = last._replace(text=f"{last.text}s", end=scanner.offset + end)
    scanner.words[-1] = scanner.tokens[-1].text
    scanner.record(end, "s")
    scanner.position = end


# --- dashes ---------------------------------------------------------------------------------------------------------


def _read_dash(scanner: Scanner, char: str, run: int) -> None:
    """Read a minus, the "to" of a range, a hyphen (silent), or a pause."""
    text, position, before, after = scanner.text, scanner.position, scanner.before, scanner.after
    flag = _FLAG.match(text, position) if before in (" ", "", "(", "`") and scanner.options.reads("path") else None
    if flag and scanner.words:
        scanner.say("dash " * (run - position), run)
        return
    if run > position + 1 or char == "—":
        _pause(scanner)
        scanner.position = run
        return
    numeric = after.isdigit() or (after in (*CURRENCY_SIGNS, ".") and text[position + 2 : position + 3].isdigit())
    if numeric and before not in ("", " "):
        _read_joint(scanner, run)
    elif numeric:
        _say_or_pass(scanner, "minus", "sign", run)
    elif before in ("", " ") and after in ("", " "):
        _read_spaced(scanner, char, run)
    else:
        _read_between_words(scanner, run)
    scanner.position = run


def _pause(scanner: Scanner) -> None:
    if scanner.options.reads("dash"):
        scanner.pause("-")


def _say_or_pass(scanner: Scanner, spoken: str, kind: str, end: int) -> None:
    if scanner.options.reads(kind):
        scanner.say(spoken, end)
    else:
        scanner.silent(end)


def _read_joint(scanner: Scanner, run: int) -> None:
    """Read a dash glued to what is before it, before a number."""
    text, position, before = scanner.text, scanner.position, scanner.before
    if before.isalpha() and scanner.words[-1:] and scanner.words[-1] in ("noon", "midnight"):
        _say_or_pass(scanner, "to", "range", run)
        return
    if _DIFFERENCE.match(text, run) and before.isalnum() and scanner.options.reads("math"):
        scanner.say("minus", run)
        return
    quantity = before.isdigit() or before in ("%", "°") or scanner.number_end == position
    code = scanner.number_end != position and _CODE.search(text, max(0, position - 9), position) is not None
    if quantity and not code:
        _say_or_pass(scanner, "to", "range", run)
    elif not before.isalnum() and before not in ")'\"":
        _say_or_pass(scanner, "minus", "sign", run)
    elif code or before == ")":
        scanner.silent(run)


def _read_spaced(scanner: Scanner, char: str, run: int) -> None:
    """Read a dash between spaces: an operator or a range between numbers, else a pause."""
    text = scanner.text
    first = _NUMBER_BEFORE.search(text, max(0, scanner.position - 16), scanner.position)
    second = _NUMBER_AFTER.match(text, run) if first else None
    month = _MONTH_AFTER.match(text, scanner.position - 1) if scanner.after_date else None
    if month and month_name(month[1]):
        _say_or_pass(scanner, "to", "range", run)
    elif first and char == "-" and _SIGNED_AFTER.match(text, run):
        _say_or_pass(scanner, "minus", "math", run)
    elif not (first and second):
        _pause(scanner)
    else:
        grows = int(first[1].replace(",", "")) < int(second[1].replace(",", "")[:16])
        if char == "–" or (grows and "=" not in text):
            _say_or_pass(scanner, "to", "range", run)
        else:
            _say_or_pass(scanner, "minus", "math", run)


def _read_between_words(scanner: Scanner, run: int) -> None:
    """Read the "to" of "Dec 30-Jan 2" and "A-Z"; other hyphens are silent."""
    if _GRADE.match(scanner.text, scanner.position - 1) and not _is_inside(scanner):
        _say_or_pass(scanner, "minus", "sign", run)
        return
    month = _MONTH_AFTER.match(scanner.text, scanner.position) if scanner.after_date else None
    letters = _LETTER_RANGE.match(scanner.text, scanner.position)
    ends = letters and scanner.before + letters[1] in ("AZ", "az", "AF", "af") and not _is_inside(scanner)
    if (month and month_name(month[1])) or ends:
        _say_or_pass(scanner, "to", "range", run)


def _is_inside(scanner: Scanner) -> bool:
    """Tell whether the letter before the position belongs to a word."""
    return scanner.position >= 2 and scanner.text[scanner.position - 2].isalnum()


# --- full stops -----------------------------------------------------------------------------------------------------


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
        scanner.say("point" if scanner.after_roman and after.isdigit() else "dot", run)
        return
    elif after and scanner.tokens and not _SHORT_LETTERS.search(scanner.text[max(0, run - 4) : run - 1]):
        scanner.pause(",")  # not after an initial or a short unknown abbreviation
    scanner.position = run
