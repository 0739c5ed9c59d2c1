"""What the network hears without a transcript: phones by a free decoding of its two readings.

    python -m deepvoice.recipes.segmentation.recognise MANIFEST --checkpoint DIR/last.pt [--rows held_out]

Prints the error over phone pairs (Deep Voice, section 3.3: 7 %) and over phones, for three decoders: greedy (the best
pair of every step that says "boundary"), Viterbi (the best chain of pairs, each beginning with the phone that the one
before ended with, under pairs and frames), and that with an n-gram of the training transcripts' phones
(`phonotactics.py`). None knows words. Silences between the first and the last are left out on both sides: the
transcripts have marks, the recordings pauses, and the two need not agree.
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray
from deepvoice.networks.segmentation import SegmentationNetwork, SegmentationScores
from deepvoice.recipes.common.progress import progress
from deepvoice.recipes.segmentation.corpus import (
    SILENCE,
    Corpus,
    IntArray,
    Utterance,
    chosen_rows,
    classes_of,
    open_corpus,
)
from deepvoice.recipes.segmentation.model import load_model
from deepvoice.recipes.segmentation.phonotactics import ORDER, PhoneModel, decode
from deepvoice.text.phones import BASES, NUM_SILENCES

DECODERS = ("pairs, greedy", "pairs, Viterbi", "phones, Viterbi", "pairs, n-gram", "phones, n-gram")
_CLASSES = np.array([SILENCE, *range(NUM_SILENCES, len(BASES))])


def merged_silences(log_TV: FloatArray) -> FloatArray:
    """Add up the probabilities of all silences: log-probabilities of the classes, float32 [T, classes]."""
    silence_T = np.logaddexp.reduce(log_TV[:, :NUM_SILENCES], axis=1)
    return np.concatenate([silence_T[:, None], log_TV[:, NUM_SILENCES:]], axis=1)


def log_sigmoid(logit_T: FloatArray) -> FloatArray:
    """Logarithm of the logistic function."""
    return np.asarray(-np.logaddexp(0, -logit_T), np.float32)


def greedy_pairs(scores: SegmentationScores) -> list[tuple[int, int]]:
    """Read the pairs by CTC's greedy rule: the best label of every step; repeats are one, blanks are none."""
    left_T = merged_silences(scores.left_TV).argmax(axis=1)
    right_T = merged_silences(scores.right_TV).argmax(axis=1)
    pairs, before = [], None
    for left, right, spoken in zip(left_T, right_T, scores.boundary_T > 0, strict=True):
        label = (int(_CLASSES[left]), int(_CLASSES[right])) if spoken else None
        if label is not None and label != before:
            pairs.append(label)
        before = label
    return pairs


def _phones_by_step(scores: SegmentationScores, stack: int) -> FloatArray:
    """Add up the log-probabilities of the phones over the frames of each step, float32 [T, classes]."""
    phone_TKV = merged_silences(scores.frame_FV).reshape(len(scores.left_TV), stack, -1)
    return np.asarray(phone_TKV.sum(axis=1), np.float32)


def viterbi_phones(scores: SegmentationScores, stack: int, frame_weight: float) -> IntArray:
    """Read the phones along the best chain, int64 [P].

    frame_weight: of log p(phone) of each frame, beside the log-probabilities of blanks and pairs
    """
    frame_TV = _phones_by_step(scores, stack) * frame_weight
    left_TV, right_TV = merged_silences(scores.left_TV), merged_silences(scores.right_TV)
    blank_T, spoken_T = log_sigmoid(-scores.boundary_T), log_sigmoid(scores.boundary_T)
    T, V = left_TV.shape
    best_V = np.full(V, -1e30, np.float32)
    best_V[0] = frame_TV[0, 0]  # recordings begin and end in silence
    entered_TV, from_T = np.zeros((T, V), bool), np.zeros(T, np.int64)
    for t in range(1, T):
        leaving_V = best_V + left_TV[t]
        from_T[t] = leaving_V.argmax()
        enter_V = leaving_V[from_T[t]] + right_TV[t] + spoken_T[t]
        stay_V = best_V + blank_T[t]
        entered_TV[t] = enter_V > stay_V
        best_V = np.maximum(enter_V, stay_V) + frame_TV[t]
    phones, current = [0], 0
    for t in range(T - 1, 0, -1):
        if entered_TV[t, current]:
            current = int(from_T[t])
            phones.append(current)
    return _CLASSES[np.array(phones[::-1])]


def distance(said: Sequence[object], meant: Sequence[object]) -> int:
    """Edit distance: substitutions, deletions and insertions."""
    row = np.arange(len(said) + 1)
    for i, label in enumerate(meant):
        changed = row[:-1] + np.array([label != other for other in said], np.int64)
        best = np.concatenate([[i + 1], np.minimum(changed, row[1:] + 1)])
        row = np.minimum.accumulate(best - np.arange(len(best))) + np.arange(len(best))
    return int(row[-1])


def pairs_of(phones_P: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the pairs of neighbours."""
    return [(int(a), int(b)) for a, b in itertools.pairwise(phones_P)]


def phones_without_pauses(phones_P: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out the silences inside: int64, silence, phones, silence."""
    inner_P = phones_P[phones_P != SILENCE]
    return np.concatenate([[SILENCE], inner_P, [SILENCE]])


def pairs_without_pauses(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the two pairs at a pause, (a, silence) and (silence, b), to (a, b)."""
    joined: list[tuple[int, int]] = []
    for left, right in pairs:
        if left == SILENCE and joined and joined[-1][1] == SILENCE:
            joined[-1] = (joined[-1][0], right)
        else:
            joined.append((left, right))
    return joined


def ngram_phones(scores: SegmentationScores, stack: int, model: PhoneModel) -> IntArray:
    """Read the phones along the best chain under a model of which phone follows which, int64 [P]."""
    frame_TV = _phones_by_step(scores, stack)
    left_TV, right_TV = merged_silences(scores.left_TV), merged_silences(scores.right_TV)
    return _CLASSES[decode(frame_TV, left_TV, right_TV, scores.boundary_T, model)]


def phone_model(corpus: Corpus, order: int = ORDER) -> PhoneModel:
    """Count the phones of the training utterances' transcripts."""
    places = {int(label): place for place, label in enumerate(_CLASSES)}
    said = [[places[int(c)] for c in classes_of(u.bases_P)] for u in corpus.utterances(corpus.rows.train)]
    return PhoneModel(said, len(_CLASSES), order)


def errors(
    network: SegmentationNetwork,
    corpus: Corpus,
    utterances: Sequence[Utterance],
    frame_weight: float,
    order: int = ORDER,
) -> dict[str, float]:
    """Return the error rates of the decoders in percent."""
    wrong, pairs, phones, stack = np.zeros(5), 0, 0, network.config.stack
    model = phone_model(corpus, order)
    for utterance in progress(utterances, "recognise"):
        mel_FM = np.asarray(corpus.cache[utterance.id].mel_FM, np.float32)
        scores = network(np.pad(mel_FM, ((0, -len(mel_FM) % stack), (0, 0)), mode="edge"))
        meant_P = phones_without_pauses(classes_of(utterance.bases_P))
        heard_P = phones_without_pauses(viterbi_phones(scores, stack, frame_weight))
        meant, greedy = pairs_of(meant_P), pairs_without_pauses(greedy_pairs(scores))
        ngram_P = phones_without_pauses(ngram_phones(scores, stack, model))
        wrong += [
            distance(greedy, meant),
            *(distance(pairs_of(heard_P), meant), distance(list(heard_P), list(meant_P))),
            *(distance(pairs_of(ngram_P), meant), distance(list(ngram_P), list(meant_P))),
        ]
        pairs, phones = pairs + len(meant), phones + len(meant_P)
    shares = 100 * wrong / [pairs, pairs, phones, pairs, phones]
    return dict(zip(DECODERS, map(float, shares), strict=True))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Phone errors of the segmentation network without a transcript.")
    parser.add_argument("manifest", type=Path, help="corpus manifest, with features/ beside it")
    parser.add_argument("--checkpoint", type=Path, required=True, help="last.pt of the training run")
    parser.add_argument("--rows", choices=("dev", "test", "held_out", "all"), default="held_out")
    parser.add_argument("--frame-weight", type=float, default=0.5, help="of the frames in Viterbi without the n-gram")
    parser.add_argument("--order", type=int, default=ORDER, help="phones of an n-gram (default: %(default)s)")
    arguments = parser.parse_args(argv)
    corpus, model = open_corpus(arguments.manifest), load_model(arguments.checkpoint)
    tensors = {name: value.numpy() for name, value in model.state_dict().items()}
    network = SegmentationNetwork(tensors, model.config)
    utterances = corpus.utterances(chosen_rows(corpus, arguments.rows))
    for name, percent in errors(network, corpus, utterances, arguments.frame_weight, arguments.order).items():
        print(f"{name:18}{percent:6.2f} %")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
