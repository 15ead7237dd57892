"""The oracles of the category rankers keep what the paper proves, so that they may judge the kernels."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.mmp import MMPReference, PerceptronReference, RocchioReference
from tests.reference.separable import CONSTANTS, bound, orthonormal_stream, separable_stream

LOSSES = (1, 2, 3)
rows = st.dictionaries(st.integers(0, 5), st.integers(0, 16).map(lambda n: n / 8), max_size=4)
streams = st.lists(st.tuples(rows, st.sets(st.integers(0, 5), max_size=4)), max_size=12)


def feed(oracle, stream):
    """Let an oracle learn a stream in which labels become known as they appear; yield what it said of each row."""
    known = 0
    for row, labels in stream:
        known = max([known] + [label + 1 for label in labels])
        yield oracle.learn(row, labels, known)


def test_one_update_by_hand():
    scores = {0: 3.0, 1: 1.0, 2: 2.0, 3: 1.0}  # relevant: 0 and 1; 2 beats 1, and 3 ties with it
    for loss, c in ((1, 2), (2, 1), (3, 4)):
        oracle = MMPReference(loss)
        oracle.n_labels, oracle.w = 4, {label: {0: score} for label, score in scores.items()}
        assert oracle.error_set({0: 1.0}, [0, 1]) == [(1, 2), (1, 3)]
        assert oracle.amounts({0: 1.0}, [0, 1]) == {1: 2 / c, 2: -1 / c, 3: -1 / c}
        assert oracle.learn({0: 1.0}, [0, 1], 4) == (1.0, 2.0, 0.5)
        assert oracle.scores({0: 1.0}) == {0: 3.0, 1: 1 + 2 / c, 2: 2 - 1 / c, 3: 1 - 1 / c}


@pytest.mark.parametrize("labels", [[], [0, 1, 2]])
def test_a_row_with_no_label_or_all_of_them_is_passed_over(labels):
    oracle = MMPReference(margin=5.0)
    assert oracle.learn({0: 1.0}, labels, 3) == (0.0, 0.0, 0.0)
    assert oracle.scores({0: 1.0}) == {0: 0.0, 1: 0.0, 2: 0.0}


def test_a_margin_asks_for_more_than_the_right_order():
    oracle = MMPReference(margin=1.0)
    oracle.n_labels, oracle.w = 2, {0: {0: 1.5}, 1: {0: 0.5}}
    assert oracle.error_set({0: 1.0}, [0]) == [(0, 1)]  # 1 is not more than 1
    assert oracle.error_set({0: 1.1}, [0]) == []


def test_rivals_are_the_best_of_the_others():
    oracle = MMPReference(rivals=2)
    oracle.n_labels, oracle.w = 5, {1: {0: 2.0}, 2: {0: 1.0}, 3: {0: 1.0}, 4: {0: 3.0}}
    assert oracle.error_set({0: 1.0}, [0]) == [(0, 1), (0, 4)]
    assert oracle.error_set({0: 1.0}, [4]) == []
    assert oracle.error_set({0: 1.0}, [2, 4]) == [(2, 1), (2, 3)]
    assert oracle.error_set({0: 1.0}, [0, 4]) == [(0, 1), (0, 2)]  # 2 and 3 tie: the smaller number takes part


def test_touched_leaves_out_labels_that_nothing_speaks_for():
    oracle = MMPReference(candidates="touched", stores="updated")
    oracle.learn({0: 1.0}, [0], 3)
    assert oracle.w == {}  # nothing is stored, so nothing competes, and nothing will ever be learnt with margin 0
    oracle.w = {0: {7: 1.0}, 1: {0: 0.0}}  # stored is stored, also at weight 0
    assert oracle.error_set({0: 1.0}, [0]) == [(0, 1)]
    assert oracle.error_set({0: 1.0, 7: 1.0}, [0]) == []
    assert oracle.error_set({3: 1.0}, [2]) == []


def test_touched_learns_when_labels_are_stored_with_the_features_of_their_rows():
    stream = [({0: 1.0}, {0}), ({0: 1.0}, {1}), ({0: 1.0, 1: 1.0}, {1})]
    updated, relevant = (MMPReference(1, "touched", stores=stores) for stores in ("updated", "relevant"))
    assert [losses[0] for losses in feed(updated, stream * 5)] == [0.0] * 15
    assert [losses[0] for losses in feed(relevant, stream)] == [0.0, 1.0, 0.0]
    assert relevant.w == {0: {0: -1.0}, 1: {0: 1.0, 1: 0.0}}


@given(
    streams,
    st.sampled_from(LOSSES),
    st.sampled_from(("all", "touched")),
    st.sampled_from((0.0, 0.5, 2.0)),
    st.sampled_from(("updated", "relevant")),
)
@settings(max_examples=60, deadline=None)
def test_updates_sum_to_zero_over_labels_and_to_the_loss_over_the_relevant(stream, loss, candidates, margin, stores):
    oracle, known = MMPReference(loss, candidates, margin, stores=stores), 0
    for row, labels in stream:
        known = max([known] + [label + 1 for label in labels])
        oracle.n_labels = known
        amounts = oracle.amounts(row, labels)
        losses = oracle.learn(row, labels, known)
        assert math.isclose(sum(amounts.values()), 0.0, abs_tol=1e-12)
        assert math.isclose(sum(amounts.get(label, 0.0) for label in labels), losses[loss - 1], abs_tol=1e-12)
        for f in range(6):
            assert math.isclose(sum(weights.get(f, 0.0) for weights in oracle.w.values()), 0.0, abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_mistake_bounds_hold_on_separable_streams(loss, seed):
    stream, k, radius, margin = separable_stream(seed)
    oracle = MMPReference(loss)
    total = sum(oracle.learn(row, labels, k)[loss - 1] for row, labels in stream * 3)
    assert 0 < total <= bound(loss, k, radius, margin)


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("loss", LOSSES)
def test_half_the_constant_would_be_too_little(loss, k):
    stream, radius, margin = orthonormal_stream(k)
    oracle = MMPReference(loss)
    total = sum(oracle.learn(row, labels, k)[loss - 1] for row, labels in stream)
    limit = bound(loss, k, radius, margin)
    assert limit / 2 < total <= limit * (1 + 1e-12)
    if loss == 2 or k == 2:
        assert total == pytest.approx(limit)  # exactly tight


def test_the_constants_are_those_of_the_theorem():
    assert [CONSTANTS[loss](7) for loss in LOSSES] == [2, 7, 2]


@pytest.mark.parametrize("seed", range(3))
def test_each_perceptron_keeps_its_bound(seed):
    rng = np.random.default_rng(seed)
    best = rng.normal(size=8)
    best /= np.linalg.norm(best)
    X = [x for x in rng.random((300, 8)) if abs(best @ x) > 0.1]
    stream = [(dict(enumerate(x)), [int(best @ x > 0)]) for x in X]
    oracle = PerceptronReference()
    mistakes = sum(oracle.learn(row, labels, 2) for row, labels in stream * 4)
    radius, margin = max(np.linalg.norm(x) for x in X), min(abs(best @ x) for x in X)
    assert 0 < mistakes <= 2 * (radius / margin) ** 2
    assert oracle.learn(*stream[0], 2) in (0, 1, 2)


def test_a_perceptron_starts_when_its_label_is_first_known():
    oracle = PerceptronReference()
    assert list(feed(oracle, [({0: 1.0}, {0}), ({0: 1.0}, {0}), ({0: 2.0}, {1}), ({1: 1.0}, set())])) == [1, 0, 2, 2]
    assert oracle.w == {0: {0: -1.0, 1: -1.0}, 1: {0: 2.0, 1: -1.0}}


def test_rocchio_by_hand():
    oracle = RocchioReference()
    list(feed(oracle, [({0: 1.0, 1: 1.0}, {0}), ({0: 3.0}, {0, 1}), ({1: 8.0}, {1}), ({2: 1.0}, set())]))
    # label 0: term 0 has 16 * 2 - 4 * 0, term 1 has 16 * .5 - 4 * 4 < 0; label 1: 16 * 1.5 - 4 * .5, 16 * 4 - 4 * .5
    assert oracle.raw(0) == {0: 32.0}
    assert oracle.raw(1) == {0: 22.0, 1: 62.0}
    assert oracle.w[0] == {0: 1.0}
    assert oracle.w[1] == {0: 22 / math.hypot(22, 62), 1: 62 / math.hypot(22, 62)}


def test_rocchio_selects_by_label():
    oracle = RocchioReference()
    list(feed(oracle, [({f: 10.0 - f for f in range(6)}, {0}), ({7: 1.0, 8: 1.0}, {1})]))
    assert oracle.selected(least=1, share=0.5) == {0, 1, 2, 7}
    assert oracle.selected() == {0, 1, 2, 3, 4, 5, 7, 8}
