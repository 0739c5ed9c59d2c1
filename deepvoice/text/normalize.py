"""Normalisation: one sentence of clean text to the words that are said and the pauses between them.

A scanner walks once over the sentence; at each position the first rule that fits consumes some text and says what it
is read as. Each word keeps the span of the text it came from. Every rule consumes at least one character and looks
no further than the sentence, whose length the splitter bounds, so the whole is linear in the text.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from deepvoice.text import quantities, web
from deepvoice.text.capitals import is_shouted, read_capitals, read_roman
from deepvoice.text.hygiene import GREEK_NAMES
from deepvoice.text.phones import PAUSES
from deepvoice.text.vocabulary import (
    ABBREVIATIONS,
    ABBREVIATIONS_THAT_ARE_WORDS,
    BARE_ABBREVIATIONS,
    DOTTED,
    MONTH_ABBREVIATIONS,
    MONTHS,
    PER_UNITS,
)

LONGEST_WORD = 60  # letters; a longer run is no word and is spelled
_SPELLED_AT_ONCE = 5  # letters of a long run that make one spoken unit

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_DOTTED = re.compile(r"(?:[A-Za-z]\.){2,}(?:[A-Za-z](?![A-Za-z]))?|Ph\.D\.?")
_CLIPPED = re.compile(r"'(?:em|tis|twas|til|cause|bout|round|n|cuse)(?![A-Za-z])", re.IGNORECASE)
_MONTH_DAY = re.compile(r"\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?![\d:/]|,\d{3}|\.\d|\s?[ap]\.?m)")
_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SYMBOLS = {
    "&": "and", "@": "at", "+": "plus", "%": "percent", "=": "equals", "×": "times", "÷": "divided by",
    "±": "plus or minus", "≈": "approximately", "≤": "less than or equal to", "≥": "greater than or equal to",
    "≠": "not equal to", "√": "square root of", "∞": "infinity", "°": "degrees", "§": "section", "²": "squared",
    "³": "cubed", "‰": "per mille", "$": "dollars", "£": "pounds", "€": "euros", "¥": "yen", "₹": "rupees", "¢": "cents",
    "Ω": "ohms",
}  # fmt: skip
_PAUSE_RANK = {mark: rank for rank, mark in enumerate((",", "-", ":", ";"), 1)}


class Token(NamedTuple):
    """A spoken word, a spelled group of letters, or a pause, with its span in the clean text."""

    kind: str  # "word", "letters" or "pause"
    text: str  # lower-case word; letters separated by spaces; the pause symbol
    start: int
    end: int


class Change(NamedTuple):
    """A span of clean text that is not read as it is written, and how it is read."""

    start: int
    end: int
    spoken: str


class Normalized(NamedTuple):
    """One sentence, normalised."""

    tokens: tuple[Token, ...]
    changes: tuple[Change, ...]
    dropped: tuple[tuple[int, int, str], ...]  # span and reason


def normalize(text: str, start: int, end: int, known: Callable[[str], bool]) -> Normalized:
    """Normalise the sentence at text[start:end].

    known: tells whether a lower-case word is in the lexicon (decides what capitals and compounds are read as)
    """
    return _Scanner(text[start:end].replace("\n", " "), start, known).run()


class _Scanner:
    """Walks over one sentence; every `_read_...` method consumes text at `position` or returns False."""

    def __init__(self, text: str, offset: int, known: Callable[[str], bool]) -> None:
        self.text = text
        self.offset = offset
        self.known = known
        self.position = 0
        self.tokens: list[Token] = []
        self.words: list[str] = []
        self.changes: list[Change] = []
        self.dropped: list[tuple[int, int, str]] = []
        self.shouted = is_shouted(text)
        self.after_date = False
        self.after_year = False

    def run(self) -> Normalized:
        """Consume the whole sentence."""
        text, n = self.text, len(self.text)
        while self.position < n:
            char = text[self.position]
            if char == " ":
                self.position += 1
                continue
            if (self.position == 0 or text[self.position - 1] in " (\"'<[") and self._read_address():
                continue
            if char.isdigit():
                self._read_number()
            elif char.isalpha():
                self._read_letters()
            else:
                self._read_mark(char)
        while self.tokens and self.tokens[-1].kind == "pause":
            self.tokens.pop()
        return Normalized(tuple(self.tokens), tuple(self.changes), tuple(self.dropped))

    # --- output -----------------------------------------------------------------------------------------------------

    def say(self, spoken: str, end: int, *, changed: bool = True) -> None:
        """Emit a spoken form for the text from the position to `end`, and move there."""
        start = self.position
        for piece in spoken.split():
            if piece in PAUSES:
                self.pause(piece)
            elif piece.isupper():
                self._emit("letters", " ".join(piece.lower()), start, end)
            else:
                self._emit("word", piece, start, end)
        if changed:
            self.changes.append(Change(self.offset + start, self.offset + end, spoken.lower().replace(" ,", ",")))
        self.position = end

    def _emit(self, kind: str, text: str, start: int, end: int) -> None:
        self.tokens.append(Token(kind, text, self.offset + start, self.offset + end))
        self.words.append(text)

    def pause(self, mark: str) -> None:
        """Emit a pause; neighbouring pauses become the strongest of them, a leading one nothing."""
        if not self.tokens:
            return
        last = self.tokens[-1]
        if last.kind == "pause":
            if _PAUSE_RANK[mark] > _PAUSE_RANK[last.text]:
                self.tokens[-1] = last._replace(text=mark)
            return
        self.tokens.append(Token("pause", mark, self.offset + self.position, self.offset + self.position + 1))

    def _context(self) -> quantities.Context:
        return quantities.Context(self.text, self.words, self.after_date, self.after_year)

    # --- numbers and addresses --------------------------------------------------------------------------------------

    def _read_address(self) -> bool:
        end = self.text.find(" ", self.position, self.position + web.LONGEST_ADDRESS + 1)
        token = self.text[self.position : end if end >= 0 else self.position + web.LONGEST_ADDRESS + 1]
        address = web.read(token, self.known)
        if not address:
            return False
        if address.dropped:
            first, last = (self.offset + self.position + at for at in address.dropped)
            self.dropped.append((first, last, "long query of an address"))
        self.say(address.spoken, self.position + address.end)
        return True

    def _take(self, reading: quantities.Reading | None) -> bool:
        if reading is None:
            return False
        year_before = self.after_year
        self.say(reading.spoken, reading.end)
        self.after_date = False
        text, end = self.text, reading.end
        self.after_year = (
            not year_before
            and text[end : end + 1] in ("-", "–")
            and text[end - 4 : end].isdigit()
            and "thousand" not in reading.spoken
        )
        return True

    def _read_number(self) -> None:
        if not self._take(quantities.read(self.position, self._context())):
            self.say(self.text[self.position], self.position + 1)  # unreachable for ASCII digits

    # --- letters ----------------------------------------------------------------------------------------------------

    def _read_letters(self) -> None:
        text, position = self.text, self.position
        if text[position] in "USCANH" and self._take(quantities.read_money(position, self._context())):
            return
        dotted = _DOTTED.match(text, position)
        if dotted and self._read_dotted(dotted.group(), dotted.end()):
            return
        match = _WORD.match(text, position)
        if match is None:  # a letter that is no word character cannot occur in clean text
            self.position += 1
            return
        word, end = match.group(), match.end()
        if len(word) > LONGEST_WORD:
            self._spell_run(word)
        elif not self._read_abbreviation(word, end) and not self._read_month(word, end):
            self._read_word(word, end)

    def _read_dotted(self, token: str, end: int) -> bool:
        """Read U.S., a.m., J.R.R.; a possessive may follow."""
        key = token.lower() if token.endswith(".") else token.lower() + "."
        spoken = DOTTED.get(key)
        if spoken is None:
            letters = token.replace(".", "")
            if len(letters) > LONGEST_WORD:
                self._spell_run(token)
                return True
            spoken = " ".join(
                letters[i : i + _SPELLED_AT_ONCE] for i in range(0, len(letters), _SPELLED_AT_ONCE)
            ).upper()
        suffix = re.compile(r"'?s(?![A-Za-z])").match(self.text, end)
        if suffix and spoken.isupper():
            self._spell(spoken.split()[-1] if " " in spoken else spoken, suffix.end(), "'s")
            return True
        self.say(spoken, end)
        return True

    def _spell(self, letters: str, end: int, suffix: str = "") -> None:
        """Emit one spelled group, with a plural or possessive on its last letter."""
        start = self.position
        spelled = " ".join(letters.lower()) + suffix
        self._emit("letters", spelled, start, end)
        self.changes.append(Change(self.offset + start, self.offset + end, spelled))
        self.position = end

    def _spell_run(self, run: str) -> None:
        """Spell a run of letters that is too long to be a word."""
        start = self.position
        letters = [(i, c.lower()) for i, c in enumerate(run) if c.isalpha()]
        for k in range(0, len(letters), _SPELLED_AT_ONCE):
            group = letters[k : k + _SPELLED_AT_ONCE]
            self._emit("letters", " ".join(c for _, c in group), start + group[0][0], start + group[-1][0] + 1)
        self.changes.append(
            Change(self.offset + start, self.offset + start + len(run), " ".join(c for _, c in letters))
        )
        self.position = start + len(run)

    def _read_abbreviation(self, word: str, end: int) -> bool:
        key, text = word.lower(), self.text
        dot = text[end : end + 1] == "."
        if key in ("no", "nos") and dot and re.compile(r"\.\s?\d").match(text, end):
            self.say("number" if key == "no" else "numbers", end + 1)
            return True
        if key in ("st", "dr") and (dot or key == "dr" or word == "St"):
            return self._read_saint_or_street(word, end, dot)
        if key in ("p", "pp") and dot and re.compile(r"\.\s?\d").match(text, end):
            self.say("page" if key == "p" else "pages", end + 1)
            return True
        spoken = ABBREVIATIONS.get(key)
        if spoken is None or not (dot or (key in BARE_ABBREVIATIONS and word[0].isupper()) or key in ("vs", "etc")):
            return False
        if key in ABBREVIATIONS_THAT_ARE_WORDS and not re.compile(r"\.\s+[A-Z0-9]").match(text, end):
            return False
        if (
            key in ABBREVIATIONS_THAT_ARE_WORDS
            and not word[0].isupper()
            and key not in ("ed", "al", "fig", "ch", "sec")
        ):
            return False
        if key in ("co", "inc", "ft", "mt") and not word[0].isupper():
            return False
        self.say(spoken, end + dot)
        return True

    def _read_saint_or_street(self, word: str, end: int, dot: bool) -> bool:
        """Read St. and Dr.: the saint and the doctor stand before a name, the street and the drive after one."""
        if not word[0].isupper():
            return False
        before_name = re.compile(r"\.?\s+[A-Z]").match(self.text, end)
        after_name = re.compile(r"[A-Z0-9][A-Za-z0-9]*\s$").search(
            self.text[max(0, self.position - 30) : self.position]
        )
        if word.lower() == "st":
            spoken = "saint" if before_name and not (after_name and self._ends_name(end + dot)) else "street"
        else:
            spoken = "doctor" if before_name or not after_name else "drive"
        self.say(spoken, end + dot)
        return True

    def _ends_name(self, end: int) -> bool:
        return self.text[end : end + 1] in ("", ",", ".", ";")

    def _read_month(self, word: str, end: int) -> bool:
        name = word.lower() if word.lower() in MONTHS else MONTH_ABBREVIATIONS.get(word.lower())
        if name is None or not word[0].isupper():
            return False
        day = _MONTH_DAY.match(self.text, end)
        if day and 1 <= int(day[1]) <= 31:
            self.say(f"{name} {quantities.say.ordinal(day[1])}", day.end())
            self.after_date = True
            return True
        if word.lower() == name:
            return False
        dot = self.text[end : end + 1] == "."
        if not (dot and len(self.text) > end + 1) and not re.compile(r"\s\d{4}").match(self.text, end):
            return False
        self.say(name, end + dot)
        return True

    def _read_word(self, word: str, end: int) -> None:
        text, lower = self.text, word.lower()
        if lower in GREEK_NAMES and len(word) == 1:
            self.say(GREEK_NAMES[lower], end)
        elif any(c in GREEK_NAMES for c in lower):
            self.dropped.append((self.offset + self.position, self.offset + end, "other script"))
            self.position = end
        elif len(word) == 1 and self._read_single_letter(word, end):
            return
        elif (
            len(word) <= 3 and word.isupper() and "&" in (text[end : end + 1], text[self.position - 1 : self.position])
        ):
            self._spell(word, end)  # "AT&T"
        elif (roman := read_roman(word, self.words, text, end)) is not None:
            self.say(roman, end)
        elif (capitals := read_capitals(word, shouted=self.shouted, known=self.known)) is not None:
            self._spell(capitals[0], end, capitals[1])
        elif text[end : end + 1].isdigit() and len(word) <= 4 and not self.known(lower):
            self._spell(word, end)  # "mp3", "x86"
        elif not self.known(lower) and not word.isupper() and re.search("[a-z][A-Z]", word) and word.isascii():
            self._read_camel(word, end)
        else:
            self.say(lower, end, changed=False)

    def _read_single_letter(self, word: str, end: int) -> bool:
        """Read a letter that stands alone as its name; False for the words "a", "I" and "o"."""
        text, lower = self.text, word.lower()
        glued = (
            text[end : end + 1].isdigit()
            or text[self.position - 1 : self.position].isdigit()
            or text[end : end + 1] == "&"
        )
        initial = word.isupper() and text[end : end + 1] == "." and bool(re.compile(r"\.\s?[A-Z]").match(text, end))
        if lower == "a" and not glued and not initial and not self._named_letter(word):
            return False
        if word == "I" and not glued and not initial:
            return False
        if text[end : end + 1] == "'":
            return False
        self._spell(word, end)
        if initial:
            self.position += 1
        if not word.isupper() or glued:
            return True
        self.changes.pop()  # a capital letter read as its name is no change worth listing
        return True

    def _named_letter(self, word: str) -> bool:
        """Tell "plan A" and "vitamin A" from the article."""
        return word == "A" and self.position > 0 and bool(self.words) and self.tokens[-1].kind != "pause"

    def _read_camel(self, word: str, end: int) -> None:
        start = self.position
        for match in _CAMEL.finditer(word):
            self.position = start + match.start()
            self._read_word(match.group(), start + match.end())
        self.position = end

    # --- marks ------------------------------------------------------------------------------------------------------

    def _read_mark(self, char: str) -> None:
        text, position = self.text, self.position
        run = position + 1
        while run < len(text) and text[run] == char:
            run += 1
        if run - position >= 3 and char not in ".-–—!?,;:'\"()[]_*":
            self.dropped.append((self.offset + position, self.offset + run, "row of symbols"))
            self.position = run
        elif char in ",;:.!?-–—|•()[]":
            self._read_punctuation(char, run)
        elif char == "'":
            self._read_apostrophe()
        else:
            self._read_symbol(char)

    def _read_apostrophe(self) -> None:
        text, position = self.text, self.position
        clipped = _CLIPPED.match(text, position)
        if clipped and not text[position - 1 : position].isalpha():
            self.say(clipped.group().lower(), clipped.end(), changed=False)
            return
        self.position += 1
        year = re.compile(r"\d\d(?!\d|'?s)").match(text, self.position)
        if year and not text[position - 1 : position].isalnum():
            self.say(quantities.say.pair(year.group()), year.end())

    def _read_punctuation(self, char: str, run: int) -> None:
        text, position = self.text, self.position
        before, after = text[position - 1 : position] if position else "", text[position + 1 : position + 2]
        if char in "([" or char == "+":
            if char == "(" and self._take(quantities.read_phone_number(position, self._context())):
                return
            if before in ("", " "):
                self.pause(",")
        elif char in ")]":
            if after in (" ", ""):
                self.pause(",")
        elif char in "-–—":
            if self._read_dash(char, run, before, after):
                return
        elif char == ".":
            if self._read_stop(run, before, after):
                return
        elif char in ",;:":
            if not (before.isalnum() and after.isalnum() and char == ":"):
                self.pause(char)
        else:
            self.pause(",")
        self.position = run if char in "-–—.!?" else position + 1

    def _read_dash(self, char: str, run: int, before: str, after: str) -> bool:
        """Read a minus, a range or a pause; True when the text was consumed."""
        text, position = self.text, self.position
        single = run == position + 1
        numeric = after.isdigit() or (after in "$£€¥." and text[position + 2 : position + 3].isdigit())
        if single and numeric and not before.isalnum() and before not in ("%", ")", "°") and char != "—":
            self.say("minus", position + 1)
            return True
        if (
            single
            and numeric
            and (before.isdigit() or before in "%°" or (before.isalpha() and char == "–"))
            and char != "—"
        ):
            if before.isdigit() or before in "%°":
                self.say("to", position + 1)
            else:
                self.position += 1
            return True
        spaced = before in ("", " ") and after in ("", " ")
        if single and spaced and char != "—" and re.compile(r"\d\s$").search(text[max(0, position - 2) : position]):
            if re.compile(r"\s\d").match(text, position + 1):
                self.say("minus" if char == "-" else "to", position + 1)
                return True
        if char == "—" or not single or spaced:
            self.pause("-")
        return False

    def _read_stop(self, run: int, before: str, after: str) -> bool:
        """Read a full stop inside a sentence; True when the text was consumed."""
        position = self.position
        if run > position + 1:
            if run < len(self.text):
                self.pause("-")
            return False
        if after.isdigit() and not before.isalnum():
            return self._take(quantities.read_decimal(position, self._context()))
        if before.isalnum() and after.isalnum():
            self.say("dot", position + 1)
            return True
        if after and self.tokens and not self._follows_abbreviation():
            self.pause(",")
        return False

    def _follows_abbreviation(self) -> bool:
        """Tell whether the stop belongs to an initial or a short unknown abbreviation: no pause after it."""
        match = re.search(r"(?<![A-Za-z])[A-Za-z]{1,2}$", self.text[max(0, self.position - 3) : self.position])
        return match is not None

    def _read_symbol(self, char: str) -> None:
        text, position = self.text, self.position
        before = text[position - 1 : position] if position else ""
        after = text[position + 1 : position + 2]
        context = self._context()
        if char in "$£€¥₹" and self._take(quantities.read_money(position, context)):
            return
        if char == "+" and self._take(quantities.read_phone_number(position, context)):
            return
        spoken = self._symbol(char, before, after)
        if spoken:
            self.say(spoken, position + 1)
        else:
            self.position += 1

    def _symbol(self, char: str, before: str, after: str) -> str:
        """Return what a symbol is read as, "" for one that is only seen."""
        spaced = before == " " and after == " "
        if char == "/":
            return self._slash(before)
        if char == "#":
            return "number" if after.isdigit() else "hashtag" if after.isalpha() and not before.isalnum() else ""
        if char in "<>":
            following = self.text[self.position + 1 : self.position + 3].strip()
            return {"<": "less than", ">": "greater than"}[char] if spaced or following[:1].isdigit() else ""
        if char == "*":
            return "times" if spaced and bool(self.words) else ""
        if char == "~":
            return "about" if after.isdigit() else ""
        if char == "^":
            return "to the power of" if before.isalnum() and after.isalnum() else ""
        return _SYMBOLS.get(char, "")

    def _slash(self, before: str) -> str:
        """Read "$5/month" as "per"; between words a slash is silent."""
        following = re.compile(r"/([A-Za-z]+)").match(self.text, self.position)
        if not following or not self.changes or self.changes[-1].end != self.offset + self.position:
            return "slash" if before.isdigit() and self.text[self.position + 1 : self.position + 2].isdigit() else ""
        unit = following[1]
        if unit in PER_UNITS:
            self.say("per", self.position)
            self.say(PER_UNITS[unit], following.end() - 1)
        return "per"
