"""E-mail addresses, web addresses and file names, read the way one dictates them."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from deepvoice.text import numbers as say

_MARKS = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", ":": "colon", "@": "at", "?": "question mark",
    "=": "equals", "&": "and", "#": "hash", "+": "plus", "%": "percent", "~": "tilde",
}  # fmt: skip
_DOMAINS = (
    "com|org|net|edu|gov|mil|int|io|dev|app|info|biz|co|uk|de|fr|eu|us|ca|au|jp|ai|me|tv|ie|nz|in|ch|nl|se|no|it|es"
)
_FILES = (
    "pdf|txt|py|js|ts|html|css|json|xml|csv|zip|exe|doc|docx|xls|xlsx|png|jpg|jpeg|gif|svg|mp3|mp4|wav|md|yml|yaml|"
    "toml|sh"
)
_SPOKEN_ENDINGS = frozenset("com net info biz app dev int zip doc me no it in".split())
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
        rf"(?P<mail>(?:mailto:)?(?P<user>[A-Za-z0-9_.+-]+)@(?P<mailhost>{label}(?:\.{label})+))"
        rf"|(?P<scheme>[a-z]{{2,6}}://)?(?P<host>{host}|(?<=://){label}(?:\.{label})*)(?P<port>:\d+)?"
        rf"(?P<path>/[^\s?#]*)?(?P<query>[?#]\S*)?"
        rf"|(?P<file>{label}(?:\.{label})*\.(?:{_FILES})(?![A-Za-z0-9]))"
    )


def _is_candidate(token: str) -> bool:
    return len(token) <= LONGEST_ADDRESS and ("@" in token or "." in token or "://" in token)


def read(token: str, known: Callable[[str], bool]) -> Address | None:
    """Read a token (no white space in it) that is an address; None when it is not one.

    known: tells whether a lower-case word is in the lexicon; other short pieces are spelled
    """
    if not _is_candidate(token):
        return None
    match = _pattern().match(token)
    if not match:
        return None
    end = match.end()
    while end > 0 and token[end - 1] in ".,;:!?)]\"'":
        end -= 1
    dropped = None
    begin = match.end("scheme") if match["scheme"] else 0
    if token.startswith("mailto:"):
        begin = 7
    if token.startswith("www.", begin) and match["host"]:
        begin += 4
    stop = end
    if match["query"] and end - match.start("query") > _LONGEST_QUERY:
        stop = match.start("query")
        dropped = (stop, end)
    if stop > begin and token[stop - 1] == "/":
        stop -= 1
    spoken = [piece for part in re.findall(r"[A-Za-z]+|\d+|.", token[begin:stop]) for piece in _piece(part, known)]
    return Address(" ".join(spoken), end, dropped) if spoken else None


def _piece(part: str, known: Callable[[str], bool]) -> list[str]:
    if part.isdigit():
        return (say.cardinal(part) if len(part) <= 2 and part[0] != "0" else say.spell_digits(part)).split()
    if part.isalpha() and part.isascii():
        lower = part.lower()
        spelled = len(lower) == 1 or (len(lower) <= 3 and lower not in _SPOKEN_ENDINGS and not known(lower))
        return [lower.upper() if spelled else lower]
    if part.isalpha():
        return [part.lower()]
    return _MARKS.get(part, "").split()
