"""Score alignments against the teacher's own durations.

    python -m deepvoice.recipes.segmentation.evaluate MANIFEST [--alignments FILE] [--rows test] [--pocketsphinx]

Needs truth/truth.jsonl beside the manifest (`python -m deepvoice.recipes.corpora.truth`). The table shows the share of
boundaries within 10, 20, 25 and 50 ms and the median error, raw and after removing one common offset, beside a
proportional baseline (the sound between the first and the last phone divided evenly). The teacher counts the silence of
a pause as part of the phone before it, so the boundaries from a phone to silence tell of its habit, not of ours.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.recipes.common.data import read_alignments
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.corpora.truth import read_truth
from deepvoice.recipes.segmentation.corpus import IntArray, Utterance, open_corpus
from deepvoice.text.phones import NUM_SILENCES

FRAME_MS = 5.0
LIMITS_MS = (10, 20, 25, 50)
KINDS = ("between phones", "from silence to a phone", "from a phone to silence")
FloatArray = NDArray[np.float64]


def proportional(utterance: Utterance, lead: int, tail: int) -> IntArray:
    """Divide the sound between the opening and the closing silence evenly among the symbols, int64 [P].

    lead, tail: frames of silence at the beginning and the end
    """
    inner = len(utterance.bases_P) - 2
    cuts = np.rint(np.linspace(lead, utterance.frames - tail, inner + 1)).astype(np.int64)
    return np.diff(np.concatenate([[0], cuts, [utterance.frames]]))


def errors_ms(durations_P: Sequence[float] | FloatArray, truth_P: Sequence[float]) -> FloatArray:
    """Return a boundary minus the teacher's, in ms, for the P - 1 boundaries; durations_P in frames of 5 ms."""
    return np.cumsum(durations_P)[:-1] * FRAME_MS - np.cumsum(truth_P)[:-1]


def describe(errors: FloatArray) -> str:
    """Write the figures of one set of errors."""
    size = np.abs(errors)
    shares = "  ".join(f"{100 * np.mean(size <= limit + 1e-6):5.1f}" for limit in LIMITS_MS)
    return f"{shares}  {np.median(size):6.1f}"


def kinds_of(bases_P: IntArray) -> NDArray[np.str_]:
    """Return the kind of each boundary, [P - 1]."""
    silent = bases_P < NUM_SILENCES
    kinds = np.full(len(bases_P) - 1, KINDS[0], dtype="U32")
    kinds[silent[:-1]] = KINDS[1]
    kinds[silent[1:]] = KINDS[2]
    return kinds


def table(rows: dict[str, tuple[FloatArray, NDArray[np.str_]]]) -> str:
    """Format errors and kinds of boundaries by name; the common offset is the median between phones."""
    lines = [f"{'':34}" + "  ".join(f"<={limit:2} " for limit in LIMITS_MS) + "  median ms"]
    for name, (errors, kinds) in rows.items():
        offset = float(np.median(errors[kinds == KINDS[0]]))
        lines.append(f"{name + ', raw':34}{describe(errors)}")
        lines.append(f"{f'{name}, less {offset:+.1f} ms':34}{describe(errors - offset)}")
        lines += [
            f"{'  ' + kind:34}{describe(errors[kinds == kind] - offset)}" for kind in KINDS if (kinds == kind).any()
        ]
    return "\n".join(lines)


def with_pocketsphinx(
    manifest: Path, utterances: Sequence[Utterance], rows: Sequence[dict[str, Any]], truth: dict[str, dict[str, Any]]
) -> tuple[FloatArray, NDArray[np.str_]]:
    """Return the errors of PocketSphinx's alignments and their kinds, without utterances that it cannot align."""
    from deepvoice.recipes.segmentation.pocketsphinx_baseline import PocketSphinxAligner

    aligner, by_id, errors, kinds = PocketSphinxAligner(), {row["id"]: row for row in rows}, [], []
    for utterance in progress(utterances, "pocketsphinx"):
        row = by_id[utterance.id]
        durations_ms = aligner(manifest.parent / row["audio"], row["phones"].split(), row["word_of"])
        if durations_ms is not None:
            errors.append(errors_ms(durations_ms / FRAME_MS, truth[utterance.id]["durations_ms"]))
            kinds.append(kinds_of(utterance.bases_P))
    print(f"pocketsphinx aligned {len(errors)} of {len(utterances)} utterances")
    return np.concatenate(errors), np.concatenate(kinds)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Score alignments against the teacher's durations.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--alignments", type=Path, default=None, help="default: alignments.jsonl beside the manifest")
    parser.add_argument("--rows", choices=("dev", "test"), default="test")
    parser.add_argument(
        "--pocketsphinx", action="store_true", help="score PocketSphinx beside it (pip install pocketsphinx)"
    )
    arguments = parser.parse_args(argv)
    truth = read_truth(arguments.manifest)
    if not truth:
        parser.error(f"no truth beside {arguments.manifest}; run python -m deepvoice.recipes.corpora.truth first")
    aligned = read_alignments(arguments.alignments or arguments.manifest.parent / "alignments.jsonl")
    corpus = open_corpus(arguments.manifest)
    rows = getattr(corpus.rows, arguments.rows)
    chosen = [u for u in corpus.utterances(rows) if u.id in truth and u.id in aligned]
    kinds = np.concatenate([kinds_of(u.bases_P) for u in chosen])
    ours = [errors_ms(aligned[u.id], truth[u.id]["durations_ms"]) for u in chosen]
    even = [
        errors_ms(proportional(u, aligned[u.id][0], aligned[u.id][-1]).tolist(), truth[u.id]["durations_ms"])
        for u in chosen
    ]
    print(f"{len(chosen)} utterances, {len(kinds)} boundaries")
    scored = {"segmentation": (np.concatenate(ours), kinds), "proportional": (np.concatenate(even), kinds)}
    if arguments.pocketsphinx:
        scored["pocketsphinx"] = with_pocketsphinx(arguments.manifest, chosen, rows, truth)
    print(table(scored))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
