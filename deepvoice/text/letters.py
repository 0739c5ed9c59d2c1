"""What starts with a letter: words, names in mixed case, initials, initialisms, letters that stand alone."""

import re

from deepvoice.text.abbreviations import read_abbreviation, read_dotted, read_month, read_slashed
from deepvoice.text.capitals import among_capitals, read_capitals, read_roman
from deepvoice.text.chemistry import is_formula
from deepvoice.text.hygiene import GREEK_NAMES
from deepvoice.text.money import read_money
from deepvoice.text.names import CHAT, MIXED_CASE
from deepvoice.text.scanner import Scanner
from deepvoice.text.units import UNIT_WORDS, UNITS
from deepvoice.text.vocabulary import CURRENCY_CODES, CURRENCY_PREFIXES

LONGEST_WORD = 60  # letters; a longer run is no word and is spelled
_SPELLED_AT_ONCE = 5  # letters of a long run that make one spoken unit
_POWERS = {"²": "square", "³": "cubic"}
_MONEY_INITIALS = frozenset(name[0] for name in [*CURRENCY_PREFIXES, *CURRENCY_CODES])
_VOWELLESS = frozenset("hm hmm mm mmm sh shh shhh pst psst brr brrr grr grrr zzz tsk pfft nth th st nd rd ng".split())

_WORD = re.compile(r"[^\W\d_²³]+(?:'[^\W\d_²³]+)*")  # \d does not have the raised digits, \w does
_DOTTED = re.compile(
    r"(?:[A-Za-z]\.){2,}(?:[A-Za-z](?![A-Za-z]))?|Ph\.D\.?|LL\.[DBM]\.?|[BM]\.Sc\.?|[A-Z]\.[A-Z](?![A-Za-z])"
)
_CHAT_EIGHT = re.compile(r"(?:gr8|l8r|l8|m8|w8|b4)(?![A-Za-z0-9])")
_OPERATOR = re.compile(r" ?[=×÷≈≤≥≠^]|[²³]| \+ |\+(?!\+)| minus [B-HJ-Zb-hj-z](?![A-Za-z'])")  # "a + b", not "a +5"
_STANDS_FOR = re.compile(r"\s(?:is|stands) for\b")
_SUFFIX = re.compile(r"'?s(?![A-Za-z])")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DOTTED_VERSION = re.compile(r"\d+\.\d")
_INITIAL = re.compile(r"\.\s?[A-Z]")


def read_letters(scanner: Scanner) -> None:
    """Read what starts with the letter at the position."""
    text, position = scanner.text, scanner.position
    money = text[position] in _MONEY_INITIALS and not scanner.before.isalnum()
    if money and scanner.take(read_money(position, scanner.context())):
        return
    if text[position + 1 : position + 2] == "." or text.startswith(("Ph.D", "LL."), position):
        dotted = _DOTTED.match(text, position)
        if dotted:
            _read_dotted(scanner, dotted.group(), dotted.end())
            return
    eight = _CHAT_EIGHT.match(text, position) if text[position] in "glmwhb" and not scanner.before.isalnum() else None
    if eight and scanner.options.reads("abbreviation"):
        scanner.say(CHAT[eight.group()], eight.end())
        return
    match = _WORD.match(text, position)
    if match is None:  # a letter that is no word character cannot occur in clean text
        scanner.drop(position, position + 1, "symbol")
        return
    word, end = match.group(), match.end()
    if len(word) > LONGEST_WORD:
        _spell_run(scanner, word)
    elif not (
        read_slashed(scanner, word, end) or read_abbreviation(scanner, word, end) or read_month(scanner, word, end)
    ):
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
    spoken = read_dotted(token) if scanner.options.reads("abbreviation") else None
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


# --- words ----------------------------------------------------------------------------------------------------------


def _read_word(scanner: Scanner, word: str, end: int) -> None:
    text, lower = scanner.text, word.lower()
    following = text[end : end + 1]
    if following in _POWERS and word in UNITS and (len(word) > 1 or word == "m") and scanner.options.reads("unit"):
        scanner.say(f"{_POWERS[following]} {UNITS[word][1]}", end + 1)  # "in km²"
    elif len(word) == 1:
        _read_single_letter(scanner, word, end)
    elif not word.isascii() and any(c in GREEK_NAMES or c == "µ" for c in lower):
        _read_greek(scanner, word, end)
    elif word.islower() and not following.isdecimal():
        _read_lower(scanner, word, end)
    else:
        _read_capitalised(scanner, word, end, following)


def _read_lower(scanner: Scanner, word: str, end: int) -> None:
    """Read a word in small letters: a numeral after its noun, a word, or consonants that are spelled."""
    roman = read_roman(scanner, word, end) if len(word) <= 6 and set(word) <= set("ivxl") else None
    if word in CHAT and scanner.options.reads("abbreviation"):
        scanner.say(CHAT[word], end)
        return
    if word == "sqrt" and scanner.text[end : end + 1] == "(" and scanner.options.reads("math"):
        scanner.say("square root of", end)
        return
    if word in UNIT_WORDS and scanner.options.reads("unit"):
        scanner.say(UNITS[word][0 if scanner.words[-1:] == ["per"] else 1], end)
        return
    if roman:
        scanner.say(roman, end)
    elif len(word) == 2 and _is_product(scanner, word, end):
        scanner.spell(word, end)  # "E = mc²"
    elif len(word) <= 3 and word.isascii() and not set(word) & set("aeiouy'") and word not in _VOWELLESS:
        if scanner.known(word):
            scanner.say(word, end, changed=False)
        else:
            scanner.spell(word, end)
    else:
        scanner.say(word, end, changed=False)


def _is_product(scanner: Scanner, word: str, end: int) -> bool:
    """Tell whether two small letters in a formula are two variables."""
    if word in ("is", "no", "to", "in", "on", "up", "if", "or", "of", "at", "as", "an", "by", "it", "so", "do", "we"):
        return False
    equals = scanner.text[scanner.position - 2 : scanner.position] == "= "
    return (equals or scanner.text[end : end + 1] in ("²", "³", "^")) and scanner.options.reads("math")


def _read_capitalised(scanner: Scanner, word: str, end: int, following: str) -> None:
    lower = word.lower()
    stem, suffix = (word[:-2], "'s") if word.endswith("'s") else (word, "")
    capital = word.isupper() or (len(word) > 1 and word[:-1].isupper()) or (len(word) > 2 and stem.isupper())
    if stem in MIXED_CASE and scanner.options.reads("initialism"):
        scanner.say(MIXED_CASE[stem] + suffix, end)
    elif len(word) <= 3 and word.isupper() and "&" in (following, scanner.before):
        scanner.spell(word, end)  # "AT&T"
    elif (roman := read_roman(scanner, word, end)) is not None:
        scanner.say(roman, end)
        scanner.after_roman = True
    elif is_formula(word, scanner.text, end) and scanner.options.reads("initialism"):
        scanner.spell(word, end)  # "NaOH"
    elif len(word) <= 2 and following.isdecimal() and scanner.before.isdigit():
        scanner.spell(word, end)  # "H2SO4"
    elif capital and (spelled := _spelled(scanner, word, end)) is not None:
        scanner.spell(spelled[0], end, spelled[1])
    elif scanner.before == "#" and re.search("[a-z][A-Z]", word) and word.isascii():
        _read_camel(scanner, word, end)
    elif scanner.known(lower):
        scanner.say(lower, end, changed=False)
    elif following.isdecimal() and len(word) <= 4 and word.isascii():
        scanner.spell(word, end)  # "mp3", "x86"
    elif word in UNITS and len(word) > 2 and scanner.options.reads("unit"):
        scanner.say(UNITS[word][1], end)
    elif not word.isupper() and re.search("[a-z][A-Z]", word) and word.isascii():
        _read_camel(scanner, word, end)
    else:
        scanner.say(lower, end, changed=False)


def _spelled(scanner: Scanner, word: str, end: int) -> tuple[str, str] | None:
    shouted = scanner.shouted or (len(word) > 1 and among_capitals(scanner.text, scanner.position, end, scanner.known))
    if word == "WHO" and scanner.words[-1:] == ["the"]:
        return word, ""
    return read_capitals(word, shouted=shouted, known=scanner.known, off=scanner.options.off)


def _read_greek(scanner: Scanner, word: str, end: int) -> None:
    """Read Greek letters beside Latin ones by name ("Δt"); a Greek word is another script."""
    if sum(c.lower() in GREEK_NAMES for c in word) > 2 or not scanner.options.reads("greek"):
        scanner.drop(scanner.position, end, "other script")
        return
    start = scanner.position
    for match in re.finditer(r"[A-Za-z]+|[^']('s(?![A-Za-z]))?", word):
        scanner.position = start + match.start()
        piece = match.group()
        name = "mu" if piece[0] == "µ" else GREEK_NAMES.get(piece[0].lower())
        if name:
            scanner.say(name + (match[1] or ""), start + match.end())
        else:
            _read_word(scanner, piece, start + match.end())
    scanner.position = end


def _read_single_letter(scanner: Scanner, word: str, end: int) -> None:
    """Read a letter that stands alone: a word ("a", "I", "o") or the name of the letter."""
    text, lower = scanner.text, word.lower()
    name = "mu" if word == "µ" else GREEK_NAMES.get(lower)
    if name:
        if scanner.options.reads("greek"):
            scanner.say(name, end)
        else:
            scanner.drop(scanner.position, end, "other script")
        return
    following = text[end : end + 1]
    if word in "IVX" and (roman := read_roman(scanner, word, end)) is not None:
        scanner.say(roman, end)
        scanner.after_roman = True
        return
    if word == "v" and _DOTTED_VERSION.match(text, end) and scanner.options.reads("version"):
        scanner.say("version", end)
        return
    glued = following.isdigit() or scanner.before.isdigit() or following == "&" or scanner.before == "&"
    initial = word.isupper() and following == "." and _INITIAL.match(text, end) is not None
    listed = following == ")" and not scanner.words
    marked = word == "A" and following in (",", ".", ";", "?", "!", '"')
    named = glued or initial or listed or marked or following == "-" or _is_named(scanner, word, end)
    if not named and word in ("a", "A", "I"):
        scanner.say(lower, end, changed=False)
        return
    scanner.spell(word, end, changed=glued or not word.isupper())
    if initial:
        scanner.position += 1


def _is_named(scanner: Scanner, word: str, end: int) -> bool:
    """Tell "plan A", "the letter a" and "A is for apple" from the article."""
    if word == "I":
        return False
    if scanner.words[-1:] == ["letter"] or _STANDS_FOR.match(scanner.text, end) or _OPERATOR.match(scanner.text, end):
        return True
    spoken = bool(scanner.tokens) and scanner.tokens[-1].kind != "pause" and not scanner.shouted
    return word == "A" and spoken and not _is_title(scanner, end)


def _is_title(scanner: Scanner, end: int) -> bool:
    """Tell whether words in capitals or title case stand on both sides ("WAIT A MINUTE", "Once Upon A Time")."""
    text = scanner.text
    before = re.search(r"([A-Z][A-Za-z]+)\s$", text[max(0, scanner.position - 24) : scanner.position])
    after = re.match(r"\s([A-Z][A-Za-z]{2,})", text[end : end + 24])
    if not (before and after):
        return False
    return before[1].isupper() and after[1].isupper() and scanner.known(after[1].lower())


def _read_camel(scanner: Scanner, word: str, end: int) -> None:
    """Read the parts of a name in mixed case ("OpenMind")."""
    start = scanner.position
    for match in _CAMEL.finditer(word):
        scanner.position = start + match.start()
        _read_word(scanner, match.group(), start + match.end())
    scanner.position = end
