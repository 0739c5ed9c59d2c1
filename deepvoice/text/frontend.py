"""The front end: text in, phone sequences out, and a report of everything that was not read as it stands.

    text -> chunks -> clean text -> sentences -> spoken words -> phones, with weak forms

The front end that labels a corpus and the front end that speaks are this one, so labels and use never differ.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from deepvoice.errors import TextError
from deepvoice.text import sentences
from deepvoice.text.heteronyms import heteronym
from deepvoice.text.hygiene import CleanText, Dropped, clean
from deepvoice.text.lexicon import Lexicon
from deepvoice.text.normalize import normalize
from deepvoice.text.phones import START
from deepvoice.text.pronounce import LETTERS, GraphemeToPhoneme, Phones, Pronouncer, Pronunciation, spell
from deepvoice.text.scanner import Token
from deepvoice.text.sequence import PhoneSequence
from deepvoice.text.weak_forms import weak_form

MAX_PHONES = 300  # phones and pauses of one sentence; longer ones are split, never cut short


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One spoken word: what is said (lower case), the original characters it reads, its phones and their source."""

    text: str
    start: int
    end: int
    phones: Phones
    source: str  # lexicon, supplement, weak, letters or g2p


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence for the networks, with the span of the original text it speaks."""

    words: tuple[Word, ...]
    sequence: PhoneSequence
    start: int
    end: int


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


class _Draft(NamedTuple):
    """A sentence whose words are known but whose phones are not yet."""

    tokens: tuple[Token, ...]  # spans point into the original text
    mark: str
    start: int
    end: int


class FrontEnd:
    """Turns text into sentences of phones. Holds only caches, so one object serves any number of threads."""

    def __init__(self, lexicon: Lexicon, g2p: GraphemeToPhoneme) -> None:
        """Build the front end.

        lexicon: the compiled lexicon
        g2p: reads lower-case ASCII words (letters, apostrophes, hyphens) as phones, one tuple a word, in order
        """
        self.lexicon = lexicon
        self._pronouncer = Pronouncer(lexicon, g2p)

    def analyse(self, text: str) -> Analysis:
        """Read a whole text; its unknown words go to the model in one batch.

        Raises TextError when the text is blank or nothing in it can be spoken.
        """
        collector = ReportCollector()
        drafts = list(self._drafts(text, collector))
        guessed = self._guess(drafts, collector)
        found = [sentence for draft in drafts for sentence in self._realise(draft, guessed)]
        self._require(bool(found), text, collector)
        return Analysis(sentences=tuple(found), report=collector.report())

    def iterate(self, text: str, collector: ReportCollector | None = None) -> Iterator[Sentence]:
        """Yield the sentences of `analyse(text)` one by one, each as soon as it is read.

        collector: gathers the report; complete when the iteration ends
        Raises TextError at the end when there was nothing to speak.
        """
        collector = collector or ReportCollector()
        spoken = False
        for draft in self._drafts(text, collector):
            for sentence in self._realise(draft, self._guess([draft], collector)):
                spoken = True
                yield sentence
        self._require(spoken, text, collector)

    @staticmethod
    def _require(spoken: bool, text: str, collector: ReportCollector) -> None:
        if spoken:
            return
        if not text.strip():
            raise TextError("the text is empty; expected at least one word")
        if collector.dropped:
            first = collector.dropped[0]
            raise TextError(
                f"nothing in the text can be spoken: {first.text[:20]!r} is {first.reason} "
                f"({len(collector.dropped)} such places); expected English words or numbers"
            )
        raise TextError(f"nothing in the text can be spoken: {text.strip()[:20]!r} has no word or number")

    def _drafts(self, text: str, collector: ReportCollector) -> Iterator[_Draft]:
        if not isinstance(text, str):
            raise TextError(f"the text is {type(text).__name__}; expected a string: decode bytes, join a list")
        known = self._is_known
        for chunk_start, chunk_end in sentences.chunks(text):
            cleaned = clean(text[chunk_start:chunk_end], chunk_start)
            collector.dropped.extend(cleaned.dropped)
            for span in sentences.split(cleaned.text):
                result = normalize(cleaned.text, span.start, span.end, known)
                for change in result.changes:
                    start, end = cleaned.span(change.start, change.end)
                    collector.normalised.append(Normalised(start, end, text[start:end], change.spoken))
                for first, last, reason in result.dropped:
                    start, end = cleaned.span(first, last)
                    collector.dropped.append(Dropped(start, end, text[start:end], reason))
                if result.tokens:
                    start, end = cleaned.span(span.start, span.end)
                    yield _Draft(_in_original(result.tokens, cleaned), span.mark, start, end)

    def _is_known(self, word: str) -> bool:
        return self._pronouncer.known(word) is not None

    def _guess(self, drafts: Iterable[_Draft], collector: ReportCollector) -> dict[str, Pronunciation]:
        unknown = [
            token.text
            for draft in drafts
            for token in draft.tokens
            if token.kind == "word" and not self._is_known(token.text)
        ]
        if not unknown:
            return {}
        collector.unknown.update(dict.fromkeys(unknown))
        return self._pronouncer.guess(unknown)

    def _pronounce(self, token: Token, guessed: dict[str, Pronunciation]) -> Pronunciation:
        if token.kind == "letters":
            return Pronunciation(spell(token.text), "letters")
        found = self._pronouncer.known(token.text)
        return found if found else guessed[token.text]

    def _realise(self, draft: _Draft, guessed: dict[str, Pronunciation]) -> Iterator[Sentence]:
        """Give a draft its phones, in as many sentences as its length needs."""
        items = [
            (token, self._pronounce(token, guessed) if token.kind != "pause" else Pronunciation((), ""))
            for token in draft.tokens
        ]
        items = _with_heteronyms([item for item in items if item[1].phones or item[0].kind == "pause"])
        pieces = list(_pieces(items))
        for i, piece in enumerate(pieces):
            if any(token.kind != "pause" for token, _ in piece):
                last = i == len(pieces) - 1
                start = draft.start if i == 0 else piece[0][0].start
                end = draft.end if last else piece[-1][0].end
                yield _sentence(piece, draft.mark if last else ".", start, end)


_Item = tuple[Token, Pronunciation]


def _in_original(tokens: Iterable[Token], cleaned: CleanText) -> tuple[Token, ...]:
    """Point tokens into the original text instead of the clean one."""
    return tuple(
        Token(token.kind, token.text, *cleaned.span(token.start, token.end)) if token.end > token.start else token
        for token in tokens
    )


def _with_heteronyms(items: list[_Item]) -> list[_Item]:
    """Choose between the readings of words like "record" by the words around them."""
    words = [token.text for token, _ in items if token.kind != "pause"]
    index, chosen = 0, []
    for token, pronunciation in items:
        if token.kind == "word" and pronunciation.source != "g2p":
            phones = heteronym(words, index)
            pronunciation = Pronunciation(phones, pronunciation.source) if phones else pronunciation
        index += token.kind != "pause"
        chosen.append((token, pronunciation))
    return chosen


def _pieces(items: list[_Item]) -> Iterator[list[_Item]]:
    """Split a long sentence at its last pause before the limit, or between two words when it has none."""
    piece: list[_Item] = []
    length = 0
    pause = 0  # items of the piece up to its last pause
    for item in items:
        size = len(item[1].phones) or 1
        if length + size > MAX_PHONES and piece:
            cut = pause if pause * 3 >= len(piece) else len(piece)
            yield _trimmed(piece[:cut])
            piece = piece[cut:]
            length = sum(len(pronunciation.phones) or 1 for _, pronunciation in piece)
            pause = 0
        piece.append(item)
        length += size
        if item[0].kind == "pause":
            pause = len(piece)
    if piece:
        yield _trimmed(piece)


def _trimmed(piece: list[_Item]) -> list[_Item]:
    first, last = 0, len(piece)
    while first < last and piece[first][0].kind == "pause":
        first += 1
    while last > first and piece[last - 1][0].kind == "pause":
        last -= 1
    return piece[first:last]


def _sentence(piece: list[_Item], mark: str, start: int, end: int) -> Sentence:
    """Put the phones of a piece in sequence, with weak forms where its words are unstressed."""
    words: list[Word] = []
    symbols, word_of = [START], [-1]
    for i, (token, pronunciation) in enumerate(piece):
        if token.kind == "pause":
            symbols.append(token.text)
            word_of.append(-1)
            continue
        final = i + 1 == len(piece) or piece[i + 1][0].kind == "pause"
        alone = final and (i == 0 or piece[i - 1][0].kind == "pause")
        phones, source = pronunciation
        if token.kind == "word" and not alone:
            weak = weak_form(token.text, () if final else piece[i + 1][1].phones, final)
            if weak:
                phones, source = weak, "weak"
        if token.text == "a" and source != "weak":
            phones, source = LETTERS["a"], "letters"
        word_of += [len(words)] * len(phones)
        symbols += phones
        words.append(Word(text=token.text, start=token.start, end=token.end, phones=phones, source=source))
    symbols.append(mark)
    word_of.append(-1)
    sequence = PhoneSequence(symbols=tuple(symbols), word_of=tuple(word_of))
    return Sentence(words=tuple(words), sequence=sequence, start=start, end=end)
