"""Markup in the raw text: Markdown, HTML tags and entities, and characters that stand for something else.

`edits` lists what stands where something else is to be read: marks that are only seen become nothing, the start of a
heading or a list item becomes a sign that the sentence splitter knows, entities become their characters. All patterns
are bounded or anchored, so the work grows with the text.
"""

import re
from html.entities import html5
from typing import NamedTuple

from deepvoice.text.emoji import SEQUENCE, describe
from deepvoice.text.options import TextOptions

HEADING, ITEM = "\ue000", "\ue001"  # private characters: the original ones never get past cleaning
STARTS = HEADING + ITEM

_TAGS = (
    "abbr|article|aside|a|blockquote|body|br|b|center|cite|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|footer"
    "|h[1-6]|head|header|hr|html|img|ins|i|kbd|li|main|mark|nav|ol|pre|p|q|section|small|span|strong|sub|summary|sup"
    "|s|table|tbody|td|tfoot|thead|th|title|tr|ul|u|video|wbr"
)
_BLOCKS = frozenset(
    "article aside blockquote br dd details div dl dt figure footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre "
    "section table td th tr ul".split()
)
_TARGET = r"\([^()\s]{0,500}(?:\([^()\s]{0,100}\)[^()\s]{0,100})?(?:[ \t]+\"[^\"\n]{0,100}\")?\)"
_INLINE = (
    r"(?P<comment><!--(?:[^-]|-(?!->)){0,300}-->)"
    rf"|(?P<tag></?(?P<name>{_TAGS})(?:\s[^<>\n]{{0,300}})?/?>)"
    r"|(?P<note>(?<=[\w.,;:!?)\"'])\[\^[^\[\]\n]{1,40}\](?!:))"
    rf"|(?P<open>!?(?<!\w)\[(?=[^\[\]\n]{{1,300}}\](?:{_TARGET}|\[[^\[\]\n]{{0,60}}\])))"
    rf"|(?P<close>\](?:{_TARGET}|\[[^\[\]\n]{{0,60}}\]))"
)
_BLOCK = (
    r"(?P<fence>^[ \t]*(?:```+|~~~+)[ \t]*[\w+#.-]*[ \t]*$)"
    r"|(?P<heading>^[ \t]{0,3}#{1,6}[ \t]+(?=[^\s#]))"
    r"|(?P<closing>(?<=\S)[ \t]+#{1,6}[ \t]*$)"
    r"|(?P<rule>^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$)"
    r"|(?P<table>^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*$)"
    r"|(?P<item>^[ \t]*(?:[-*•‣◦▪●]|\+(?![ \t]*\d)|−(?=[ \t]+[A-Za-z]{2}))[ \t]+(?:\[[ xX]\][ \t]+)?(?=[^\s*]))"
    r"|(?P<quote>^[ \t]*(?:>[ \t]?)+(?![\d\s=>]))"
    r"|(?P<definition>^[ \t]{0,3}\[[^\[\]\n]{1,60}\]:[ \t]+\S[^\n]*$)"
)
_ENTITY = r"(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
_SIGNS = (
    r"(?P<power>(?<=[A-Za-z0-9)\]])[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+)"
    r"|(?P<thin>(?<=\d)[\u00a0\u202f\u2009](?=\d{3}(?!\d)))"
    r"|(?P<degree>(?<=\d)\s?[º˚](?![a-z]))"
    r"|(?P<stars>[★⭐]{2,10}[☆✩]{0,10})"
)
_OTHER = "\u0370-\u03ff\u0400-\u052f"  # Greek and Cyrillic
_LOOKALIKE = rf"(?P<mixed>(?<![A-Za-z{_OTHER}])(?:[A-Za-z]+[{_OTHER}]|[{_OTHER}]+[A-Za-z])[A-Za-z{_OTHER}]*)"
_EMOJI = rf"(?P<emoji>{SEQUENCE})"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_CYRILLIC = dict(zip("аеорсухіјѕԁԛԝһӏвкмнтАВЕКМНОРСТУХІЈЅ", "aeopcyxijsdqwhlbkmhtABEKMHOPCTYXIJS", strict=True))
_GREEK = dict(zip("οΑΒΕΖΗΙΚΜΝΟΡΤΥΧν", "oABEZHIKMNOPTYXv", strict=True))
_CONFUSABLE = _CYRILLIC | _GREEK


class Edit(NamedTuple):
    """Characters [start, end) of the raw text, and what stands there instead, still to be cleaned."""

    start: int
    end: int
    text: str
    listed: bool  # in the report


def _pattern(options: TextOptions, ascii_only: bool) -> re.Pattern[str] | None:
    parts = []
    if options.markdown and options.reads("markdown"):
        parts += [_BLOCK, _INLINE]
    if options.reads("entity"):
        parts.append(_ENTITY)
    if not ascii_only:
        parts.append(_SIGNS)
        if options.reads("lookalike"):
            parts.append(_LOOKALIKE)
        if options.emoji == "describe" and options.reads("emoji"):
            parts.append(_EMOJI)
    return re.compile("|".join(parts), re.MULTILINE) if parts else None  # re keeps its last 512 patterns compiled


_AT_LINE_START = frozenset("heading item quote rule fence table definition".split())
_TRIGGER = re.compile(r"[&<\[#>`~*+|_]|^[ \t]*-|-{2}", re.MULTILINE)


def edits(text: str, options: TextOptions, *, opens: bool = True) -> list[Edit]:
    """List what is to be read otherwise than it is written, in order and without overlap.

    opens: the text begins a line
    """
    ascii_only = text.isascii()
    if ascii_only and not _TRIGGER.search(text):
        return []
    pattern = _pattern(options, ascii_only)
    if pattern is None:
        return []
    found: list[Edit] = []
    links: set[int] = set()  # where the text of a link ends
    heading_end = -1
    for match in pattern.finditer(text):
        kind, start, end = "tag" if match.lastgroup == "name" else match.lastgroup or "", match.start(), match.end()
        if kind in _AT_LINE_START and start == 0 and not opens:
            continue
        if kind == "open":
            links.add(text.index("]", start))
        elif kind == "heading":
            line_end = text.find("\n", end)
            heading_end = line_end if line_end >= 0 else len(text)
        if (kind == "close" and start not in links) or (kind == "closing" and end != heading_end):
            continue
        edit = _edit(kind, match)
        if edit:
            found.append(edit)
    return found


def _edit(kind: str, match: re.Match[str]) -> Edit | None:
    start, end, written = match.start(), match.end(), match.group()
    if kind == "tag":
        name = match["name"].lower()
        return Edit(start, end, "\n" if name in _BLOCKS else "", True)
    if kind in ("item", "heading"):
        return Edit(start, end, ITEM if kind == "item" else HEADING, True)
    if kind == "entity":
        character = _decode(written)
        return Edit(start, end, character, True) if character else None
    if kind == "mixed":
        return _latin(start, end, written)
    if kind == "power":
        return _power(match, start, end, written)
    if kind == "emoji":
        return Edit(start, end, f" {describe(written)} ", True)
    plain = {"thin": ",", "degree": "°"}.get(kind)
    if plain:
        return Edit(start, end, plain, False)
    if kind == "stars":
        return Edit(start, end, f" {sum(c in '★⭐' for c in written)} stars ", True)
    return Edit(start, end, "", True)


def _decode(entity: str) -> str:
    """Return the characters of an entity, "" for a name that is none."""
    if entity[1] != "#":
        return html5.get(entity[1:], "")
    code = int(entity[3:-1], 16) if entity[2] in "xX" else int(entity[2:-1])
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _latin(start: int, end: int, written: str) -> Edit | None:
    """Read letters of other scripts that look Latin inside a Latin word as the Latin ones."""
    foreign = [c for c in written if not c.isascii()]
    if len(written) < 3 or not all(c in _CONFUSABLE for c in foreign):
        return None
    if all(c in _GREEK for c in foreign) and len(written) < 4:
        return None
    return Edit(start, end, "".join(_CONFUSABLE.get(c, c) for c in written), True)


def _power(match: re.Match[str], start: int, end: int, written: str) -> Edit | None:
    """Turn raised digits into an exponent; a raised digit after a word is the number of a footnote."""
    if written in ("²", "³"):
        return None
    plain = written.translate(_SUPERSCRIPTS)
    before = match.string[max(0, start - 3) : start]
    if len(before) == 3 and before.isalpha() and plain.isdigit():
        return Edit(start, end, "", True)
    return Edit(start, end, f"^{plain} ", True)
