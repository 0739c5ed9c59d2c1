"""What a caller may choose about the reading of a text: date order, emoji, markup, the classes that are read."""

from dataclasses import dataclass
from typing import Literal

from deepvoice.errors import ConfigError

CLASSES: dict[str, str] = {  # semiotic class -> an example and what it is read as; off: the text is read without it
    "cardinal": "3,497: three thousand four hundred ninety seven; off: digit by digit",
    "ordinal": "24th: twenty fourth",
    "decimal": "3.14: three point one four",
    "fraction": "2/3: two thirds",
    "sign": "-5: minus five",
    "range": "10-15: ten to fifteen",
    "year": "1905: nineteen oh five",
    "decade": "the '90s: the nineties",
    "date": "2026-11-30: november thirtieth twenty twenty six",
    "time": "3:05: three oh five",
    "money": "$1.5 million: one point five million dollars",
    "percent": "5%: five percent",
    "unit": "5km: five kilometers",
    "temperature": "20°C: twenty degrees celsius",
    "phone": "(555) 123-4567: digit by digit in groups",
    "code": "Your code is 2769: two seven six nine",
    "version": "v1.2.3: version one point two point three",
    "roman": "Henry VIII: Henry the eighth",
    "abbreviation": "approx.: approximately",
    "title": "Dr. Lee: doctor Lee",
    "street": "Main St.: main street",
    "initialism": "FBI: letter by letter",
    "acronym": "NASA: as a word although it is in capitals",
    "shout": "LET US GO: words, although in capitals",
    "email": "a.b@example.com: A dot B at example dot com",
    "url": "https://example.org/x: example dot org slash X",
    "path": "/usr/lib: slash user slash lib",
    "hashtag": "#OpenSource: hashtag open source",
    "handle": "@anna_b: at anna underscore B",
    "emoji": "off: never described, whatever `emoji` says",
    "emoticon": ":-) is dropped and listed",
    "markdown": "**bold**: bold; off: the marks are ordinary symbols",
    "entity": "&amp;: and",
    "math": "3 × 4: three times four",
    "greek": "α: alpha",
    "lookalike": "Cyrillic letters in a Latin word are read as the Latin ones; styled letters as plain ones",
    "quote": "6 feet 2 written with marks; quotes and apostrophes of all kinds are one",
    "dash": "a dash between words is a pause",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """How text is read.

    dates: whether 03/04/2026 is March fourth ("mdy") or the third of April ("dmy")
    emoji: "drop" leaves them out and lists them, "describe" says their names
    markdown: marks of Markdown are markup; False reads them as ordinary symbols
    queries: the part of a web address behind "?" is left out when it is long ("short") or read ("full")
    off: names in CLASSES that are not read in their own way
    Raises ConfigError for a value that is none of these.
    """

    dates: Literal["mdy", "dmy"] = "mdy"
    emoji: Literal["drop", "describe"] = "drop"
    markdown: bool = True
    queries: Literal["short", "full"] = "short"
    off: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name, allowed in (
            ("dates", ("mdy", "dmy")),
            ("emoji", ("drop", "describe")),
            ("queries", ("short", "full")),
        ):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; expected one of {', '.join(allowed)}")
        given: object = self.off
        if isinstance(given, str):
            raise ConfigError(f"off is {self.off!r}; expected a set of classes such as {{'money'}}")
        object.__setattr__(self, "off", frozenset(self.off))
        unknown = sorted(self.off - CLASSES.keys())
        if unknown:
            raise ConfigError(f"{unknown[0]!r} is no class of text; expected some of {', '.join(CLASSES)}")

    def reads(self, kind: str) -> bool:
        """Tell whether a class is read in its own way."""
        return kind not in self.off


DEFAULT_OPTIONS = TextOptions()
