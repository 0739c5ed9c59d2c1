"""One entry of a user's lexicon: a written form, how it is said, and where that holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deepvoice.errors import TextError
from deepvoice.text.ipa import from_arpabet, from_ipa, from_xsampa
from deepvoice.text.phones import PHONES
from deepvoice.text.respelling import from_respelling

Phones = tuple[str, ...]

PARTS_OF_SPEECH = ("noun", "verb", "adjective", "adverb")
_NOTATIONS: dict[str, Callable[[str], tuple[Phones, ...]]] = {
    "arpabet": from_arpabet,
    "ipa": from_ipa,
    "xsampa": from_xsampa,
    "respelling": from_respelling,
}
_SYMBOLS = frozenset((*PHONES, *(phone.rstrip("012") for phone in PHONES), "|"))
_MOST_CHARACTERS = 200  # of a written form


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntry:
    """How one written form is said: by phones, or as other text.

    written: as it stands in texts, one word or more
    phones: ARPAbet with stress, one tuple per spoken word; empty when `spoken` is given
    spoken: text that is read in its place
    case: only where it is written with these capitals
    pos: only as this part of speech; the sentence tells verbs from everything else
    Raises TextError for an empty or very long written form and an unknown part of speech.
    """

    written: str
    phones: tuple[Phones, ...] = ()
    spoken: str | None = None
    case: bool = False
    pos: str | None = None

    def __post_init__(self) -> None:
        if not any(char.isalnum() for char in self.written) or len(self.written) > _MOST_CHARACTERS:
            raise TextError(
                f"{self.written[:40]!r} is no written form; expected up to {_MOST_CHARACTERS} characters with a letter"
            )
        if self.pos is not None and self.pos not in PARTS_OF_SPEECH:
            raise TextError(
                f"{self.written!r} has the part of speech {self.pos!r}; expected one of {', '.join(PARTS_OF_SPEECH)}"
            )

    @property
    def key(self) -> tuple[str, bool, str | None]:
        """What makes two entries the same place of the lexicon."""
        return self.written if self.case else self.written.lower(), self.case, self.pos

    def settings(self) -> dict[str, Any]:
        """Return what `entries_of` reads back."""
        settings: dict[str, Any] = (
            {"say": self.spoken}
            if self.spoken is not None
            else {"arpabet": " | ".join(" ".join(word) for word in self.phones)}
        )
        return settings | ({"case": True} if self.case else {}) | ({"pos": self.pos} if self.pos else {})


def pronunciation(text: str) -> tuple[Phones, ...]:
    """Read a pronunciation in the notation that it looks like.

    IPA between slashes or with letters outside ASCII, ARPAbet when one of its words is an ARPAbet symbol in capitals,
    otherwise respelling.
    """
    stripped = text.strip()
    if (stripped.startswith("/") and stripped.endswith("/") and len(stripped) > 2) or not stripped.isascii():
        return from_ipa(stripped)
    if not _SYMBOLS.isdisjoint(stripped.split()):
        return from_arpabet(stripped)
    return from_respelling(stripped)


def entries_of(written: str, value: Any) -> list[UserEntry]:
    """Return the entries that a mapping has for one written form.

    value: a pronunciation; or a table with one of arpabet, ipa, xsampa, respelling and say, and maybe case and pos; or
        several such
    Raises TextError saying what is wrong with it.
    """
    if isinstance(value, list | tuple):
        return [entry for part in value for entry in entries_of(written, part)]
    try:
        if isinstance(value, str):
            return [UserEntry(written=written, phones=pronunciation(value))]
        if isinstance(value, Mapping):
            return [_from_table(written, value)]
    except TextError as error:
        raise TextError(f"{written!r}: {error}") from None
    raise TextError(f"{written!r} is said as {str(value)[:40]} ({type(value).__name__}); expected a string or a table")


def _from_table(written: str, table: Mapping[str, Any]) -> UserEntry:
    unknown = [key for key in table if key not in (*_NOTATIONS, "say", "case", "pos")]
    if unknown:
        raise TextError(f"unknown setting {unknown[0]!r}; expected {', '.join(_NOTATIONS)}, say, case or pos")
    ways = [key for key in (*_NOTATIONS, "say") if key in table]
    if len(ways) != 1 or not isinstance(table[ways[0]], str):
        raise TextError(f"expected exactly one string of {', '.join(_NOTATIONS)} and say, got {ways or 'none'}")
    case = table.get("case", False)
    if not isinstance(case, bool):
        raise TextError(f"case is {case!r}; expected true or false")
    way, value = ways[0], table[ways[0]]
    if way == "say":
        return UserEntry(written=written, spoken=value, case=case, pos=table.get("pos"))
    return UserEntry(written=written, phones=_NOTATIONS[way](value), case=case, pos=table.get("pos"))
