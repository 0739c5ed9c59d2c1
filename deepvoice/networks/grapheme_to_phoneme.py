"""Grapheme-to-phoneme network, speaking half: spelling -> phones with stress, without torch (paper section 3.1).

The same arithmetic as `deepvoice.models.grapheme_to_phoneme`, one word at a time, with a beam over the units that
the letters stand for (`deepvoice.networks.unit_reader`). A second network, which reads from the last letter to the
first, may weigh what the first one finds. Hypotheses that say the same phones, stress aside, are added up at the end,
and the likeliest stress of the likeliest phones is said. A memory of known words (`deepvoice.text.analogy`) may have
a say in which phones are likeliest.

A possessive is read twice, with its ending and without: it is said as the word without it and the regular ending, but
of the readings of that word the one is chosen that the possessive's spelling speaks for, too.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deepvoice.configs import GraphemeToPhonemeConfig
from deepvoice.errors import TextError, VoiceError
from deepvoice.networks.unit_reader import Found, UnitReader
from deepvoice.text.phones import base
from deepvoice.text.pronounce import with_s

Array = NDArray[np.float32]
# Takes letters and readings, each a unit without stress per letter; returns what to add to their log probabilities.
Memory = Callable[[str, Sequence[Sequence[str]]], Sequence[float]]

LETTERS = "'abcdefghijklmnopqrstuvwxyz"
MAX_LETTERS = 32  # longer strings are pronounced in pieces; no word of the dictionary is longer than 34
REVERSE = "reverse."  # what the names of the second network's tensors begin with
REVERSE_SHARE = 0.33  # of what it says in the log probability of a reading; chosen on the dev words
DOUBT = 2.0  # natural logarithm: it is asked where the first network prefers one reading by less, two words of five
POSSESSIVE = 0.5  # weight of what the possessive's spelling says beside the word's; chosen on the dev words
UNHEARD = -8.0  # log probability of a reading that the search does not find

_LETTER_IDS = {letter: i for i, letter in enumerate(LETTERS)}
_APOSTROPHES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u00f8": "o"}
)


def letters_of(word: str) -> str:
    """Return a word as the network reads it: lower case, accents dropped, letters a-z and apostrophes only.

    Raises TextError when it holds anything else, or no letter at all.
    """
    folded = unicodedata.normalize("NFKD", word.lower().translate(_APOSTROPHES))
    plain = "".join(letter for letter in folded if not unicodedata.combining(letter))
    for letter in plain:
        if letter not in _LETTER_IDS:
            raise TextError(
                f"{word[:40]!r} holds {letter!r}, which is not a letter of a-z or an apostrophe; "
                "normalise the text or spell the word before asking for its pronunciation"
            )
    if not plain.strip("'"):
        raise TextError(f"{word[:40]!r} has no letter to pronounce; expected a word of letters a-z")
    return plain


def _pieces(letters: str) -> Iterator[str]:
    """Cut a string into pieces of nearly equal length, MAX_LETTERS at most, each with a letter of a-z."""
    count = -(-len(letters) // MAX_LETTERS)
    for i in range(count):
        piece = letters[i * len(letters) // count : (i + 1) * len(letters) // count]
        if piece.strip("'"):
            yield piece


class GraphemeToPhonemeNetwork:
    """Pronounce words that the lexicon lacks."""

    def __init__(
        self,
        tensors: Mapping[str, Array],
        config: GraphemeToPhonemeConfig,
        beam: int = 8,
        memory: Memory | None = None,
    ) -> None:
        """Check and arrange the weights.

        tensors: float32 arrays named and shaped as `expected_shapes` says
        beam: hypotheses kept; 1 is greedy
        memory: weighs the readings of a word by the words that are known
        Raises VoiceError when a tensor is missing or has another shape, ValueError for a beam below 1.
        """
        if beam < 1:
            raise ValueError(f"beam is {beam}; expected at least 1")
        weights = _checked(tensors, config)
        self._config, self._beam, self.memory = config, beam, memory
        self._reader = UnitReader(weights, config)
        backward = {name.removeprefix(REVERSE): weights[name] for name in weights if name.startswith(REVERSE)}
        self._second = UnitReader(backward, config) if config.reverse else None
        self._phones: list[tuple[str, ...]] = [tuple(unit.split()) for unit in config.units]
        self._plain = [" ".join(map(base, phones)) for phones in self._phones]

    @staticmethod
    def expected_shapes(config: GraphemeToPhonemeConfig) -> dict[str, tuple[int, ...]]:
        """Return the name and shape of every tensor."""
        shapes = UnitReader.expected_shapes(config, len(LETTERS))
        return shapes | ({REVERSE + name: shape for name, shape in shapes.items()} if config.reverse else {})

    def __call__(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return one pronunciation per word: at least one phone each, of ARPAbet with stress.

        Raises TextError for a word with anything but letters and apostrophes, or without a letter.
        """
        return [
            tuple(phone for piece in _pieces(letters_of(word)) for phone in self._pronounce(piece)) for word in words
        ]

    def search(self, word: str) -> Found:
        """Return hypotheses of one word, the best first: a unit for each letter, and the log probability.

        word: 1 to MAX_LETTERS letters as `letters_of` returns them
        """
        letters_G = np.array([_LETTER_IDS[letter] for letter in word])
        found = self._reader.search(self._reader.encode(letters_G), self._beam)
        if self._second is None or len(found) == 1 or found[0][1] - found[1][1] > DOUBT:
            return found
        readings = [units for units, _ in found]
        gates_GG = self._second.encode(letters_G[::-1])
        second_K = self._second.score(gates_GG, [units[::-1] for units in readings])
        first_K = np.array([log_probability for _, log_probability in found])
        total_K = first_K + REVERSE_SHARE * (second_K - first_K)
        return [(readings[k], float(total_K[k])) for k in np.argsort(-total_K, kind="stable")]

    def _pronounce(self, letters: str) -> tuple[str, ...]:
        """Return the most probable phones of up to MAX_LETTERS letters; never empty."""
        stem = letters.removesuffix("'s")
        if stem == letters or not stem.strip("'"):
            totals, plain = self._readings(letters)
            return _likeliest(totals, plain) if totals else self._every_letter(letters)
        totals, plain = self._readings(stem)
        if not totals:
            return with_s(self._every_letter(stem))
        whole = self._readings(letters)[1]
        joint = {
            bases: value + POSSESSIVE * whole.get(tuple(map(base, with_s(bases))), UNHEARD)
            for bases, value in plain.items()
        }
        return with_s(_likeliest(totals, joint))

    def _readings(self, letters: str) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
        """Return the log probability of each pronunciation, and of each one's phones without stress.

        Both are empty if all hypotheses are silent; the second is shared among those that the search finds.
        """
        found = self.search(letters)
        bonus = self._bonus(letters, [units for units, _ in found])
        totals: dict[tuple[str, ...], float] = {}
        plain: dict[tuple[str, ...], float] = {}
        for (units, log_probability), more in zip(found, bonus, strict=True):
            phones = tuple(phone for unit in units for phone in self._phones[unit])
            if phones:
                bases, value = tuple(map(base, phones)), log_probability + more
                totals[phones] = float(np.logaddexp(totals.get(phones, -np.inf), value))
                plain[bases] = float(np.logaddexp(plain.get(bases, -np.inf), value))
        whole = float(np.logaddexp.reduce(list(plain.values()))) if plain else 0.0
        return totals, {bases: value - whole for bases, value in plain.items()}

    def _every_letter(self, letters: str) -> tuple[str, ...]:
        """Return the phones of a word whose every hypothesis is silent: let each letter sound."""
        gates_GG = self._reader.encode(np.array([_LETTER_IDS[letter] for letter in letters]))
        units = self._reader.search(gates_GG, self._beam, silent=False)[0][0]
        return tuple(phone for unit in units for phone in self._phones[unit])

    def _bonus(self, letters: str, readings: Sequence[tuple[int, ...]]) -> list[float]:
        """Return what the memory adds to each reading; those that differ by stress alone get the same."""
        if self.memory is None or len(readings) == 1:
            return [0.0] * len(readings)
        plain = [tuple(self._plain[unit] for unit in units) for units in readings]
        kinds = list(dict.fromkeys(plain))
        bonus = dict(zip(kinds, self.memory(letters, kinds), strict=True))
        return [bonus[kind] for kind in plain]


def _likeliest(totals: Mapping[tuple[str, ...], float], plain: Mapping[tuple[str, ...], float]) -> tuple[str, ...]:
    """Return the likeliest stress of the likeliest phones.

    totals: of pronunciations; plain: of those without stress
    """
    return max(totals, key=lambda phones: (plain[tuple(map(base, phones))], totals[phones], phones))


def _checked(tensors: Mapping[str, Array], config: GraphemeToPhonemeConfig) -> dict[str, Array]:
    weights = {}
    for name, shape in GraphemeToPhonemeNetwork.expected_shapes(config).items():
        if name not in tensors:
            raise VoiceError(f"the grapheme-to-phoneme network lacks the tensor {name!r}; pack the voice again")
        if tensors[name].shape != shape:
            raise VoiceError(
                f"tensor {name!r} has shape {tensors[name].shape}, its config says {shape}; pack the voice again"
            )
        weights[name] = np.ascontiguousarray(tensors[name], np.float32)
    return weights
