"""The decoder: the C++ version gives the bits of the reference, and both the best of all paths."""

import itertools

import numpy as np
import pytest

from deepvoice.kernels.reference.viterbi import IMPOSSIBLE
from deepvoice.kernels.viterbi import Problem, viterbi


def problem(random, frames, states, classes=5, stack=2, band=None, ties=False):
    """Return a random graph in which every state but the first has one to four arcs."""
    steps = -(-frames // stack)

    def scores(*shape):
        values = random.normal(size=shape) * 3
        return (np.rint(values) if ties else values).astype(np.float32)

    into_S = np.array([0, *random.integers(1, 5, states - 1)])
    source_A = [int(random.integers(max(0, s - 4), s)) for s in range(1, states) for _ in range(into_S[s])]
    low_F, high_F = np.zeros(frames, np.int32), np.full(frames, states, np.int32)
    if band:
        centre_F = np.linspace(0, states - 1, frames).astype(np.int32)
        low_F, high_F = np.maximum(centre_F - band, 0), np.minimum(centre_F + band + 1, states)
    return Problem(
        emission_FC=scores(frames, classes),
        leave_TC=scores(steps, classes),
        enter_TC=scores(steps, classes),
        class_S=random.integers(0, classes, states).astype(np.int32),
        first_arc=np.concatenate([[0], np.cumsum(into_S)]).astype(np.int32),
        source_A=np.array(source_A, np.int32),
        bonus_A=scores(len(source_A)),
        initial_S=np.where(np.arange(states) < 2, 0, IMPOSSIBLE).astype(np.float32),
        final_S=np.where(np.arange(states) >= states - 2, 0, IMPOSSIBLE).astype(np.float32),
        low_F=low_F,
        high_F=high_F,
    )


@pytest.mark.parametrize("frames", [1, 2, 3, 7, 64, 129])
@pytest.mark.parametrize("states", [1, 2, 5, 33])
@pytest.mark.parametrize("stack", [1, 2, 3])
@pytest.mark.parametrize("band", [None, 3])
@pytest.mark.parametrize("ties", [False, True])
def test_both_versions_give_the_same_bits(frames, states, stack, band, ties):
    random = np.random.default_rng([frames, states, stack, band or 0, ties])
    one = problem(random, frames, states, stack=stack, band=band, ties=ties)
    (ours,), (reference,) = viterbi([one], backend="cpu"), viterbi([one], backend="reference")
    assert (ours is None) == (reference is None)
    if ours is not None:
        assert np.array_equal(ours.state_F, reference.state_F)
        assert ours.score == reference.score


def test_a_batch_is_its_problems_one_by_one():
    random = np.random.default_rng(1)
    many = [problem(random, frames, states) for frames, states in [(9, 4), (31, 17), (2, 2), (50, 40), (1, 3)]]
    for backend in ("cpu", "reference"):
        together = viterbi(many, backend=backend)
        for one, found in zip(many, together, strict=True):
            alone = viterbi([one], backend=backend)[0]
            assert (alone is None) == (found is None)
            if found is not None:
                assert np.array_equal(alone.state_F, found.state_F)
                assert alone.score == found.score
    assert viterbi([]) == []


def total(one, states):
    """Return the score of a path, by the definition; IMPOSSIBLE where an arc is missing."""
    score = float(one.initial_S[states[0]]) + float(one.emission_FC[0, one.class_S[states[0]]])
    for t in range(1, len(states)):
        before, state = states[t - 1], states[t]
        if state != before:
            arcs = range(one.first_arc[state], one.first_arc[state + 1])
            bonus = max((float(one.bonus_A[a]) for a in arcs if one.source_A[a] == before), default=-1e30)
            step = t // one.stack
            score += float(one.leave_TC[step, one.class_S[before]]) + float(one.enter_TC[step, one.class_S[state]])
            score += bonus
        score += float(one.emission_FC[t, one.class_S[state]])
    return score + float(one.final_S[states[-1]])


@pytest.mark.parametrize("seed", range(6))
def test_no_other_path_is_better(seed):
    one = problem(np.random.default_rng(seed), 6, 4)
    best = max(total(one, states) for states in itertools.product(range(4), repeat=6))
    (path,) = viterbi([one])
    assert path is not None
    assert path.score == pytest.approx(best, abs=1e-3)
    assert total(one, path.state_F) == pytest.approx(best, abs=1e-3)


def test_a_graph_without_a_path_is_none():
    one = problem(np.random.default_rng(0), 2, 5, band=None)
    one = one._replace(source_A=np.maximum(np.repeat(np.arange(5), np.diff(one.first_arc)) - 1, 0).astype(np.int32))
    one = one._replace(initial_S=np.where(np.arange(5) == 0, 0, IMPOSSIBLE).astype(np.float32))
    one = one._replace(final_S=np.where(np.arange(5) == 4, 0, IMPOSSIBLE).astype(np.float32))
    for backend in ("cpu", "reference"):
        assert viterbi([one], backend=backend) == [None]  # four arcs cannot be taken in two frames


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("class_S", np.array([0, 9], np.int32), "class_S must be"),
        ("first_arc", np.array([0, 1, 1], np.int32), "source_A must be"),
        ("first_arc", np.array([0, 0, 2], np.int32), "first_arc must rise"),
        ("source_A", np.array([1], np.int32), "source_A must be"),
        ("high_F", np.array([2, 1, 2], np.int32), "low_F and high_F"),
        ("low_F", np.array([0, 2, 2], np.int32), "low_F and high_F"),
        ("bonus_A", np.zeros(2, np.float32), "bonus_A has shape"),
        ("leave_TC", np.zeros((7, 5), np.float32), "steps of equal length"),
        ("class_S", np.zeros(2, np.int64), "class_S must be int32"),
    ],
)
def test_bad_problems_are_refused(field, value, message):
    one = problem(np.random.default_rng(0), 3, 2, band=None)._replace(
        first_arc=np.array([0, 0, 1], np.int32), source_A=np.zeros(1, np.int32), bonus_A=np.zeros(1, np.float32)
    )
    assert viterbi([one])[0] is not None
    with pytest.raises(ValueError, match=message):
        viterbi([one._replace(**{field: value})])
