"""Score the duration model on held-out sentences, beside the mean duration of each phone.

    python -m deepvoice.recipes.duration.evaluate --data DIR --checkpoint FILE [--truth MANIFEST] [--split test]

Durations come from the speaking half, in whole frames, as the voice speaks them. They are compared with the alignments
and, where the manifest of a teacher corpus is given, with the teacher's own durations. Phones before a silence are also
counted apart: the teacher's token of such a phone reaches far into the silence, its sound does not. So the teacher's
durations are scored three times: as they are, with the silence of pauses cut off the phones by the rule of the
segmentation's evaluation, and with every pause added to the phone before it, in what is scored as in the truth.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import MelSpec
from deepvoice.config import from_dict
from deepvoice.configs import DurationConfig
from deepvoice.networks.duration import DurationNetwork
from deepvoice.recipes.common.checkpoint import load_checkpoint
from deepvoice.recipes.common.command import add_truth, markdown_table, scoring_parser
from deepvoice.recipes.common.features import FeatureCache
from deepvoice.recipes.common.sentences import Sentence, load
from deepvoice.recipes.corpora.truth import read_truth
from deepvoice.recipes.segmentation.evaluate import truth_spans
from deepvoice.text.phones import NUM_SILENCES
from deepvoice.text.sequence import PhoneSequence
from deepvoice.voice import load_voice

FRAME_MS = 5.0
COMPOSED = "teacher's durations, phones with the pause after them"
KINDS = ("phones", "last phones", "pauses", "edges")  # last: before a silence; edges: silences around the sentence
Durations = NDArray[np.float64]  # [P] milliseconds
Predictor = Callable[[Sentence], Durations]


def spoken_ms(truth_P: Sequence[float], sequence: PhoneSequence, energy_F: NDArray[np.float32]) -> Durations:
    """Return the teacher's durations in ms, [P], with the silence of pauses taken out of the phones.

    truth_P: its own, ms; energy_F: log power of frames of 5 ms. What is cut off goes to a silence that follows.
    """
    low_P, high_P = truth_spans(truth_P, sequence.ids_P, sequence.word_of, energy_F)
    starts_P, ends_P = np.append(0.0, high_P), np.append(low_P, float(np.sum(truth_P)))
    return np.maximum(ends_P - starts_P, 0.0)


def with_pauses(durations_P: Durations, sequence: PhoneSequence) -> Durations:
    """Return the durations, [P], with every silence inside the sentence added to the phone before it."""
    added_P = np.array(durations_P, np.float64)
    for i in np.flatnonzero(sequence.ids_P[1:-1] < NUM_SILENCES) + 1:
        added_P[i - 1] += added_P[i]
        added_P[i] = 0.0
    return added_P


def composed(predict: Predictor) -> Predictor:
    """Return a predictor of phones that have the pause after them in them."""
    return lambda sentence: with_pauses(predict(sentence), sentence.sequence)


def without_offsets(predict: Predictor, sentences: Sequence[Sentence], targets: Mapping[str, Durations]) -> Predictor:
    """Remove the median difference of each symbol: where two ways of cutting sound into phones differ by convention."""
    differences: defaultdict[str, list[float]] = defaultdict(list)
    for sentence in sentences:
        if sentence.name in targets:
            for symbol, difference in zip(
                sentence.sequence.symbols, predict(sentence) - targets[sentence.name], strict=True
            ):
                differences[symbol].append(float(difference))
    medians = {symbol: float(np.median(values)) for symbol, values in differences.items()}
    return lambda sentence: predict(sentence) - [medians[symbol] for symbol in sentence.sequence.symbols]


def phone_means(sentences: Sequence[Sentence], scaled: bool) -> Predictor:
    """Return the trivial model: the mean duration of each symbol; `scaled` divides it by the speaking rate."""
    sums: defaultdict[str, list[float]] = defaultdict(list)
    for sentence in sentences:
        rate = sentence.speed if scaled else 1.0
        for symbol, frames in zip(sentence.sequence.symbols, sentence.durations_P, strict=True):
            sums[symbol].append(float(frames) * FRAME_MS * rate)
    means = {symbol: float(np.mean(values)) for symbol, values in sums.items()}
    overall = float(np.mean(list(means.values())))

    def predict(sentence: Sentence) -> Durations:
        rate = sentence.speed if scaled else 1.0
        return np.array([means.get(symbol, overall) / rate for symbol in sentence.sequence.symbols])

    return predict


def own_means(sentences: Sequence[Sentence], targets: Mapping[str, Durations]) -> Predictor:
    """Return the mean duration of each symbol in the very targets that are scored: the hardest trivial baseline."""
    sums: defaultdict[str, list[float]] = defaultdict(list)
    for sentence in sentences:
        if sentence.name in targets:
            for symbol, duration in zip(sentence.sequence.symbols, targets[sentence.name], strict=True):
                sums[symbol].append(float(duration))
    means = {symbol: float(np.mean(values)) for symbol, values in sums.items()}
    return lambda sentence: np.array([means[symbol] for symbol in sentence.sequence.symbols])


def from_network(network: DurationNetwork) -> Predictor:
    """Return a trained model as a predictor."""
    return lambda sentence: network(sentence.sequence, sentence.speed) * FRAME_MS


def kinds_of(sentence: Sentence) -> NDArray[np.int64]:
    """Return the position in KINDS of every symbol, int64 [P]."""
    silent_P = sentence.sequence.ids_P < NUM_SILENCES
    kinds_P = np.where(silent_P, 2, np.append(silent_P[1:], False))
    kinds_P[[0, -1]] = 3
    return kinds_P.astype(np.int64)


def errors(predict: Predictor, sentences: Sequence[Sentence], targets: Mapping[str, Durations]) -> list[Durations]:
    """Return predicted minus target durations in ms of the sentences that have a target, one array for each kind."""
    found: list[list[Durations]] = [[] for _ in KINDS]
    for sentence in sentences:
        if sentence.name in targets:
            error_P = predict(sentence) - targets[sentence.name]
            for kind, values in enumerate(found):
                values.append(error_P[kinds_of(sentence) == kind])
    return [np.concatenate(values) for values in found]


def row(by_kind: Sequence[Durations]) -> dict[str, float]:
    """Summarise errors in ms; an offset that all opening or closing silences share is not counted."""
    inner, last, pauses, edges = by_kind
    phones = np.concatenate([inner, last])
    sides = [edges[side::2] - np.median(edges[side::2]) for side in (0, 1)]
    return {
        "phones": float(np.abs(phones).mean()),
        "inner": float(np.abs(inner).mean()),
        "inner_median": float(np.median(np.abs(inner))),
        "inner_bias": float(inner.mean()),
        "last": float(np.abs(last).mean()),
        "pauses": float(np.abs(pauses).mean()) if len(pauses) else 0.0,
        "edges": float(np.abs(np.concatenate(sides)).mean()),
    }


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Return the rows as a Markdown table."""
    heads = ("all phones", "not before a silence", "median", "mean error", "before a silence", "pauses", "edges")
    return markdown_table("mean absolute error, ms", heads, rows, 1)


def network_of(checkpoint: Path) -> DurationNetwork:
    """Load the averaged weights of a checkpoint into the speaking half."""
    state = load_checkpoint(checkpoint)
    tensors = {name: value.float().numpy() for name, value in state["ema"].items()}
    return DurationNetwork(tensors, from_dict(DurationConfig, state["config"]))


def network_of_voice(name: str) -> DurationNetwork:
    """Take the network out of a packed voice."""
    folder = load_voice(name)
    return DurationNetwork(folder.tensors["duration"], folder.configs["duration"])


def truth_of(sentences: Sequence[Sentence], manifest: Path) -> dict[str, dict[str, Durations]]:
    """Return the teacher's durations by the way of counting pauses, then by name, where its symbols are the sentence's.

    Raises FileNotFoundError without a truth.
    """
    truth = read_truth(manifest)
    if not truth:
        raise FileNotFoundError(f"no truth/ beside {manifest}; run deepvoice.recipes.corpora.truth first")
    own = {name: np.array(values["durations_ms"]) for name, values in truth.items()}
    named = {s.name: s.sequence for s in sentences if len(own.get(s.name, ())) == len(s.sequence.symbols)}
    found = {"teacher's durations": {name: own[name] for name in named}}
    found[COMPOSED] = {name: with_pauses(own[name], sequence) for name, sequence in named.items()}
    features = manifest.parent / "features"
    if features.is_dir():
        cache = FeatureCache(features, MelSpec())
        found["teacher's durations, pauses out"] = {
            name: spoken_ms(own[name], sequence, cache[name].energy_F) for name, sequence in named.items()
        }
    else:
        print(f"{features} is missing: without it pauses cannot be taken out of the teacher's phones\n")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = scoring_parser("Score the duration model on held-out sentences.")
    add_truth(parser)
    arguments = parser.parse_args(argv)
    train, held_out = load(arguments.data / "train.npz"), load(arguments.data / f"{arguments.split}.npz")
    network = network_of(arguments.checkpoint) if arguments.checkpoint else network_of_voice(arguments.voice)
    models = {
        "mean per phone": phone_means(train, scaled=False),
        "mean per phone / speaking rate": phone_means(train, scaled=True),
        "duration model": from_network(network),
    }
    references = {"alignments": {s.name: s.durations_P * FRAME_MS for s in held_out}}
    if arguments.truth:
        references |= truth_of(held_out, arguments.truth)
        models["alignments themselves"] = lambda sentence: sentence.durations_P * FRAME_MS
    figures = {}
    for reference, targets in references.items():
        ways = {name: composed(model) for name, model in models.items()} if reference == COMPOSED else models
        compared = {"mean per phone of the reference": own_means(held_out, targets), **ways}
        if reference != "alignments":
            model = ways["duration model"]
            compared["duration model, less one offset per symbol"] = without_offsets(model, held_out, targets)
        figures[reference] = {name: row(errors(predict, held_out, targets)) for name, predict in compared.items()}
        print(f"{len(targets)} {arguments.split} sentences against the {reference}\n\n{table(figures[reference])}\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
