"""Joint n-gram model of letters and what they stand for: it remembers spellings instead of abstracting them.

    python -m deepvoice.recipes.grapheme_to_phoneme.graphones --data DIR --out deepvoice/data/graphones.bin

A word is a sequence of *graphones*, one (letter, unit without stress) per letter. Interpolated Kneser-Ney smoothing
(Chen and Goodman 1998) over sequences of up to `order` of them. It takes seconds to count, and makes other mistakes
than the network does: the relabel step asks both, and the compiled file, pruned, is the speaking half's memory
(`deepvoice.text.analogy`).
"""

import argparse
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from deepvoice.recipes.grapheme_to_phoneme.prepare import Entry, read
from deepvoice.text.analogy import BEGIN, END, FIRST_TOKEN, pack
from deepvoice.text.phones import base

_BEGIN, _END = "\x01", "\x02"
_FIRST = 256  # code points below are free for marks
_LETTERS = 128  # a letter is one ASCII character
ORDER = 6  # longer sequences read no better
THRESHOLD = 0.7  # natural logarithm: what a gram must be worth over all training words to be kept
WEIGHT = 0.3  # of the log probability beside the network's; chosen on the dev words


class Graphones:
    """Words as strings with one character per graphone, so that counting and looking up are fast."""

    def __init__(self, units: Sequence[str]) -> None:
        """Number the units, those that differ by stress alone alike.

        units: phones joined by spaces, "" for a silent letter
        """
        plain: dict[str, int] = {}
        self.plain_of = [plain.setdefault(without_stress(unit), len(plain)) for unit in units]
        self._plain = list(plain)

    def encode(self, word: str, units: Iterable[int]) -> str:
        """Return one character per letter.

        units: for each letter its position in the list of units
        """
        return "".join(
            chr(_FIRST + self.plain_of[unit] * _LETTERS + ord(letter)) for letter, unit in zip(word, units, strict=True)
        )

    def decode(self, sign: str) -> tuple[str, str]:
        """Return the letter and the unit without stress of one character."""
        unit, letter = divmod(ord(sign) - _FIRST, _LETTERS)
        return chr(letter), self._plain[unit]


def without_stress(unit: str) -> str:
    """Return a unit's phones without stress digits."""
    return " ".join(map(base, unit.split()))


class JointModel:
    """log P(graphones of a word), interpolated Kneser-Ney."""

    def __init__(self, words: Iterable[str], order: int = ORDER) -> None:
        """Count.

        words: graphone strings of the training words
        order: longest sequence counted, the predicted graphone included
        """
        if order < 1:
            raise ValueError(f"order is {order}; expected at least 1")
        seen: list[Counter[str]] = [Counter() for _ in range(order + 1)]
        for word in words:
            marked = _BEGIN + word + _END
            for end in range(2, len(marked) + 1):
                for size in range(1, min(order, end) + 1):
                    seen[size][marked[end - size : end]] += 1
        if not seen[1]:
            raise ValueError("no words to count graphones in; expected at least one")
        self._order = order
        self._counts: list[Counter[str]] = [Counter(), *(_continuations(seen, size) for size in range(1, order + 1))]
        self._totals: list[dict[str, tuple[int, int]]] = [{}]
        self._discounts = [0.0]
        for size in range(1, order + 1):
            totals: dict[str, tuple[int, int]] = {}
            for gram, count in self._counts[size].items():
                total, kinds = totals.get(gram[:-1], (0, 0))
                totals[gram[:-1]] = total + count, kinds + 1
            once, twice = (sum(1 for count in self._counts[size].values() if count == n) for n in (1, 2))
            self._totals.append(totals)
            self._discounts.append(once / (once + 2 * twice) if once else 0.5)

    def log_probability(self, word: str) -> float:
        """Return log P of a graphone string, its end included."""
        marked = _BEGIN + word + _END
        return sum(math.log(self._probability(marked, at)) for at in range(1, len(marked)))

    def pruned(self, words: Iterable[str], threshold: float) -> dict[str, tuple[float, float]]:
        """Return the grams worth keeping with their log probability and log backoff weight, marks included.

        words: the training words again, to weigh grams by how often they occur
        threshold: a gram is kept when it changes the words' log probability by more than this (Stolcke's pruning,
            simplified), or when a longer one needs it
        """
        often: Counter[str] = Counter()
        for word in words:
            marked = _BEGIN + word + _END
            often.update(
                marked[end - size : end]
                for end in range(2, len(marked) + 1)
                for size in range(1, min(self._order, end) + 1)
            )
        value = {gram: self._probability(gram, len(gram) - 1) for counts in self._counts for gram in counts}
        kept: set[str] = set()
        for size in range(self._order, 1, -1):
            for gram in self._counts[size]:
                total, kinds = self._totals[size][gram[:-1]]
                without = self._discounts[size] * kinds / total * value[gram[1:]]
                if gram in kept or often[gram] * math.log(value[gram] / without) > threshold:
                    kept |= {gram, gram[:-1], gram[1:]}
        kept |= set(self._counts[1])
        kept.discard("")
        return _with_backoff(kept, value)

    def _probability(self, marked: str, at: int) -> float:
        value = 1.0 / (1 + len(self._counts[1]))
        for size in range(1, min(self._order, at + 1) + 1):
            gram = marked[at + 1 - size : at + 1]
            found = self._totals[size].get(gram[:-1])
            if found is None:
                break
            total, kinds = found
            discount = self._discounts[size]
            value = (max(0.0, self._counts[size][gram] - discount) + discount * kinds * value) / total
        return value


def _continuations(seen: Sequence[Counter[str]], size: int) -> Counter[str]:
    """Count, below the highest order, the different graphones before a sequence: Kneser and Ney's idea.

    A sequence at the beginning of a word has nothing before it and keeps its plain count.
    """
    if size == len(seen) - 1:
        return seen[size]
    counts: Counter[str] = Counter(gram[1:] for gram in seen[size + 1])
    counts.update({gram: count for gram, count in seen[size].items() if gram.startswith(_BEGIN)})
    return counts


def _with_backoff(kept: Iterable[str], value: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return log probabilities and the backoff weights that make up for the grams that were left out."""
    longer: dict[str, float] = {}
    shorter: dict[str, float] = {}
    for gram in kept:
        if len(gram) > 1:
            longer[gram[:-1]] = longer.get(gram[:-1], 0.0) + value[gram]
            shorter[gram[:-1]] = shorter.get(gram[:-1], 0.0) + value[gram[1:]]
    rows = {}
    for gram in kept:
        backoff = math.log(max(1e-6, 1.0 - longer[gram]) / max(1e-6, 1.0 - shorter[gram])) if gram in longer else 0.0
        rows[gram] = (math.log(value[gram]) if gram in value else 0.0, backoff)
    return rows


def training_words(entries: Sequence[Entry], graphones: Graphones, units: Sequence[str]) -> list[str]:
    """Return the graphone strings of the training words."""
    ids = {unit: i for i, unit in enumerate(units)}
    words: list[str] = []
    for entry in entries:
        if entry.split == "train":
            words += dict.fromkeys(graphones.encode(entry.word, [ids[unit] for unit in said]) for said in entry.units)
    return words


def compile_model(entries: Sequence[Entry], units: Sequence[str], threshold: float = THRESHOLD) -> bytes:
    """Return the compiled file of `deepvoice.text.analogy` for the dictionary's own training words.

    The network has learnt what the other lists' words have to say; the memory is better without them.
    """
    graphones = Graphones(units)
    words = training_words([entry for entry in entries if not entry.extra], graphones, units)
    kept = JointModel(words, ORDER).pruned(words, threshold)
    signs = sorted({sign for gram in kept for sign in gram} - {_BEGIN, _END})
    numbers = {_BEGIN: BEGIN, _END: END} | {sign: i for i, sign in enumerate(signs, FIRST_TOKEN)}
    grams = {tuple(numbers[sign] for sign in gram): values for gram, values in kept.items()}
    return pack(ORDER, [graphones.decode(sign) for sign in signs], grams, weight=WEIGHT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="graphones", description="Count and compile the graphones of the words.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder written by the prepare step")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="higher makes the file smaller")
    arguments = parser.parse_args(argv)
    entries, units = read(arguments.data)
    compiled = compile_model(entries, units, arguments.threshold)
    arguments.out.write_bytes(compiled)
    print(f"{arguments.out}: {len(compiled)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
