"""Files inside an EPUB: a zip archive and its XML, read with limits, so that a hostile book cannot fill the memory."""

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from html.entities import name2codepoint
from pathlib import Path
from urllib.parse import unquote
from xml.parsers import expat

from deepvoice.errors import TextError

_MOST_FILES = 20_000
_MOST_BYTES = 64 << 20  # of one file, unpacked
_MOST_IN_ALL = 512 << 20  # of all that are read
_DEEPEST = 200  # elements inside each other


_NAMED = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_XML_ENTITIES = ("amp", "lt", "gt", "quot", "apos")


class Element:
    """An element of XML: its name and attributes without namespaces, and its content, text and elements in order."""

    __slots__ = ("attributes", "content", "name")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element without content."""
        self.name, self.attributes = name, attributes
        self.content: list[Element | str] = []

    @property
    def children(self) -> "list[Element]":
        """The elements directly inside."""
        return [part for part in self.content if isinstance(part, Element)]

    def all(self, name: str) -> "list[Element]":
        """Return the elements of a name inside this one, at any depth, in order."""
        found, waiting = [], [self]
        while waiting:
            element = waiting.pop()
            if element.name == name and element is not self:
                found.append(element)
            waiting.extend(reversed(element.children))
        return found

    def child(self, name: str) -> "Element | None":
        """Return the first child of a name."""
        return next((child for child in self.children if child.name == name), None)

    def words(self) -> str:
        """Return the text inside, of all depths, with single spaces."""
        return " ".join("".join(self._strings()).split())

    def _strings(self) -> "Iterator[str]":
        for part in self.content:
            if isinstance(part, str):
                yield part
            else:
                yield from part._strings()


class Package:
    """An EPUB's archive. Raises TextError for one that is damaged or beyond the limits."""

    def __init__(self, path: Path) -> None:
        """Open the archive; `close` it."""
        self._path, self._read = path, 0
        try:
            self._zip = zipfile.ZipFile(path)
            self.names = frozenset(self._zip.namelist())
        except zipfile.BadZipFile as error:
            raise TextError(f"{path} is not an EPUB: {error}; open it with another program to check it") from None
        if len(self.names) > _MOST_FILES:
            raise TextError(f"{path} holds {len(self.names)} files; expected a book with at most {_MOST_FILES}")

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()

    def read(self, name: str) -> bytes:
        """Return a file."""
        if name not in self.names:
            raise TextError(f"{self._path} lacks its file {name!r}; it is damaged")
        try:
            with self._zip.open(name) as handle:
                data = handle.read(_MOST_BYTES + 1)  # what the directory says of the size is not to be believed
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise TextError(f"{self._path}: {name!r} cannot be unpacked ({error}); it is damaged") from None
        except RuntimeError as error:  # encrypted
            raise TextError(f"{self._path}: {name!r} cannot be read ({error}); it may be protected (DRM)") from None
        self._read += len(data)
        if len(data) > _MOST_BYTES or self._read > _MOST_IN_ALL:
            raise TextError(f"{self._path}: {name!r} is too large to be part of a book; the file is damaged or hostile")
        return data

    def xml(self, name: str) -> Element:
        """Return the root of an XML file; entities that it declares itself are refused."""
        return parse_xml(self.read(name), f"{self._path}: {name!r}")


def parse_xml(data: bytes, what: str) -> Element:
    """Return the root element; raises TextError with line and column, and for declarations of entities."""
    root = Element("", {})
    stack = [root]
    data = _NAMED.sub(_numbered, data)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) > _DEEPEST:
            raise TextError(f"{what} has elements nested more than {_DEEPEST} deep; it is damaged or hostile")
        element = Element(_local(name), {_local(key): value for key, value in attributes.items()})
        stack[-1].content.append(element)
        stack.append(element)

    def end(name: str) -> None:
        stack.pop()

    def text(content: str) -> None:
        stack[-1].content.append(content)

    def entity(*_: object) -> None:
        raise TextError(f"{what} declares entities of its own, which are not expanded; it may be hostile")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise TextError(f"{what} is not XML: {error}; it is damaged") from None
    return root.children[0]


def _numbered(match: re.Match[bytes]) -> bytes:
    """Write an entity of HTML, which XML does not know, by its number; what neither knows stays."""
    name = match[1].decode("ascii")
    code = name2codepoint.get(name)
    return match[0] if code is None or name in _XML_ENTITIES else b"&#%d;" % code


def resolve(base: str, link: str) -> tuple[str, str]:
    """Return the file that a link in the file `base` means, and the place in it."""
    target, _, place = link.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(target))) if target else base
    return path, unquote(place)


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
