"""Plain text and Markdown to chapters."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from deepvoice.book.model import Block, Book, split_at

_BLANK = re.compile(r"\n[ \t]*\n\s*")
_ROMAN = r"(?=[IVXLC])(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
_WORDS = (
    r"(?i:(?:the\s+)?(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|(?:twenty|thirty|forty|fifty)(?:[\s-][a-z]+)?|first|second|third|fourth|fifth|"
    r"sixth|seventh|eighth|ninth|tenth|last))"
)
_AFTER = r"(?:\s*[.:\n—–-]+\s*.{0,80})"  # a title behind a sign or on the next line
# a line of its own, such as "CHAPTER IV. A Mad Tea-Party", "Part Two", "Epilogue"
_CHAPTER = re.compile(
    rf"(?i:chapter|part|book|canto|letter|act|stave)\s+(?:(?:\d{{1,3}}|{_ROMAN})(?:{_AFTER}|\s+[A-Z\"“‘].{{0,80}})?|"
    rf"{_WORDS}{_AFTER}?)|(?i:prologue|epilogue|preface|foreword|afterword|introduction|appendix(?:\s+\w)?){_AFTER}?",
    re.DOTALL,
)
_BARE = re.compile(rf"(?:{_ROMAN}|\d{{1,3}})\.?")
_RULE = re.compile(r"(?:[*\-_#~•·][ \t]*){3,}")
_LONGEST_HEADING = 120  # characters
_LEGAL = re.compile(r"\*\*\*\s*(START|END) OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*\n?", re.IGNORECASE)
_FENCE = re.compile(r"(?ms)^[ ]{0,3}(```+|~~~+).*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)")
_ATX = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*")
_SETEXT = re.compile(r"(.+)\n[ ]{0,3}(=+|-+)[ \t]*")
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKS = re.compile(r"[*_`]+|!?\[([^\]]*)\]\([^)]*\)")


def read_plain(text: str, path: Path) -> Book:
    """Return plain text as a book: chapters where lines of their own say so, or one chapter."""
    blocks = [_plain_block(block.strip("\n")) for block in _BLANK.split(_without_legal(_lines(text))) if block.strip()]
    starts = [i for i, block in enumerate(blocks) if block.kind == "heading" and _CHAPTER.fullmatch(block.text)]
    if not starts:
        starts = [i for i, block in enumerate(blocks) if block.kind == "heading" and _BARE.fullmatch(block.text)]
        starts = starts if len(starts) > 1 else []
    return Book(title=path.stem, chapters=split_at(blocks, starts, path.stem if not starts else "Beginning"))


def read_markdown(text: str, path: Path) -> Book:
    """Return Markdown as a book: chapters at the headings of the highest level that occurs more than once."""
    text, facts = _front_matter(_lines(text))
    notes = []
    text, fences = _FENCE.subn("\n\n", text)
    if fences:
        notes.append(f"{fences} blocks of code, which are not spoken")
    blocks, levels = _markdown_blocks(text)
    title = facts.get("title", "")
    counts = Counter(level for level in levels if level)
    level = min((level for level, count in counts.items() if count > 1), default=min(counts, default=0))
    starts = [i for i, own in enumerate(levels) if own and own <= level]
    if starts and levels[starts[0]] < level:
        title = title or blocks[starts[0]].text
        # the title of the book belongs to what follows it
        starts = starts[1:] if len(starts) > 1 and starts[1] == starts[0] + 1 else starts
    if not starts:
        return Book(title=title or path.stem, author=facts.get("author", ""), chapters=split_at(blocks, [], path.stem))
    chapters = split_at(blocks, starts, title or path.stem)
    return Book(title=title or path.stem, author=facts.get("author", ""), chapters=chapters, notes=tuple(notes))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")


def _without_legal(text: str) -> str:
    """Leave out the licence around a Project Gutenberg text."""
    for match in _LEGAL.finditer(text):
        if match[1].upper() == "END":
            text = text[: match.start()]
            break
    start = next((match for match in _LEGAL.finditer(text) if match[1].upper() == "START"), None)
    return text[start.end() :] if start else text


def _plain_block(block: str) -> Block:
    if _RULE.fullmatch(block.strip()):
        return Block("rule")
    lines = [line.strip() for line in block.split("\n")]
    joined = ": ".join(line.rstrip(".:") if i < len(lines) - 1 else line for i, line in enumerate(lines))
    if len(joined) <= _LONGEST_HEADING and len(lines) <= 3:
        if _CHAPTER.fullmatch(lines[0]) or (len(lines) == 1 and _BARE.fullmatch(lines[0])):
            return Block("heading", joined)
        if len(lines) == 1 and lines[0].isupper() and lines[0][-1] not in ".,;":
            return Block("heading", lines[0])
    return Block("paragraph", block.strip())


def _markdown_blocks(text: str) -> tuple[list[Block], list[int]]:
    """Return the blocks and the level of each that is a heading, else 0."""
    blocks: list[Block] = []
    levels: list[int] = []

    def add(block: Block, level: int = 0) -> None:
        blocks.append(block)
        levels.append(level)

    for part in _BLANK.split(text):
        rest: list[str] = []
        for line in part.strip("\n").split("\n"):
            match = _ATX.fullmatch(line)
            if match:
                _flush(rest, add)
                add(Block("heading", _bare(match[2])), len(match[1]))
            elif rest and (setext := _SETEXT.fullmatch(f"{rest[-1]}\n{line}")) and rest[-1].strip():
                _flush(rest[:-1], add)
                rest.clear()
                add(Block("heading", _bare(setext[1])), 1 if setext[2][0] == "=" else 2)
            elif _RULE.fullmatch(line.strip()):
                _flush(rest, add)
                add(Block("rule"))
            else:
                rest.append(line)
        _flush(rest, add)
    kept = [i for i, block in enumerate(blocks) if block.text or block.kind == "rule"]
    return [blocks[i] for i in kept], [levels[i] for i in kept]


def _flush(lines: list[str], add: Callable[[Block], None]) -> None:
    """Add the lines collected so far as a paragraph."""
    if any(line.strip() for line in lines):
        add(Block("paragraph", "\n".join(lines).strip("\n")))
    lines.clear()


def _bare(text: str) -> str:
    """Return a heading without the marks of Markdown, for tables of contents."""
    return _MARKS.sub(lambda match: match[1] or "", text).strip()


def _front_matter(text: str) -> tuple[str, dict[str, str]]:
    """Cut off the block of `key: value` lines before a Markdown text."""
    match = _FRONT.match(text)
    if match is None:
        return text, {}
    pairs = (line.partition(":") for line in match[1].split("\n"))
    return text[match.end() :], {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}
