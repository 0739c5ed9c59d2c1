"""Phone and word error rates of pronunciations against the listed ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepvoice.text.phones import base


@dataclass(frozen=True, slots=True)
class Score:
    """Errors in percent: phones wrong per phone of the closest listed pronunciation, words not listed as said."""

    phone_errors: float
    word_errors: float
    words: int


def edit_distance(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the Levenshtein distance between two sequences."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
    return row[-1]


def score(
    listed: Sequence[Sequence[Sequence[str]]],
    said: Sequence[Sequence[str]],
    *,
    stress: bool = False,
    first_only: bool = False,
) -> Score:
    """Compare pronunciations with the listed ones of each word.

    listed: for every word its pronunciations in the dictionary's order
    said: one pronunciation for every word
    stress: count a wrong stress digit as a wrong phone
    first_only: accept only the first listed pronunciation (strict)
    """
    if len(listed) != len(said) or not said:
        raise ValueError(f"{len(said)} pronunciations for {len(listed)} words; expected one for each, and at least one")
    phones = errors = wrong = 0
    for references, phrase in zip(listed, said, strict=True):
        spoken = list(phrase) if stress else [base(phone) for phone in phrase]
        best = None
        for reference in references[:1] if first_only else references:
            target = list(reference) if stress else [base(phone) for phone in reference]
            candidate = (edit_distance(spoken, target), len(target))
            best = candidate if best is None or candidate[0] < best[0] else best
        if best is None:
            raise ValueError("a word has no listed pronunciation; leave it out of the evaluation")
        errors, phones, wrong = errors + best[0], phones + best[1], wrong + (best[0] > 0)
    return Score(100.0 * errors / phones, 100.0 * wrong / len(said), len(said))
