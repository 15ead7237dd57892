"""The category rankers equal their oracles after every row, and keep the paper's promises."""

import random

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound import MMP, Perceptron, Rocchio
from tests.reference.mmp import MMPReference, PerceptronReference, RocchioReference
from tests.reference.separable import bound, orthonormal_stream, separable_stream

pytestmark = pytest.mark.kernel

LOSSES = (1, 2, 3)
NAMES = (50, 7, 31, 2, 64, 18)  # out of order, so that a label's number is not its name
dyadic = st.integers(0, 32).map(lambda k: k / 16)
ordinary = st.floats(1e-3, 1e3)
extreme = st.sampled_from([0.0, 5e-324, 1.1e-38, 1.2e-38, 1e-30, 1.0, 1e15])


def streams(values, max_rows=12):
    row = st.dictionaries(st.integers(0, 5), values, max_size=4)
    labels = st.lists(st.sampled_from(NAMES), max_size=4) | st.just(list(NAMES))
    return st.lists(st.tuples(row, labels), min_size=1, max_size=max_rows)


any_stream = st.one_of(streams(dyadic), streams(ordinary), streams(dyadic | ordinary), streams(extreme))
candidates = st.sampled_from(("all", "touched"))
options = st.fixed_dictionaries(
    {
        "loss": st.sampled_from(LOSSES),
        "candidates": candidates,
        "margin": st.sampled_from((0.0, 0.5, 1.0, 7.3)),
        "rivals": st.sampled_from((None, 1, 2, 3)),
    }
)


def long_stream(seed, n_rows=250, n_features=25, n_labels=40):
    """Return rows over enough labels that lists of weights become long, and dense where they may."""
    rng = random.Random(seed)
    stream = []
    for _ in range(n_rows):
        features = {int(n_features * rng.random() ** 2) for _ in range(rng.randint(0, 6))}
        labels = [1000 - int(n_labels * rng.random() ** 2) for _ in range(rng.randint(0, 4))]
        stream.append(({f: rng.uniform(0.01, 1.5) for f in features}, labels))
    return stream


def as_row(row, width=0):
    """Return a row as a matrix that keeps its explicit zeros."""
    features = sorted(row)
    data, indices = np.array([row[f] for f in features], np.float64), np.array(features, np.int32)
    shape = (1, max([width] + [f + 1 for f in features]) or 1)
    return sp.csr_array((data, indices, np.array([0, len(features)], np.int32)), shape=shape)


def numbered(stream):
    """Yield (row, label names, label numbers, labels known by then), numbered by first appearance."""
    numbers = {}
    for row, names in stream:
        ids = [numbers.setdefault(name, len(numbers)) for name in names]
        yield row, names, ids, len(numbers)


def stored(ranker):
    """Return the stored weights as label -> feature -> weight."""
    indptr, labels, weights = ranker.head.store.arrays()
    found = {}
    for f in range(len(indptr) - 1):
        for label, weight in zip(labels[indptr[f] : indptr[f + 1]], weights[indptr[f] : indptr[f + 1]], strict=True):
            found.setdefault(int(label), {})[f] = float(weight)
    return found


def expected(oracle):
    """Return what a ranker must have stored: where all labels take part, weights of 0 are as good as none."""
    kept = {
        label: {f: w for f, w in weights.items() if oracle.candidates == "touched" or w != 0}
        for label, weights in oracle.w.items()
    }
    return {label: weights for label, weights in kept.items() if weights}


def check_after_every_row(ranker, oracle, stream):
    """Learn a stream a row at a time; the stored weights and every row's ranking are the oracle's, bit for bit."""
    seen = []
    for row, names, ids, known in numbered(stream):
        ranker.partial_fit(as_row(row), [names])
        oracle.learn(row, ids, known)
        assert stored(ranker) == expected(oracle)
        seen = [*seen, row][-3:]
        for probe in seen if known else []:
            ranking = ranker.rank(as_row(probe), known)
            found = [(i, s) for i, s in zip(ranking.indices[0], ranking.scores[0], strict=True) if i >= 0]
            assert found == oracle.rank(probe)


@given(any_stream, options)
@example([({0: 1.0}, [50]), ({0: 1.0}, [7])], {"loss": 1, "candidates": "touched", "margin": 0.0, "rivals": None})
@example([({0: 1.0}, list(NAMES)), ({0: 1.0}, [7])], {"loss": 3, "candidates": "all", "margin": 1.0, "rivals": None})
@settings(max_examples=200, deadline=None)
def test_mmp_equals_its_oracle_after_every_row(stream, params):
    ranker = MMP(passes=1, averaged=False, **params)
    check_after_every_row(ranker, MMPReference(**params, single=True), stream)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rivals", [None, 5, 35])
@pytest.mark.parametrize("which", ["all", "touched"])
@pytest.mark.parametrize("loss", LOSSES)
def test_mmp_equals_its_oracle_on_long_streams(loss, which, rivals, seed):
    params = {"loss": loss, "candidates": which, "rivals": rivals, "margin": 0.2 * seed}
    ranker, oracle = MMP(passes=1, averaged=False, **params), MMPReference(**params, single=True)
    stream = long_stream(seed)
    for row, names, ids, known in numbered(stream):
        ranker.partial_fit(as_row(row), [names])
        oracle.learn(row, ids, known)
    assert stored(ranker) == expected(oracle)
    if which == "all":
        assert ranker.head.store.n_dense > 0  # the stream is long enough to try that layout, too
    whole = MMP(passes=1, averaged=False, **params)
    whole.partial_fit(sp.vstack([as_row(row, 25) for row, _ in stream], format="csr"), [names for _, names in stream])
    assert stored(whole) == expected(oracle)


@given(any_stream, candidates)
@settings(max_examples=100, deadline=None)
def test_perceptron_equals_its_oracle_after_every_row(stream, which):
    check_after_every_row(Perceptron(candidates=which), PerceptronReference(candidates=which, single=True), stream)


@pytest.mark.parametrize("which", ["all", "touched"])
def test_perceptron_equals_its_oracle_on_a_long_stream(which):
    check_after_every_row(
        Perceptron(candidates=which), PerceptronReference(candidates=which, single=True), long_stream(5, 120)
    )


@given(st.one_of(streams(dyadic), streams(ordinary)), st.sampled_from(((16.0, 4.0), (1.0, 0.0), (2.0, 3.0))))
@settings(max_examples=60, deadline=None)
def test_rocchio_equals_its_oracle_after_every_row(stream, weights):
    ranker, oracle = Rocchio(positive=weights[0], negative=weights[1]), RocchioReference(*weights)
    for row, names, ids, known in numbered(stream):
        ranker.partial_fit(as_row(row), [names])
        oracle.learn(row, ids, known)
        if known:
            ranking = ranker.rank(as_row(row), known)
            found = {int(i): s for i, s in zip(ranking.indices[0], ranking.scores[0], strict=True) if i >= 0}
            scores = oracle.scores(row)
            for label in range(known):
                # A weight near 0 is cut off or not by the last bit of a sum.
                assert found.get(label, 0.0) == pytest.approx(scores[label], rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("averaged", [False, True])
def test_fit_goes_through_the_rows_several_times(loss, averaged):
    stream = long_stream(loss, 80, 10, 8)
    X, Y = sp.vstack([as_row(row, 10) for row, _ in stream], format="csr"), [names for _, names in stream]
    ranker = MMP(loss=loss, margin=0.1, rivals=None, passes=3, averaged=averaged).fit(X, Y)
    oracle, rows = MMPReference(loss, margin=0.1, single=True), list(numbered(stream))
    for row, _, ids, known in rows:
        oracle.learn(row, ids, known)
    random, total = np.random.default_rng(0), np.zeros((8, 10))
    second, third = (random.permutation(len(rows)) for _ in range(2))  # the first pass alone keeps the order
    for i in second:
        oracle.learn(rows[i][0], rows[i][2], 8)
    for i in third:
        oracle.learn(rows[i][0], rows[i][2], 8)
        total += as_dense(oracle.w)
    found = as_dense(stored(ranker))
    if averaged:  # the mean of the weights after each row of the last pass
        assert np.allclose(found, total / len(rows), rtol=1e-3, atol=1e-4)
        assert not np.allclose(found, as_dense(oracle.w), rtol=1e-2, atol=1e-2)
    else:
        assert np.array_equal(found, as_dense(oracle.w))


@pytest.mark.parametrize("make", [MMP, Perceptron])
def test_later_passes_do_not_mind_rows_that_are_sorted_by_label(make):
    random = np.random.default_rng(1)
    y = np.sort(random.integers(0, 6, 600))
    X = sp.csr_array((random.random((600, 24)) < 0.15 + 0.25 * (np.arange(24) // 4 == y[:, None])).astype(float))
    once, often = (make(passes=passes, averaged=True).fit(X, y).predict(X) == y for passes in (1, 4))
    assert often.mean() > once.mean() + 0.2
    again, other = (make(passes=4, random_state=seed).fit(X, y).rank(X).scores for seed in (0, 1))
    assert np.array_equal(again, make(passes=4).fit(X, y).rank(X).scores)
    assert not np.array_equal(again, other)


def test_a_pass_is_kept_even_if_it_ranks_no_held_out_row_right():
    Y = np.eye(20, k=10, dtype=int)[:10]  # each row has its own column and label; the first ten labels win ties
    ranker = MMP(early_stopping=0.5).fit(np.eye(10), Y)
    assert ranker.passes_ == 1
    assert ranker.score(np.eye(10), Y) == 0.5


@pytest.mark.parametrize("make", [MMP, Perceptron])
def test_one_pass_equals_the_rows_one_by_one(make):
    stream = long_stream(3, 60, 10, 8)
    X, Y = sp.vstack([as_row(row, 10) for row, _ in stream], format="csr"), [names for _, names in stream]
    one_by_one = make(averaged=False)
    for i in range(len(Y)):
        one_by_one.partial_fit(X[[i]], [Y[i]])
    assert stored(make(passes=1, averaged=False).fit(X, Y)) == stored(one_by_one)


def as_dense(weights, shape=(8, 10)):
    matrix = np.zeros(shape)
    for label, row in weights.items():
        for f, weight in row.items():
            matrix[label, f] = weight
    return matrix


# -- what the paper promises -------------------------------------------------------------------------


def own_loss(ranker, loss, row, labels, k):
    """Return a loss of the ranking that a ranker gives a row, by comparing all pairs."""
    scores = dict(ranker.rank(as_row(row), k)[0])
    wrong = sum(scores[r] <= scores[s] for r in labels for s in set(range(k)) - set(labels))
    return {1: float(wrong > 0), 2: wrong, 3: wrong / (len(labels) * (k - len(labels)))}[loss]


def total_loss(loss, stream, k):
    """Return what MMP loses on a stream by the loss that it is for, each row being ranked before it is learnt."""
    ranker = MMP(loss=loss, margin=0.0, rivals=None, passes=1, averaged=False)
    ranker.partial_fit(sp.csr_array((1, 1)), [[]], classes=range(k))
    total = 0.0
    for row, labels in stream:
        total += own_loss(ranker, loss, row, labels, k)
        ranker.partial_fit(as_row(row), [labels])
    return total


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", LOSSES)
def test_the_mistake_bounds_hold_on_separable_streams(loss, seed):
    stream, k, radius, margin = separable_stream(seed)
    assert 0 < total_loss(loss, stream * 3, k) <= bound(loss, k, radius, margin)


@pytest.mark.parametrize("k", [2, 3, 20])
@pytest.mark.parametrize("loss", LOSSES)
def test_half_the_constant_would_be_too_little(loss, k):
    stream, radius, margin = orthonormal_stream(k, n_rows=2 * k)
    limit = bound(loss, k, radius, margin)
    total = total_loss(loss, stream, k)
    assert limit / 2 < total <= limit * (1 + 1e-9)
    if loss == 2 or k == 2:
        assert total == pytest.approx(limit)


@given(streams(dyadic), st.sampled_from((None, 2)), candidates, st.sampled_from((0.0, 1.0)))
@settings(max_examples=60, deadline=None)
def test_updates_sum_to_zero_over_labels(stream, rivals, which, margin):
    for loss in LOSSES:
        ranker = MMP(loss=loss, margin=margin, rivals=rivals, candidates=which, passes=1, averaged=False)
        for row, names in stream:
            ranker.partial_fit(as_row(row), [names])
        total = np.zeros(6)
        for weights in stored(ranker).values():
            for f, weight in weights.items():
                total[f] += weight
        assert np.allclose(total, 0, atol=0 if loss == 2 else 1e-4)  # whole numbers of sixteenths are exact


def test_fit_on_an_indicator_knows_all_its_columns_at_once():
    X, Y = sp.csr_array(np.eye(3)), np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    ranker = MMP(loss=2, margin=0.0, rivals=None, passes=1, averaged=False).fit(X, Y)
    assert ranker.rank(X[[0]], 4).scores.tolist() == [[3.0, -1.0, -1.0, -1.0]]  # the fourth was never relevant
    lists = MMP(loss=2, margin=0.0, rivals=None, passes=1, averaged=False).fit(X, [["a"], ["b"], ["c"]])
    assert dict(lists.rank(X[[1]], 3)[0]) == {"a": -1.0, "b": 1.0, "c": 0.0}  # two were known by then


def test_touched_stores_only_what_was_touched():
    n = 2_000
    X = sp.csr_array(np.eye(n))
    ranker = MMP(candidates="touched", passes=1).fit(X, [[i % 500] for i in range(n)])
    assert ranker.n_pairs_ == n  # a pair for each row's own label, none for the others
