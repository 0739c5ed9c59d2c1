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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment import Aligner
from deepvoice.recipes.common.features import read_manifest
from deepvoice.recipes.segmentation.trials import LEAST_WORDS, WRONG, Trials, fitted, run_trials
from deepvoice.recipes.segmentation.worst import agreement, write_worst

FloatArray = NDArray[np.float64]


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
        print(fitted(trials, ids[::2], rule))
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
