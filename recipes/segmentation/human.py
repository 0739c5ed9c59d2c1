"""How well the aligner does on real speech, for which there is no truth.

    python -m deepvoice.recipes.segmentation.human MANIFEST [--model VOICE] [--out DIR] [--fit] [--pocketsphinx]

Each recording of a corpus is aligned three times: with its own text; with the text of another recording, of at least
three words and a similar length (as if transcripts had been swapped); with one word of its text replaced. The table
says how many are accepted, how far the boundaries agree with PocketSphinx's, and how often the wrong texts and words
are found, as precision and recall where a tenth of the texts is wrong. Every second recording is for choosing (`--fit`
prints the weights of `deepvoice.alignment.confidence` that suit them); the figures are those of the others.

Writes into DIR: worst.tsv and worst-NN.png, the ten recordings whose own text fits worst.
"""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment import Aligner, Alignment
from deepvoice.alignment.scores import SPEC, Sound, analyse
from deepvoice.audio.reading import open_recording
from deepvoice.audio.resample import resample
from deepvoice.errors import AudioError, TextError
from deepvoice.recipes.common.features import read_manifest
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.segmentation.worst import agreement, write_worst

LEAST_WORDS = 3  # of a text that is swapped
WRONG = 0.1  # share of wrong texts for which precision is reported
_SIMILAR = 0.5  # of the length, that the other recording's may differ by
_LEAST_LETTERS = 4  # of a word that is put in place of another
FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class Trials:
    """Alignments with the right text, a swapped one, and one with a wrong word (its index in the alignment)."""

    right: dict[str, Alignment] = field(default_factory=dict)
    swapped: dict[str, Alignment | None] = field(default_factory=dict)
    replaced: dict[str, tuple[Alignment, int]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def run_trials(aligner: Aligner, rows: Sequence[dict[str, Any]], folder: Path, seed: int = 0) -> Trials:
    """Align every recording three times."""
    trials, chance = Trials(), random.Random(seed)
    vocabulary = sorted({word for row in rows for word in _plain(row["text"]) if len(word) >= _LEAST_LETTERS})
    for row in progress(rows, "trials"):
        with open_recording(folder / row["audio"]) as (rate, pieces):
            samples = np.concatenate(list(pieces))
        sound = analyse(resample(samples, rate, SPEC.sample_rate))
        try:
            trials.right[row["id"]] = aligner.align_sound(sound, aligner.transcript(row["text"]))
        except (AudioError, TextError) as error:
            trials.failed[row["id"]] = str(error)
            continue
        others = [other["text"] for other in rows if _may_swap(row, other)]
        if others:
            trials.swapped[row["id"]] = _align(aligner, sound, chance.choice(others))
        changed = _replace_word(row["text"], vocabulary, chance)
        alignment = _align(aligner, sound, changed[0]) if changed else None
        if changed and alignment is not None:
            index = [w.text for w in alignment.words].index(changed[1]) if changed[1] in _texts(alignment) else -1
            if index >= 0:
                trials.replaced[row["id"]] = (alignment, index)
    return trials


def _align(aligner: Aligner, sound: Sound, text: str) -> Alignment | None:
    """Align, or return None where the recording is too short for the text: then it is found to be wrong."""
    try:
        return aligner.align_sound(sound, aligner.transcript(text))
    except AudioError:
        return None


def _texts(alignment: Alignment) -> list[str]:
    return [word.text for word in alignment.words]


def _plain(text: str) -> list[str]:
    return [word.strip(".,?!;:\"'").lower() for word in text.split()]


def _may_swap(row: dict[str, Any], other: dict[str, Any]) -> bool:
    similar = abs(other["seconds"] - row["seconds"]) <= _SIMILAR * row["seconds"]
    long = min(len(row["text"].split()), len(other["text"].split())) >= LEAST_WORDS
    return similar and long and _plain(row["text"]) != _plain(other["text"])


def _replace_word(text: str, vocabulary: Sequence[str], chance: random.Random) -> tuple[str, str] | None:
    """Replace one word of a text by one that is not in it; returns the text and the new word."""
    words = text.split()
    index, new = chance.randrange(len(words)), chance.choice(vocabulary)
    if new in _plain(text) or not new.isalpha():
        return None
    return " ".join([*words[:index], new, *words[index + 1 :]]), new


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """How well wrong ones are found: share of them, and share of wrong ones among those refused."""

    wrong: int
    right: int
    recall: float
    false: float  # share of right ones refused

    @property
    def precision(self) -> float:
        """Where a tenth is wrong."""
        found = WRONG * self.recall
        return found / max(found + (1 - WRONG) * self.false, 1e-9)

    def __str__(self) -> str:
        return (
            f"recall {100 * self.recall:.1f} % of {self.wrong}, {100 * self.false:.2f} % of {self.right} right ones "
            f"refused: precision {100 * self.precision:.1f} % where {100 * WRONG:.0f} % are wrong"
        )


def detect_swapped(trials: Trials, limit: float, ids: Sequence[str]) -> Detection:
    """Refuse what is less likely than a limit; only texts of LEAST_WORDS words count."""
    right = [a.confidence for name in ids if len((a := trials.right[name]).text.split()) >= LEAST_WORDS]
    wrong = [a.confidence if a else 0.0 for name in ids if name in trials.swapped for a in [trials.swapped[name]]]
    return _detection(np.array(right), np.array(wrong), limit)


def detect_words(trials: Trials, limit: float, ids: Sequence[str]) -> Detection:
    """Say of each word whether it was read."""
    right = [word.confidence for name in ids for word in trials.right[name].words]
    wrong = [
        a.words[index].confidence for name in ids if name in trials.replaced for a, index in [trials.replaced[name]]
    ]
    return _detection(np.array(right), np.array(wrong), limit)


def _detection(right: FloatArray, wrong: FloatArray, limit: float) -> Detection:
    return Detection(
        wrong=len(wrong), right=len(right), recall=float(np.mean(wrong < limit)), false=float(np.mean(right < limit))
    )


def logistic(features_NX: FloatArray, right_N: NDArray[np.bool_], prior: float = WRONG) -> FloatArray:
    """Fit a logistic regression with Newton's method and a little shrinkage; [1 + X] weights, the first of 1.

    prior: share of wrong ones that the weights shall mean, whatever it is in the data
    """
    x_NX = np.column_stack([np.ones(len(features_NX)), features_NX])
    weight_N = np.where(right_N, (1 - prior) / right_N.mean(), prior / (1 - right_N.mean()))
    w_X = np.zeros(x_NX.shape[1])
    for _ in range(50):
        p_N = 1 / (1 + np.exp(-np.clip(x_NX @ w_X, -30, 30)))
        gradient = x_NX.T @ (weight_N * (right_N - p_N)) - 1e-2 * w_X
        curvature = (x_NX * (weight_N * p_N * (1 - p_N))[:, None]).T @ x_NX + 1e-2 * np.eye(len(w_X))
        w_X = w_X + np.linalg.solve(curvature, gradient)
    return w_X


def fit(trials: Trials, ids: Sequence[str]) -> Iterator[str]:
    """Yield the weights of `ConfidenceRule` that suit these recordings."""
    right = [a.fit for name in ids if len((a := trials.right[name]).text.split()) >= LEAST_WORDS]
    wrong = [a.fit for name in ids if (a := trials.swapped.get(name))]
    both = np.array([*right, *wrong], np.float64)
    weights = logistic(both, np.arange(len(both)) < len(right))
    yield f"utterance: {tuple(round(float(w), 2) for w in weights)}"
    words = [w for name in ids for w in trials.right[name].words]
    replaced = [a.words[i] for name in ids if name in trials.replaced for a, i in [trials.replaced[name]]]
    skipped = [sum(w.phones[1] - w.phones[0] == 1 and not w.read for w in group) for group in (words, replaced)]
    share = (1 - WRONG) * skipped[0] / len(words)
    yield f"skipped: {share / (share + WRONG * skipped[1] / len(replaced)):.3f}"
    kept = [[w.fit for w in group if w.phones[1] - w.phones[0] > 1 or w.read] for group in (words, replaced)]
    both = np.array([*kept[0], *kept[1]], np.float64)
    yield f"word: {tuple(round(float(w), 2) for w in logistic(both, np.arange(len(both)) < len(kept[0])))}"


def report(trials: Trials, rule: Any, ids: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the table."""
    low = [
        n
        for n in ids
        if (a := trials.right[n]).confidence < rule.utterance_limit and len(a.text.split()) >= LEAST_WORDS
    ]
    yield f"with their own text refused, of {LEAST_WORDS} words or more: {', '.join(low) or 'none'}"
    accepted = [trials.right[name].accepted for name in ids]
    yield f"{len(ids)} recordings; accepted with their own text: {100 * float(np.mean(accepted)):.1f} %"
    yield f"swapped texts: {detect_swapped(trials, rule.utterance_limit, ids)}"
    yield f"replaced words: {detect_words(trials, rule.word_limit, ids)}"
    refused = [not a.accepted for name in ids if name in trials.replaced for a, _ in [trials.replaced[name]]]
    yield f"recordings with one replaced word that are not accepted: {100 * float(np.mean(refused)):.1f} %"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Try the aligner on real speech.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--model", default=None, metavar="VOICE", help="a voice, or a folder that --adapt has written")
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help="pictures of the ten worst")
    parser.add_argument("--fit", action="store_true", help="print the weights that suit every second recording")
    parser.add_argument(
        "--wrong", nargs="*", default=[], metavar="ID", help="recordings whose own text is known to be wrong: left out"
    )
    parser.add_argument("--pocketsphinx", action="store_true", help="compare the boundaries with PocketSphinx's")
    arguments = parser.parse_args(argv)
    rows = read_manifest(arguments.manifest)
    aligner = Aligner.load(arguments.model)
    trials = run_trials(aligner, rows, arguments.manifest.parent)
    for name, reason in trials.failed.items():
        print(f"{name}: {reason}")
    ids, rule = list(trials.right), aligner.settings.confidence
    told = [name for name in ids if name not in arguments.wrong]
    for title, chosen in (("every second one, not fitted to", ids[1::2]), ("all", ids)):
        print(f"{title}:")
        print("\n".join(f"  {line}" for line in report(trials, rule, [n for n in chosen if n in told])))
    if arguments.fit:
        print("\n".join(fit(trials, ids[::2])))
    if arguments.pocketsphinx:
        print("\n".join(agreement(trials.right, rows, arguments.manifest.parent)))
    if arguments.out is not None:
        write_worst(aligner, trials.right, rows, arguments.manifest.parent, arguments.out)
        (arguments.out / "confidences.json").write_text(
            json.dumps({name: round(a.confidence, 4) for name, a in trials.right.items()}, indent=0)
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
