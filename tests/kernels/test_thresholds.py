"""The PRank kernels equal the plain-Python oracle after every row, and keep what the paper proves."""

import pickle
import random

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound import PRank
from tests.reference.prank import KernelPRankOracle, PRankOracle, polynomial, rbf

pytestmark = pytest.mark.kernel

# Eighths make ties and exact sums; ordinary floats make every rounding count.
dyadic = st.integers(-24, 24).map(lambda i: i / 8)
ordinary = st.floats(-1e3, 1e3)
margins = st.sampled_from([0.0, 0.5, 2.0])


def streams(values, n_ranks=5, max_rows=20):
    row = st.dictionaries(st.integers(0, 4), values, max_size=4)
    return st.lists(st.tuples(row, st.integers(1, n_ranks)), min_size=1, max_size=max_rows)


any_stream = st.one_of(streams(dyadic), streams(ordinary))


def as_matrix(rows, width=5):
    items = [sorted(row.items()) for row in rows]
    indices = np.array([f for row in items for f, _ in row], np.int32)
    data = np.array([v for row in items for _, v in row], np.float64)
    return sp.csr_array((data, indices, np.cumsum([0] + [len(row) for row in items])), shape=(len(rows), width))


def weights(prank, width=5):
    return prank._weights[:, 0].tolist()[:width]


def is_ordered(values):
    return bool(np.all(np.diff(values) >= 0))


@settings(deadline=None, max_examples=200)
@given(any_stream, margins)
@example([({}, 1)], 0.0)
@example([({0: 1.0}, 3), ({0: -1.0}, 1), ({0: 1.0}, 2), ({0: 0.0}, 5)], 0.0)
def test_weights_and_thresholds_equal_the_oracle_after_every_row(stream, margin):
    oracle, prank = PRankOracle(5, margin), PRank(margin=margin, ranks=range(1, 6))
    for x, y in stream:
        assert prank.predict_learn(as_matrix([x]), [y]).tolist() == [oracle.learn(x, y)]
        assert weights(prank) == [oracle.w.get(f, 0.0) for f in range(5)]
        assert prank._thresholds[:, 0].tolist() == oracle.b
        assert prank.n_updates_ == oracle.n_updates
        mean_w, mean_b = oracle.mean()
        scale = 1e-9 * (1 + max(map(abs, mean_w.values()), default=0.0)) * prank.n_rows_seen_
        assert prank.coef_.tolist() == pytest.approx([mean_w.get(f, 0.0) for f in range(5)], rel=1e-9, abs=scale)
        assert prank.thresholds_.tolist() == pytest.approx(mean_b)


@settings(deadline=None, max_examples=100)
@given(any_stream, margins)
def test_one_by_one_in_chunks_and_dense_reach_the_same_state(stream, margin):
    X, y = as_matrix([x for x, _ in stream]), [y for _, y in stream]
    chosen = {"margin": margin, "ranks": list(range(1, 6))}
    whole, dense, chunks = (PRank(**chosen) for _ in range(3))
    whole.fit(X, y)
    dense.fit(X.toarray(), y)
    half = len(y) // 2
    for part in (slice(0, half), slice(half, None)):
        if y[part]:
            chunks.partial_fit(X[part], y[part])
    assert whole.state_hash() == chunks.state_hash()
    assert whole._thresholds.tolist() == dense._thresholds.tolist()
    assert whole._weights.tolist() == dense._weights.tolist()


@settings(deadline=None, max_examples=200)
@given(any_stream, margins, st.booleans())
def test_ranks_that_come_late_keep_thresholds_and_their_means_in_order(stream, margin, average):
    oracle, prank, known = PRankOracle(1, margin), PRank(margin=margin, average=average), []
    for x, y in stream:
        if y not in known:
            if known:
                oracle.insert_rank(sum(value < y for value in known) + 1)
            known = sorted([*known, y])
        assert known[oracle.learn(x, known.index(y) + 1) - 1] == prank.predict_learn(as_matrix([x]), [y])[0]
        assert prank._thresholds[:, 0].tolist() == oracle.b
        assert prank.classes_.tolist() == known
        assert is_ordered(oracle.b)
        assert is_ordered(np.round(prank.thresholds_, 9))
        if average:
            assert prank.thresholds_.tolist() == pytest.approx(oracle.mean()[1])


def test_a_late_rank_leaves_what_was_learnt_as_it_was():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.digitize(X @ [1.0, -2.0, 0.5], [-1, 1]) * 10
    prank = PRank(passes=3).fit(X, y)
    before = prank.predict(X)
    for rank in (-5, 5, 15, 99):
        prank.partial_fit(X[:1], y[:1], classes=[rank])
    assert prank.classes_.tolist() == [-5, 0, 5, 10, 15, 20, 99]
    assert np.mean(prank.predict(X) == before) > 0.99
    for _ in range(300):
        prank.partial_fit([[3.0, -6.0, 1.5]], [99])
    assert prank.set_params(average=False).predict([[3.0, -6.0, 1.5]]) == [99]


KERNELS = {
    "poly": ({"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}, polynomial(2, 1.0, 1.0)),
    "poly3": ({"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 0.25}, polynomial(3, 0.5, 0.25)),
    "rbf": ({"kernel": "rbf", "gamma": 0.125}, rbf(0.125)),
}


@pytest.mark.parametrize("kernel", KERNELS)
@settings(deadline=None, max_examples=80)
@given(stream=streams(dyadic, max_rows=30), margin=margins, budget=st.sampled_from([None, 1, 3]))
def test_kernels_equal_the_oracle_after_every_row(kernel, stream, margin, budget):
    params, function = KERNELS[kernel]
    oracle = KernelPRankOracle(5, function, margin, budget)
    prank = PRank(margin=margin, budget=budget, ranks=range(1, 6), **params)
    for x, y in stream:
        assert prank.predict_learn(as_matrix([x]), [y]).tolist() == [oracle.learn(x, y)]
        assert prank._support.arrays()[3].tolist() == [step for _, step, _ in oracle.support]
        assert prank._support.arrays()[4].tolist() == [born for _, _, born in oracle.support]
        assert prank._thresholds[:, 0].tolist() == oracle.b
        is_full = prank.n_support_ == budget
        expected = oracle.score(x) if is_full else oracle.mean_score(x)
        assert prank.decision_function(as_matrix([x])) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert prank.thresholds_.tolist() == pytest.approx(oracle.b if is_full else oracle.mean()[1])
    prank.set_params(average=False)
    for x, _ in stream:
        assert prank.decision_function(as_matrix([x])) == pytest.approx(oracle.score(x), rel=1e-9, abs=1e-9)


def test_a_long_stream_within_a_budget_equals_the_oracle():
    # Room is closed up many times, which short streams do not reach.
    rng, params = random.Random(0), KERNELS["poly"]
    oracle = KernelPRankOracle(4, params[1], 0.5, 20)
    prank = PRank(margin=0.5, budget=20, ranks=[1, 2, 3, 4], **params[0])
    rows = [{f: rng.randint(-8, 8) / 8 for f in rng.sample(range(6), rng.randint(0, 4))} for _ in range(400)]
    ranks = [rng.randint(1, 4) for _ in rows]
    expected = [oracle.learn(x, y) for x, y in zip(rows, ranks, strict=True)]
    assert prank.predict_learn(as_matrix(rows, 6), ranks).tolist() == expected
    assert prank.n_support_ == 20
    again = pickle.loads(pickle.dumps(prank))  # noqa: S301  our own bytes
    assert again.decision_function(as_matrix(rows, 6)).tolist() == prank.decision_function(as_matrix(rows, 6)).tolist()


def test_a_kernel_is_the_linear_machine_on_its_explicit_features():
    rng = np.random.default_rng(1)
    X, y = rng.integers(-4, 5, size=(200, 2)) / 4, rng.integers(1, 5, size=200)
    root = np.sqrt(2.0)
    explicit = np.stack([np.ones(200), root * X[:, 0], root * X[:, 1], X[:, 0] ** 2, X[:, 1] ** 2], axis=1)
    explicit = np.column_stack([explicit, root * X[:, 0] * X[:, 1]])
    # A margin of no round size, so that no score lies on it by chance.
    kernel = PRank(kernel="poly", margin=0.12345).fit(X, y)
    linear = PRank(margin=0.12345).fit(explicit, y)
    assert kernel.thresholds_.tolist() == pytest.approx(linear.thresholds_.tolist())
    assert kernel.decision_function(X) == pytest.approx(linear.decision_function(explicit))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 6), st.sampled_from([0.05, 0.2, 1.0]))
def test_the_papers_bound_holds_on_separable_streams(seed, k, n_features, gap):
    """Rank loss is at most (k-1)(R^2+1)/g^2 for every unit-norm rule (u, c) that ranks all rows with margin g."""
    rng = np.random.default_rng(seed)
    u, c = rng.normal(size=n_features), np.sort(rng.normal(size=k - 1))
    length = np.sqrt((u**2).sum() + (c**2).sum())
    u, c = u / length, c / length
    X = rng.normal(size=(400, n_features)) * 3
    distance = np.abs((X @ u)[:, None] - c).min(axis=1)
    X = X[distance > gap / 4]
    if len(X) == 0:
        return
    y = np.searchsorted(c, X @ u) + 1
    margin = np.abs((X @ u)[:, None] - c).min()
    bound = (k - 1) * ((X**2).sum(axis=1).max() + 1) / margin**2
    rows, ranks = np.tile(X, (3, 1)), np.tile(y, 3)
    loss = np.abs(PRank(ranks=range(1, k + 1)).predict_learn(rows, ranks) - ranks).sum()
    assert loss <= bound


def test_the_bound_is_not_met_by_standing_still():
    # One row again and again: the first guess is the top rank, and few updates must do.
    loss = np.abs(PRank(ranks=[1, 2, 3]).predict_learn([[1.0]] * 50, [2] * 50) - 2).sum()
    assert 0 < loss <= 3


def test_columns_that_come_late_and_columns_that_are_not_known():
    prank = PRank().partial_fit(as_matrix([{0: 1.0}], 1), [1]).partial_fit(as_matrix([{4: 1.0}, {0: 1.0}]), [2, 1])
    assert prank.n_features_in_ == 5
    assert prank.predict(as_matrix([{4: 1.0}, {7: 3.0}], 8)).shape == (2,)
    kernel = PRank(kernel="rbf").partial_fit(as_matrix([{0: 1.0}], 1), [1]).partial_fit(as_matrix([{4: 1.0}]), [2])
    assert kernel.predict(as_matrix([{4: 1.0}, {7: 3.0}], 8)).shape == (2,)


def test_repeated_columns_are_summed():
    twice = sp.csr_array((np.array([0.5, 0.5]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    one, other = (PRank(ranks=[1, 2, 3]).fit(X, [1]) for X in (twice, [[1.0]]))
    assert one.state_hash() == other.state_hash()


def test_rows_without_entries_may_leave_a_full_budget():
    learner = PRank(kernel="rbf", budget=1, margin=1.0)
    for rank in [1, 2, 3] * 4:
        learner.partial_fit(sp.csr_array((1, 2)), [rank])
    assert learner.n_support_ == 1
