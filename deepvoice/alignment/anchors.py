"""Where a long recording can be cut: at places whose words are certain.

This is the way of P. J. Moreno et al., "A recursive algorithm for the forced alignment of very long audio segments"
(ICSLP 1998). The network reads the whole recording without knowing the text. Strings of phones that occur once in the
text and once in what was read are anchors; those that keep the order are kept (the longest rising sequence), and those
without a neighbour that agrees are dropped. Between anchors the search goes on with shorter strings. So an error stays
where it is: nothing drifts, and no piece is longer than the distance between two places that fit.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.text.phones import NUM_SILENCES

Array = NDArray[np.int64]
_LENGTHS = (10, 8, 6, 5)  # phones of an anchor, tried one after the other
_NEAR = 60  # phones of the text within which another anchor must agree
_BITS = 6  # of a base id


class Heard(NamedTuple):
    """What the network reads by itself: base ids, and the frames [start, end) of each; silences are left out."""

    base_H: Array
    start_H: Array
    end_H: Array


class Cut(NamedTuple):
    """A place where a recording and its text can be cut: before this word, at this frame."""

    word: int
    frame: int


def hear(class_F: Array, shortest: int = 3) -> Heard:
    """Make phones of the likeliest class of every frame; shorter runs are noise."""
    begins = np.flatnonzero(np.diff(class_F, prepend=-1))
    ends = np.append(begins[1:], len(class_F))
    kept = (ends - begins >= shortest) & (class_F[begins] >= NUM_SILENCES)
    base_H, begins, ends = class_F[begins[kept]], begins[kept], ends[kept]
    new = np.append([True], base_H[1:] != base_H[:-1])[: len(base_H)] | (begins > np.append([0], ends[:-1]) + shortest)
    last = np.append(np.flatnonzero(new)[1:] - 1, len(base_H) - 1) if len(base_H) else np.zeros(0, np.int64)
    return Heard(base_H[new].astype(np.int64), begins[new], ends[last])


def find_anchors(text_P: Array, heard_H: Array, longest: int) -> Array:
    """Return pairs of places that hold the same string, int64 [N, 2], rising in both.

    text_P, heard_H: base ids; longest: phones between anchors above which shorter strings are tried too
    """
    pairs = _search(text_P, heard_H, 0, 0, _LENGTHS, longest)
    return pairs[np.argsort(pairs[:, 0])] if len(pairs) else pairs


def _search(text_P: Array, heard_H: Array, at: int, heard_at: int, lengths: Sequence[int], longest: int) -> Array:
    if not lengths or not len(text_P) or not len(heard_H):
        return np.zeros((0, 2), np.int64)
    found = _agreeing(_rising(_common(text_P, heard_H, lengths[0])))
    # both ends count as anchors, so that what lies before the first and behind the last is searched too
    edges = np.concatenate([[[0, 0]], found, [[len(text_P), len(heard_H)]]])
    parts: list[Array] = [found + np.array([at, heard_at])]
    for (a, b), (c, d) in pairwise(edges):
        if c - a > longest:
            parts.append(_search(text_P[a:c], heard_H[b:d], at + a, heard_at + b, lengths[1:], longest))
    return np.concatenate(parts)


def _common(text_P: Array, heard_H: Array, length: int) -> Array:
    """Return where strings lie that occur once in both, [N, 2], in the order of the text."""
    once = []
    for values in (text_P, heard_H):
        if len(values) < length:
            return np.zeros((0, 2), np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(values, length)
        code = windows @ (1 << _BITS * np.arange(length, dtype=np.int64))
        unique, place, count = np.unique(code, return_index=True, return_counts=True)
        once.append((unique[count == 1], place[count == 1]))
    _, ours, theirs = np.intersect1d(once[0][0], once[1][0], assume_unique=True, return_indices=True)
    pairs = np.stack([once[0][1][ours], once[1][1][theirs]], axis=1).astype(np.int64)
    return pairs[np.argsort(pairs[:, 0])]


def _rising(pairs: Array) -> Array:
    """Return the longest part that rises in the second column, by patience sorting."""
    tails: list[int] = []  # smallest end of a rising part of each length
    at: list[int] = []
    before = np.full(len(pairs), -1)
    for i, value in enumerate(pairs[:, 1].tolist()):
        place = bisect_left(tails, value)
        before[i] = at[place - 1] if place else -1
        tails[place : place + 1] = [value]
        at[place : place + 1] = [i]
    chosen = []
    i = at[-1] if at else -1
    while i >= 0:
        chosen.append(i)
        i = int(before[i])
    return pairs[chosen[::-1]]


def _agreeing(pairs: Array) -> Array:
    """Drop anchors whose neighbours lie at quite another distance in the recording than in the text."""
    if len(pairs) < 2:
        return pairs[:0]
    step = np.diff(pairs, axis=0)
    agrees = (step[:, 0] <= _NEAR) & (np.abs(step[:, 1] - step[:, 0]) <= 3 + 0.3 * step[:, 0])
    return pairs[np.append(agrees, False) | np.append(False, agrees)]


def choose_cuts(anchors: Array, word_P: Array, heard: Heard, frames: int, shortest: int, wanted: int) -> list[Cut]:
    """Choose where to cut: at beginnings of words inside anchors, where there is a silence if possible.

    word_P: the word of every phone of the text; shortest, wanted: frames of a piece
    """
    first_P = np.flatnonzero(np.diff(word_P, prepend=-1))  # phones that begin a word
    known = {int(p): int(h) for p, h in anchors}
    candidates = []
    for p in first_P.tolist():
        # the phone before must belong to an anchor that begins there, so that both sides of the cut are certain
        if p and p - 1 in known:
            h = known[p - 1] + 1
            gap = int(heard.start_H[h] - heard.end_H[h - 1])
            candidates.append((int(heard.end_H[h - 1] + heard.start_H[h]) // 2, gap, int(word_P[p])))
    cuts: list[Cut] = []
    start, i = 0, 0
    while i < len(candidates):
        inside = [c for c in candidates[i:] if shortest <= c[0] - start <= wanted]
        later = [c for c in candidates[i:] if c[0] - start > wanted]
        if not inside and not later:
            break
        frame, _, word = max(inside, key=lambda c: c[1]) if inside else later[0]
        if frames - frame < shortest:
            break
        cuts.append(Cut(word, frame))
        start = frame
        i = next((j for j in range(i, len(candidates)) if candidates[j][0] > frame), len(candidates))
    return cuts
