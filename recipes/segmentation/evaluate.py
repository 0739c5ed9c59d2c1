"""Score alignments against the teacher's own durations, or against another aligner's.

    python -m deepvoice.recipes.segmentation.evaluate MANIFEST [--alignments FILE] [--beside NAME=FILE ...]
        [--rows held_out] [--reference FILE] [--json FILE]

Needs truth/truth.jsonl beside the manifest (`python -m deepvoice.recipes.corpora.truth`), except with `--reference`:
then the boundaries of that file stand in its place. The table shows the share of boundaries within 10, 20, 25 and 50 ms
and the median error, raw and after removing one common offset, of every aligner and of a proportional baseline (the
sound between the first and the last phone divided evenly). The teacher has no symbol for the silence of a pause: it is
part of the phone before it. So there is a second row for all boundaries in which that silence is cut off the truth, by
one rule for all aligners (`truth_cuts`).
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.recipes.common.data import read_alignments
from deepvoice.recipes.corpora.truth import read_truth
from deepvoice.recipes.segmentation.corpus import FRAME_MS, Corpus, IntArray, Utterance, chosen_rows, open_corpus
from deepvoice.recipes.segmentation.pauses import PauseRule, longest_run, silent_frames
from deepvoice.text.phones import NUM_SILENCES

LIMITS_MS = (10, 20, 25, 50)
KINDS = ("between phones", "from silence to a phone", "from a phone to silence")
TEACHER_LAG_MS = 50.0  # its durations lag its own sound by this much: where to look for the silence of a pause
LEAST_SILENCE = 4  # frames of 5 ms
FloatArray = NDArray[np.float64]


class Scored(NamedTuple):
    """Boundaries of one aligner: error against the truth as it is, against the cut truth, and kind; each [N]."""

    errors_N: FloatArray
    cut_errors_N: FloatArray
    kinds_N: NDArray[np.str_]


def proportional(utterance: Utterance, lead: int, tail: int) -> IntArray:
    """Divide the sound between the opening and the closing silence evenly among the symbols, int64 [P].

    lead, tail: frames of silence at the beginning and the end
    """
    inner = len(utterance.bases_P) - 2
    cuts = np.rint(np.linspace(lead, utterance.frames - tail, inner + 1)).astype(np.int64)
    return np.diff(np.concatenate([[0], cuts, [utterance.frames]]))


def truth_cuts(truth_P: Sequence[float], bases_P: IntArray, energy_F: NDArray[np.float32]) -> FloatArray:
    """Return the true boundaries in ms, float64 [P - 1], with the silence of pauses cut off the phone before them.

    truth_P: the teacher's durations in ms; energy_F: log power of frames of 5 ms
    Where a phone is followed by a silence symbol, the silence begins where the longest run of silent frames begins
    (45 dB below the loud ones: the rule by which `pauses` finds unmarked pauses), from the start of the phone to the
    start of the phone after it. A boundary without such a run of 20 ms stays.
    """
    cuts = np.cumsum(truth_P)
    edges_ms = np.concatenate([[0.0], cuts])
    silent_F = silent_frames(energy_F, PauseRule().depth)
    for i in np.flatnonzero((bases_P[:-1] >= NUM_SILENCES) & (bases_P[1:] < NUM_SILENCES)):
        start, stop = (int(max(0.0, edges_ms[k] - TEACHER_LAG_MS) / FRAME_MS) for k in (i, i + 2))
        if i + 2 == len(bases_P):
            stop = len(silent_F)
        first, last = longest_run(silent_F[start:stop])
        if last - first >= LEAST_SILENCE:
            cuts[i] = min(cuts[i], (start + first) * FRAME_MS + TEACHER_LAG_MS)
    return cuts[:-1]


def boundaries_ms(durations_P: Sequence[float] | IntArray) -> FloatArray:
    """Return the boundaries between symbols in ms, float64 [P - 1], from frames of 5 ms."""
    return np.cumsum(durations_P)[:-1] * FRAME_MS


def figures(errors: FloatArray) -> dict[str, float]:
    """Percent within each limit, and the median size, in ms."""
    size = np.abs(errors)
    shares = {f"within_{limit}_ms": 100 * float(np.mean(size <= limit + 1e-6)) for limit in LIMITS_MS}
    return {**shares, "median_ms": float(np.median(size)), "boundaries": len(size)}


def describe(errors: FloatArray) -> str:
    """Write the figures of one set of errors."""
    numbers = figures(errors)
    return "  ".join(f"{numbers[f'within_{limit}_ms']:5.1f}" for limit in LIMITS_MS) + f"  {numbers['median_ms']:6.1f}"


def kinds_of(bases_P: IntArray) -> NDArray[np.str_]:
    """Return the kind of each boundary, [P - 1]."""
    silent = bases_P < NUM_SILENCES
    kinds = np.full(len(bases_P) - 1, KINDS[0], dtype="U32")
    kinds[silent[:-1]] = KINDS[1]
    kinds[silent[1:]] = KINDS[2]
    return kinds


def common_offset(scored: Scored) -> float:
    """The median error between phones: what is removed from all boundaries of an aligner."""
    return float(np.median(scored.errors_N[scored.kinds_N == KINDS[0]]))


def rows_of(name: str, scored: Scored) -> dict[str, FloatArray]:
    """Return the errors of each row of the table by its title."""
    offset, errors, kinds = common_offset(scored), scored.errors_N, scored.kinds_N
    rows = {f"{name}, raw": errors, f"{name}, less {offset:+.1f} ms": errors - offset}
    if not np.array_equal(scored.cut_errors_N, errors):
        rows["  all, pauses cut off the truth"] = scored.cut_errors_N - offset
    rows |= {f"  {kind}": errors[kinds == kind] - offset for kind in KINDS if (kinds == kind).any()}
    ends = kinds == KINDS[2]
    if not np.array_equal(scored.cut_errors_N, errors):
        rows[f"  {KINDS[2]}, cut"] = scored.cut_errors_N[ends] - offset
    return rows


def table(scored: dict[str, Scored]) -> str:
    """Format the errors of every aligner; the common offset is its median between phones."""
    lines = [f"{'':36}" + "  ".join(f"<={limit:2} " for limit in LIMITS_MS) + "  median ms"]
    for name, one in scored.items():
        lines += [f"{title:36}{describe(errors)}" for title, errors in rows_of(name, one).items()]
    return "\n".join(lines)


class Judge:
    """Knows the true boundaries of some utterances, and scores aligners of them."""

    def __init__(self, corpus: Corpus, utterances: Sequence[Utterance], truth_ms: dict[str, Sequence[float]]) -> None:
        """truth_ms: true durations in ms by id."""
        self._true = {
            u.id: (
                np.cumsum(truth_ms[u.id])[:-1],
                truth_cuts(truth_ms[u.id], u.bases_P, corpus.cache[u.id].energy_F),
            )
            for u in utterances
        }
        self.utterances = utterances

    def score(self, durations: dict[str, Any]) -> Scored:
        """Score the alignments (frames of 5 ms by id) of those utterances that have one."""
        errors, cut_errors, kinds = [], [], []
        for utterance in self.utterances:
            if utterance.id in durations:
                ours, (true, cut) = boundaries_ms(durations[utterance.id]), self._true[utterance.id]
                errors.append(ours - true)
                cut_errors.append(ours - cut)
                kinds.append(kinds_of(utterance.bases_P))
        return Scored(np.concatenate(errors), np.concatenate(cut_errors), np.concatenate(kinds))


def _named(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE, such as pocketsphinx=pocketsphinx.jsonl")
    return name, Path(path)


def _arguments(argv: Sequence[str] | None) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(description="Score alignments against the teacher's durations.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--alignments", type=Path, default=None, help="default: alignments.jsonl beside the manifest")
    parser.add_argument("--rows", choices=("dev", "test", "held_out", "all"), default="held_out")
    parser.add_argument(
        "--beside", type=_named, nargs="*", default=[], metavar="NAME=FILE", help="further aligners in the table"
    )
    parser.add_argument("--reference", type=Path, metavar="FILE", help="alignments to take as the truth")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    return parser, parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser, arguments = _arguments(argv)
    if arguments.reference:
        frames = read_alignments(arguments.reference)
        truth = {name: [FRAME_MS * frame for frame in row] for name, row in frames.items()}
    else:
        truth = {name: row["durations_ms"] for name, row in read_truth(arguments.manifest).items()}
    if not truth:
        parser.error(f"no truth beside {arguments.manifest}; run python -m deepvoice.recipes.corpora.truth first")
    aligned = read_alignments(arguments.alignments or arguments.manifest.parent / "alignments.jsonl")
    corpus = open_corpus(arguments.manifest)
    chosen = [u for u in corpus.utterances(chosen_rows(corpus, arguments.rows)) if u.id in truth and u.id in aligned]
    even = {u.id: proportional(u, aligned[u.id][0], aligned[u.id][-1]) for u in chosen}
    judge = Judge(corpus, chosen, truth)
    scored = {"segmentation": judge.score(aligned), "proportional": judge.score(even)}
    for name, path in arguments.beside:
        durations = read_alignments(path)
        print(f"{name}: {sum(u.id in durations for u in chosen)} of {len(chosen)} utterances")
        scored[name] = judge.score(durations)
    print(f"{len(chosen)} utterances, {len(scored['segmentation'].errors_N)} boundaries")
    print(table(scored))
    if arguments.json:
        values = {name: {title.strip(): figures(errors) for title, errors in rows_of(name, one).items()}
                  for name, one in scored.items()}  # fmt: skip
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
