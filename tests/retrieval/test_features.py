"""Thermometer bits, their table form, and normalisation within queries."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import percentileofscore
from sklearn.pipeline import make_pipeline

from abound import QueryScaler, Reranker, SVMMap, ThermometerFeatures
from abound.retrieval import ThermometerTable
from tests.retrieval.ranked import documents

VALUES = st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, 2.0]), st.just(np.nan))


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=VALUES),
    st.integers(1, 6),
    st.sampled_from(["quantile", "uniform"]),
)
def test_bits_are_what_they_are_called(X, n_thresholds, strategy):
    thermometer = ThermometerFeatures(n_thresholds, strategy).fit(X)
    bits = thermometer.transform(X).toarray()
    expected = [X[:, [c]] > t for c, thresholds in enumerate(thermometer.thresholds_) for t in thresholds]
    assert bits.tolist() == (np.hstack([np.zeros((len(X), 0)), *expected])).astype(float).tolist()
    assert all(len(thresholds) <= n_thresholds for thresholds in thermometer.thresholds_)
    assert len(thermometer.get_feature_names_out()) == bits.shape[1]


@pytest.mark.kernel
@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=VALUES),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
def test_the_table_scores_and_sums_as_its_bits_do(X, n_thresholds, seed):
    table = ThermometerFeatures(n_thresholds, output="table").fit_transform(X)
    bits, rng = table.toarray(), np.random.default_rng(seed)
    w, weights = rng.normal(size=bits.shape[1]), rng.normal(size=len(X)) * (rng.random(len(X)) < 0.7)
    assert table.shape == bits.shape
    assert table.scores(w) == pytest.approx(bits @ w, abs=1e-12)
    assert table.weighted_sum(weights) == pytest.approx(bits.T @ weights, abs=1e-12)
    assert table[::2].toarray().tolist() == bits[::2].tolist()


def test_a_missing_score_is_less_than_any_and_the_first_bit_says_that_it_is_there():
    thermometer = ThermometerFeatures(3).fit([[np.nan], [1.0], [2.0], [3.0], [4.0]])
    assert thermometer.transform([[np.nan], [-9.0], [1.0]]).toarray()[:, 0].tolist() == [0.0, 0.0, 1.0]
    assert thermometer.transform([[np.nan]]).toarray().sum() == 0


def test_thresholds_come_from_the_training_rows_alone():
    X = np.arange(100.0)[:, None]
    thresholds = ThermometerFeatures(4).fit(X[:50]).thresholds_[0]
    assert thresholds.max() < 50
    assert thresholds.tolist() == [9.0, 19.0, 29.0, 39.0]
    assert ThermometerFeatures(4, "uniform").fit(X).thresholds_[0].tolist() == [0.0, 24.75, 49.5, 74.25]


@pytest.mark.parametrize("loss", ["map", "roc", "accuracy"])
def test_svm_map_learns_the_same_from_bits_and_from_the_table(loss):
    X, y, qid = documents(n_queries=80)
    X[::5, 1] = np.nan
    pipelines = [
        make_pipeline(ThermometerFeatures(20, output=output), SVMMap(loss=loss, tol=1e-5)).fit(X, y, svmmap__qid=qid)
        for output in ("sparse", "table")
    ]
    bits, table = pipelines
    assert table[-1].coef_ == pytest.approx(bits[-1].coef_, abs=1e-3)
    assert table.decision_function(X) == pytest.approx(bits.decision_function(X), abs=1e-2)
    assert table[-1].certificate_.primal == pytest.approx(bits[-1].certificate_.primal, rel=1e-4)


def test_a_table_of_another_width_is_refused():
    X, y, qid = documents()
    table = ThermometerFeatures(5, output="table").fit(X)
    ranker = SVMMap().fit(table.transform(X), y, qid)
    other = ThermometerFeatures(3, output="table").fit_transform(X)
    with pytest.raises(ValueError, match="X has 12 bits, but SVMMap is expecting 20"):
        ranker.decision_function(other)
    assert ranker.decision_function(table.transform(X)) == pytest.approx(
        ranker.decision_function(sp.csr_array(table.transform(X).tocsr())), abs=1e-12
    )


def test_a_bin_that_a_column_does_not_have_is_refused():
    with pytest.raises(ValueError, match="a bin must lie between 0 and the number of its column's thresholds"):
        ThermometerTable(np.array([[3]]), np.array([2]))
    with pytest.raises(ValueError, match=r"bins must have 2 columns, got shape \(1, 1\)"):
        ThermometerTable(np.array([[0]]), np.array([2, 2]))


@pytest.mark.parametrize("params", [{"n_thresholds": 0}, {"strategy": "kmeans"}, {"output": "dense"}])
def test_a_bad_parameter_of_the_thermometer_is_named(params):
    with pytest.raises(ValueError, match=f"{next(iter(params))} must be"):
        ThermometerFeatures(**params).fit([[1.0], [2.0]])


# -- within queries ----------------------------------------------------------------------------------


def test_every_method_looks_at_its_own_query_only():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 3)), rng.integers(4, size=40)
    X[3, 1] = np.nan
    for method in ("minmax", "percentile", "standard"):
        scaled = QueryScaler(method).fit_transform(X, qid=qid)
        for query in range(4):
            alone = QueryScaler(method).fit_transform(X[qid == query])
            assert np.array_equal(scaled[qid == query], alone, equal_nan=True)
        assert np.isnan(scaled[3, 1])
        assert np.isnan(scaled).sum() == 1


def test_each_method_does_what_it_says():
    X = np.array([[0.2, 1.0], [0.7, 1.0], [0.6, 1.0], [np.nan, 1.0]])
    assert QueryScaler("minmax").fit_transform(X)[:, 0] == pytest.approx([0, 1, 0.8, np.nan], nan_ok=True)
    assert QueryScaler("minmax").fit_transform(X)[:, 1].tolist() == [0.0] * 4
    standard = QueryScaler("standard").fit_transform(X)[:3, 0]
    assert (standard.mean(), standard.std()) == pytest.approx((0, 1))
    percentile = QueryScaler("percentile").fit_transform(X)
    values = X[:3, 0]
    assert percentile[:3, 0] == pytest.approx([percentileofscore(values, v, "mean") / 100 for v in values])
    assert percentile[:, 1].tolist() == [0.5] * 4
    with pytest.raises(ValueError, match="method must be one of 'minmax', 'percentile', 'standard', got 'max'"):
        QueryScaler("max").fit(X)


def test_bits_have_the_indices_that_other_solvers_take():
    from sklearn.svm import LinearSVC

    X = np.random.default_rng(0).random((40, 3))
    bits = ThermometerFeatures(8).fit_transform(X)
    assert bits.indices.dtype == bits.indptr.dtype == np.int32
    LinearSVC().fit(bits, X[:, 0] > 0.5)


@pytest.mark.parametrize("wrong", [0, 2**31, 2.0, "3"])
def test_the_number_of_thresholds_is_bounded(wrong):
    for estimator in (ThermometerFeatures(wrong), Reranker(n_thresholds=wrong)):
        if wrong == 0 and isinstance(estimator, Reranker):
            continue  # that leaves thresholds out
        with pytest.raises(ValueError, match="n_thresholds must be a whole number"):
            estimator.fit([[1.0], [0.0]], [1, 0])
