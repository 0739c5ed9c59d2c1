"""Which phone follows which: an n-gram of the training transcripts, and the free decoding that listens to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepvoice.audio.mel import FloatArray

IntArray = NDArray[np.int64]
ORDER = 5  # phones of an n-gram


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How much the decoding listens to what, and how far it looks.

    model: weight of the n-gram's logarithms; bonus: added to every boundary, or the n-gram would make the chain too
        short; frames: weight of log p(phone) of each frame; all three were chosen on the development half
    beam: chains that are worse than the best by more are given up; most: chains kept
    near: a boundary's right phone may be so much less likely than the likeliest
    impossible: log-probability of a boundary below which a step has none; saves most of the work
    """

    model: float = 1.0
    bonus: float = 3.0
    frames: float = 0.3
    beam: float = 12.0
    most: int = 200
    near: float = 9.0
    impossible: float = -9.0


class PhoneModel:
    """P(phone | the phones before it), smoothed as I. H. Witten and T. C. Bell (1991) do.

    A context is a number whose digits, to the base of the number of classes, are the phones; the last is the latest.
    """

    def __init__(self, sequences: Sequence[Sequence[int]], classes: int, order: int = ORDER) -> None:
        """Count the phones of sequences of classes; each begins as if its first class had stood there for ever."""
        if order < 2:
            raise ValueError(f"an n-gram of {order} phones; expected 2 or more")
        self.classes, self.order = classes, order
        lines = [np.array([s[0]] * (order - 1) + list(s[1:]), np.int64) for s in sequences]
        next_N = np.concatenate([line[order - 1 :] for line in lines])
        self._tables = []  # by length of the context: its number -> classes seen after it, and how often
        for length in range(order):
            context_N = np.concatenate([self._contexts(line, length) for line in lines])
            pair, count = np.unique(context_N * classes + next_N, return_counts=True)
            owner, first = np.unique(pair // classes, return_index=True)
            ends = [*first[1:].tolist(), len(pair)]
            spans = zip(owner.tolist(), first.tolist(), ends, strict=True)
            self._tables.append({o: (pair[a:b] % classes, count[a:b]) for o, a, b in spans})
        self._known: dict[tuple[int, int], NDArray[np.float64]] = {}
        self._logs: dict[int, FloatArray] = {}

    def _contexts(self, line: IntArray, length: int) -> IntArray:
        """Return the number of the context of each phone of a line."""
        count, code = len(line) - self.order + 1, 0
        for back in range(length, 0, -1):
            start = self.order - 1 - back
            code = code * self.classes + line[start : start + count]
        return np.broadcast_to(np.asarray(code, np.int64), (count,))

    def log_row(self, context: int) -> FloatArray:
        """Return log P(c | context) for a context of order - 1 phones, float32 [classes]."""
        if context not in self._logs:
            self._logs[context] = np.log(self._shares(context, self.order - 1)).astype(np.float32)
        return self._logs[context]

    def _shares(self, context: int, length: int) -> NDArray[np.float64]:
        if length < 0:
            return np.full(self.classes, 1 / self.classes)
        key = (length, context % self.classes**length)
        if key not in self._known:
            shares_C = self._shares(context, length - 1)
            if key[1] in self._tables[length]:
                seen, counts = self._tables[length][key[1]]
                shares_C = len(seen) * shares_C
                shares_C[seen] += counts
                shares_C /= counts.sum() + len(seen)
            self._known[key] = shares_C
        return self._known[key]


class _Chains:
    """The chains that are still in the running: the context, the score and the last link of each."""

    def __init__(self, score: float) -> None:
        self.context_N, self.score_N = np.zeros(1, np.int64), np.array([score], np.float32)
        self.link_N = np.full(1, -1)
        self._phone: list[int] = []
        self._before: list[int] = []

    def keep(self, context_M: IntArray, score_M: FloatArray, parent_M: IntArray, entered: int, rule: Search) -> None:
        """Go on with the best of chains that stay (before `entered`) or enter a phone; of those alike with the best."""
        order = np.flatnonzero(score_M > score_M.max() - rule.beam)
        order = order[np.argsort(-score_M[order], kind="stable")]
        _, first = np.unique(context_M[order], return_index=True)
        order = order[np.sort(first)[: rule.most]]
        link_N = self.link_N[parent_M[order]]
        for place in np.flatnonzero(order >= entered):
            self._phone.append(int(context_M[order[place]]))
            self._before.append(int(link_N[place]))
            link_N[place] = len(self._phone) - 1
        self.context_N, self.score_N, self.link_N = context_M[order], score_M[order], link_N

    def best(self, classes: int) -> list[int]:
        """Return the classes of the best chain that ends in silence, from its beginning."""
        ended = np.where(self.context_N % classes == 0, self.score_N, -np.inf)
        at = int(self.link_N[ended.argmax() if np.isfinite(ended).any() else self.score_N.argmax()])
        phones = []
        while at >= 0:
            phones.append(self._phone[at] % classes)
            at = self._before[at]
        return [0, *phones[::-1]]


def decode(
    frame_TV: FloatArray, left_TV: FloatArray, right_TV: FloatArray, boundary_T: FloatArray, model: PhoneModel,
    rule: Search | None = None,
) -> IntArray:  # fmt: skip
    """Return the best chain of classes that a beam search finds, int64 [P], from silence (class 0) to silence.

    frame_TV: log-probabilities of the class of each step; left_TV, right_TV: of a boundary's two classes
    boundary_T: logit of a boundary in each step
    """
    rule = rule or Search()
    blank_T, spoken_T = -np.logaddexp(0, boundary_T), -np.logaddexp(0, -boundary_T) + rule.bonus
    V, contexts = frame_TV.shape[1], model.classes ** (model.order - 1)
    frame_TV = frame_TV * np.float32(rule.frames)
    chains = _Chains(float(frame_TV[0, 0]))
    for t in range(1, len(frame_TV)):
        current_N = chains.context_N % V
        stay_N = chains.score_N + blank_T[t] + frame_TV[t, current_N]
        if spoken_T[t] <= rule.impossible:
            chains.score_N = stay_N
            continue
        near = np.flatnonzero(right_TV[t] > right_TV[t].max() - rule.near)
        told_NV = np.stack([model.log_row(context) for context in chains.context_N.tolist()])[:, near]
        leave_N = chains.score_N + left_TV[t, current_N] + spoken_T[t]
        enter_NV = leave_N[:, None] + rule.model * told_NV + (right_TV[t] + frame_TV[t])[near]
        entered_NV = (chains.context_N[:, None] * V + near) % contexts
        own_N = np.arange(len(stay_N))
        chains.keep(
            np.concatenate([chains.context_N, entered_NV.ravel()]), np.concatenate([stay_N, enter_NV.ravel()]),
            np.concatenate([own_N, np.repeat(own_N, len(near))]), len(own_N), rule,
        )  # fmt: skip
    return np.array(chains.best(V), np.int64)
