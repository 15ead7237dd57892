"""The squared hinge on pairs equals its plain-Python oracle, bit for bit and after every row."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings, RowScores, prototypes_learn
from abound.kernels.pairs import BIAS_VALUE, INITIAL_GRAD_SQ, LEARNING_RATE
from abound.kernels.prototypes import Prototypes, check_prototypes
from tests.kernels.drivers import Pairs, hinge_state
from tests.kernels.streams import any_stream, as_lists, as_rows, dyadic, extreme, long_stream, numbered, streams
from tests.reference.hinge import HingeOracle

pytestmark = pytest.mark.kernel

USUAL = {"margin": 1.0, "rivals": 10, "step": LEARNING_RATE, "start": INITIAL_GRAD_SQ, "bias_value": BIAS_VALUE}
CHOICES = {
    "margin": (1.0, 0.0, 0.3, 2.5),
    "rivals": (10, 1, 2, 40),  # more than 32 are kept as a heap
    "step": (1.0, 0.1),
    "start": (30.0, 0.01),
    "bias_value": (0.0, BIAS_VALUE, 2.0),
}
options = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()})
seeds = st.none() | st.integers(0, 99)


def check_row_by_row(options, stream, seed=None):
    pairs, oracle = Pairs(options), HingeOracle(**options)
    examples = numbered(stream, seed)
    for e in examples:
        before = hinge_state(oracle)
        expected = oracle.changes(e.row, e.labels, e.wrong, e.n_labels)
        assert pairs.learn([e], rejections=seed is not None) == (len(expected) > 0)
        oracle.learn(e.row, e.labels, e.wrong, e.n_labels)
        assert pairs.state() == hinge_state(oracle)
        assert pairs.rank(e.row) == oracle.rank(e.row, e.n_labels)
        assert check_prototypes(*pairs.store.arrays()[:3], e.n_labels, pairs.store.arrays()[3]) is None
        if not e.labels and not e.wrong:
            assert hinge_state(oracle) == before
    return pairs, oracle, examples


@settings(deadline=None, max_examples=200)
@given(options, any_stream, seeds)
@example(USUAL, [({}, [], 0)], None)
@example(USUAL, [({}, [7], 2), ({3: 1.0}, [], 0), ({3: 1.0}, [7, 7], 0)], 1)
def test_state_and_ranking_equal_the_oracle_after_every_row(options, stream, seed):
    pairs, oracle, examples = check_row_by_row(options, stream, seed)
    for e in examples:
        assert pairs.rank(e.row) == oracle.rank(e.row, pairs.n_known)
        assert pairs.rank(e.row, 2) == oracle.rank(e.row, pairs.n_known)[:2]


@settings(deadline=None, max_examples=100)
@given(options, streams(extreme, max_rows=10), seeds)
def test_values_at_the_ends_of_single_precision_equal_the_oracle(options, stream, seed):
    check_row_by_row(options, stream, seed)


@pytest.mark.parametrize("exact", [True, False], ids=["dyadic", "arbitrary"])
@pytest.mark.parametrize(
    ("n_features", "n_labels", "rivals", "seed"),
    [(6, 40, 10, None), (6, 90, 50, 2), (12, 30, 1, 3), (40, 150, 40, None)],
)
def test_a_long_stream_equals_the_oracle_after_every_row(n_features, n_labels, rivals, seed, exact):
    # Labels go on coming: columns begin as lists, become arrays over the labels, and are widened.
    stream = long_stream(5, 120, n_features, n_labels, exact)
    pairs, _, _ = check_row_by_row({**USUAL, "rivals": rivals}, stream, seed)
    assert pairs.store.n_dense > 0 or n_labels == 150


def test_columns_turn_dense_and_stay_the_same_as_lists():
    stream = long_stream(6, 200, 5, 60, exact=False)
    lists, dense = Pairs(USUAL, may_be_dense=False), Pairs(USUAL)
    for e in numbered(stream, 1):
        lists.learn([e])
        dense.learn([e])
        assert {key: pair for key, pair in lists.state().items() if pair != (0.0, 0.0)} == dense.state()
        assert lists.rank(e.row) == dense.rank(e.row)
    assert lists.store.n_dense == 0
    assert dense.store.n_dense > 0


@settings(deadline=None, max_examples=80)
@given(options, any_stream, seeds)
def test_explanations_are_the_oracles_votes_and_sum_to_the_score(options, stream, seed):
    pairs, oracle, examples = check_row_by_row(options, stream, seed)
    for e in examples:
        for label, score in pairs.rank(e.row):
            votes, prior = pairs.explain(e.row, label)
            if options["bias_value"] > 0:
                votes = [(f + 1, vote) for f, vote in votes]
                votes = [(0, prior), *votes] if prior else votes
            assert votes == oracle.votes(e.row, label)
            total = 0.0
            for _, vote in votes:
                total += vote
            assert total == score


@settings(deadline=None, max_examples=80)
@given(options, any_stream, seeds, st.data())
def test_chunks_of_any_size_reach_the_same_state(options, stream, seed, data):
    examples = numbered(stream, seed)
    single, chunked, start = Pairs(options), Pairs(options), 0
    changed = sum(single.learn([e]) for e in examples)
    while start < len(examples):
        end = start + data.draw(st.integers(1, len(examples) - start), label="chunk")
        changed -= chunked.learn(examples[start:end])
        start = end
    assert changed == 0
    assert chunked.state() == single.state()
    copied = pickle.loads(pickle.dumps(chunked.store))  # noqa: S301  our own bytes
    assert [array.tolist() for array in copied.arrays()] == [array.tolist() for array in single.store.arrays()]


@settings(deadline=None, max_examples=80)
@given(any_stream)
def test_a_second_pass_equals_the_oracle_fed_twice(stream):
    pairs, oracle, examples = check_row_by_row(USUAL, stream)
    for e in examples:
        pairs.learn([e])
        oracle.learn(e.row, e.labels, [], pairs.n_known)
    assert pairs.state() == hinge_state(oracle)


def hinge_loss(options, weights, row, labels, n_labels, rivals):
    """Return half the squared violations of a row's labels and of the others that learn: a formula in doubles."""
    total = 0.0
    for label in range(n_labels):
        score = sum(weights.get((f, label), 0.0) * v for f, v in row.items())
        if label in labels:
            total += max(0.0, 1 + options["margin"] - score) ** 2 / 2
        elif label in rivals:
            total += max(0.0, score - 1 + options["margin"]) ** 2 / 2
    return total


@pytest.mark.parametrize("margin", [0.5, 1.0])
def test_weights_follow_the_gradient_of_the_squared_hinge(margin):
    options = {**USUAL, "margin": margin, "rivals": 3, "start": 1.0, "bias_value": 0.0}
    examples = numbered(long_stream(8, 100, 6, 12, exact=False))
    pairs, n_moved = Pairs(options), 0
    pairs.learn(examples)
    indptr, labels, weights, squares = pairs.store.arrays()
    before = {key: weight for key, (weight, _) in pairs.state().items()}
    for e in examples[-20:]:
        if not e.labels or not e.row:
            continue
        rivals = [label for label, _ in pairs.rank(e.row) if label not in e.labels][: max(3, 3 * len(e.labels))]
        fresh = Pairs(options)
        fresh.n_known = pairs.n_known
        fresh.store = Prototypes.from_arrays(
            indptr, labels, weights, pairs.n_known, np.zeros_like(squares), may_be_dense=True
        )
        fresh.learn([e])
        after = fresh.state()
        for f in e.row:
            for label in range(pairs.n_known):
                w, h = before.get((f, label), 0.0), 1e-4
                high = hinge_loss(options, {**before, (f, label): w + h}, e.row, e.labels, pairs.n_known, rivals)
                low = hinge_loss(options, {**before, (f, label): w - h}, e.row, e.labels, pairs.n_known, rivals)
                gradient = (high - low) / (2 * h)
                new, moved = after.get((f, label), (0.0, 0.0))
                assert math.sqrt(moved) == pytest.approx(abs(gradient), rel=1e-3, abs=1e-3)
                if abs(gradient) > 2e-3:
                    assert (new < np.float32(w)) == (gradient > 0)
                    n_moved += 1
    assert n_moved > 50


# A step by a value of a thousandth may be lost in single precision after steps by values of a thousand; rows of text
# have values of one size.
alike = streams(dyadic)


@settings(deadline=None, max_examples=100)
@given(alike)
def test_a_rejected_label_falls_and_no_other_moves(stream):
    pairs, oracle, examples = check_row_by_row(USUAL, stream)
    for e in examples:
        if not oracle.active(e.row):
            continue
        for label, before in pairs.rank(e.row):
            others = {other: score for other, score in pairs.rank(e.row) if other != label}
            pairs.learn([e._replace(labels=[], wrong=[label])])
            after = dict(pairs.rank(e.row))
            assert after.pop(label) < before
            assert after == others


@settings(deadline=None, max_examples=100)
@given(alike, st.integers(0, 99))
def test_a_rejected_label_falls_beside_true_ones(stream, seed):
    examples = numbered(stream, seed)
    pairs = Pairs(USUAL)
    for e in examples:
        pairs.n_known = max(pairs.n_known, e.n_labels)
        before = dict(pairs.rank(e.row))
        pairs.learn([e])
        after = dict(pairs.rank(e.row))
        for label in e.wrong:
            assert after[label] < before[label] or not any(e.row.values())


def test_the_hinge_needs_sums_of_squares():
    store = Prototypes(may_be_dense=True)
    how = PrototypeSettings(rule="hinge", all_labels=True, step=1.0)
    with pytest.raises(ValueError, match="AdaGrad needs a store with auxiliary values"):
        prototypes_learn(store, RowScores(), how, Batch(as_rows([{0: 1.0}]), (*as_lists([[0]]), 0)))


def test_labels_that_are_unknown_or_rejected_twice_do_no_harm():
    pairs, oracle, [*_, e] = check_row_by_row(USUAL, [({0: 1.0, 1: 0.5}, ["a"], 0), ({1: 0.5}, ["b", "c"], 0)])
    pairs.learn([e._replace(wrong=[0, 0, 10**6, 3])])
    oracle.learn(e.row, e.labels, [0], 3)
    assert pairs.state() == hinge_state(oracle)


def test_what_all_rows_have_needs_all_labels():
    with pytest.raises(ValueError, match="bias_value needs all_labels"):
        PrototypeSettings(rule="hinge", all_labels=False, bias_value=0.1)


def test_a_label_that_most_rows_have_leads_where_words_say_nothing():
    pairs = Pairs(USUAL)
    pairs.learn(numbered([({i: 0.5}, ["often"] if i % 4 else ["seldom"], 0) for i in range(80)]))
    (first, _), (_, second_score) = pairs.rank({1000: 0.5})
    assert first == 1
    assert second_score < 1.0


@settings(deadline=None, max_examples=80)
@given(options, any_stream, st.floats(0, 1))
def test_a_mean_is_that_of_the_weights_of_two_moments(options, stream, share):
    pairs, examples = Pairs(options), numbered(stream)
    cut = len(examples) // 2
    if cut:
        pairs.learn(examples[:cut])
    before, earlier = pairs.state(), pickle.loads(pickle.dumps(pairs.store))  # noqa: S301  our own bytes
    pairs.learn(examples[cut:])
    after = pairs.state()
    mean = earlier.copy()
    mean.update_mean(pairs.store, share)
    assert pairs.state() == after
    again = earlier.copy()
    again.update_mean(pairs.store, 0.5)  # now both have the same pairs
    again.update_mean(pairs.store, 0.0)
    assert all(np.array_equal(a, b) for a, b in zip(again.arrays(), pairs.store.arrays(), strict=True))
    assert (again.n_pairs, mean.n_pairs) == (pairs.store.n_pairs, pairs.store.n_pairs)
    pairs.store = mean
    wanted = {}
    for key, (weight, squares) in after.items():
        w = (1.0 - share) * weight + share * before.get(key, (0.0, 0.0))[0]
        wanted[key] = (float(np.float32(w)), squares)
    found = {key: pair for key, pair in pairs.state().items() if pair != (0.0, 0.0)}
    assert found == {key: pair for key, pair in wanted.items() if pair != (0.0, 0.0)}
    pairs.learn(examples)  # it goes on


def test_a_mean_is_of_moments_of_one_store():
    one, other = Pairs(USUAL), Pairs(USUAL)
    one.learn(numbered([({0: 1.0}, ["a"], 0)]))
    other.learn(numbered([({0: 1.0, 5: 1.0}, ["a"], 0)]))
    with pytest.raises(ValueError, match="must not have more features"):
        other.store.update_mean(one.store, 0.5)
    third = Pairs({**USUAL, "bias_value": 0.0})
    third.learn(numbered([({0: 1.0}, ["a"], 0), ({0: 1.0}, ["b"], 0)]))
    with pytest.raises(ValueError, match="must not have other pairs"):
        third.store.update_mean(one.store, 0.5)
    # As many pairs of each feature, but of other labels.
    here, there = (Pairs({**USUAL, "bias_value": 0.0}) for _ in range(2))
    here.learn(numbered([({0: 1.0}, ["a"], 0), ({1: 1.0}, ["b"], 0)]))
    there.learn(numbered([({1: 1.0}, ["a"], 0), ({0: 1.0}, ["b"], 0)]))
    with pytest.raises(ValueError, match="must not have other pairs"):
        there.store.update_mean(here.store, 0.5)
