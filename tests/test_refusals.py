"""Calls that no estimator can make sense of are refused by ValueError or TypeError."""

import numpy as np
import pytest
import scipy.sparse as sp

from abound import (
    Bands,
    FeatureFocus,
    Independent,
    PivotedWeights,
    QueryScaler,
    RocchioSelector,
    SVMMap,
    Tagger,
    ThermometerFeatures,
    WidrowHoff,
    load,
)
from abound.metrics import evaluate

GOOD = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.2, 0.0, 0.0]]


def damaged(format_="coo"):
    X = sp.csr_array(GOOD).asformat(format_)
    getattr(X, "row" if format_ == "coo" else "indices")[0] = 10**6
    return X


TRANSFORMERS = [
    PivotedWeights().fit(GOOD),
    RocchioSelector().fit(GOOD, ["a", "b", "a"]),
    ThermometerFeatures(2).fit(GOOD),
    QueryScaler().fit(GOOD),
]


@pytest.mark.parametrize("format_", ["coo", "csr", "csc"])
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda one: type(one).__name__)
def test_no_transformer_follows_a_damaged_matrix(transformer, format_):
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        transformer.transform(damaged(format_))
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        transformer.fit(damaged(format_), ["a", "b", "a"])


@pytest.mark.parametrize("format_", ["coo", "csr", "csc"])
@pytest.mark.parametrize("learner", [SVMMap(), WidrowHoff()], ids=str)
def test_no_learner_follows_a_damaged_matrix(learner, format_):
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        learner.fit(damaged(format_), [0, 1, 2])


@pytest.mark.parametrize("learner", [SVMMap(), WidrowHoff(), PivotedWeights(), RocchioSelector()], ids=str)
def test_more_columns_than_there_can_be_weights_for_are_refused(learner):
    with pytest.raises(ValueError, match="columns"):
        learner.fit(sp.csr_array((3, 1 << 30)), [0, 1, 2])


@pytest.mark.parametrize(
    ("model", "call"),
    [
        (SVMMap(), lambda model: model.predict(GOOD)),
        (WidrowHoff(), lambda model: model.predict(GOOD)),
        (RocchioSelector(), lambda model: model.transform(GOOD)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_fit_that_was_refused_is_none(model, call):
    with pytest.raises(ValueError, match=r"rows|labels|samples|inconsistent"):
        model.fit(GOOD, [0, 1])
    with pytest.raises(ValueError, match=r"not fitted|has been learned"):
        call(model)


@pytest.mark.parametrize("model", [FeatureFocus(), WidrowHoff()], ids=str)
def test_what_was_never_fitted_is_not_saved(model, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        model.save(tmp_path / "model")


def test_columns_of_a_refused_call_are_not_kept(tmp_path):
    model = WidrowHoff().fit(GOOD, [0, 1, 2])
    with pytest.raises(ValueError, match="rows"):
        model.partial_fit(sp.csr_array((1, 9)), [0, 1, 2])
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").state_hash() == model.state_hash()


def test_a_whole_number_for_a_share_is_kept(tmp_path):
    model = Independent(p_ind=0).fit(GOOD, ["a", "b", "a"])
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").state_hash() == model.state_hash()


@pytest.mark.parametrize("groups", [[1], {-1: 0}, {0: -1}, {"a": 0}, {0: 1.5}, {1 << 40: 0}])
def test_groups_are_label_numbers_with_group_numbers(groups):
    with pytest.raises((TypeError, ValueError), match=r"label|group"):
        Bands().set_groups(groups)


@pytest.mark.parametrize("labels", [[1 << 40, 0], [-2, 0], [0.5, 1.0], ["a", "b"]])
def test_bands_take_label_numbers(labels):
    with pytest.raises(ValueError, match="label numbers"):
        Bands().cut(labels, [1.0, 0.5])


def test_other_mistakes_are_told():
    tagger = Tagger()
    with pytest.raises(TypeError, match="mapping"):
        tagger.learn_names([("a", "b")])
    with pytest.raises(TypeError, match="list with one entry per text"):
        tagger.fit(["a", "b"], sp.bsr_array(np.eye(2)))
    with pytest.raises(TypeError, match="indices and scores"):
        evaluate(sp.csr_array([[1, 0]]), None, ["P@1"])
    with pytest.raises(TypeError, match="entry for each row"):
        FeatureFocus().fit(GOOD, ["a", "b", "a"]).truth(np.array("a"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_ranks_are_finite(value):
    with pytest.raises(ValueError, match="finite"):
        WidrowHoff(ranks=[0.0, value]).fit(GOOD, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="finite"):
        WidrowHoff().partial_fit(GOOD, [0.0, 1.0, 2.0], classes=[0.0, value])
