"""Unicode hygiene: the first step of the front end.

`clean` turns any string into text that the later steps can rely on: letters (accented Latin letters stay), ASCII
digits and marks, straight quotes, a small set of symbols that the normaliser reads, spaces and newlines. Every
character of the result keeps the span of the ORIGINAL characters it stands for, so that captions and reports can
point into what the caller wrote. What has no reading (emoji, other scripts, stray controls) is dropped and listed.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from deepvoice.text.markup import STARTS, Edit, edits
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions

APOSTROPHES = "‘’‚‛′ʹʻʼʽˈˊ＇´"
QUOTES = "“”„‟«»‹›″〝〞＂"
SEEN = "™®℠†‡"  # not said, but listed
MINUS = "−⁻₋"  # never a hyphen or a dash, unless a word is written with it
KEPT = frozenset(
    "–—°²³×÷±≈≤≥≠√∞£€¥₹¢µΩ¿¡§‰∓≅≡≪≫∛₩₽₺₪₫₱₿₴₦฿∑∏∫∂∇∪∩∈∉⊂⊆∅∀∃¬∧∨⊥∥∠∝∴∵♯♭¶⌘⌥⇧"
)  # symbols that the normaliser reads itself
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon "
    "phi chi psi omega"
)
GREEK_NAMES = dict(zip("αβγδεζηθικλμνξοπρςστυφχψω", _GREEK.split(), strict=True))
# Latin letters that do not decompose into a base letter and marks
_LATIN = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "th", "þ": "th", "ł": "l", "ħ": "h", "ı": "i"}
_LATIN |= {"ŋ": "ng", "ə": "e", "ŧ": "t", "ĸ": "k", "ſ": "s"}

_REPLACED = {
    **dict.fromkeys(APOSTROPHES, "'"), **dict.fromkeys(QUOTES, '"'), **dict.fromkeys("‣◦▪●", "•"),
    **dict.fromkeys("‐‑﹣－⁃" + MINUS, "-"), "‒": "–", "―": "—", "⸺": "—", "…": "...", "‥": "..", "⁄": "/", "∕": "/",
    "∗": "*", "·": " ", "μ": "µ", "⋅": "×", "∼": "~", "№": "No.", "©": " copyright ", **dict.fromkeys(SEEN + "\t", " "),
    **dict.fromkeys("\u2028\x0b\x85", "\n"), **dict.fromkeys("\u2029\x0c", "\n\n"),
}  # fmt: skip
_BACKTICK = re.compile(r"(?<=[A-Za-z])`(?=[A-Za-z])")  # an apostrophe: don`t
_EXPONENT = re.compile(r"\d[eE]$")  # before the minus of 3e−4
_HYPHENATED = re.compile(rf"[^\W\d_]{{2}}[{MINUS}][^\W\d_]{{2}}")  # between two words it is a look-alike
_AFTER_OPERAND = frozenset(")]}'\"’”%°²³-–—")  # or after a dash, which would swallow it
_UNCHANGED = re.compile(r"[ -~\n]*")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff\u034f\u180e\ufe0e\ufe0f")


class Dropped(NamedTuple):
    """Characters of the original text that are not spoken: where, what, and why."""

    start: int
    end: int
    text: str
    reason: str


class CleanText(NamedTuple):
    """Clean text; character i stands for the original characters starts[i] to ends[i] (end exclusive).

    normalised: what was rewritten: (start, end, text, spoken) in the original, spoken "" for marks of markup
    """

    text: str
    starts: list[int] | range
    ends: list[int] | range
    dropped: tuple[Dropped, ...]
    normalised: tuple[tuple[int, int, str, str], ...] = ()

    @property
    def shift(self) -> int | None:
        """Where the text begins in the original when it is a part of it, unchanged; else None."""
        return self.starts.start if isinstance(self.starts, range) else None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original span of the clean characters from start to end (exclusive, not empty)."""
        return self.starts[start], self.ends[end - 1]


@lru_cache(maxsize=4096)
def fold(word: str) -> str:
    """Return a word in the lexicon's alphabet: lower case, without accents ("Café" -> "cafe")."""
    word = word.lower()
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", "".join(_LATIN.get(c, c) for c in word))
    return "".join(_plain_letter(c) for c in decomposed)


def _plain_letter(char: str) -> str:
    """Return the ASCII letters of a Latin letter, "" for a mark (or for what is no Latin letter)."""
    if char.isascii():
        return char
    if char in _LATIN:
        return _LATIN[char]
    name = unicodedata.name(char, "").split()  # such as LATIN SMALL LETTER K WITH HOOK
    if name[:1] == ["LATIN"] and "LETTER" in name[:-1]:
        letter = name[name.index("LETTER") + 1]
        if len(letter) <= 2 and letter.isalpha():
            return letter.lower()
    return ""


def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith("LATIN ") and bool(fold(char))


def _reason(char: str) -> str:
    category = unicodedata.category(char)
    if category[0] in "LMN":
        return "other script"
    if category in ("Cs", "Co", "Cn"):
        return "no character"
    if category[0] == "C":
        return "control character"
    return "emoji" if 0x2600 <= ord(char) <= 0x2BFF or ord(char) >= 0x1F000 else "symbol"


@lru_cache(maxsize=4096)
def _replacement(cluster: str) -> tuple[str, str]:
    """Return the clean text of one character (with its combining marks) and, when it is dropped, the reason."""
    char = unicodedata.normalize("NFC", cluster[:8])[0]
    if char in _REPLACED:
        return _REPLACED[char], ""
    if char in KEPT or char == "•":
        return char, ""
    if char in _INVISIBLE or 0x202A <= ord(char) <= 0x202E or 0x2066 <= ord(char) <= 0x2069 or char in "\u200e\u200f":
        return "", ""
    if 0x1F3FB <= ord(char) <= 0x1F3FF or 0xE0000 <= ord(char) <= 0xE01EF:  # skin tones, tags, variation selectors
        return "", "emoji"
    if char.isspace():
        return " ", ""
    if char.isascii() and char.isprintable():
        return char, ""
    if _is_latin(char) and unicodedata.normalize("NFKC", char) == char:
        return char, ""
    if char.lower() in GREEK_NAMES:
        return char, ""
    return _compatible(char)


def _is_subscript(char: str) -> bool:
    return unicodedata.decomposition(char).startswith("<sub>")


def _compatible(char: str) -> tuple[str, str]:
    """Spell a compatibility character (ligature, fraction, circled or styled letter) in plain ones."""
    plain = unicodedata.normalize("NFKC", char)
    if 0x2160 <= ord(char) <= 0x217F:
        plain = plain.upper()  # Roman numerals
    if plain != char:
        plain = "".join(_REPLACED.get(c, c) for c in plain)
        if all(
            (c.isascii() and c.isprintable()) or c in KEPT or c.lower() in GREEK_NAMES or _is_latin(c) for c in plain
        ):
            fraction_or_superscript = unicodedata.category(char) == "No" and not _is_subscript(char)
            return (f" {plain} " if fraction_or_superscript else plain), ""
    try:
        return str(unicodedata.digit(char)), ""  # digits of other scripts
    except ValueError:
        return " ", _reason(char)


class _Builder:
    """Gathers clean characters with the original span each stands for."""

    def __init__(self, text: str, offset: int, options: TextOptions) -> None:
        self.text, self.offset, self.options = text, offset, options
        self.pieces: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.dropped: list[tuple[int, int, str]] = []
        self.seen: list[tuple[int, int, str, str]] = []

    def add(self, piece: str, start: int, end: int) -> None:
        self.pieces.append(piece)
        self.starts.extend([self.offset + start] * len(piece))
        self.ends.extend([self.offset + end] * len(piece))

    def drop(self, start: int, end: int, reason: str, piece: str) -> None:
        last = self.dropped[-1] if self.dropped else None
        if last and last[1] == start and (last[2] == reason or not piece):
            self.dropped[-1] = (last[0], end, last[2])
        else:
            self.dropped.append((start, end, reason))

    def _plain(self, start: int, end: int) -> int:
        """Take over the characters from `start` on that stay as they are, and return where they end."""
        stop = _UNCHANGED.match(self.text, start, end).end()  # type: ignore[union-attr]  # matches the empty run
        if stop < end and self.text[stop] >= "\u0300":  # marks may combine with the last
            stop -= 1
        self.pieces.append(self.text[start:stop])
        self.starts.extend(range(self.offset + start, self.offset + stop))
        self.ends.extend(range(self.offset + start + 1, self.offset + stop + 1))
        return stop

    def read(self, start: int, end: int) -> None:
        """Clean the raw characters [start, end)."""
        text = self.text
        i = start
        while i < end:
            char = text[i]
            if " " <= char <= "~" or char == "\n":
                j = self._plain(i, end)
                if j > i:
                    i = j
                    continue
            j = i + 1
            if char == "\r":
                self.add("" if text[j : j + 1] == "\n" else "\n", i, j)
                i = j
                continue
            while j < end and text[j] >= "\u0300" and unicodedata.combining(text[j]):
                j += 1
            piece, reason = _replacement(text[i : min(j, i + 8)])
            if char in MINUS:
                piece = self._minus(i, j)
            elif reason:
                self.drop(i, j, reason, piece)
            elif len(piece) > 1 and piece[0] == " ":
                piece = self._fitted(piece, i, j)
            elif char in SEEN:
                self.seen.append((self.offset + i, self.offset + j, text[i:j], ""))
            self.add(piece, i, j)
            i = j

    def _minus(self, start: int, end: int) -> str:
        """Return a mathematical minus as the sign of a number, as the word "minus", or as a hyphen that is listed."""
        text = self.text
        before, after = text[start - 1 : start], text[end : end + 2]
        said = next((piece[-1] for piece in reversed(self.pieces) if piece), "")  # "©" has become a word
        operand = any(c.isalnum() or c in _AFTER_OPERAND for c in (before, said) if c)
        if _EXPONENT.search(text, max(0, start - 2), start):
            operand = False
        digit = after[1:] if after[:1] == "." or unicodedata.category(after[:1] or " ") == "Sc" else after[:1]
        if digit.isdigit() and not operand:
            return "-"
        if _HYPHENATED.match(text, max(0, start - 2), end + 2) or not self.options.reads("math"):
            self.seen.append((self.offset + start, self.offset + end, text[start:end], ""))
            return "-"
        return f"{'' if before in ('', '(') or before.isspace() else ' '}minus{'' if after[:1].isspace() else ' '}"

    def _fitted(self, piece: str, start: int, end: int) -> str:
        """Keep the spaces around a fraction or a word for a sign only where they part it from letters and digits."""
        text = self.text
        before = start > 0 and text[start - 1].isalnum()
        after = end < len(text) and text[end].isalnum()
        return f"{' ' if before else ''}{piece.strip()}{' ' if after else ''}"

    def replace(self, edit: Edit) -> None:
        """Put the clean form of an edit's text in the place of what was written."""
        for char in edit.text:
            piece, reason = (char, "") if char in STARTS or char == "\n" else _replacement(char)
            if char in MINUS:
                piece = self._minus(edit.start, edit.end)
            if reason:
                self.drop(edit.start, edit.end, reason, piece)
            self.add(piece, edit.start, edit.end)


def clean(text: str, offset: int = 0, options: TextOptions = DEFAULT_OPTIONS, *, opens: bool = True) -> CleanText:
    """Clean a text whose first character is character `offset` of the original. Linear in its length.

    options: whether there is markup, whether emoji are described, classes switched off
    opens: the text begins a line, so that it may begin with a heading or a list item
    """
    written = text
    if "`" in text:
        text = _BACKTICK.sub("'", text)
    changes = edits(text, options, opens=opens)
    if not changes and text is written and _UNCHANGED.fullmatch(text):
        return CleanText(text, range(offset, offset + len(text)), range(offset + 1, offset + len(text) + 1), ())
    builder = _Builder(text, offset, options)
    position = 0
    for edit in changes:
        builder.read(position, edit.start)
        builder.replace(edit)
        position = edit.end
    builder.read(position, len(text))
    dropped = tuple(
        Dropped(offset + start, offset + end, text[start:end], reason) for start, end, reason in builder.dropped
    )
    rewritten = [
        (offset + e.start, offset + e.end, text[e.start : e.end], e.text.strip(" \n" + STARTS))
        for e in changes
        if e.listed
    ]
    normalised = tuple(sorted(rewritten + builder.seen))
    return CleanText("".join(builder.pieces), builder.starts, builder.ends, dropped, normalised)
