"""List where our front end and the teacher's own reading of a text differ most often.

    python -m deepvoice.recipes.corpora.compare_front_end PROMPTS.tsv [--sentences 500]

PROMPTS.tsv has an id and a text a line. Words that our lexicon does not have are left out: their reading is the
grapheme-to-phoneme model's. Differences that are only notation (a syllabic schwa, a flapped t) are folded first.
"""

import argparse
import difflib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hibari import Hibari

from deepvoice.errors import TextError
from deepvoice.recipes.corpora.misaki import to_misaki
from deepvoice.text.frontend import FrontEnd, Sentence
from deepvoice.text.lexicon import Lexicon

# Notation, not sound: the teacher writes ᵊ before any sonorant, ᵻ for a weak i, and its own flap and offglides.
_FOLDED = str.maketrans({"ᵊ": "ə", "ᵻ": "ɪ", "T": "t", "ɾ": "t", "ɐ": "ə"})
_STRESS = re.compile("[ˈˌ]")


def _placeholder(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [("AH0",) for _ in words]  # unknown words are left out of the comparison


def _ours(sentence: Sentence) -> list[tuple[str, str, str]]:
    """Return (word, phonemes in the teacher's notation, source) of each word."""
    symbols, word_of = sentence.sequence.symbols, sentence.sequence.word_of
    text, owner = to_misaki(symbols, word_of)
    phonemes = [""] * len(sentence.words)
    for char, index in zip(text, owner, strict=True):
        if index >= 0 and word_of[index] >= 0:
            phonemes[word_of[index]] += char
    return [(w.text, p, w.source) for w, p in zip(sentence.words, phonemes, strict=True)]


def _fold(phonemes: str) -> str:
    return phonemes.translate(_FOLDED)


def compare(texts: list[str]) -> tuple[Counter[tuple[str, str, str]], Counter[str]]:
    """Return counts of (word, ours, teacher's) differences, and totals of words by kind of agreement."""
    front_end, teacher = FrontEnd(Lexicon(), _placeholder), Hibari()
    differences: Counter[tuple[str, str, str]] = Counter()
    totals: Counter[str] = Counter()
    for text in texts:
        try:
            ours = [word for sentence in front_end.analyse(text).sentences for word in _ours(sentence)]
        except TextError:
            continue
        theirs = re.sub(r"[.,;:!?—…“”\"()]", "", " ".join(teacher.phonemize(text))).split()
        mine = [_fold(p) for _, p, _ in ours]
        folded = [_fold(p) for p in theirs]
        plain = [[_STRESS.sub("", p) for p in side] for side in (mine, folded)]
        matcher = difflib.SequenceMatcher(None, plain[0], plain[1], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if b - a != d - c:
                totals["not aligned"] += b - a
                if tag != "insert":
                    differences[" ".join(w for w, _, _ in ours[a:b]), " ".join(mine[a:b]), " ".join(folded[c:d])] += 1
                continue
            for i, j in zip(range(a, b), range(c, d), strict=True):
                word, _, source = ours[i]
                if source == "g2p":
                    totals["unknown to the lexicon"] += 1
                elif mine[i] == folded[j]:
                    totals["equal"] += 1
                else:
                    stress = _STRESS.sub("", mine[i]) == _STRESS.sub("", folded[j])
                    totals["stress only" if stress else "phones"] += 1
                    differences[word, mine[i], folded[j]] += 1
    return differences, totals


def main() -> None:
    """Print the totals and the commonest differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--show", type=int, default=40)
    arguments = parser.parse_args()
    rows = [line.split("\t")[1] for line in arguments.prompts.read_text("utf-8").splitlines() if "\t" in line]
    step = max(1, len(rows) // arguments.sentences)
    differences, totals = compare(rows[::step][: arguments.sentences])
    words = sum(totals.values())
    for kind, count in totals.most_common():
        print(f"{count:6d} {100 * count / words:5.1f} % {kind}")
    for (word, ours, theirs), count in differences.most_common(arguments.show):
        print(f"{count:4d}  {word:16s} {ours:16s} {theirs}")


if __name__ == "__main__":
    main()
