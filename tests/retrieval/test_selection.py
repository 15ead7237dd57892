"""Cross-validation and grid search with queries: folds keep queries whole, and qid gets where it is needed."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline

from abound import QueryScaler, Reranker, SVMMap, ThermometerFeatures
from tests.retrieval.ranked import documents


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def grouped():
    return GroupKFold(n_splits=4).set_split_request(groups=True)


def test_grid_search_with_routing_finds_the_c_that_matters(routing):
    X, y, qid = documents(n_queries=60)
    ranker = SVMMap().set_fit_request(qid=True).set_score_request(qid=True)
    search = GridSearchCV(ranker, {"C": [1e-6, 10.0]}, cv=GroupKFold(n_splits=4), error_score="raise")
    search.fit(X, y, qid=qid, groups=qid)
    # By hand: the same folds, each query whole, scored by the mean over folds of MAP.
    by_hand = []
    for train, test in GroupKFold(n_splits=4).split(X, y, qid):
        assert not set(qid[train]) & set(qid[test])
        by_hand.append(SVMMap(C=10.0).fit(X[train], y[train], qid[train]).score(X[test], y[test], qid[test]))
    at = [params["C"] for params in search.cv_results_["params"]].index(10.0)
    assert search.cv_results_["mean_test_score"][at] == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert search.best_params_ == {"C": 10.0}
    assert search.best_estimator_.n_queries_ == 60


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8),
    reason="pipelines of older scikit-learn do not pass qid to a scaler when they score; Reranker does it by itself",
)
def test_a_pipeline_passes_qid_to_every_step_that_asks(routing):
    X, y, qid = documents(n_queries=40, noise=0.1)
    scales = np.random.default_rng(0).uniform(1, 50, (2, 40))
    X = X * np.repeat(scales[0], 12)[:, None] + np.repeat(scales[1], 12)[:, None]  # its own for each query
    scaler = QueryScaler().set_transform_request(qid=True)
    ranker = SVMMap(C=10).set_fit_request(qid=True).set_score_request(qid=True)
    pipeline = make_pipeline(scaler, ThermometerFeatures(20, output="table"), ranker)
    with_scaling = cross_validate(pipeline, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(4))
    without = cross_validate(
        make_pipeline(ThermometerFeatures(20), ranker), X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(4)
    )
    assert with_scaling["test_score"].mean() > without["test_score"].mean() + 0.05
    reranker = Reranker(C=10, n_thresholds=20, per_query="minmax").set_fit_request(qid=True)
    reranker.set_score_request(qid=True)
    same = cross_validate(reranker, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(4))
    assert same["test_score"] == pytest.approx(with_scaling["test_score"], abs=1e-12)


def test_without_routing_qid_goes_to_fit_by_the_steps_name():
    X, y, qid = documents(n_queries=30)
    pipeline = make_pipeline(ThermometerFeatures(10), SVMMap()).fit(X, y, svmmap__qid=qid)
    assert pipeline[-1].n_queries_ == 30
    search = GridSearchCV(pipeline, {"svmmap__C": [0.1, 1.0]}, cv=GroupKFold(3))
    search.fit(X, y, groups=qid, svmmap__qid=qid)
    assert search.best_estimator_[-1].n_queries_ == 30
