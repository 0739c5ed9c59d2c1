"""Sentence splitting: raw text to chunks, chunks to lines that flow on, lines to sentences.

Every step is linear in the text and works on a bounded window, so that the first sentence of a book is ready at
once and a text without any space costs no more than prose. Nothing is dropped: what cannot be split at a sentence
end is split at a clause, then at a space, then anywhere.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from deepvoice.text.abbreviations import ABBREVIATED, is_answer
from deepvoice.text.markup import HEADING, STARTS
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.units import UNITS
from deepvoice.text.vocabulary import (
    ABBREVIATIONS_BEFORE_NUMBERS,
    ABBREVIATIONS_INSIDE,
    ABBREVIATIONS_OPEN,
    DAYS,
    EXCLAIMED,
    MONTH_ABBREVIATIONS,
    MONTHS,
    SENTENCE_STARTERS,
)

CHUNK_CHARS = 8000  # most characters handled at a time when no blank line comes earlier
SENTENCE_CHARS = 1000  # longer sentences are cut, so that no rule ever sees more
# Seconds of silence before a sentence, where it is not the voice's usual gap
PARAGRAPH_GAP = 0.7
HEADING_GAP = 0.9  # before a heading; behind it the gap of a paragraph
ITEM_GAP = 0.5
_NARROW = 40  # lines of a paragraph narrower than this were broken by the author (list, verse), not by wrapping

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_SAFE_CUT = re.compile(r"[a-z]{4}[.?!][\"'”’)]?\s+(?=[A-Z\"'“‘(])")
# Marks and closing quotes at the end of a token, or a full stop whose space was forgotten ("end.Next").
_CANDIDATE = re.compile(r"(?<![.!?])[.!?]++[\"')\]}*_]*+(?=\s|$)|(?<=[a-z][a-z])[.!?](?=[A-Z][a-z])")
_LIST_ITEM = re.compile(rf"\s*(?:[{STARTS}]|(?:[-+•–—]|\d{{1,3}}[.)]|[A-Za-z][.)]|\([a-z\d]{{1,2}}\))\s)")
_MARKER = re.compile(rf"\s*(?:[{STARTS}]|[-•]\s)\s*")
_LAST_TOKEN = re.compile(r"[^\s(\"'\[]*$")
_NEXT = re.compile(r"[\s\"'(\[*_]*([^\s\"'(\[*_]?[A-Za-z']*)")
_CLAUSE_CUT = re.compile(r"[,;:—)–] ")
_SPEECH_VERBS = frozenset("said asked cried replied shouted exclaimed whispered yelled answered thought says".split())
_AUXILIARIES = frozenset("is was has had will would can could did does".split())
_COMPANY = frozenset("Inc Corp Brands Finance Mail News Sports Japan Answers Weather Groups Messenger".split())
_OPERATORS = frozenset("=+×÷*/<>≈")
_STREET_KEYS = frozenset("ave blvd rd st dr ln pl ct hwy".split())
_POINT = re.compile(r"[NS][EW]?|[EW]")
_CALENDAR = frozenset([*MONTHS, *MONTH_ABBREVIATIONS, *DAYS])
_ZONE = re.compile(r"[ECMP][SD]?T|GMT|UTC|BST|CET|IST|JST")
_QUANTITY = re.compile(r"^\d[\d.,/]*-?(?=[A-Za-z])")  # "14-oz."
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]")


class Span(NamedTuple):
    """One sentence: a span of the clean text, the mark that ends it, and the silence before it."""

    start: int
    end: int
    mark: str  # . ? !
    gap: float | None = None  # seconds of silence before it, None for the voice's usual gap


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yield spans of the raw text that can be handled one after the other: paragraphs, or parts of long ones."""
    start, n = 0, len(text)
    while start < n:
        limit = start + CHUNK_CHARS
        blank = _BLANK_LINE.search(text, start, min(n, limit))
        if blank:
            end = blank.end()
        elif limit >= n:
            end = n
        else:
            end = _cut(text, start, limit)
        yield start, end
        start = end


def opens_paragraph(text: str, start: int) -> bool:
    """Tell whether the chunk that begins at `start` of the raw text follows a blank line."""
    return bool(_BLANK_LINE.fullmatch(text, text.rfind("\n", 0, max(0, start - 1)), start)) if start else False


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to cut a window without a blank line: a safe sentence end, else a space, else its limit."""
    cut = 0
    for match in _SAFE_CUT.finditer(text, start + CHUNK_CHARS // 2, limit):
        cut = match.end()
    if cut:
        return cut
    for space in ("\n", " "):
        cut = text.rfind(space, start + CHUNK_CHARS // 2, limit)
        if cut > 0:
            return cut + 1
    return limit


def flows(text: str, column: int = 0) -> Iterator[tuple[int, int]]:
    """Yield spans of clean text that read on: wrapped lines are joined, list lines and headings stand alone.

    column: characters of the first line that come before the text
    """
    paragraph: list[tuple[int, int]] = []
    position = 0
    for line in text.split("\n"):
        end = position + len(line)
        if line.strip():
            paragraph.append((position, end))
        elif paragraph:
            yield from _join_lines(text, paragraph, column)
            paragraph, column = [], 0
        position = end + 1
    if paragraph:
        yield from _join_lines(text, paragraph, column)


def _join_lines(text: str, lines: list[tuple[int, int]], column: int) -> Iterator[tuple[int, int]]:
    """Yield the flows of a paragraph. Each decision looks one line ahead and no further back than its flow began."""
    begin = lines[0][0]
    width = lines[0][1] - begin + column
    for (start, end), (next_start, next_end) in pairwise(lines):
        width = max(width, next_end - next_start)
        before = column if start == lines[0][0] else 0
        if _breaks(text[start:end].strip(), text[next_start:next_end], width, before):
            yield begin, end
            begin, width = next_start, next_end - next_start
    yield begin, lines[-1][1]


def _breaks(line: str, following: str, width: int, column: int) -> bool:
    """Tell whether the author ended a line on purpose: a wrapped line had no room for the next line's first word."""
    if _LIST_ITEM.match(following) or line[0] == HEADING:
        return True
    if line[-1] in ",;:—-":
        return False  # the mark makes the pause
    following = following.lstrip()
    lower = following[:1].islower()
    if width < _NARROW:
        return not (lower and line.count(" ") >= 3)
    room_used = column + len(line) + 1 + len(following.split(None, 1)[0])
    return room_used <= width * (0.5 if lower else 0.7)


def split(text: str, options: TextOptions = DEFAULT_OPTIONS, *, opens: bool = False, column: int = 0) -> Iterator[Span]:
    """Yield the sentences of clean text in order; spans exclude surrounding white space and list markers.

    opens: the text begins a new paragraph, so that more silence precedes it (see `opens_paragraph`)
    column: characters of the first line that come before the text
    """
    gap = PARAGRAPH_GAP if opens else None
    previous = -1
    for start, end in flows(text, column):
        marker = _MARKER.match(text, start, end)
        kind = marker.group().strip()[:1] if marker else ""
        if previous >= 0 and "\n" in text[previous + 1 : start]:
            gap = PARAGRAPH_GAP
        if kind and (opens or previous >= 0):
            gap = HEADING_GAP if kind == HEADING else ITEM_GAP
        for span in _split_flow(text, marker.end() if marker else start, end):
            yield span._replace(gap=gap) if gap else span
            gap = None
        gap = PARAGRAPH_GAP if kind == HEADING else gap
        previous = end


def _split_flow(text: str, start: int, end: int) -> Iterator[Span]:
    begin = start
    for match in _CANDIDATE.finditer(text, start, end):
        if match.start() >= begin and _is_end(text, begin, match, end):
            yield from _bounded(text, begin, match.end(), _mark(match.group()))
            begin = match.end()
    yield from _bounded(text, begin, end, ".")


def _mark(run: str) -> str:
    return "?" if "?" in run else "!" if "!" in run else "."


def _bounded(text: str, start: int, end: int, mark: str) -> Iterator[Span]:
    """Yield one sentence, in pieces of at most SENTENCE_CHARS, without the white space around it."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > SENTENCE_CHARS:
        limit = start + SENTENCE_CHARS
        cut = 0
        for match in _CLAUSE_CUT.finditer(text, start + SENTENCE_CHARS // 2, limit):
            cut = match.end()
        cut = cut or max(text.rfind(" ", start + 1, limit), text.rfind("\n", start + 1, limit)) + 1 or limit
        yield Span(start, cut, ".")
        start = cut
    if start < end:
        yield Span(start, end, mark)


def _operand(token: str, following: str) -> bool:
    """Tell whether an exclamation mark between them is a factorial's."""
    return following[0] in _OPERATORS and (token.isdigit() or len(token) == 1)


def _is_end(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Decide whether the mark found ends the sentence that began at `begin`."""
    run = match.group()
    after = _NEXT.match(text, match.end(), min(end, match.end() + 40))
    following = after.group(1) if after else ""
    if not following:
        return True
    before_start = max(begin, match.start() - 40)
    token_match = _LAST_TOKEN.search(text[before_start : match.start()])
    token = token_match.group() if token_match else ""
    if "?" in run or "!" in run:
        quoted = run[-1] not in "?!"
        if run == "!" and (token.lower() in EXCLAIMED or _operand(token, following)):
            return following[0].isupper() and following not in _COMPANY and following[0] not in _OPERATORS
        if run == "!" and token.istitle() and following in _AUXILIARIES:
            return False
        return not (following[0].islower() and (quoted or following in _SPEECH_VERBS))
    if run.startswith(".."):
        return not following[0].islower()
    if not match.end() < end or not text[match.end()].isspace():  # "end.Next": not inside addresses and file names
        return not any(c in token for c in "./@_")
    if run[-1] in ")]" and following[0].islower():
        return False  # "(approx.) of"
    previous = text[before_start : before_start + (token_match.start() if token_match else 0)]
    first = not text[begin : max(begin, match.start() - len(token))][:40].strip()
    return _stop_ends(token, following, previous.rstrip(), first)


def _goes_on(token: str, key: str, following: str) -> bool:
    """Tell whether the word after an abbreviation belongs to it: "Sat. 5", "5 p.m. EST", "Pennsylvania Ave. NW"."""
    if key in ("sat", "sun"):
        return token.istitle() and following[0].isdigit()
    if key in ("a.m", "p.m", "am", "pm"):
        return following.lower() in _CALENDAR or _ZONE.fullmatch(following) is not None
    return key in _STREET_KEYS and _POINT.fullmatch(following) is not None


def _stop_ends(token: str, following: str, previous: str, first: bool) -> bool:
    """Decide for one full stop after `token`, given the word after it and the text just before it."""
    key = _QUANTITY.sub("", token).lower() or token.lower()
    key = key.rpartition("/")[2] or key
    if _goes_on(token, key, following):
        return False
    if is_answer(token, previous[-24:]):
        return True
    starts_sentence = following.lower() in SENTENCE_STARTERS and following[0].isupper()
    if first and (token.isdigit() and len(token) <= 3):
        return False  # list number
    if key in ABBREVIATIONS_BEFORE_NUMBERS and (following[0].isdigit() or (key != "no" and following.isupper())):
        return False
    if key in ABBREVIATIONS_INSIDE or (key in UNITS and previous[-1:].isdigit() and following[0].islower()):
        return False
    if key == "ft" and previous[-1:].isdigit():
        return following[0].isupper()
    if following[0].islower() and (key in ABBREVIATED or (token.istitle() and len(token) <= 4)):
        return False
    if key in ("st", "dr", "mt", "ft") or (key == "pt" and token.istitle()):  # "Main St. He left." but "St. Louis"
        return starts_sentence and bool(re.search(r"[A-Z][a-z]*$", previous))
    if key in ABBREVIATIONS_OPEN:
        return starts_sentence if ABBREVIATIONS_OPEN[key] == "name" else following[0].isupper()
    if _INITIALS.fullmatch(token):
        if following[0].islower() or following[0].isdigit():
            return len(token) == 1 and following[0].islower() and token.islower()
        after_word = bool(re.search(r"[a-z]$", previous)) or "." in token or token == "I"
        return starts_sentence and after_word
    return True
