"""From the best path to words, phones, confidences and reasons."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepvoice.alignment.confidence import (
    ConfidenceRule,
    Fit,
    goodness,
    is_brief,
    is_clear,
    mean_goodness,
    utterance_confidence,
    word_confidence,
    word_fit,
)
from deepvoice.alignment.decode import Boundaries, Segments
from deepvoice.alignment.graph import INSERTED, PHONE, SKIPPED, Graph
from deepvoice.alignment.result import AlignedPhone, AlignedWord, Alignment
from deepvoice.alignment.scores import FRAME_SECONDS, ClassScores
from deepvoice.alignment.transcript import Transcript
from deepvoice.text.phones import START

SPOKEN_NOISE = "spn"  # speech that is not in the text, as other aligners write it
_MUCH_EXTRA = 0.5  # seconds of speech that is not in the text


class _Path(NamedTuple):
    """The segments of a path by field, [N] each."""

    role_N: NDArray[np.int32]
    word_N: NDArray[np.int32]
    frames_N: NDArray[np.int64]
    goodness_N: NDArray[np.float32]


def describe(
    transcript: Transcript,
    graph: Graph,
    segments: Segments,
    boundaries: Boundaries,
    scores: ClassScores,
    rule: ConfidenceRule,
    reasons: Sequence[str] = (),
    offset: float = 0.0,
) -> Alignment:
    """Return the alignment that a path means; reasons: what is wrong with the recording; offset: seconds before it."""
    state_N = segments.state_N
    path = _Path(
        graph.role_S[state_N],
        graph.word_S[state_N],
        np.diff(segments.cut_N1),
        goodness(scores.emission_FC, segments.cut_N1, graph.class_S[state_N]),
    )
    time_N1 = offset + FRAME_SECONDS * np.concatenate([[0.0], boundaries.place_M, [float(segments.cut_N1[-1])]])
    inside_N = (path.role_N == PHONE) | (path.role_N == SKIPPED)
    clear = is_clear(scores.emission_FC, np.repeat(inside_N, path.frames_N), rule)
    words = _words(transcript, path, time_N1, rule, clear)
    sure_N = np.concatenate([[1.0], boundaries.confidence_M])
    phones = tuple(
        AlignedPhone(
            symbol=_symbol(transcript, graph, int(state_N[n])),
            start=float(time_N1[n]),
            end=float(time_N1[n + 1]),
            word=int(path.word_N[n]) if path.role_N[n] in (PHONE, SKIPPED) else -1,
            goodness=float(path.goodness_N[n]),
            confidence=float(sure_N[n]),
        )
        for n in range(len(state_N))
    )
    extra = tuple((p.start, p.end) for p, role in zip(phones, path.role_N, strict=True) if role == INSERTED)
    fit = Fit(
        mean_goodness(path.goodness_N, path.frames_N, np.flatnonzero(inside_N)),
        float(np.count_nonzero(path.role_N == SKIPPED)) / len(words) if clear else 1.0,
        float(path.frames_N[path.role_N == INSERTED].sum()) / float(path.frames_N.sum()),
    )
    return conclude(transcript, words, phones, extra, fit, rule, reasons)


def conclude(
    transcript: Transcript,
    words: Sequence[AlignedWord],
    phones: Sequence[AlignedPhone],
    extra: Sequence[tuple[float, float]],
    fit: Fit,
    rule: ConfidenceRule,
    reasons: Sequence[str] = (),
) -> Alignment:
    """Return the alignment of these words and phones, accepted or with the reasons why not."""
    confidence = utterance_confidence(fit, rule)
    found = [*reasons, *_reasons(words, extra, confidence, rule), *_unspoken(transcript)]
    return Alignment(
        text=transcript.text,
        seconds=phones[-1].end - phones[0].start,
        words=tuple(words),
        phones=tuple(phones),
        sentences=transcript.sentences,
        confidence=confidence,
        accepted=not found,
        reasons=tuple(found),
        extra=tuple(extra),
        fit=fit,
    )


def _unspoken(transcript: Transcript) -> list[str]:
    """Say what of the text has no words, so that nobody knows where it was said."""
    shown = ", ".join(repr(text[:40]) for text in transcript.unspoken[:5])
    return [f"text: {shown} cannot be spoken; write what is said"] if shown else []


def _symbol(transcript: Transcript, graph: Graph, state: int) -> str:
    role = graph.role_S[state]
    if role == PHONE:
        word = transcript.words[graph.word_S[state]]
        return word.variants[graph.variant_S[state]][graph.phone_S[state]]
    return SPOKEN_NOISE if role in (INSERTED, SKIPPED) else START


def _words(
    transcript: Transcript, path: _Path, time_N1: NDArray[np.float64], rule: ConfidenceRule, clear: bool
) -> tuple[AlignedWord, ...]:
    """Return the words; the segments of one are neighbours. clear: whether speech was heard at all.

    A word that the text has and the recording has not may be left out by the path, or get a frame or two of its
    neighbours: neither was read.
    """
    found = []
    inside_N = (path.role_N == PHONE) | (path.role_N == SKIPPED)
    place_N = np.flatnonzero(inside_N)
    first_W = np.searchsorted(path.word_N[place_N], np.arange(len(transcript.words) + 1))
    for index, word in enumerate(transcript.words):
        chosen = place_N[first_W[index] : first_W[index + 1]]
        first, past = int(chosen[0]), int(chosen[-1]) + 1
        skipped = path.role_N[first] == SKIPPED or is_brief(path.frames_N[first:past]) or not clear
        fit = word_fit(path.goodness_N[first:past], path.frames_N[first:past])
        sure = rule.skipped if skipped else word_confidence(fit, rule)
        found.append(
            AlignedWord(
                text=word.text,
                start=float(time_N1[first]),
                end=float(time_N1[past]),
                span=word.span,
                phones=(first, past),
                confidence=sure,
                read=not skipped and sure >= rule.word_limit,
                fit=fit,
            )
        )
    return tuple(found)


def _reasons(
    words: Sequence[AlignedWord], extra: Sequence[tuple[float, float]], confidence: float, rule: ConfidenceRule
) -> list[str]:
    """Say what does not fit."""
    reasons = []
    unread = [word.text for word in words if not word.read]
    if confidence < rule.utterance_limit:
        reasons.append(f"the recording does not say the text (confidence {confidence:.2f})")
    if unread:
        shown = " ".join(unread[:5]) + (" ..." if len(unread) > 5 else "")
        reasons.append(f"{len(unread)} of {len(words)} words not read: {shown}")
    seconds = sum(end - start for start, end in extra)
    if seconds > _MUCH_EXTRA:
        reasons.append(f"{seconds:.1f} s of speech that is not in the text")
    return reasons
