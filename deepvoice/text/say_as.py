"""Text read as what the caller says it is: `<say-as interpret-as="date" format="dmy">` and the like."""

import re
from collections.abc import Callable

from deepvoice.errors import TextError
from deepvoice.text import numbers as say
from deepvoice.text import quantities, web
from deepvoice.text.codes import spell_code
from deepvoice.text.dates import HALF, clock, in_order, month_name, spoken_date
from deepvoice.text.hygiene import GREEK_NAMES, clean, fold
from deepvoice.text.money import read_money
from deepvoice.text.normalize import normalize
from deepvoice.text.rules import Context, plain
from deepvoice.text.vocabulary import CURRENCY_CODES, MONTHS, SYMBOLS

_NUMBER = re.compile(r"([-+−]?)\s?(\d{1,3}(?:,\d{3})+|\d+)?(?:\.(\d+))?")
_FRACTION = re.compile(r"([-−]?)(?:(\d+)[\s+-])?\s?(\d+)\s?/\s?(\d+)")
_YEAR = re.compile(r"(\d{1,4})\s?(BC|BCE|AD|CE|B\.C\.|A\.D\.|B\.C\.E\.|C\.E\.)?")
_CLOCK = re.compile(rf"(\d{{1,2}})(?:[:.h](\d{{2}})(?:[:.](\d{{2}}))?)?(?:\s?{HALF})?", re.IGNORECASE)
_DURATION = re.compile(r"(?:(\d+)')?(?:(\d+)\")?")
_MARKS = SYMBOLS | {
    ".": "dot", ",": "comma", "-": "dash", "–": "dash", "—": "dash", "_": "underscore", "/": "slash", "\\": "backslash",
    ":": "colon", ";": "semicolon", "#": "hash", "*": "asterisk", "!": "exclamation mark", "?": "question mark",
    "(": "open parenthesis", ")": "close parenthesis", "[": "open bracket", "]": "close bracket", "'": "apostrophe",
    '"': "quote", "~": "tilde", "^": "caret", "|": "bar", "`": "backtick", "{": "open brace", "}": "close brace",
}  # fmt: skip


def say_as(text: str, kind: str, detail: str = "") -> str:
    """Return how a text is said as one of KINDS.

    text: what is written, such as "03/04/2026"
    detail: the order of a date ("mdy", "dmy", "ymd", "md", "dm", "ym", "my", "y", "m", "d"), the clock of a time
        ("hms12", "hms24"), or the code of a currency ("USD"); else unused
    Returns spoken words as `Scanner.say` takes them: lower-case words and pauses; pieces in capitals are spelled.
    Raises TextError for an unknown kind or a text that is not of it.
    """
    if kind not in _READERS:
        raise TextError(f"say-as {kind!r} is unknown; expected one of {', '.join(KINDS)}")
    written = clean(text.strip()).text.strip()
    spoken = _READERS[kind](written, detail.lower() if kind != "currency" else detail) if written else None
    if not spoken:
        how = f" in the order {detail!r}" if kind == "date" and detail else ""
        raise TextError(f"{text[:60]!r} cannot be said as {kind!r}{how}; check the text or leave the instruction out")
    return spoken


# --- characters -----------------------------------------------------------------------------------------------------


def _characters(text: str, detail: str) -> str | None:
    spoken: list[str] = []
    for char in text:
        letters = fold(char)
        if char.isdigit() and char.isascii():
            spoken.append(say.spell_digits(char))
        elif char.lower() in GREEK_NAMES:
            spoken.append(GREEK_NAMES[char.lower()])
        elif letters.isalpha():
            spoken.append(" ".join(letters.upper()))
        elif char in _MARKS:
            spoken.append(_MARKS[char])
        elif char.isspace() and spoken[-1:] not in ([], [","]):
            spoken.append(",")
    return " ".join(spoken)


def _digits(text: str, detail: str) -> str | None:
    groups = re.findall(r"\d+", text)
    return " , ".join(say.spell_digits(group) for group in groups) if not re.search("[A-Za-z]", text) else None


# --- numbers --------------------------------------------------------------------------------------------------------


def _roman(text: str, detail: str) -> str | None:
    value = say.roman(text.upper())
    return say.cardinal(str(value)) if value else None


def _number(text: str, detail: str) -> str | None:
    match = _NUMBER.fullmatch(text)
    if not match or (match[2] is None and match[3] is None):
        return _roman(text, detail)
    sign = {"-": "minus ", "−": "minus ", "+": "plus "}.get(match[1], "")
    whole = plain(match[2] or "")
    return sign + (say.decimal(whole, match[3]) if match[3] else say.cardinal(whole))


def _ordinal(text: str, detail: str) -> str | None:
    match = re.fullmatch(r"(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th|\.)?", text, re.IGNORECASE)
    value = plain(match[1]) if match else str(say.roman(text.upper()) or "")
    return say.ordinal(value) if value else None


def _fraction(text: str, detail: str) -> str | None:
    match = _FRACTION.fullmatch(text)
    if not match:
        return None
    spoken = say.fraction(match[3], match[4])
    if match[2]:
        spoken = f"{say.cardinal(match[2])} and {'a ' + spoken[4:] if spoken.startswith('one ') else spoken}"
    return f"minus {spoken}" if match[1] else spoken


def _percent(text: str, detail: str) -> str | None:
    number = _number(text.removesuffix("%").strip(), detail)
    return f"{number} percent" if number else None


def _year(text: str, detail: str) -> str | None:
    match = _YEAR.fullmatch(text)
    if not match:
        return None
    digits = match[1]
    spoken = say.year(digits) if len(digits) == 4 and digits[0] != "0" else say.cardinal(digits)
    return f"{spoken} {match[2].replace('.', '')}" if match[2] else spoken


# --- dates and times ------------------------------------------------------------------------------------------------


def _date(text: str, detail: str) -> str | None:
    fields = re.findall(r"\d+|[A-Za-z]+", re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", text))
    order = detail
    if len(fields) == 1 and fields[0].isdigit() and len(fields[0]) in (6, 8) and order in ("ymd", "mdy", "dmy"):
        fields = _compact(fields[0], order)
    if not order:
        order = _guessed_order(fields)
    if not fields or len(fields) != len(order) or len(set(order)) != len(order) or set(order) - set("ymd"):
        return None
    named = dict(zip(order, fields, strict=True))
    month = named.get("m", "")
    number = MONTHS.index(month_name(month)) + 1 if month_name(month) else int(month) if month.isdigit() else 0
    day, year = named.get("d", ""), named.get("y", "")
    if ("m" in named and not 1 <= number <= 12) or (not (day + year).isdigit() * bool(day + year) and order != "m"):
        return None
    if day and not 1 <= int(day) <= 31:
        return None
    spoken = MONTHS[number - 1] if "m" in named else ""
    if day:
        return spoken_date(number, int(day), year) if "m" in named else f"the {say.ordinal(day)}"
    return f"{spoken} {_year(year, '') if len(year) != 2 else say.pair(year)}".strip() if year else spoken


def _compact(digits: str, order: str) -> list[str]:
    """Cut "20261130" in the order that is wanted."""
    fields: list[str] = []
    for name in order:
        width = len(digits) - 4 if name == "y" and len(order) == 3 else 2
        width = 4 if name == "y" and len("".join(fields)) + len(digits) == 8 else width
        fields.append(digits[:width])
        digits = digits[width:]
    return fields


def _guessed_order(fields: list[str]) -> str:
    """Return the order of a date that is written without one: ISO, or the American order."""
    if fields and len(fields[0]) == 4 and fields[0].isdigit():
        return "ymd"[: len(fields)]
    if len(fields) > 1 and fields[1].isalpha():
        return "dmy"[: len(fields)]
    if len(fields) == 3 and fields[0].isdigit() and fields[1].isdigit():
        month, _ = in_order(fields[0], fields[1], "mdy")
        return "mdy" if month == int(fields[0]) else "dmy"
    if len(fields) == 2 and len(fields[1]) == 4:
        return "my"
    return "mdy"[: len(fields)] if len(fields) > 1 else "y"


def _time(text: str, detail: str) -> str | None:
    match = _CLOCK.fullmatch(text)
    if match:
        hour, minute, second, half = match.groups()
        if int(hour) > 24 or int(minute or 0) > 59 or int(second or 0) > 59:
            return None
        if detail == "hms12" and not half and int(hour) > 12:
            hour, half = str(int(hour) - 12), "p"
        return clock(hour, minute or "00", second, half, o_clock=detail != "hms24")
    duration = _DURATION.fullmatch(text)
    if not duration or not text:
        return None
    spoken = [
        f"{say.cardinal(digits)} {unit}{'' if int(digits) == 1 else 's'}"
        for digits, unit in zip(duration.groups(), ("minute", "second"), strict=True)
        if digits
    ]
    return " ".join(spoken)


# --- the rest -------------------------------------------------------------------------------------------------------


def _telephone(text: str, detail: str) -> str | None:
    groups: list[str] = []
    for piece in re.findall(r"\d+|[A-Za-z]+|\+", text):
        if piece == "+":
            groups.append("plus")
        elif piece.isdigit():
            groups.append(say.spell_digits(piece))
        elif piece.lower() in ("x", "ext", "extension"):
            groups.append("extension")
        else:
            groups.append(spell_code(piece))
    spoken = " , ".join(groups).replace("plus ,", "plus").replace("extension ,", "extension")
    return spoken if re.search(r"\d", text) else None


def _currency(text: str, detail: str) -> str | None:
    reading = read_money(0, Context(text, []))
    if reading and reading.end == len(text):
        return reading.spoken
    if detail and _NUMBER.fullmatch(text):
        code = detail.upper()
        known = {"EUR", "GBP", "JPY", *CURRENCY_CODES}
        return _currency(f"{code} {text}", "") if code in known else None
    return None


def _quantity(text: str, detail: str) -> str | None:
    start = 1 if text[:1] in "-−" else 0
    reading = quantities.read(start, Context(text, [])) if text[start : start + 1].isdigit() else None
    if reading is None or reading.end != len(text):
        return None
    return f"minus {reading.spoken}" if start else reading.spoken


def _address(text: str, detail: str) -> str | None:
    address = web.read(text, _looks_like_a_word)
    return address.spoken if address and address.end == len(text) else None


def _as_written(text: str, detail: str) -> str | None:
    """Read as the normaliser does by itself; what it spells is spelled."""
    line = " ".join(text.split())
    tokens = normalize(line, 0, len(line), _looks_like_a_word).tokens
    return " ".join(token.text.replace(" ", "").upper() if token.kind == "letters" else token.text for token in tokens)


def _looks_like_a_word(word: str) -> bool:
    return len(word) > 2 and any(c in "aeiouy" for c in word)


_READERS: dict[str, Callable[[str, str], str | None]] = {
    **dict.fromkeys(("characters", "spell-out", "verbatim"), _characters),
    "digits": _digits,
    **dict.fromkeys(("cardinal", "number", "decimal"), _number),
    "ordinal": _ordinal,
    "fraction": _fraction,
    "percent": _percent,
    "roman": _roman,
    "year": _year,
    "date": _date,
    "time": _time,
    "telephone": _telephone,
    "currency": _currency,
    "unit": _quantity,
    **dict.fromkeys(("email", "url", "path"), _address),
    "address": _as_written,
}
KINDS = tuple(_READERS)
