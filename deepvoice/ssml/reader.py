"""SSML -> `Document`: each element becomes a reading, a break, a mark or a style of plain text.

What one voice cannot do (another voice, another language, a vendor's effect) is spoken without it and noted; what is
no SSML (an unknown element or attribute, a value outside its grammar) is a TextError with its line and column.
"""

import difflib
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from deepvoice.errors import TextError
from deepvoice.speech import Note
from deepvoice.ssml import values
from deepvoice.ssml.elements import ALPHABETS, ELEMENTS, FOREIGN_SAY_AS, REFUSED, SYNTHESIS, Element
from deepvoice.ssml.parser import Handlers, error, parse
from deepvoice.text.document import Break, Document, Mark, Reading, Style
from deepvoice.text.ipa import from_arpabet, from_ipa, from_xsampa
from deepvoice.text.say_as import say_as

_SHOWN = 60  # characters of a tag in a note
_MEAN_HZ = 180.0
_NEUTRAL = Style(start=0, end=0)
_SPACES = str.maketrans("\n\r\t", "   ")  # where lines end has no meaning
_TRANSCRIPTIONS = {"ipa": from_ipa, "x-sampa": from_xsampa, "arpabet": from_arpabet}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ssml:
    """A parsed document, and what in it is understood but not done."""

    document: Document
    notes: tuple[Note, ...] = ()


def read(source: str, *, voice: str = "", mean_hz: float = _MEAN_HZ) -> Ssml:
    """Read SSML.

    voice: name of the voice that will speak
    mean_hz: its mean pitch, from which pitches in Hz are counted
    Raises TextError with line and column for what is malformed, unknown or refused.
    """
    reader = _Reader(source, voice, mean_hz)
    parse(source, Handlers(reader.start, reader.end, reader.text))
    return reader.result()


@dataclass(slots=True)
class _Open:
    """An element that has begun: where its tag is, where its text begins, the style inside."""

    name: str
    element: Element
    attributes: dict[str, str]
    position: int
    first: int
    style: Style


@dataclass(slots=True)
class _Reader:
    source: str
    voice: str
    mean_hz: float
    _characters: list[str] = field(default_factory=list)
    _origin: list[int] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    _readings: list[Reading] = field(default_factory=list)
    _breaks: list[Break] = field(default_factory=list)
    _marks: list[Mark] = field(default_factory=list)
    _styles: list[Style] = field(default_factory=list)
    _notes: list[Note] = field(default_factory=list)
    _prefix: str = ""  # of the synthesis namespace, with its colon
    _silence: float = 0.0  # seconds of the breaks so far
    _spoken: bool = False  # whether there is text after the last sentence break

    def result(self) -> Ssml:
        text = "".join(self._characters)
        document = Document(
            text=text,
            readings=tuple(self._readings),
            breaks=tuple(self._breaks),
            marks=tuple(self._marks),
            styles=tuple(self._styles),
            origin=(*self._origin, len(self.source)),
        )
        return Ssml(document=document, notes=tuple(self._notes))

    def start(self, name: str, attributes: dict[str, str], position: int) -> None:
        if not self._open:
            prefixes = (key[6:] for key, value in attributes.items() if key[:6] == "xmlns:" and value == SYNTHESIS)
            self._prefix = next((f"{prefix}:" for prefix in prefixes), "")
        name = name.removeprefix(self._prefix)
        element = self._element(name, position)
        attributes = self._attributes(name, element, attributes, position)
        outer = self._open[-1].style if self._open else _NEUTRAL
        opened = _Open(name, element, attributes, position, len(self._characters), outer)
        self._open.append(opened)
        begin = _BEGIN.get(name)
        if begin and element.content != "silent":
            begin(self, opened)

    def end(self, name: str, position: int) -> None:
        opened = self._open.pop()
        if opened.name in ("p", "s") and opened.element.content != "silent":
            self._sentence_break(position, opened.name)
        if opened.element.content == "reading":
            self._reading(opened)

    def text(self, data: str, position: int, as_written: bool) -> None:
        if not self._open:
            return
        opened = self._open[-1]
        if opened.element.content == "silent":
            return
        if opened.element.content == "nothing" and data.strip():
            raise self._error(position, f"text inside <{opened.name}>; write <{opened.name}/> and the text after it")
        self._spoken = self._spoken or not data.isspace()
        origin = range(position, position + len(data)) if as_written else [position] * len(data)
        self._append(data.translate(_SPACES), origin)

    def _append(self, data: str, origin: Iterable[int]) -> None:
        """Append text in the style of the innermost element."""
        style, at = self._open[-1].style, len(self._characters)
        self._characters.extend(data)
        self._origin.extend(origin)
        if style != _NEUTRAL:
            end = at + len(data)
            last = self._styles[-1] if self._styles else _NEUTRAL
            if last.end == at and replace(last, start=0, end=0) == style:
                self._styles[-1] = replace(last, end=end)
            else:
                self._styles.append(replace(style, start=at, end=end))

    def _element(self, name: str, position: int) -> Element:
        """Return what an element may have; raises TextError where there may be none of it."""
        if not self._open and name.lower() == "speak" != name:
            raise self._error(position, f"<{name}> is outermost; names are in lower case: <speak>...</speak>")
        if not self._open and name != "speak":
            raise self._error(position, f"<{name}> is outermost; put the whole text into <speak>...</speak>")
        if name in REFUSED:
            raise self._error(position, f"<{name}>: {REFUSED[name]}")
        inside = self._open[-1] if self._open else None
        if inside and inside.element.content == "silent":
            return Element(content="silent")
        if inside and inside.element.content in ("reading", "nothing"):
            raise self._error(position, f"<{name}> inside <{inside.name}>, which may have no elements; put it outside")
        if name == "speak" and inside:
            raise self._error(position, "<speak> inside another element; there may be one, around everything")
        if name in ELEMENTS:
            return ELEMENTS[name]
        if ":" in name:
            self._note(position, f"<{name}> is another vendor's; its text is spoken without it")
            return Element()
        raise self._error(position, f"<{name}> is unknown; expected {self._nearest(name, ELEMENTS, '<{}>')}")

    def _attributes(self, name: str, element: Element, given: dict[str, str], position: int) -> dict[str, str]:
        """Return the attributes that count; notes those that do nothing."""
        if element.content == "silent" or (":" in name and name not in ELEMENTS):
            return {}
        known = {}
        for key, value in given.items():
            if key in element.needs or key in element.may:
                known[key] = value
            elif key == "xml:lang":
                self._language(position, value)
            elif key in element.ignored:
                self._note(position, f"{key} of <{name}> does nothing here")
            elif ":" not in key and key != "xmlns":
                allowed = (*element.needs, *element.may, *element.ignored)
                expected = f"expected {self._nearest(key, allowed, '{}')}" if allowed else "it has none"
                raise self._error(position, f"<{name}> has no attribute {key}; {expected}")
            elif not key.startswith("xml"):
                self._note(position, f"{key} of <{name}> is another vendor's and does nothing here")
        for key in element.needs:
            if key not in known:
                raise self._error(position, f'<{name}> lacks the attribute {key}; write <{name} {key}="...">')
        return known

    def _language(self, position: int, value: str) -> None:
        if value.lower().replace("_", "-") not in ("", "en", "en-us"):
            self._note(position, f"the language {value!r} is spoken in US English")

    def _begin_voice(self, opened: _Open) -> None:
        names = opened.attributes.get("name", "").split()
        if names and self.voice not in names:
            self._note(opened.position, f"the voice {' '.join(names)!r} is not the one that speaks ({self.voice})")

    def _begin_prosody(self, opened: _Open) -> None:
        style = opened.style
        limited: list[str] = []

        def limit(name: str, value: float, limits: tuple[float, float]) -> float:
            if not limits[0] <= value <= limits[1]:
                limited.append(f"{name} is limited to {limits[0]:g} to {limits[1]:g}")
            return values.within(value, limits)

        rate = self._value(opened, "rate", values.rate, style.rate)
        pitch = self._value(opened, "pitch", partial(values.pitch, mean_hz=self.mean_hz), style.pitch)
        volume = self._value(opened, "volume", values.volume, style.volume)
        opened.style = replace(
            style,
            rate=limit("the rate", rate, values.RATE_RANGE),
            pitch=limit("the pitch, in semitones,", pitch, values.PITCH_RANGE),
            volume=limit("the gain", volume, values.GAIN_RANGE),
        )
        for message in limited:
            self._note(opened.position, message)

    def _begin_emphasis(self, opened: _Open) -> None:
        level = opened.attributes.get("level", "moderate").strip().lower()
        if level not in values.EMPHASIS:
            raise self._wrong(opened, "level", f"expected one of {', '.join(values.EMPHASIS)}")
        opened.style = replace(opened.style, emphasis=values.EMPHASIS[level])

    def _begin_break(self, opened: _Open) -> None:
        strength = opened.attributes.get("strength", "medium").strip().lower()
        if strength not in values.STRENGTHS:
            raise self._wrong(opened, "strength", f"expected one of {', '.join(values.STRENGTHS)}")
        seconds = self._value(opened, "time", values.seconds, values.STRENGTHS[strength])
        self._silence += seconds
        if self._silence > values.MAX_SILENCE:
            limit = f"{values.MAX_SILENCE:.0f}s"
            raise self._error(opened.position, f"the breaks add up to more than {limit}; split the text")
        self._append(" ", [opened.position])  # also between two letters: a break ends a word
        self._breaks.append(Break(position=len(self._characters), seconds=seconds))
        self._append(" ", [opened.position])  # marks before and after it have places of their own

    def _begin_mark(self, opened: _Open) -> None:
        name = opened.attributes["name"].strip()
        if not name:
            raise self._wrong(opened, "name", "expected a name")
        self._marks.append(Mark(position=len(self._characters), name=name))

    def _begin_sentence(self, opened: _Open) -> None:
        self._sentence_break(opened.position, opened.name)

    def _begin_lexicon(self, opened: _Open) -> None:
        self._note(opened.position, "a lexicon is not fetched; pass it beside the text")

    def _sentence_break(self, position: int, name: str) -> None:
        """End a sentence, unless nothing has been said since the last end."""
        if self._spoken:
            separator = "\n\n" if name == "p" else " "
            self._characters.extend(separator)
            self._origin.extend([position] * len(separator))
            self._breaks.append(Break(position=len(self._characters)))
            self._spoken = False

    def _reading(self, opened: _Open) -> None:
        """Make a reading of the text inside an element."""
        text = "".join(self._characters[opened.first :])
        if not text.strip():  # a reading has a place in the text, and what is said is what is shown there
            shown = opened.attributes.get("alias", "").strip() or opened.attributes.get("ph", "").strip() or " "
            self._append(shown, [opened.position] * len(shown))
            start, end = len(self._characters) - len(shown), len(self._characters)
        else:
            start = opened.first + len(text) - len(text.lstrip())
            end = opened.first + len(text.rstrip())
        self._spoken = True
        reading = self._reading_of(opened, text.strip(), start, end)
        if reading:
            self._readings.append(reading)

    def _reading_of(self, opened: _Open, text: str, start: int, end: int) -> Reading | None:
        attributes = opened.attributes
        if opened.name == "sub":
            return Reading(start=start, end=end, spoken=attributes["alias"])
        if opened.name == "phoneme":
            alphabet = ALPHABETS.get(attributes.get("alphabet", "ipa").strip().lower())
            if alphabet is None:
                raise self._wrong(opened, "alphabet", "expected ipa, x-sampa or arpabet")
            try:
                phones = _TRANSCRIPTIONS[alphabet](attributes["ph"])
            except TextError as error_:
                raise self._wrong(opened, "ph", str(error_)) from None
            return Reading(start=start, end=end, phones=phones)
        kind = attributes["interpret-as"].strip().lower()
        if kind in FOREIGN_SAY_AS:
            self._note(opened.position, f"say-as {kind!r} is spoken as it is written")
            return None
        if not text:
            return None
        detail = attributes.get("format", "").strip().lower()
        if kind == "date":  # "yyyy-mm-dd" is "ymd"
            detail = "".join(char for char, _ in itertools.groupby(detail) if char.isalpha())
        try:
            say_as(text, kind, detail)
        except TextError as error_:
            raise self._error(opened.position, str(error_)) from None
        return Reading(start=start, end=end, say_as=kind, detail=detail)

    def _value(self, opened: _Open, name: str, convert: Callable[[str, float], float], around: float) -> float:
        """Return what an attribute makes of the value around the element, which it is without that attribute."""
        value = opened.attributes.get(name)
        if value is None:
            return around
        try:
            return convert(value, around)
        except ValueError as error_:
            raise self._wrong(opened, name, str(error_)) from None

    def _wrong(self, opened: _Open, name: str, expected: str) -> TextError:
        value = opened.attributes.get(name, "")
        shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
        return self._error(opened.position, f"{name} of <{opened.name}> is {shown!r}; {expected}")

    def _error(self, position: int, message: str) -> TextError:
        return error(self.source, position, message)

    def _note(self, position: int, reason: str) -> None:
        end = self.source.find(">", position) + 1 or len(self.source)
        text = self.source[position:end]
        self._notes.append(Note(position, end, text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...", reason))

    @staticmethod
    def _nearest(name: str, names: Iterable[str], form: str) -> str:
        """Return the name that was probably meant, or all of them."""
        names = list(names)
        near = difflib.get_close_matches(name.lower(), names, 1)
        return form.format(near[0]) if near else f"one of {', '.join(form.format(each) for each in names)}"


_BEGIN: dict[str, Callable[[_Reader, _Open], None]] = {
    "voice": _Reader._begin_voice,
    "prosody": _Reader._begin_prosody,
    "emphasis": _Reader._begin_emphasis,
    "break": _Reader._begin_break,
    "mark": _Reader._begin_mark,
    "p": _Reader._begin_sentence,
    "s": _Reader._begin_sentence,
    "lexicon": _Reader._begin_lexicon,
}
