"""Which reading of a homograph a sentence means ("I read it yesterday"), speaking half.

A logistic regression over hashed features of the words around. Every reading but the first has a score, the sum of the
table entries of its features; the first has 0, and the highest wins. Words that are a noun or an adjective in one
reading and a verb in the other also share one table, so that "to desert" is right though hardly any text has it.
"""

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.configs import HomographConfig
from deepvoice.errors import VoiceError
from deepvoice.text.heteronyms import Chosen, Spoken, certain

Array = NDArray[np.float32]
_SPREAD = np.uint32(2654435761)  # odd, so that multiplying keeps numbers distinct and mixes their high bits
_NEAR = 4  # words to each side whose identity counts
_CLASSED = 3  # words to each side whose class counts
_FAR = 30  # words to each side that count as somewhere in the sentence
_BEGIN, _END = "^", "$"


class Indices(NamedTuple):
    """Table entries of the features of one place.

    shared: int64 [X], empty for a word without part in the shared table
    own: int64 [readings - 1, X]
    """

    shared: NDArray[np.int64]
    own: NDArray[np.int64]


@lru_cache(maxsize=16384)
def class_of(word: str, bits: int) -> int:
    """Return the entry of a word in the table of classes."""
    return zlib.crc32(word.encode()) >> (32 - bits)


def word_features(words: Sequence[Spoken], index: int) -> list[str]:
    """Return the features of words[index]: the words around it, their endings and capitals, and its place."""
    n = len(words)
    near = {
        offset: words[at].text if 0 <= (at := index + offset) < n else _BEGIN if at < 0 else _END
        for offset in range(-_NEAR, _NEAR + 1)
    }
    features = []
    for offset, word in near.items():
        if offset:
            features += [f"w{offset}={word}", f"{'L' if offset < 0 else 'R'}={word}"]
        if offset and abs(offset) < _NEAR:
            features += [f"s{offset}={word[-3:]}", f"t{offset}={word[-2:]}"]
            if 0 <= index + offset < n and words[index + offset].capital:
                features.append(f"c{offset}")
    before, after = near[-1], near[1]
    features += [
        f"b-={near[-2]} {before}",
        f"b+={after} {near[2]}",
        f"b={before} {after}",
        f"bs={before} {after[-2:]}",
        f"sb={before[-2:]} {after}",
        f"ss={before[-2:]} {after[-2:]}",
        f"b2={near[-2][-2:]} {before}",
        f"p={min(index, 3)}",
        f"q={min(n - 1 - index, 3)}",
        f"C={words[index].capital}",
        "bias",
    ]
    around = [*words[max(0, index - _FAR) : index], *words[index + 1 : index + 1 + _FAR]]
    return features + [f"d={word.text}" for word in around if len(word.text) > 3]


def class_features(words: Sequence[Spoken], index: int, classes: Sequence[int], prefix: str) -> list[str]:
    """Return the features from the classes of the words around words[index].

    classes: of each word, 0 for one that has none (its ending stands in)
    """
    n = len(words)
    near = {}
    for offset in range(-_CLASSED, _CLASSED + 1):
        at = index + offset
        if 0 <= at < n:
            near[offset] = str(classes[at]) if classes[at] else f"?{words[at].text[-2:]}"
        else:
            near[offset] = _BEGIN if at < 0 else _END
    features = [f"{prefix}{offset}={near[offset]}" for offset in near if offset]
    return [
        *features,
        f"{prefix}a={near[-1]} {near[1]}",
        f"{prefix}b={near[-2]} {near[-1]}",
        f"{prefix}c={near[1]} {near[2]}",
        f"{prefix}d={near[-2]} {near[-1]} {near[1]}",
        f"{prefix}e={near[-1]} {near[1]} {near[2]}",
    ]


def indices_of(
    words: Sequence[Spoken], index: int, config: HomographConfig, classes_C: Array, coarse_K: Array
) -> Indices:
    """Return the table entries for words[index], which is one of config.words.

    classes_C, coarse_K: the tables of those names, see `HomographNetwork.expected_shapes`
    """
    word = words[index].text
    first = max(0, index - _CLASSED)
    near = words[first : index + _CLASSED + 1]
    fine = [int(classes_C[class_of(spoken.text, config.class_bits)]) for spoken in near]
    features = word_features(words, index)
    features += class_features(near, index - first, fine, "k")
    features += class_features(near, index - first, [int(coarse_K[number]) for number in fine], "K")
    hashes_X = np.array([zlib.crc32(feature.encode()) for feature in features], np.uint32)
    own_RX = np.stack(
        [
            (hashes_X ^ np.uint32(zlib.crc32(f"{word} {reading}".encode()))) * _SPREAD
            >> np.uint32(32 - config.own_bits)
            for reading in range(1, len(config.words[word]))
        ]
    )
    shared_X = hashes_X * _SPREAD >> np.uint32(32 - config.shared_bits) if word in config.shared else hashes_X[:0]
    return Indices(shared_X.astype(np.int64), own_RX.astype(np.int64))


class HomographNetwork:
    """Choose between the readings of the homographs it knows."""

    def __init__(self, tensors: Mapping[str, Array], config: HomographConfig) -> None:
        """Check and keep the tables, float32 arrays as `expected_shapes` says; raises VoiceError for wrong ones."""
        for name, shape in self.expected_shapes(config).items():
            if name not in tensors or tensors[name].shape != shape:
                found = tensors[name].shape if name in tensors else "missing"
                raise VoiceError(
                    f"tensor {name!r} of the homographs is {found}; expected {shape}: pack the voice again"
                )
        for name, most in (("classes", config.classes), ("coarse", config.coarse)):
            if not ((tensors[name] >= 0) & (tensors[name] <= most)).all():
                raise VoiceError(f"tensor {name!r} of the homographs holds no classes from 0 to {most}; pack it again")
        self._config = config
        self._shared, self._own = tensors["shared"], tensors["own"]
        self._classes, self._coarse = tensors["classes"], tensors["coarse"]
        self._readings = {word: [_chosen(reading) for reading in entry] for word, entry in config.words.items()}

    @staticmethod
    def expected_shapes(config: HomographConfig) -> dict[str, tuple[int, ...]]:
        """Return the name and shape of every tensor.

        shared, own: weights of the features; classes: the class of a word, 0 for none; coarse: the class of a class
        """
        return {
            "shared": (1 << config.shared_bits,),
            "own": (1 << config.own_bits,),
            "classes": (1 << config.class_bits,),
            "coarse": (config.classes + 1,),
        }

    def __contains__(self, word: object) -> bool:
        return word in self._readings

    def scores(self, words: Sequence[Spoken], index: int) -> Array:
        """Return a score for each reading of words[index], float32 [readings]; differences are log odds."""
        found = indices_of(words, index, self._config, self._classes, self._coarse)
        scores_R = np.zeros(len(found.own) + 1, np.float32)
        scores_R[1:] = self._own[found.own].sum(1)
        scores_R[1] += self._shared[found.shared].sum()
        return scores_R

    def __call__(self, words: Sequence[Spoken], index: int) -> Chosen:
        """Return the reading of words[index], which must be in the network; pauses are among the words.

        Where grammar leaves one reading only that is taken, whatever the scores.
        """
        readings = self._readings[words[index].text]
        sure = certain(words, index)
        for reading in readings if sure else ():
            if reading.reading == sure:
                return reading
        return readings[int(self.scores(words, index).argmax())]


def _chosen(reading: str) -> Chosen:
    name, *phones = reading.split(" ")
    return Chosen(name, tuple(phones))
