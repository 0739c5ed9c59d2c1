"""Score alignments against the teacher's own durations, or against another aligner's.

    python -m deepvoice.recipes.segmentation.evaluate MANIFEST [--alignments FILE] [--beside NAME=FILE ...]
        [--rows held_out] [--reference FILE] [--json FILE]

Needs truth/truth.jsonl beside the manifest (`python -m deepvoice.recipes.corpora.truth`), except with `--reference`:
then the boundaries of that file stand in its place. The table shows the share of boundaries within 10, 20, 25 and 50 ms
and the median error, raw and after removing one common offset, of every aligner and of a proportional baseline (the
sound between the first and the last phone divided evenly). The teacher has no symbol for the silence of a pause: it is
part of the phone before it. So there is a second row for all boundaries in which that silence is cut off the truth, by
one rule for all aligners (`truth_spans`).
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
from deepvoice.recipes.segmentation.silence import longest_run, silent_frames
from deepvoice.text.phones import NUM_SILENCES

LIMITS_MS = (10, 20, 25, 50)
KINDS = ("between phones", "from silence to a phone", "from a phone to silence")
TEACHER_LAG_MS = 50.0  # its durations lag its own sound by this much: where to look for the silence of a pause
PAUSE_DEPTH = 40.0  # decibels below the loud frames; the teacher's pauses hold noise 42 to 50 below them
LEAST_SILENCE = 4  # frames of 5 ms of silence at a marked pause
UNMARKED = 20  # frames of silence that make a pause between words without a mark
FloatArray = NDArray[np.float64]


class Scored(NamedTuple):
    """Boundaries of one aligner: error against the truth as it is, against that without pauses, and kind; each [N]."""

    errors_N: FloatArray
    spoken_errors_N: FloatArray
    kinds_N: NDArray[np.str_]


def proportional(utterance: Utterance, lead: int, tail: int) -> IntArray:
    """Divide the sound between the opening and the closing silence evenly among the symbols, int64 [P].

    lead, tail: frames of silence at the beginning and the end
    """
    inner = len(utterance.bases_P) - 2
    cuts = np.rint(np.linspace(lead, utterance.frames - tail, inner + 1)).astype(np.int64)
    return np.diff(np.concatenate([[0], cuts, [utterance.frames]]))


def truth_spans(
    truth_P: Sequence[float], bases_P: IntArray, word_of: Sequence[int], energy_F: NDArray[np.float32]
) -> tuple[FloatArray, FloatArray]:
    """Return where each boundary truly lies, from and to, in ms, float64 [P - 1], with pauses taken out of the phones.

    truth_P: the teacher's durations in ms; word_of: word of each symbol; energy_F: log power of frames of 5 ms
    The teacher counts the silence of a pause as part of the phone before it, whether the pause is marked or not. Silent
    are frames 40 dB below the loud ones. Where a phone is followed by a silence symbol, that begins with the longest
    silent run between the start of the phone and the start of the next one. Where two words meet without a mark and a
    silent run of 100 ms lies in their two phones, the boundary may be anywhere in it. All else stays as it is.
    """
    cuts = np.cumsum(truth_P)
    edges_ms = np.concatenate([[0.0], cuts])
    low_P, high_P = cuts[:-1].copy(), cuts[:-1].copy()
    silent_F = silent_frames(energy_F, PAUSE_DEPTH)
    phone_P = bases_P >= NUM_SILENCES
    for i in np.flatnonzero(phone_P[:-1]):
        start, stop = (int(max(0.0, edges_ms[k] - TEACHER_LAG_MS) / FRAME_MS) for k in (i, i + 2))
        first, last = longest_run(silent_F[start : len(silent_F) if i + 2 == len(bases_P) else stop])
        begin_ms, end_ms = ((start + frame) * FRAME_MS + TEACHER_LAG_MS for frame in (first, last))
        if not phone_P[i + 1] and last - first >= LEAST_SILENCE:
            low_P[i] = high_P[i] = min(cuts[i], begin_ms)
        elif phone_P[i + 1] and word_of[i] != word_of[i + 1] and last - first >= UNMARKED:
            low_P[i], high_P[i] = begin_ms, end_ms
    return low_P, high_P


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
    if not np.array_equal(scored.spoken_errors_N, errors):
        rows["  all, pauses out of the phones"] = scored.spoken_errors_N - offset
    for kind in KINDS:
        of_kind = kinds == kind
        if of_kind.any():
            rows[f"  {kind}"] = errors[of_kind] - offset
            if not np.array_equal(scored.spoken_errors_N[of_kind], errors[of_kind]):
                rows[f"    {kind}, pauses out"] = scored.spoken_errors_N[of_kind] - offset
    return rows


def table(scored: dict[str, Scored]) -> str:
    """Format the errors of every aligner; the common offset is its median between phones."""
    lines = [f"{'':40}" + "  ".join(f"<={limit:2} " for limit in LIMITS_MS) + "  median ms"]
    for name, one in scored.items():
        lines += [f"{title:40}{describe(errors)}" for title, errors in rows_of(name, one).items()]
    return "\n".join(lines)


class Judge:
    """Knows the true boundaries of some utterances, and scores aligners of them."""

    def __init__(self, utterances: Sequence[Utterance], truth_ms: dict[str, Sequence[float]]) -> None:
        """truth_ms: true durations in ms by id."""
        self.utterances = utterances
        self._true = {u.id: np.cumsum(truth_ms[u.id])[:-1] for u in utterances}
        self._spans = {name: (cuts, cuts) for name, cuts in self._true.items()}

    def take_out_pauses(
        self, corpus: Corpus, rows: Sequence[dict[str, Any]], truth_ms: dict[str, Sequence[float]]
    ) -> None:
        """Score without the silence of pauses as well."""
        word_of = {row["id"]: row["word_of"] for row in rows}
        for u in self.utterances:
            self._spans[u.id] = truth_spans(truth_ms[u.id], u.bases_P, word_of[u.id], corpus.cache[u.id].energy_F)

    def score(self, durations: dict[str, Any]) -> Scored:
        """Score the alignments (frames of 5 ms by id) of those utterances that have one."""
        chosen = [utterance for utterance in self.utterances if utterance.id in durations]
        kinds = np.concatenate([kinds_of(u.bases_P) for u in chosen])
        ours = np.concatenate([boundaries_ms(durations[u.id]) for u in chosen])
        errors = ours - np.concatenate([self._true[u.id] for u in chosen])
        low, high = (np.concatenate([self._spans[u.id][side] for u in chosen]) for side in (0, 1))
        offset = float(np.median(errors[kinds == KINDS[0]]))
        nearest = np.clip(ours - offset, low, high)  # in a span everything is right
        return Scored(errors, ours - nearest, kinds)


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
    rows = chosen_rows(corpus, arguments.rows)
    chosen = [u for u in corpus.utterances(rows) if u.id in truth and u.id in aligned]
    even = {u.id: proportional(u, aligned[u.id][0], aligned[u.id][-1]) for u in chosen}
    judge = Judge(chosen, truth)
    if not arguments.reference:
        judge.take_out_pauses(corpus, rows, truth)
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
