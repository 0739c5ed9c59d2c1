"""The graph of a text: what its speaker may have said, as an acyclic graph of sounds with loops.

It is the composition of three automata, in the manner of M. Mohri, F. Pereira and M. Riley, "Weighted finite-state
transducers in speech recognition" (Computer Speech and Language 16, 2002), with weights that are log scores:

- the *transcript* accepts its words one after the other; beside each word lies a path on which it was not read,
  and between words one for what is not in the text (a garbage, or filler, model: J. G. Wilpon et al., "Automatic
  recognition of keywords in unconstrained speech using hidden Markov models", IEEE Trans. ASSP 38, 1990);
- the *lexicon* turns a word into any of its pronunciations, a line of phones each;
- the *optional silence* lies before, between and after words.

All three are lines with short detours, so the composition is built directly, word by word, and needs no general
algorithm; it has no empty labels, and its states are numbered so that every arc leads forward, which makes one pass
over the frames enough. A state is one sound: it loops for as long as the sound lasts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.kernels.viterbi import IMPOSSIBLE
from deepvoice.text.phones import BASE_IDS, BASES, NUM_SILENCES, base

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]
Phones = tuple[str, ...]

SILENCE_CLASS = 0  # all silences are one class of sound
GARBAGE_CLASS = len(BASES)  # any speech
FILLER_CLASS = len(BASES) + 1  # any speech and the pauses in it
NUM_CLASSES = len(BASES) + 2
PHONE, SILENCE, INSERTED, SKIPPED = range(4)  # what a state is
MAX_VARIANTS = 8  # pronunciations of a word


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWord:
    """A word of the transcript.

    text: as it is spoken; span: its characters in the text
    variants: its pronunciations, the usual one first, each once (see `distinct`)
    pause: whether punctuation before it makes a silence likely
    """

    text: str
    span: tuple[int, int]
    variants: tuple[Phones, ...]
    pause: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWeights:
    """Log scores of what the sounds do not decide.

    variant: of a pronunciation that is not the usual one
    silence: of a silence where there is no punctuation
    garbage: of entering a garbage path; None leaves those paths out
    """

    variant: float = -1.0
    silence: float = -1.0
    garbage: float | None = -15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """States in an order in which arcs lead forward; the arrays are those of `deepvoice.kernels.viterbi`.

    class_S, first_arc, source_A, bonus_A, initial_S, final_S: see there
    role_S: PHONE, SILENCE, INSERTED (speech that is not in the text) or SKIPPED (in place of a word)
    word_S: index of the word; of what lies between words, that of the word after it
    variant_S, phone_S: which pronunciation, and which of its phones; 0 elsewhere
    """

    class_S: IntArray
    first_arc: IntArray
    source_A: IntArray
    bonus_A: FloatArray
    initial_S: FloatArray
    final_S: FloatArray
    role_S: IntArray
    word_S: IntArray
    variant_S: IntArray
    phone_S: IntArray

    def __len__(self) -> int:
        return len(self.class_S)


class _Builder:
    """Appends states with the arcs into them."""

    def __init__(self) -> None:
        self.states: list[tuple[int, int, int, int, int]] = []  # class, role, word, variant, phone
        self.arcs: list[list[tuple[int, float]]] = []  # into each state: source, bonus
        self.initial: list[float] = []

    def add(self, label: tuple[int, int, int, int, int], sources: Sequence[int], bonus: float, start: bool) -> int:
        """Add a state; start: whether a recording may begin with it."""
        self.states.append(label)
        self.arcs.append([(source, bonus) for source in sources])
        self.initial.append(bonus if start else float(IMPOSSIBLE))
        return len(self.states) - 1

    def graph(self, finals: Sequence[int]) -> Graph:
        """Return the graph that ends in one of `finals`."""
        labels = np.array(self.states, np.int32).T.copy()
        final_S = np.full(len(self.states), IMPOSSIBLE, np.float32)
        final_S[list(finals)] = 0.0
        flat = [arc for arcs in self.arcs for arc in arcs]
        return Graph(
            class_S=labels[0],
            first_arc=np.concatenate([[0], np.cumsum([len(arcs) for arcs in self.arcs])]).astype(np.int32),
            source_A=np.array([source for source, _ in flat], np.int32),
            bonus_A=np.array([bonus for _, bonus in flat], np.float32),
            initial_S=np.array(self.initial, np.float32),
            final_S=final_S,
            role_S=labels[1],
            word_S=labels[2],
            variant_S=labels[3],
            phone_S=labels[4],
        )


def compose(words: Sequence[TextWord], weights: GraphWeights | None = None) -> Graph:
    """Build the graph of a transcript; raises ValueError when a word has no pronunciation or there is no word."""
    if not words or not all(word.variants and all(word.variants) for word in words):
        raise ValueError("a graph needs at least one word, and phones for each")
    weights = weights or GraphWeights()
    builder = _Builder()
    ends: list[int] = []  # where the word before may end
    for index, word in enumerate(words):
        likely = word.pause or index == 0
        gaps = _add_gap(builder, ends, index, weights, 0.0 if likely else weights.silence)
        ends = _add_word(builder, word, index, [*ends, *gaps], weights)
    gaps = _add_gap(builder, ends, len(words), weights, 0.0)
    return builder.graph([*ends, *gaps])


def _add_gap(builder: _Builder, ends: Sequence[int], index: int, weights: GraphWeights, silence: float) -> list[int]:
    """Add what may lie before word `index`: a silence, or speech that is not in the text with silence around it."""
    start = index == 0
    states = [builder.add((SILENCE_CLASS, SILENCE, index, 0, 0), ends, silence, start)]
    if weights.garbage is not None:
        label = (FILLER_CLASS, INSERTED, index, 0, 0)
        states.append(builder.add(label, [*ends, *states], weights.garbage, start))
        states.append(builder.add((SILENCE_CLASS, SILENCE, index, 0, 0), states[1:], 0.0, False))
    return states


def _add_word(
    builder: _Builder, word: TextWord, index: int, sources: Sequence[int], weights: GraphWeights
) -> list[int]:
    """Add a word's pronunciations side by side, and the path on which it was not read; returns where it may end."""
    ends: list[int] = []
    for variant, phones in enumerate(word.variants):
        before, bonus = sources, weights.variant if variant else 0.0
        for position, symbol in enumerate(phones):
            label = (BASE_IDS[base(symbol)], PHONE, index, variant, position)
            before, bonus = [builder.add(label, before, bonus, index == 0 and position == 0)], 0.0
        ends += before
    if weights.garbage is not None:
        label = (GARBAGE_CLASS, SKIPPED, index, 0, 0)
        ends.append(builder.add(label, sources, weights.garbage, index == 0))
    return ends


def distinct(variants: Iterable[Phones]) -> tuple[Phones, ...]:
    """Return pronunciations that differ in more than stress, in their order, as many as a graph takes."""
    found: dict[Phones, Phones] = {}
    for phones in variants:
        found.setdefault(tuple(base(phone) for phone in phones), phones)
    return tuple(found.values())[:MAX_VARIANTS]


def line(bases_P: Sequence[int], optional_P: Sequence[bool]) -> Graph:
    """Build the graph of a known line of sounds, as a corpus's manifest has them.

    bases_P: base ids; optional_P: sounds that may be absent
    """
    builder = _Builder()
    ends: list[int] = []
    begins = True  # whether a recording may begin with the next sound
    for position, (sound, optional) in enumerate(zip(bases_P, optional_P, strict=True)):
        label = (sound if sound >= NUM_SILENCES else SILENCE_CLASS, PHONE, -1, 0, position)
        state = builder.add(label, ends, 0.0, begins)
        begins = begins and optional
        ends = [*ends, state] if optional else [state]
    return builder.graph(ends)
