"""The front end: text in, phone sequences out, and a report of everything that was not read as it stands.

    text -> chunks -> clean text -> sentences -> spoken words -> phones, with weak forms

The front end that labels a corpus and the front end that speaks are this one, so labels and use never differ.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from deepvoice.errors import TextError
from deepvoice.text import sentences
from deepvoice.text.assemble import MAX_PHONES, Item, Sentence, Word, pieces, sentence, with_heteronyms
from deepvoice.text.document import Document, Reading
from deepvoice.text.heteronyms import Homographs
from deepvoice.text.hygiene import CleanText, Dropped
from deepvoice.text.inline import parse_inline
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.normalize import normalize
from deepvoice.text.options import DEFAULT_OPTIONS, TextOptions
from deepvoice.text.pronounce import GraphemeToPhoneme, Pronouncer, Pronunciation, spell
from deepvoice.text.readings import prepare, spoken_form, tokens_of
from deepvoice.text.scanner import Token
from deepvoice.text.user_lexicon import UserLexicon

_BATCH_TOKENS = 4096  # read ahead by `analyse`, so that the model gets many words at a time


class Normalised(NamedTuple):
    """Original characters that are not read as written, and how they are read."""

    start: int
    end: int
    text: str
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was normalised, what went to the grapheme-to-phoneme model, and what is not spoken."""

    normalised: tuple[Normalised, ...] = ()
    unknown: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A whole text: its sentences in order and the report."""

    sentences: tuple[Sentence, ...]
    report: Report


@dataclass(slots=True)
class ReportCollector:
    """Gathers the report of a text while its sentences are read one by one."""

    normalised: list[Normalised] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)

    def report(self) -> Report:
        """Return what was gathered so far, in the order of the text."""
        return Report(
            normalised=tuple(self.normalised), unknown=tuple(self.unknown), dropped=tuple(sorted(self.dropped))
        )


@dataclass(frozen=True, slots=True)
class _Task:
    """A text to read: what is fixed while it is read, and where its report goes."""

    document: Document
    lexicon: UserLexicon
    options: TextOptions
    collector: ReportCollector
    known: Callable[[str], bool]

    def say(self, spoken: str) -> tuple[Token, ...]:
        """Normalise a text that is read in place of a written one."""
        return tokens_of(Reading(start=0, end=1, spoken=spoken), spoken, 0, self.known, self.options)


class _Draft(NamedTuple):
    """A sentence whose words are known but whose phones are not yet; spans point into the document's text."""

    tokens: Sequence[Token]
    mark: str
    start: int
    end: int
    gap: float | None


class FrontEnd:
    """Turns text into sentences of phones. Holds only caches, so one object serves any number of threads."""

    def __init__(self, lexicon: Lexicon, g2p: GraphemeToPhoneme, homographs: Homographs | None = None) -> None:
        """Build the front end.

        lexicon: the compiled lexicon
        g2p: reads lower-case ASCII words (letters, apostrophes, hyphens) as phones, one tuple a word, in order
        homographs: chooses between the readings of words such as "read"; without, rules do
        """
        self.lexicon = lexicon
        self._homographs = homographs
        self._pronouncer = Pronouncer(lexicon, g2p)

    def analyse(
        self,
        text: str | Document,
        *,
        lexicon: UserLexicon | None = None,
        options: TextOptions = DEFAULT_OPTIONS,
    ) -> Analysis:
        """Read a whole text; unknown words go to the model in large batches.

        lexicon: pronunciations that come before all others
        Raises TextError when the text is blank or nothing in it can be spoken.
        """
        task = self._task(text, lexicon, options, ReportCollector())
        found: list[Sentence] = []
        drafts: list[_Draft] = []
        tokens = 0
        for draft in self._drafts(task):
            drafts.append(draft)
            tokens += len(draft.tokens)
            if tokens >= _BATCH_TOKENS:
                found += self._finish(task, drafts)
                drafts, tokens = [], 0
        found += self._finish(task, drafts)
        _require(bool(found), task)
        return Analysis(sentences=tuple(found), report=task.collector.report())

    def iterate(
        self,
        text: str | Document,
        collector: ReportCollector | None = None,
        *,
        lexicon: UserLexicon | None = None,
        options: TextOptions = DEFAULT_OPTIONS,
    ) -> Iterator[Sentence]:
        """Yield the sentences of `analyse(text)` one by one, each as soon as it is read.

        collector: gathers the report; complete when the iteration ends
        Raises TextError at the end when there was nothing to speak.
        """
        task = self._task(text, lexicon, options, collector or ReportCollector())
        spoken = False
        for draft in self._drafts(task):
            for made in self._finish(task, [draft]):
                spoken = True
                yield made
        _require(spoken, task)

    def _task(
        self, text: str | Document, lexicon: UserLexicon | None, options: TextOptions, collector: ReportCollector
    ) -> _Task:
        document = parse_inline(text) if isinstance(text, str) else text
        if not isinstance(document, Document):
            raise TextError(f"the text is {type(text).__name__}; expected a string: decode bytes, join a list")
        user = lexicon or UserLexicon()

        def known(word: str) -> bool:
            return user.says(word) or self._is_known(word)

        return _Task(document, user, options, collector, known if user else self._is_known)

    def _drafts(self, task: _Task) -> Iterator[_Draft]:
        """Yield the sentences with their tokens; breaks and marks are tokens among them."""
        places = _places(task.document)
        held: _Draft | None = None
        for draft in self._read(task):
            if held:
                yield held
            tokens = _with_places(draft.tokens, places)
            held = None
            if places:  # what stands behind the last sentence belongs to it, so wait until there is no other
                held = draft._replace(tokens=tokens)
            else:
                yield draft._replace(tokens=tokens)
        if held:
            yield held._replace(tokens=(*held.tokens, *reversed(places)))

    def _read(self, task: _Task) -> Iterator[_Draft]:
        document, options, collector = task.document, task.options, task.collector
        text, user, normalised = document.text, task.lexicon, collector.normalised
        for first, last, readings in _chunks(document):
            cleaned, given = prepare(text, first, last, readings, options)
            collector.dropped += [_at_source(document, dropped) for dropped in cleaned.dropped]
            normalised += [_at_source(document, Normalised(*change)) for change in cleaned.normalised]
            said = {place: tokens_of(reading, text, place, task.known, options) for place, reading in given.items()}
            for place, reading in given.items():
                start, end, spoken = reading.start, reading.end, spoken_form(reading, said[place])
                normalised.append(_at_source(document, Normalised(start, end, text[start:end], spoken)))
            opens = sentences.opens_paragraph(text, first)
            # Where cleaning changed nothing, its text is that of the document, and so are all places in it.
            base = cleaned.shift
            source, source_span = (cleaned.text, cleaned.span) if base is None else (text, _same_span)
            for span in sentences.split(cleaned.text, options, opens=opens):
                begin, stop = span.start + (base or 0), span.end + (base or 0)
                result = normalize(source, begin, stop, task.known, options, said)
                for change in result.changes:
                    start, end = source_span(change.start, change.end)
                    normalised.append(_at_source(document, Normalised(start, end, text[start:end], change.spoken)))
                for start, end, reason in result.dropped:
                    start, end = source_span(start, end)
                    collector.dropped.append(_at_source(document, Dropped(start, end, text[start:end], reason)))
                if result.tokens:
                    tokens: Sequence[Token] = user.apply(result.tokens, source, begin, stop, task.say)
                    tokens = _in_text(tokens, cleaned) if base is None else tokens
                    yield _Draft(tokens, span.mark, *source_span(begin, stop), span.gap)

    def _finish(self, task: _Task, drafts: Sequence[_Draft]) -> Iterator[Sentence]:
        guessed = self._guess(drafts, task.collector)
        for draft in drafts:
            yield from self._realise(task, draft, guessed)

    def _is_known(self, word: str) -> bool:
        return self._pronouncer.known(word) is not None

    def _guess(self, drafts: Iterable[_Draft], collector: ReportCollector) -> dict[str, Pronunciation]:
        words = dict.fromkeys(
            [token.text for draft in drafts for token in draft.tokens if token.kind == "word" and not token.given]
        )
        unknown = [word for word in words if not self._is_known(word)]
        if not unknown:
            return {}
        collector.unknown.update(dict.fromkeys(unknown))
        return self._pronouncer.guess(unknown)

    def _items(self, draft: _Draft, guessed: dict[str, Pronunciation]) -> list[Item]:
        """Give the words of a draft their phones; what has none is left out."""
        items: list[Item] = []
        known = self._pronouncer.known
        for token in draft.tokens:
            kind = token.kind
            if kind == "word":
                phones, source = token.given or known(token.text) or guessed[token.text]
            elif kind == "letters":
                phones, source = token.given or (spell(token.text), "letters")
            else:
                items.append(Item(token))
                continue
            if phones:
                items.append(Item(token, phones, source))
        return items

    def _realise(self, task: _Task, draft: _Draft, guessed: dict[str, Pronunciation]) -> Iterator[Sentence]:
        """Give a draft its phones, in as many sentences as its length needs."""
        document = task.document
        items = with_heteronyms(self._items(draft, guessed), document.text, self._homographs)
        parts = _spoken_parts(items)
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            start, end = draft.start, draft.end
            if len(parts) > 1:
                spoken = [item.token for item in part if item.phones]
                start = start if i == 0 else spoken[0].start
                end = end if last else spoken[-1].end
            if document.origin:
                part = [item._replace(token=_token_at_source(document, item.token)) for item in part]
            made = sentence(
                part, draft.mark if last else ".", *document.source_span(start, end), None if i else draft.gap
            )
            if made:
                yield made


def _spoken_parts(items: list[Item]) -> list[list[Item]]:
    """Split a long sentence; marks and breaks that would be alone in a part stay with the words beside them."""
    found = list(pieces(items))
    if len(found) == 1:
        return found
    parts: list[list[Item]] = []
    silent: list[Item] = []
    for part in found:
        if any(item.spoken for item in part):
            parts.append(silent + part)
            silent = []
        elif parts:
            parts[-1] = parts[-1] + part
        else:
            silent += part
    return parts


def _require(spoken: bool, task: _Task) -> None:
    text, dropped = task.document.text, task.collector.dropped
    if spoken:
        return
    if not text.strip():
        raise TextError("the text is empty; expected at least one word")
    if dropped:
        first = dropped[0]
        raise TextError(
            f"nothing in the text can be spoken: {first.text[:20]!r} is {first.reason} "
            f"({len(dropped)} such places); expected English words or numbers"
        )
    raise TextError(f"nothing in the text can be spoken: {text.strip()[:20]!r} has no word or number")


def _chunks(document: Document) -> Iterator[tuple[int, int, list[Reading]]]:
    """Yield the parts of a document that are read one after the other, with their readings.

    A sentence break ends a part; a part does not end inside a reading.
    """
    stops = [pause.position for pause in document.breaks if pause.seconds is None]
    readings, stops = list(reversed(document.readings)), list(reversed(stops))
    start, inside = 0, []
    for _, end in sentences.chunks(document.text):
        while stops and stops[-1] <= end:
            stop = stops.pop()
            while readings and readings[-1].start < stop:
                inside.append(readings.pop())
            if stop > start and (not inside or inside[-1].end <= stop):
                yield start, stop, inside
                start, inside = stop, []
        while readings and readings[-1].start < end:
            inside.append(readings.pop())
        if end > start and (not inside or inside[-1].end <= end):
            yield start, end, inside
            start, inside = end, []


def _places(document: Document) -> list[Token]:
    """Return breaks and marks as tokens, the first one last."""
    tokens = [Token("mark", mark.name, mark.position, mark.position) for mark in document.marks]
    for pause in document.breaks:
        if pause.seconds is not None:
            tokens.append(Token("break", repr(float(pause.seconds)), pause.position, pause.position))
    return sorted(tokens, key=lambda token: token.start)[::-1]


def _with_places(tokens: Sequence[Token], places: list[Token]) -> Sequence[Token]:
    """Put the breaks and marks that come before each token in front of it, taking them from the end of `places`."""
    if not places:
        return tokens
    result: list[Token] = []
    for token in tokens:
        while places and token.kind != "pause" and places[-1].start <= token.start:
            result.append(places.pop())
        result.append(token)
    return result


_Place = TypeVar("_Place", Normalised, Dropped)


def _at_source(document: Document, place: _Place) -> _Place:
    if not document.origin:
        return place
    start, end = document.source_span(place.start, place.end)
    return place._replace(start=start, end=end)


def _token_at_source(document: Document, token: Token) -> Token:
    if not document.origin or token.end <= token.start:
        return token
    start, end = document.source_span(token.start, token.end)
    return token._replace(start=start, end=end)


def _same_span(start: int, end: int) -> tuple[int, int]:
    return start, end


def _in_text(tokens: Iterable[Token], cleaned: CleanText) -> list[Token]:
    """Point tokens into the document's text instead of the clean one."""
    result = []
    for token in tokens:
        if token.end > token.start:
            start, end = cleaned.span(token.start, token.end)
            token = Token(token.kind, token.text, start, end, token.given)
        result.append(token)
    return result


__all__ = [
    "MAX_PHONES",
    "Analysis",
    "FrontEnd",
    "Normalised",
    "Report",
    "ReportCollector",
    "Sentence",
    "Word",
]
