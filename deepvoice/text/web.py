"""E-mail addresses, web addresses, file names and paths, read the way one dictates them."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from deepvoice.text import numbers as say
from deepvoice.text.hygiene import GREEK_NAMES
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions

_MARKS = {
    ".": "dot", "/": "slash", "\\": "backslash", "-": "dash", "_": "underscore", ":": "colon", "@": "at",
    "?": "question mark", "=": "equals", "&": "and", "#": "hash", "+": "plus", "%": "percent", "~": "tilde",
}  # fmt: skip
_DOMAINS = (
    "com|org|net|edu|gov|mil|int|io|dev|app|info|biz|co|uk|de|fr|eu|us|ca|au|jp|ai|me|tv|ie|nz|in|ch|nl|se|no|it|es|"
    "cn|kr|br|ru|pl|at|be|dk|fi|pt|mx|gg|ly|to|cc|xyz|site|online|store|blog|tech|cloud|news"
)
_FILES = (
    "pdf|txt|py|pyc|js|jsx|ts|tsx|html|htm|css|json|xml|csv|tsv|zip|tar|gz|exe|dll|doc|docx|xls|xlsx|ppt|pptx|png|jpg|"
    "jpeg|gif|svg|bmp|webp|mp3|mp4|wav|flac|ogg|opus|avi|mov|mkv|md|rst|yml|yaml|toml|ini|cfg|conf|log|sh|bat|c|h|cpp|"
    "hpp|rs|go|rb|java|kt|swift|php|sql|db|so|lock|env|bak|tmp|iso|dmg|apk|deb|rpm|epub|ipynb|tex|bib"
)
_SPOKEN_ENDINGS = frozenset("com net info biz app dev int zip doc me no it in org gov mil co log bat env to be".split())
_SPELLED = frozenset("edu io uk us ai tv pdf txt md py usr src html http php xml sql png md so db sh rs".split())
_SPOKEN_PAIRS = frozenset("co my go we me no it in to be is up on do hi ok us an as at by if of or so he".split())
_FOLDERS = frozenset("src usr lib bin etc var tmp home opt dev docs doc test tests build dist node_modules".split())
_LONGEST_QUERY = 24  # characters of ?query#fragment that are still read
LONGEST_ADDRESS = 300  # a longer token is ordinary text


class Address(NamedTuple):
    """How an address is said, how much of the token it covers, and the part of it that is not said."""

    spoken: str
    end: int
    dropped: tuple[int, int] | None  # within the token


@cache
def _pattern() -> re.Pattern[str]:
    label = r"[A-Za-z0-9_-]+"
    host = rf"{label}(?:\.{label})*\.(?:{_DOMAINS})(?![A-Za-z0-9_-])"
    return re.compile(
        rf"(?P<email>(?:mailto:)?(?P<user>[A-Za-z0-9_.+-]+)@(?P<mailhost>{label}(?:\.{label})+))"
        rf"|(?P<path>{label}(?:\.{label})*(?:/[\w.@+-]+)*/[\w.-]+\.(?:{_FILES})(?![A-Za-z0-9/])"
        rf"|[A-Za-z]:(?:\\[\w.() -]*\w)+\\?|(?:~|\.{{1,2}})?(?:/[\w.@+-]*\w)+/?|~/?|\.[a-z][\w-]{{2,}}(?:\.\w+)?)"
        rf"|(?P<url>(?P<scheme>[a-z]{{2,6}}://)?(?P<host>{host}|(?<=://){label}(?:\.{label})*|localhost(?=[:/]))"
        rf"(?P<port>:\d+)?(?P<place>/[^\s?#]*)?(?P<query>[?#]\S*)?)"
        rf"|(?P<file>{label}(?:\.{label})*\.(?:{_FILES})(?![A-Za-z0-9]))",
        re.ASCII,
    )


_TRACE = re.compile(r"[@/\\~]|\.[^\s.]|localhost:")


def may_hold_address(text: str) -> bool:
    """Tell whether a sentence has any mark of an address."""
    return _TRACE.search(text) is not None


def read(token: str, known: Callable[[str], bool], options: TextOptions = DEFAULT_OPTIONS) -> Address | None:
    """Read a token (no white space in it) that is an address; None when it is not one.

    known: tells whether a lower-case word is in the lexicon; other short pieces are spelled
    """
    if len(token) > LONGEST_ADDRESS or not (any(mark in token for mark in "@./\\~") or token.startswith("localhost:")):
        return None
    match = _pattern().match(token)
    if not match or match.end() < 2:
        return None
    kind = "email" if match["email"] else "url" if match["url"] else "path"
    if kind in options.off or (match["path"] and not _is_path(match["path"], token, match.end())):
        return _plain_folder(token, known, options)
    end = match.end()
    while end > 0 and token[end - 1] in ".,;:!?)]>\"'*`":
        end -= 1
    dropped = None
    begin = match.end("scheme") if match["scheme"] else 0
    if token.startswith("mailto:"):
        begin = 7
    if token.startswith("www.", begin) and match["host"]:
        begin += 4
    stop = end
    if match["query"] and options.queries == "short" and end - match.start("query") > _LONGEST_QUERY:
        stop = match.start("query")
        dropped = (stop, end)
    if stop > begin and token[stop - 1] == "/" and kind == "url":
        stop -= 1
    spoken = [piece for part in re.findall(r"[A-Za-z]+|\d+|.", token[begin:stop]) for piece in _piece(part, known)]
    return Address(" ".join(spoken), end, dropped) if spoken else None


def _is_path(path: str, token: str, end: int) -> bool:
    """Tell a path from words that slashes part and from fractions; a hidden file needs a letter after its dot."""
    if path[0] in "/~" or path.startswith(("./", "../")):
        return any(c.isalpha() for c in path) and token[end : end + 1] not in ("<", ">")
    if path[0] == "." or path[1:2] == ":":
        return True
    return not path.replace("/", "").replace(".", "").isdigit()


@cache
def _folders() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z][\w.-]*(?:/[\w.-]*\w)+/?", re.ASCII)


def _plain_folder(token: str, known: Callable[[str], bool], options: TextOptions) -> Address | None:
    """Read "src/deepvoice/text" without an ending: a known folder comes first."""
    match = _folders().match(token) if "path" not in options.off else None
    if not match or match.group().partition("/")[0] not in _FOLDERS:
        return None
    pieces = [piece for part in re.findall(r"[A-Za-z]+|\d+|.", match.group()) for piece in _piece(part, known)]
    return Address(" ".join(pieces), match.end(), None)


def _piece(part: str, known: Callable[[str], bool]) -> list[str]:
    if part.isdigit() and part.isascii():
        short = len(part) <= 2 and (part[0] != "0" or part == "0")
        return (say.cardinal(part) if short else say.spell_digits(part)).split()
    if part.isalpha() and part.isascii():
        lower = part.lower()
        spelled = len(lower) == 1 or lower in _SPELLED or (len(lower) == 2 and lower not in _SPOKEN_PAIRS)
        spelled = spelled or (len(lower) <= 3 and lower not in _SPOKEN_ENDINGS and not known(lower))
        vowelless = len(lower) <= 4 and not any(c in "aeiouy" for c in lower) and not known(lower)
        return [lower.upper() if spelled or vowelless else lower]
    if part.isalpha():  # a letter with an accent, or a Greek one
        return ["mu" if part == "µ" else GREEK_NAMES.get(part.lower(), part.lower())]
    return _MARKS.get(part, "").split()
