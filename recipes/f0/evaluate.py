"""Score the F0 model on held-out sentences, beside the mean F0 of each phone.

    python -m deepvoice.recipes.f0.evaluate --data DIR --checkpoint FILE [--truth MANIFEST] [--split test]

Durations are the alignments'. Contours come from the speaking half and are compared with the tracked F0 and, where the
manifest of a teacher corpus is given, with the teacher's own. F0 is scored in the frames that the reference voices.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.pulses import interpolate_unvoiced
from deepvoice.config import from_dict
from deepvoice.configs import F0Config
from deepvoice.networks.f0 import F0Network
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import add_truth, markdown_table, scoring_parser
from deepvoice.recipes.common.sentences import Sentence, load
from deepvoice.recipes.corpora.truth import F0_FRAME_MS, read_truth
from deepvoice.voice import load_voice

FRAME_MS = 5.0
HEARD_DB = -30.0  # the teacher's pitch counts as voiced down to this level below the loudest of the sentence
Contour = tuple[NDArray[np.float32], NDArray[np.bool_]]  # F0 in Hz [F], continuous; voiced [F]
Predictor = Callable[[Sentence], Contour]


def phone_means(sentences: Sequence[Sentence]) -> Predictor:
    """Return the trivial model: the mean F0 of each symbol, voiced where most of its frames are."""
    sums: defaultdict[str, NDArray[np.float64]] = defaultdict(lambda: np.zeros(3))  # Hz, voiced frames, frames
    for sentence in sentences:
        edges = np.concatenate([[0], np.cumsum(sentence.durations_P)])
        for symbol, first, last in zip(sentence.sequence.symbols, edges, edges[1:], strict=False):
            f0 = sentence.f0_F[first:last]
            sums[symbol] += (f0.sum(), (f0 > 0).sum(), last - first)
    overall = sum(sums.values(), np.zeros(3))
    overall_hz = overall[0] / max(overall[1], 1.0)

    def predict(sentence: Sentence) -> Contour:
        rows = [sums.get(symbol, overall) for symbol in sentence.sequence.symbols]
        hertz = np.array([hz / voiced if voiced else overall_hz for hz, voiced, _ in rows], np.float32)
        voiced = np.array([voiced > 0.5 * frames for _, voiced, frames in rows])
        return np.repeat(hertz, sentence.durations_P), np.repeat(voiced, sentence.durations_P)

    return predict


def tracked(sentence: Sentence) -> Contour:
    """Return the tracker's own contour, to see how far it is from the teacher's."""
    return interpolate_unvoiced(sentence.f0_F), sentence.f0_F > 0


def teacher_contour(row: Mapping[str, Any], frames: int) -> Contour:
    """Read the teacher's pitch at our frames: interpolated F0, and voicing where its pitch is heard.

    row: of truth.jsonl, one value per 12.5 ms
    """
    f0 = interpolate_unvoiced(np.asarray(row["f0_hz"], np.float32))
    time = (np.arange(frames) + 0.5) * FRAME_MS / F0_FRAME_MS  # middle of our frame, in the teacher's frames
    # Its pitch value k is the middle of its frame k; its spectrum k is centred on the beginning (centred inverse STFT).
    heard = np.interp(time, np.arange(len(f0)), np.asarray(row["heard_db"]))
    return np.interp(time - 0.5, np.arange(len(f0)), f0).astype(np.float32), heard > HEARD_DB


def row(predict: Predictor, sentences: Sequence[Sentence], references: Mapping[str, Contour]) -> dict[str, float]:
    """Return the figures of a model: Hz and cents on the frames that the reference voices, percent of wrong voicing."""
    hertz, cents, wrong, missed = [], [], [], []
    for sentence in sentences:
        if sentence.name not in references:
            continue
        f0_F, voiced_F = predict(sentence)
        reference_F, heard_F = references[sentence.name]
        hertz.append(np.abs(f0_F - reference_F)[heard_F])
        cents.append(1200 * np.abs(np.log2(f0_F / reference_F))[heard_F])
        wrong.append(voiced_F != heard_F)
        missed.append(heard_F & ~voiced_F)
    return {
        "mae_hz": float(np.concatenate(hertz).mean()),
        "median_hz": float(np.median(np.concatenate(hertz))),
        "cents": float(np.concatenate(cents).mean()),
        "voicing_percent": 100 * float(np.concatenate(wrong).mean()),
        "missed_percent": 100 * float(np.concatenate(missed).mean()),
    }


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Return the rows as a Markdown table."""
    heads = ("MAE, Hz", "median, Hz", "mean, cents", "voicing errors, %", "of which unvoiced, %")
    return markdown_table("model", heads, rows, 2)


def network_of(checkpoint: Path) -> F0Network:
    """Load the averaged weights of a checkpoint into the speaking half."""
    state = load_checkpoint(checkpoint)
    tensors = {name: value.float().numpy() for name, value in state["ema"].items()}
    return F0Network(tensors, from_dict(F0Config, state["config"]))


def network_of_voice(name: str) -> F0Network:
    """Take the network out of a packed voice."""
    folder = load_voice(name)
    return F0Network(folder.tensors["f0"], folder.configs["f0"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = scoring_parser("Score the F0 model on held-out sentences.")
    add_truth(parser)
    arguments = parser.parse_args(argv)
    train, held_out = load(arguments.data / "train.npz"), load(arguments.data / f"{arguments.split}.npz")
    network = network_of(arguments.checkpoint) if arguments.checkpoint else network_of_voice(arguments.voice)
    models: dict[str, Predictor] = {
        "mean per phone": phone_means(train),
        "F0 model": lambda sentence: network(sentence.sequence, sentence.durations_P),
    }
    references = {"tracked F0": {s.name: tracked(s) for s in held_out}}
    if arguments.truth:
        truth = read_truth(arguments.truth)
        if not truth:
            raise FileNotFoundError(f"no truth/ beside {arguments.truth}; run deepvoice.recipes.corpora.truth first")
        references["teacher's F0"] = {
            s.name: teacher_contour(truth[s.name], len(s.f0_F)) for s in held_out if s.name in truth
        }
        models["tracker itself"] = tracked
    figures = {}
    for reference, contours in references.items():
        figures[reference] = {name: row(predict, held_out, contours) for name, predict in models.items()}
        print(f"{len(held_out)} {arguments.split} sentences against the {reference}\n\n{table(figures[reference])}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
