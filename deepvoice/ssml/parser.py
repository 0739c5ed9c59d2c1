"""XML -> events with places, safely: no document type, no entities, limits on size and depth.

The parser is expat, without namespaces, so that vendors' elements with undeclared prefixes (`<amazon:effect>`) get
through to the reader, which reports them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from xml.parsers import expat

from deepvoice.errors import TextError

MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 50
MAX_ATTRIBUTE = 10_000  # characters
_BEFORE = "\ufeff \t\r\n"

_REMEDIES = {
    expat.errors.XML_ERROR_INVALID_TOKEN: "write & as &amp; and < as &lt; in text, and quote the values of attributes",
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "write the character itself, or its number such as &#233;",
    expat.errors.XML_ERROR_TAG_MISMATCH: "close every element in the reverse order of opening",
    expat.errors.XML_ERROR_SYNTAX: "put the whole text into <speak>...</speak>",
    expat.errors.XML_ERROR_NO_ELEMENTS: "put the whole text into <speak>...</speak>, with every element closed",
    expat.errors.XML_ERROR_UNCLOSED_TOKEN: "end every tag with >",
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "put the whole text into one <speak>...</speak>",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "give every attribute once",
    expat.errors.XML_ERROR_PARTIAL_CHAR: "remove the damaged characters",
}


@dataclass(frozen=True, slots=True)
class Handlers:
    """What is called for each part of the document, in order, with its position: a character of the source.

    start: name, attributes, position of the tag; end: name, position of the tag
    text: characters, the position of the first, and whether they stand there as they are (`&amp;` does not)
    """

    start: Callable[[str, dict[str, str], int], None]
    end: Callable[[str, int], None]
    text: Callable[[str, int, bool], None]


def error(source: str, position: int, message: str) -> TextError:
    """Return an error that names the line and column of a position, both from 1."""
    line = source.count("\n", 0, position) + 1
    column = position - source.rfind("\n", 0, position)
    return TextError(f"SSML line {line}, column {column}: {message}")


def parse(source: str, handlers: Handlers) -> None:
    """Parse a document; raises TextError with line and column when it is malformed, too large or too deep."""
    if not isinstance(source, str):
        raise TextError(f"the SSML is {type(source).__name__}; expected a string: decode bytes first")
    if len(source) > MAX_CHARACTERS:
        raise TextError(f"the SSML has {len(source)} characters; expected at most {MAX_CHARACTERS}: split it")
    if not source.lstrip(_BEFORE):
        raise TextError("the text is empty; expected at least one word")
    _Parser(source, handlers).run()


class _Parser:
    """One pass of expat over one source."""

    def __init__(self, source: str, handlers: Handlers) -> None:
        self._handlers = handlers
        self._source = source
        self._skipped = len(source) - len(source.lstrip(_BEFORE))  # expat wants the declaration at the very beginning
        self._bytes, self._characters = 0, self._skipped  # the same place in both
        self._depth = 0
        try:
            self._raw = source[self._skipped :].encode()
        except UnicodeEncodeError as error_:
            place = error_.start + self._skipped
            raise error(source, place, "half of a surrogate pair; decode the text again") from None
        parser = expat.ParserCreate("utf-8")  # whatever the declaration says: it is a string by now
        parser.buffer_text = False
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.ExternalEntityRefHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        self._parser = parser

    def run(self) -> None:
        try:
            self._parser.Parse(self._raw, True)
        except expat.ExpatError as error_:
            reason = expat.ErrorString(error_.code) or "not XML"
            remedy = _REMEDIES.get(reason, "check the markup")
            raise error(self._source, self._position(self._parser.ErrorByteIndex), f"{reason}; {remedy}") from None

    def _refuse(self, *_: object) -> int:
        raise error(self._source, self._place(), "a document type or entity declaration; remove it, SSML needs none")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        place = self._place()
        if self._depth > MAX_DEPTH:
            raise error(self._source, place, f"elements are nested more than {MAX_DEPTH} deep; make it flatter")
        for key, value in attributes.items():
            if len(value) > MAX_ATTRIBUTE:
                message = f"the attribute {key[:40]} has {len(value)} characters; expected at most {MAX_ATTRIBUTE}"
                raise error(self._source, place, message)
        self._handlers.start(name, attributes, place)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._handlers.end(name, self._place())

    def _text(self, data: str) -> None:
        place = self._place()
        reference = len(data) == 1 and self._source[place] == "&"
        self._handlers.text(data, place, not reference and self._source.startswith(data, place))

    def _place(self) -> int:
        return self._position(self._parser.CurrentByteIndex)

    def _position(self, index: int) -> int:
        """Return the character at a byte of the source; places come in order, so that each byte is decoded once."""
        index = min(max(index, 0), len(self._raw))
        if index < self._bytes:
            return self._skipped + len(self._raw[:index].decode(errors="replace"))
        self._characters += len(self._raw[self._bytes : index].decode(errors="replace"))
        self._bytes = index
        return self._characters
