"""Lexicon files that users write: TOML, and the W3C's Pronunciation Lexicon Specification (PLS 1.0, XML)."""

import re
import tomllib
from pathlib import Path
from typing import Any
from xml.parsers import expat

from deepvoice.errors import TextError
from deepvoice.text.ipa import from_arpabet, from_ipa, from_xsampa
from deepvoice.text.user_entry import UserEntry, entries_of

_MOST_BYTES = 16 << 20
_ALPHABETS = {
    "ipa": from_ipa,
    "x-sampa": from_xsampa,
    "xsampa": from_xsampa,
    "x-arpabet": from_arpabet,
    "arpabet": from_arpabet,
    "x-cmu": from_arpabet,
}
_ROLES = {"n": "noun", "v": "verb", "adj": "adjective", "j": "adjective", "adv": "adverb", "r": "adverb"}


def read_lexicon_file(path: Path) -> list[UserEntry]:
    """Read a lexicon file: TOML, or PLS when it is XML.

    Raises TextError naming the file, the line and what is wrong.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise TextError(f"cannot read the lexicon {path}: {error.strerror or error}") from None
    if len(raw) > _MOST_BYTES:
        raise TextError(f"the lexicon {path} is larger than {_MOST_BYTES >> 20} MiB; split it")
    try:
        return parse_pls(raw) if raw.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else parse_toml(raw)
    except TextError as error:
        raise TextError(f"{path}: {error}") from None


def parse_toml(raw: bytes) -> list[UserEntry]:
    """Read a lexicon in TOML: a written form and its pronunciation a line; see `entries_of` for tables."""
    try:
        text = raw.decode("utf-8-sig")
        words = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TextError(f"line {line}: not UTF-8; save the file as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TextError(
            f'not TOML: {str(error)[:200]}; expected lines such as kubectl = "KOOB-kuh-tul", and in quotes what is '
            'more than the letters A to Z, as "résumé" is'
        ) from None
    entries: list[UserEntry] = []
    for written, value in words.items():
        try:
            entries += entries_of(written, value)
        except TextError as error:
            raise TextError(f"line {_line_of(text, written)}: {error}") from None
    return entries


def _line_of(text: str, key: str) -> int:
    """Return the line on which a top-level key first stands."""
    match = re.search(rf"^\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[\]=.]", text, re.MULTILINE)
    return text.count("\n", 0, match.start() + len(match.group()) - len(match.group().lstrip())) + 1 if match else 1


def parse_pls(raw: bytes) -> list[UserEntry]:
    """Read a lexicon in PLS. Declarations of document types and entities are refused, so nothing can expand."""
    return _PlsReader().read(raw)


class _PlsReader:
    """Collects lexemes while expat walks over the file."""

    def __init__(self) -> None:
        self.entries: list[UserEntry] = []
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._open
        self._parser.EndElementHandler = self._close
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._alphabet = "ipa"
        self._lexeme: dict[str, Any] | None = None
        self._line = 0  # of the lexeme
        self._collecting: list[str] | None = None
        self._current_alphabet = ""
        self._seen_root = False

    def read(self, raw: bytes) -> list[UserEntry]:
        """Return the entries; raises TextError with the line."""
        try:
            self._parser.Parse(raw, True)
        except expat.ExpatError as error:
            raise TextError(f"line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}") from None
        return self.entries

    def _fail(self, message: str, line: int | None = None) -> TextError:
        return TextError(f"line {line or self._parser.CurrentLineNumber}: {message}")

    def _refuse(self, *_: Any) -> None:
        raise self._fail("document types and entities are not allowed; write the characters themselves")

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not self._seen_root:
            if tag != "lexicon":
                raise self._fail(f"the root element is {tag!r}; expected a PLS lexicon")
            self._seen_root = True
            self._alphabet = self._known_alphabet(attributes.get("alphabet", "ipa"))
        elif tag == "lexeme":
            self._line = self._parser.CurrentLineNumber
            self._lexeme = {"graphemes": [], "phonemes": [], "alias": None, "pos": self._role(attributes.get("role"))}
        elif tag in ("grapheme", "phoneme", "alias") and self._lexeme is not None:
            self._collecting = []
            self._current_alphabet = self._known_alphabet(attributes.get("alphabet", self._alphabet))
            self._preferred = attributes.get("prefer") == "true"

    def _known_alphabet(self, name: str) -> str:
        if name.lower() not in _ALPHABETS:
            raise self._fail(f"the alphabet {name!r} is unknown; expected one of {', '.join(_ALPHABETS)}")
        return name.lower()

    def _role(self, role: str | None) -> str | None:
        """Return the part of speech of a role such as "claws:VV0" or "pos:noun"."""
        if not role:
            return None
        local = role.split()[0].rpartition(":")[2].lower()
        for length in (3, 1):
            if local[:length] in _ROLES:
                return _ROLES[local[:length]]
        raise self._fail(f"the role {role!r} is no part of speech; expected such as noun, verb, NN, VB")

    def _text(self, data: str) -> None:
        if self._collecting is not None:
            self._collecting.append(data)

    def _close(self, name: str) -> None:
        tag, lexeme = name.rpartition(" ")[2], self._lexeme
        if tag == "lexeme" and lexeme is not None:
            self._finish(lexeme)
            self._lexeme = None
        elif self._collecting is not None and lexeme is not None and tag in ("grapheme", "phoneme", "alias"):
            text = " ".join("".join(self._collecting).split())
            self._collecting = None
            if tag == "grapheme":
                lexeme["graphemes"].append(text)
            elif tag == "alias":
                lexeme["alias"] = lexeme["alias"] or text
            else:
                self._phoneme(lexeme, text)

    def _phoneme(self, lexeme: dict[str, Any], text: str) -> None:
        try:
            phones = _ALPHABETS[self._current_alphabet](text)
        except TextError as error:
            raise self._fail(str(error)) from None
        lexeme["phonemes"].insert(0 if self._preferred else len(lexeme["phonemes"]), phones)

    def _finish(self, lexeme: dict[str, Any]) -> None:
        if not lexeme["graphemes"] or not (lexeme["phonemes"] or lexeme["alias"]):
            raise self._fail("a lexeme needs a grapheme, and a phoneme or an alias", self._line)
        for written in lexeme["graphemes"]:
            try:
                if lexeme["phonemes"]:
                    entry = UserEntry(written=written, phones=lexeme["phonemes"][0], pos=lexeme["pos"])
                else:
                    entry = UserEntry(written=written, spoken=lexeme["alias"], pos=lexeme["pos"])
            except TextError as error:
                raise self._fail(str(error), self._line) from None
            self.entries.append(entry)
