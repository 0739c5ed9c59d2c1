"""Text read as what the caller says it is: `<say-as interpret-as="date" format="dmy">` and the like."""

from deepvoice.errors import TextError
from deepvoice.text import numbers as say

KINDS = (
    "characters", "spell-out", "verbatim", "digits", "cardinal", "number", "ordinal", "fraction", "decimal", "year",
    "date", "time", "telephone", "currency", "unit", "percent", "roman", "email", "url", "address",
)  # fmt: skip


def say_as(text: str, kind: str, detail: str = "") -> str:
    """Return how a text is said as one of KINDS.

    text: what is written, such as "03/04/2026"
    detail: the format of a date ("mdy", "dmy", "ymd", "md", "my", "y" ...) or a time ("hms12", "hms24"); else unused
    Returns spoken words as `Scanner.say` takes them: lower-case words and pauses; pieces in capitals are spelled.
    Raises TextError for an unknown kind or a text that is not of it.
    """
    if kind not in KINDS:
        raise TextError(f"say-as {kind!r} is unknown; expected one of {', '.join(KINDS)}")
    if kind in ("cardinal", "number") and text.isascii() and text.isdigit():
        return say.cardinal(text)
    if kind in ("characters", "spell-out", "verbatim") and text.isascii() and text.isalpha():
        return " ".join(text.upper())
    raise TextError(f"{text!r} cannot be said as {kind!r}; check the text or leave the instruction out")
