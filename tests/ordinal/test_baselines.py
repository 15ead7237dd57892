"""The baselines equal what they are defined by: scikit-learn's SGD, and the update written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDRegressor

from abound import MulticlassPerceptron, WidrowHoff
from abound.ordinal import ordinal_class


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.booleans())
def test_widrow_hoff_is_sgd_with_a_constant_rate(seed, intercept):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.integers(1, 6, size=60)
    theirs = SGDRegressor(
        penalty=None, learning_rate="constant", eta0=0.03, shuffle=False, fit_intercept=intercept, tol=None, max_iter=2
    ).fit(X, y)
    ours = WidrowHoff(rate=0.03, intercept=intercept, passes=2, ranks=range(1, 6)).fit(X, y)
    assert ours.coef_.tolist() == pytest.approx(theirs.coef_.tolist())
    assert ours.intercept_ == pytest.approx(float(theirs.intercept_[0]))
    assert ours.predict(X).tolist() == np.clip(np.floor(theirs.predict(X) + 0.5), 1, 5).tolist()


def plain_perceptron(rows, ranks, k):
    w, predictions = np.zeros((k, rows.shape[1])), []
    for x, y in zip(rows, ranks, strict=True):
        scores = [float(prototype @ x) for prototype in w]
        predictions.append(scores.index(max(scores)))
        errors = [r for r in range(k) if r != y and scores[r] >= scores[y]]
        for r in errors:
            w[r] -= x / len(errors)
        if errors:
            w[y] += x
    return w, predictions


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_the_perceptron_moves_the_true_prototype_and_all_that_beat_it(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(50, 3)), rng.integers(4, size=50)
    w, predictions = plain_perceptron(X, y, 4)
    ours = MulticlassPerceptron(ranks=range(4))
    assert ours.predict_learn(X, y).tolist() == predictions
    assert ours.coef_ == pytest.approx(w)


@pytest.mark.parametrize("kind", ["widrow-hoff", "multiclass-perceptron"])
def test_sparse_rows_equal_dense_ones_and_may_grow(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.4), rng.integers(3, size=40)
    dense, sparse = (ordinal_class(kind)().fit(form(X), y) for form in (np.asarray, sp.csr_array))
    assert sparse.coef_ == pytest.approx(dense.coef_)
    grown = ordinal_class(kind)().partial_fit(sp.csr_array(X[:20, :2]), y[:20], classes=[0, 1, 2])
    grown.partial_fit(sp.csr_array(X[20:]), y[20:])
    assert grown.predict(sp.csr_array(X[:, :3])).shape == (40,)
    assert grown.predict(sp.csr_array(np.pad(X, ((0, 0), (0, 2))))).tolist() == grown.predict(X).tolist()


def test_long_rows_do_not_make_widrow_hoff_diverge():
    rng = np.random.default_rng(0)
    X, y = 1e6 * rng.normal(size=(500, 3)), rng.integers(1, 4, size=500)
    learner = WidrowHoff(rate=10.0).fit(X, y)
    assert np.all(np.isfinite(learner.coef_))
    assert learner.partial_fit(X[:1], [3]).predict(X[:1]) == [3]  # the longest step reaches the row's own rank


def test_an_intercept_that_is_no_truth_value_is_taken_for_one():
    X, y = np.eye(3), [1, 2, 3]
    assert WidrowHoff(intercept=None).fit(X, y).state_hash() == WidrowHoff(intercept=False).fit(X, y).state_hash()
    assert WidrowHoff(intercept=3).fit(X, y).state_hash() == WidrowHoff(intercept=True).fit(X, y).state_hash()
