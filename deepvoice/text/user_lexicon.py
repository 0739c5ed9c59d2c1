"""A user's own pronunciations: they come before the lexicon, the rules and the model."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepvoice.errors import TextError
from deepvoice.text.phones import PHONES
from deepvoice.text.pronounce import Phones, Pronunciation, with_s
from deepvoice.text.scanner import Token

_ATOM = re.compile(r"\w+|[^\w\s]")
_PHONES = frozenset(PHONES)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntry:
    """How one written form is said.

    written: as it stands in texts, one word or more
    phones: ARPAbet with stress, one tuple per spoken word
    case: only texts that write it in these capitals
    """

    written: str
    phones: tuple[Phones, ...]
    case: bool = False


class UserLexicon:
    """Pronunciations by written form; never changes, so that any number of texts can be read with it at once."""

    def __init__(self, entries: Iterable[UserEntry] = ()) -> None:
        self.entries = tuple(entries)
        self._by_first: dict[str, list[tuple[tuple[str, ...], UserEntry]]] = defaultdict(list)
        for entry in self.entries:
            atoms = tuple(_ATOM.findall(entry.written))
            self._by_first[atoms[0].lower()].append((atoms, entry))
        for candidates in self._by_first.values():
            candidates.sort(key=lambda candidate: -len(candidate[0]))

    @classmethod
    def from_mapping(cls, words: Mapping[str, Any]) -> "UserLexicon":
        """Build a lexicon from written forms and their pronunciations."""
        entries = []
        for written, value in words.items():
            phones = tuple(value.split())
            if not phones or not _PHONES.issuperset(phones) or not _ATOM.search(written):
                raise TextError(f"{written!r} is said as {value!r}; expected ARPAbet with stress, such as K AE1 T")
            entries.append(UserEntry(written=written, phones=(phones,)))
        return cls(entries)

    def merged(self, other: "UserLexicon") -> "UserLexicon":
        """Return both lexicons in one; where both have a word, the other's entry counts."""
        written = {(entry.written, entry.case) for entry in other.entries}
        kept = [entry for entry in self.entries if (entry.written, entry.case) not in written]
        return UserLexicon([*kept, *other.entries])

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def says(self, word: str) -> bool:
        """Tell whether a lower-case word has an entry for all its capitals."""
        return any(
            len(atoms) == 1 and not entry.case and atoms[0].lower() == word
            for atoms, entry in self._by_first.get(word, ())
        )

    def apply(self, tokens: tuple[Token, ...], text: str, start: int, end: int) -> tuple[Token, ...]:
        """Give the words of a sentence at text[start:end] the pronunciations of the lexicon."""
        if not self.entries:
            return tokens
        result: list[Token] = []
        position = 0
        for first, last, entry, possessive in self._matches(text, start, end):
            while position < len(tokens) and tokens[position].start < first:
                result.append(tokens[position])
                position += 1
            inside = position
            while inside < len(tokens) and tokens[inside].end <= last:
                inside += 1
            if inside == position or any(token.given for token in tokens[position:inside]):
                continue
            words = entry.written.lower().split()
            if len(words) != len(entry.phones):
                words = [entry.written.lower()] * len(entry.phones)
            for i, (word, phones) in enumerate(zip(words, entry.phones, strict=True)):
                if possessive and i == len(words) - 1:
                    word, phones = f"{word}'s", with_s(phones)
                result.append(Token("word", word, first, last, Pronunciation(phones, "user")))
            position = inside
        return (*result, *tokens[position:])

    def _matches(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, UserEntry, bool]]:
        """Yield the places of a sentence that have an entry, the longest at each place, and whether 's follows."""
        atoms = list(_ATOM.finditer(text, start, end))
        i = 0
        while i < len(atoms):
            for wanted, entry in self._by_first.get(atoms[i].group().lower(), ()):
                found = atoms[i : i + len(wanted)]
                written = [atom.group() for atom in found]
                same = (
                    written == list(wanted)
                    if entry.case
                    else [w.lower() for w in written] == [w.lower() for w in wanted]
                )
                if same:
                    last = found[-1].end()
                    possessive = text.startswith("'s", last) and not text[last + 2 : last + 3].isalnum()
                    yield atoms[i].start(), last + 2 * possessive, entry, possessive
                    i += len(wanted) + 2 * possessive
                    break
            else:
                i += 1
