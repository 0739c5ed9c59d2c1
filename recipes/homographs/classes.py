"""Classes of words that stand in similar places, found in text without any labels.

Every word is described by the words around it (positive pointwise mutual information, reduced by a singular value
decomposition), and similar descriptions are put in one class by k-means.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import svds

from deepvoice.networks.homographs import class_of

_OFFSETS = (-2, -1, 1, 2)
_EDGE, _RARE = 0, 1  # columns of what is no common word


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSettings:
    """How classes are found."""

    least: int  # times that a word must occur
    contexts: int  # commonest words that describe others
    dimensions: int
    rounds: int  # of k-means


def describe(sentences: Sequence[Sequence[str]], settings: ClassSettings) -> tuple[list[str], NDArray[np.float64]]:
    """Return the words that occur often enough and their descriptions, unit vectors float64 [words, dimensions]."""
    counts = Counter(word for sentence in sentences for word in sentence)
    words = [word for word, count in counts.items() if count >= settings.least]
    row_of = {word: i for i, word in enumerate(words)}
    column_of = {word: i + 2 for i, (word, _) in enumerate(counts.most_common(settings.contexts))}
    width = len(column_of) + 2
    cells: Counter[tuple[int, int]] = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            if word in row_of:
                for k, offset in enumerate(_OFFSETS):
                    inside = 0 <= i + offset < len(sentence)
                    column = column_of.get(sentence[i + offset], _RARE) if inside else _EDGE
                    cells[row_of[word], k * width + column] += 1
    positions = np.array(list(cells))
    table = coo_matrix(
        (np.array(list(cells.values()), float), (positions[:, 0], positions[:, 1])),
        (len(words), width * len(_OFFSETS)),
    )
    by_row, by_column = np.asarray(table.sum(1)).ravel(), np.asarray(table.sum(0)).ravel()
    information = np.log(table.data * table.data.sum() / (by_row[table.row] * by_column[table.col]))
    table.data = np.maximum(information, 0.0)
    start = np.random.default_rng(0).standard_normal(min(table.shape))
    left, sizes, _ = svds(table.tocsr(), k=min(settings.dimensions, min(table.shape) - 1), v0=start)
    vectors = left * np.sqrt(sizes)
    return words, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def classify(
    sentences: Sequence[Sequence[str]], settings: ClassSettings, bits: int, classes: int, coarse: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the tables of `deepvoice.networks.homographs`: the class of every word, and the class of every class.

    A word keeps its place from a rarer one that falls on the same entry of the table.
    """
    words, vectors = describe(sentences, settings)
    centres, class_W = kmeans2(vectors, classes, minit="++", iter=settings.rounds, seed=0)
    _, coarse_K = kmeans2(centres, coarse, minit="++", iter=settings.rounds, seed=0)
    counts = Counter(word for sentence in sentences for word in sentence)
    table = np.zeros(1 << bits, np.float32)
    for word, number in sorted(zip(words, class_W.tolist(), strict=True), key=lambda pair: counts[pair[0]]):
        table[class_of(word, bits)] = number + 1
    return table, np.concatenate([[0.0], coarse_K + 1.0]).astype(np.float32)
