"""Graphs of texts: what may be said, in which order."""

import numpy as np
import pytest

from deepvoice.alignment.graph import (
    FILLER_CLASS,
    GARBAGE_CLASS,
    INSERTED,
    MAX_VARIANTS,
    PHONE,
    SILENCE,
    SILENCE_CLASS,
    SKIPPED,
    GraphWeights,
    TextWord,
    compose,
    distinct,
    line,
)
from deepvoice.kernels.viterbi import IMPOSSIBLE
from deepvoice.text.phones import BASE_IDS

A = TextWord(text="a", span=(0, 1), variants=(("AH0",), ("EY1",)))
READ = TextWord(text="read", span=(2, 6), variants=(("R", "IY1", "D"), ("R", "EH1", "D")))
STRICT = GraphWeights(garbage=None)


def strings(graph, most=10_000):
    """Return every string of classes that a graph accepts."""
    found = set()
    into = [graph.source_A[graph.first_arc[s] : graph.first_arc[s + 1]].tolist() for s in range(len(graph))]
    ahead = [[t for t in range(len(graph)) if s in into[t]] for s in range(len(graph))]
    waiting = [(s, (int(graph.class_S[s]),)) for s in range(len(graph)) if graph.initial_S[s] > IMPOSSIBLE / 2]
    while waiting:
        state, said = waiting.pop()
        if graph.final_S[state] == 0:
            found.add(said)
        waiting += [(t, (*said, int(graph.class_S[t]))) for t in ahead[state]]
        assert len(waiting) < most
    return found


def test_a_graph_accepts_every_reading_and_silence_or_none_between_words():
    said = strings(compose([A, READ], STRICT))
    ids, sil = BASE_IDS, SILENCE_CLASS
    first, second = [(ids["AH"],), (ids["EY"],)], [(ids["R"], ids["IY"], ids["D"]), (ids["R"], ids["EH"], ids["D"])]
    pauses = [(), (sil,)]
    expected = {
        (*p, *one, *q, *two, *r) for p in pauses for one in first for q in pauses for two in second for r in pauses
    }
    assert said == expected


def test_a_word_may_be_left_out_by_way_of_garbage_only():
    said = strings(compose([READ]))
    assert (GARBAGE_CLASS,) in said
    assert () not in said
    words = [tuple(c for c in string if c not in (SILENCE_CLASS, GARBAGE_CLASS, FILLER_CLASS)) for string in said]
    assert {len(word) for word in words} == {0, 3}


def test_arcs_lead_forward_and_labels_name_words_and_phones():
    graph = compose([A, READ])
    into_S = np.diff(graph.first_arc)
    assert (graph.source_A < np.repeat(np.arange(len(graph)), into_S)).all()
    chosen = (graph.role_S == PHONE) & (graph.word_S == 1) & (graph.variant_S == 1)
    assert graph.class_S[chosen].tolist() == [BASE_IDS[p] for p in ("R", "EH", "D")]
    assert graph.phone_S[chosen].tolist() == [0, 1, 2]
    assert set(graph.class_S[graph.role_S == SKIPPED]) == {GARBAGE_CLASS}
    assert set(graph.class_S[graph.role_S == INSERTED]) == {FILLER_CLASS}
    assert set(graph.class_S[graph.role_S == SILENCE]) == {SILENCE_CLASS}


def test_the_usual_reading_and_a_pause_at_punctuation_cost_nothing():
    paused = TextWord(text="read", span=(2, 6), variants=READ.variants, pause=True)
    weights = GraphWeights(variant=-2.0, silence=-3.0, garbage=None)
    for word, cost in ((READ, -3.0), (paused, 0.0)):
        graph = compose([A, word], weights)
        between = int(np.flatnonzero((graph.role_S == SILENCE) & (graph.word_S == 1))[0])
        assert set(graph.bonus_A[graph.first_arc[between] : graph.first_arc[between + 1]]) == {np.float32(cost)}
    other = int(np.flatnonzero((graph.variant_S == 1) & (graph.word_S == 1) & (graph.phone_S == 0))[0])
    assert set(graph.bonus_A[graph.first_arc[other] : graph.first_arc[other + 1]]) == {np.float32(-2.0)}


def test_readings_that_differ_in_stress_are_one_and_there_are_not_too_many():
    assert distinct([("AH0", "B"), ("AH1", "B"), ("AE1", "B")]) == (("AH0", "B"), ("AE1", "B"))
    assert len(distinct([(a, b) for a in ("B", "D", "G") for b in ("P", "T", "K", "F")])) == MAX_VARIANTS


def test_a_line_has_optional_sounds():
    sil, b, t = SILENCE_CLASS, BASE_IDS["B"], BASE_IDS["T"]
    comma = BASE_IDS[","]
    said = strings(line([BASE_IDS["sil"], b, comma, t, BASE_IDS["."]], [True, False, True, False, True]))
    assert said == {(*p, b, *q, t, *r) for p in ((), (sil,)) for q in ((), (sil,)) for r in ((), (sil,))}


@pytest.mark.parametrize("words", [[], [TextWord(text="x", span=(0, 1), variants=())]])
def test_nothing_to_say_is_refused(words):
    with pytest.raises(ValueError, match="at least one word"):
        compose(words)
