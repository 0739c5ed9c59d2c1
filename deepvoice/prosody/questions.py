"""The rise at the end of yes/no questions, which the corpus does not have: a ramp added to the F0 model's contour.

It begins at the last stressed vowel and brings the end, which the model lets fall or creak, to RISE semitones above the
median of the sentence; the vowels and sonorants from there on are voiced, since a creak cannot rise. Added to the
contour it keeps its detail: a smooth curve in its place cost 0.1 of predicted MOS. The rise itself costs 0.25, whether
by 2, 4 or 6 semitones (50 questions: 3.89 without). Questions that begin with a question word, and those that offer a
choice with "or", end like statements. How they end is measured by `deepvoice.recipes.evaluation.questions`.

The tune of some short statements and questions with a question word falls early and stays flat, so that their end
lies above their median; `lower_ending` brings such an end FALL semitones below it, by the same ramp downwards. Many
sentences creak at their end. A creak has no pitch and neither has a moment of voice inside it, so the end that falls is
that of the voice before it. Voicing the creak instead makes deeper falls, but cost 0.16 of predicted MOS (124
sentences: 3.98, 3.82; as it is done here 3.99).
"""

import numpy as np
from numpy.typing import NDArray

from deepvoice.prosody.contours import shifted
from deepvoice.prosody.durations import Timing
from deepvoice.synthesis import Prosody
from deepvoice.text.frontend import Sentence
from deepvoice.text.phones import PAUSES, is_vowel, stress

RISE = 6.0  # semitones of the end above the median of the sentence
FALL = 1.8  # semitones of other ends below the median of the sentence, at least
_MOST = 12.0  # semitones added at the end
_PASSES = 4  # of a fall, since lowering the end of a short sentence lowers its median too
_CURVE = 1.2  # exponent of the ramp: a little steeper at its end
_PLATEAU = 0.7  # of the way from the nucleus to the end: from there on the pitch stays high
_SONORANTS = frozenset("L R M N NG W Y".split())
_END = 5  # frames over which the end of a rise is measured
_LONG_END = 20  # voiced frames over which that of a fall is
_FADING = 6  # voiced frames that may fade away at an end, unheard: a fall is one without them too
_LASTING = 10  # frames that a voice lasts for its pitch to be heard; a shorter one at an end is part of a creak
_QUESTION_WORDS = frozenset("who whom whose what which when where why how".split())
_BEFORE_THEM = frozenset(
    "and but so or well now then okay oh hey please um uh yes no right "
    "in at on by for to from with of about since until under through against".split()
)
_UNSTRESSED = frozenset(
    "it him her me you us them one that this there am is are was were be been do does did have has had will would "
    "can could shall should to for with at on in of by then".split()
)


def raise_question(prosody: Prosody, sentence: Sentence, timing: Timing) -> Prosody:
    """Return the prosody with a rise when the sentence is a yes/no question; otherwise as it is."""
    if not is_yes_no(sentence) or not prosody.voiced_F.any():
        return prosody
    edges = np.concatenate([[0], np.cumsum(timing.plan.durations_P)])
    nucleus = _nucleus(sentence)
    prosody = _voiced_from(prosody, sentence, edges, nucleus)
    first = int(edges[nucleus])
    last = int(np.flatnonzero(prosody.voiced_F)[-1])
    if last <= first:
        return prosody
    level_F = 12.0 * np.log2(prosody.f0_F.astype(np.float64))
    end = float(np.median(level_F[max(first, last + 1 - _END) : last + 1]))
    missing = float(np.median(level_F[prosody.voiced_F])) + RISE - end
    return shifted(prosody, min(max(missing, 0.0), _MOST) * _ramp(len(level_F), first, last))


def lower_ending(prosody: Prosody, sentence: Sentence, durations_P: NDArray[np.int64]) -> Prosody:
    """Return the prosody with an end below the median, unless the sentence is a yes/no question.

    durations_P: int64 [P] frames of every symbol
    """
    heard = np.flatnonzero(_lasting(prosody.voiced_F))
    if not len(heard) or is_yes_no(sentence):
        return prosody
    nucleus, last = int(durations_P[: _nucleus(sentence)].sum()), int(heard[-1])
    first = min(nucleus, int(heard[-2 * _LONG_END :][0]))  # earlier where most of the nucleus creaks
    if last <= first:
        return prosody
    ends = [heard[-_LONG_END:]] + ([heard[-_LONG_END - _FADING : -_FADING]] if len(heard) > 2 * _LONG_END else [])
    ramp_F = _ramp(len(prosody.f0_F), first, last)
    for _ in range(_PASSES):
        level_F = 12.0 * np.log2(prosody.f0_F.astype(np.float64))
        above = float(max(np.median(level_F[end]) for end in ends) - np.median(level_F[heard])) + FALL
        if above <= 0.0:
            break
        prosody = shifted(prosody, -min(above, _MOST) * ramp_F)
    return prosody


def _lasting(voiced_F: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the frames whose voice lasts long enough to have a pitch; all voiced ones where none does, bool [F]."""
    edges = np.flatnonzero(np.diff(voiced_F, prepend=False, append=False))
    lasting_F = np.zeros_like(voiced_F)
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        lasting_F[start:end] = end - start >= _LASTING
    return lasting_F if lasting_F.any() else voiced_F


def _ramp(frames: int, first: int, last: int) -> NDArray[np.float64]:
    """Return a ramp from 0 at the frame `first` to 1 before `last`, float64 [F]."""
    return np.clip((np.arange(frames) - first) / (_PLATEAU * (last - first)), 0.0, 1.0) ** _CURVE


def _voiced_from(prosody: Prosody, sentence: Sentence, edges: NDArray[np.int64], nucleus: int) -> Prosody:
    """Voice the vowels and sonorants from the nucleus on, which the model lets creak: a creak cannot rise."""
    voiced_F = prosody.voiced_F.copy()
    for i, symbol in enumerate(sentence.sequence.symbols[nucleus:], nucleus):
        if is_vowel(symbol) or symbol in _SONORANTS:
            voiced_F[edges[i] : edges[i + 1]] = True
    return Prosody(f0_F=prosody.f0_F, voiced_F=voiced_F)


def is_yes_no(sentence: Sentence) -> bool:
    """Tell whether a sentence is a question that yes or no answers."""
    if sentence.sequence.symbols[-1] != "?":
        return False
    clauses = _clauses(sentence)
    return not any(_asks_with_word(clause) for clause in (clauses[0], clauses[-1])) and "or" not in clauses[-1][1:-1]


def _clauses(sentence: Sentence) -> list[list[str]]:
    """Return the words between pauses."""
    clauses: list[list[str]] = [[]]
    last = -1
    for symbol, word in zip(sentence.sequence.symbols, sentence.sequence.word_of, strict=True):
        if symbol in PAUSES and clauses[-1]:
            clauses.append([])
        elif word >= 0 and word != last:
            clauses[-1].append(sentence.words[word].text)
            last = word
    return [clause for clause in clauses if clause]


def _asks_with_word(clause: list[str]) -> bool:
    words = [word.partition("'")[0] for word in clause]
    while len(words) > 1 and words[0] in _BEFORE_THEM:
        words = words[1:]
    return words[0] in _QUESTION_WORDS


def _nucleus(sentence: Sentence) -> int:
    """Return the symbol where the rise begins: the last stressed vowel, rather not that of an unstressed word."""
    symbols, word_of = sentence.sequence.symbols, sentence.sequence.word_of
    stressed = [i for i, symbol in enumerate(symbols) if stress(symbol) == 1]
    full = [i for i in stressed if sentence.words[word_of[i]].text not in _UNSTRESSED]
    vowels = [i for i, symbol in enumerate(symbols) if is_vowel(symbol)]
    last = len(sentence.words) - 1
    near = [i for i in full if word_of[i] >= last - 3]  # "Is it for you?" rises on "you", not on a word far before
    return (near or stressed or vowels or [len(symbols) - 2])[-1]
