"""How often the right reading is chosen."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from deepvoice.recipes.homographs.data import Place, Reading
from deepvoice.text.heteronyms import Homographs


class Figures(NamedTuple):
    """Percent right over all places, and as the mean over the words; how many places; and each word's counts."""

    right: float
    mean: float
    places: int
    words: dict[str, tuple[int, int]]  # right, all

    def row(self) -> dict[str, float]:
        """Return the two figures for a log."""
        return {"held_out_right": self.right, "held_out_mean": self.mean}


def score_choice(
    choose: Callable[[Place], str | int], right: Callable[[Place], str | int], places: Sequence[Place]
) -> Figures:
    """Score any way to choose."""
    words: dict[str, list[bool]] = defaultdict(list)
    for place in places:
        words[place.word].append(choose(place) == right(place))
    total = sum(map(len, words.values()))
    return Figures(
        100.0 * sum(map(sum, words.values())) / max(1, total),
        100.0 * sum(sum(found) / len(found) for found in words.values()) / max(1, len(words)),
        total,
        {word: (sum(found), len(found)) for word, found in words.items()},
    )


def score(network: Homographs, places: Sequence[Place], readings: dict[str, list[Reading]]) -> Figures:
    """Score a classifier on the held-out places."""
    return score_choice(
        lambda place: network(place.words, place.index).reading,
        lambda place: readings[place.word][place.reading].name,
        [place for place in places if place.held_out],
    )


def usual_readings(places: Sequence[Place]) -> dict[str, int]:
    """Return the commonest reading of each word in training."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for place in places:
        if not place.held_out:
            counts[place.word][place.reading] += 1
    return {word: count.most_common(1)[0][0] for word, count in counts.items()}


def majority(places: Sequence[Place]) -> Figures:
    """Score the reading that is the commonest in training."""
    usual = usual_readings(places)
    held_out = [place for place in places if place.held_out]
    return score_choice(lambda place: usual.get(place.word, 0), lambda place: place.reading, held_out)
