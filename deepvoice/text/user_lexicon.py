"""A user's own pronunciations: they come before the lexicon, the rules and the model.

kubectl = "KOOB-kuh-tul"                     # respelling, see deepvoice.text.respelling
Xiaomi = "/ˈʃaʊmi/"                          # IPA
"Los Gatos" = "L AO1 S | G AE1 T OW0 S"      # ARPAbet, | between words
SQL = { say = "sequel", case = true }        # other text, only where it is written in these capitals
bow = [ { ipa = "boʊ", pos = "noun" }, { ipa = "baʊ", pos = "verb" } ]
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deepvoice.text.heteronyms import is_verb
from deepvoice.text.lexicon_files import read_lexicon_file
from deepvoice.text.pronounce import Pronunciation, with_s
from deepvoice.text.scanner import Token
from deepvoice.text.user_entry import UserEntry, entries_of

_ATOM = re.compile(r"\w+|[^\w\s]")


class _Match(NamedTuple):
    """Characters [start, end) of a text that have an entry; the last two may be a possessive's."""

    start: int
    end: int
    entries: list[UserEntry]
    possessive: bool


class UserLexicon:
    """Pronunciations by written form; never changes, so that any number of texts can be read with it at once."""

    def __init__(self, entries: Iterable[UserEntry] = ()) -> None:
        """Hold entries; of two for the same written form, capitals and part of speech, the later counts."""
        self.entries = tuple({entry.key: entry for entry in entries}.values())
        self._by_form: dict[tuple[str, ...], list[UserEntry]] = defaultdict(list)  # by the atoms, lower case
        lengths: dict[str, set[int]] = defaultdict(set)
        for entry in self.entries:
            atoms = tuple(_ATOM.findall(entry.written.lower()))
            self._by_form[atoms].append(entry)
            lengths[atoms[0]].add(len(atoms))
        # First atom -> lengths of the written forms that begin so, the longest first.
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    @classmethod
    def from_mapping(cls, words: Mapping[str, Any]) -> "UserLexicon":
        """Build a lexicon from written forms and pronunciations (see `entries_of`); raises TextError for bad ones."""
        return cls(entry for written, value in words.items() for entry in entries_of(written, value))

    @classmethod
    def load(cls, path: str | Path) -> "UserLexicon":
        """Read a TOML or PLS file; raises TextError naming the file, the line and what is wrong."""
        return cls(read_lexicon_file(Path(path)))

    def merged(self, other: "UserLexicon") -> "UserLexicon":
        """Return both lexicons in one; where both have an entry for the same place, the other's counts."""
        return UserLexicon([*self.entries, *other.entries])

    def to_mapping(self) -> dict[str, list[dict[str, Any]]]:
        """Return plain data that `from_mapping` reads back."""
        words: dict[str, list[dict[str, Any]]] = {}
        for entry in self.entries:
            words.setdefault(entry.written, []).append(entry.settings())
        return words

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def says(self, word: str) -> bool:
        """Tell whether a lower-case word has an entry whatever its capitals."""
        return any(not entry.case for entry in self._by_form.get((word,), ()))

    def apply(
        self, tokens: Sequence[Token], text: str, start: int, end: int, say: Callable[[str], Sequence[Token]]
    ) -> tuple[Token, ...]:
        """Give the words of a sentence at text[start:end] the pronunciations of the lexicon.

        tokens: the sentence, normalised; spans are in `text`
        say: normalises the other text that entries are read as
        Written forms count first, so that an entry for "Dr." or "C++" takes part; what the normaliser makes of the rest
        ("km": kilometers) is looked up as well. A form inside a number ("5km") is read as a part of it.
        """
        if not self.entries:
            return tuple(tokens)
        words = [token.text for token in tokens if token.kind != "pause"]
        heard = 0  # words before the position
        result: list[Token] = []
        position = 0
        for match in [*self._matches(text, start, end), _Match(end, end, [], False)]:
            while position < len(tokens) and tokens[position].start < match.start:
                result += self._spoken(tokens[position], words, heard, say)
                heard += tokens[position].kind != "pause"
                position += 1
            last = position
            while last < len(tokens) and tokens[last].end <= match.end:
                last += 1
            replaced = tokens[position:last]
            entry = _choose(match.entries, text[match.start : match.end], words, heard)
            if entry and replaced and not any(token.given for token in replaced):
                result += _tokens(entry, match.start, match.end, match.possessive, say)
                heard += sum(token.kind != "pause" for token in replaced)
                position = last
        return (*result, *tokens[position:])

    def _spoken(
        self, token: Token, words: Sequence[str], index: int, say: Callable[[str], Sequence[Token]]
    ) -> Sequence[Token]:
        """Look up a word that the normaliser says."""
        if token.kind != "word" or token.given:
            return (token,)
        entries = [entry for entry in self._by_form.get((token.text,), ()) if not entry.case]
        entry = _choose(entries, token.text, words, index)
        return _tokens(entry, token.start, token.end, False, say) if entry else (token,)

    def _matches(self, text: str, start: int, end: int) -> Iterator[_Match]:
        """Yield the places of a sentence that have entries, the longest at each place."""
        atoms = [(match.group().lower(), match.start(), match.end()) for match in _ATOM.finditer(text, start, end)]
        i = 0
        while i < len(atoms):
            for length in self._lengths.get(atoms[i][0], ()):
                found = atoms[i : i + length]
                entries = self._by_form.get(tuple(atom for atom, _, _ in found))
                if entries:
                    last = found[-1][2]
                    possessive = text.startswith("'s", last) and not text[last + 2 : last + 3].isalnum()
                    yield _Match(found[0][1], last + 2 * possessive, entries, possessive)
                    i += len(found) + 2 * possessive
                    break
            else:
                i += 1


def _choose(entries: Sequence[UserEntry], written: str, words: Sequence[str], index: int) -> UserEntry | None:
    """Return the entry that holds for a written form in its place: the narrower one first."""
    for entry in sorted(entries, key=lambda entry: (not entry.case, entry.pos is None)):
        capitals = not entry.case or _ATOM.findall(written)[: len(_ATOM.findall(entry.written))] == _ATOM.findall(
            entry.written
        )
        if capitals and (entry.pos is None or (entry.pos == "verb") == is_verb(words, index)):
            return entry
    return None


def _tokens(
    entry: UserEntry, start: int, end: int, possessive: bool, say: Callable[[str], Sequence[Token]]
) -> list[Token]:
    """Return what an entry says, as tokens of text[start:end]."""
    if entry.spoken is not None:
        spoken = entry.spoken + ("'s" if possessive else "")
        return [token._replace(start=start, end=end) for token in say(spoken)]
    words = entry.written.lower().split()
    if len(words) != len(entry.phones):
        words = [entry.written.lower()] * len(entry.phones)
    pronunciations = list(entry.phones)
    if possessive:
        words[-1], pronunciations[-1] = f"{words[-1]}'s", with_s(pronunciations[-1])
    return [
        Token("word", word, start, end, Pronunciation(phones, "user"))
        for word, phones in zip(words, pronunciations, strict=True)
    ]
