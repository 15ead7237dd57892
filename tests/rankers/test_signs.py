"""Rows with negative values: the two parts of a column are two features, explained by the column's own name."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abound import Cascade, FeatureFocus, load, merge
from abound.components.linear import Linear
from abound.errors import DamagedModel
from abound.store import Model, read_model
from tests.rankers.streams import VARIANTS, stream


def signed(n_rows=200, seed=0):
    """Rows in which each third column of `stream` is negative."""
    X, Y = stream(n_rows, seed=seed)
    X.data[X.indices % 3 == 0] *= -1
    return X, Y


def by_hand(X):
    """Return rows with two columns for each of X: its positive and its negative part."""
    X = sp.csc_array(X)
    parts = [part for column in range(X.shape[1]) for part in (X[:, [column]].maximum(0), (-X[:, [column]]).maximum(0))]
    return sp.csr_array(sp.hstack(parts))


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_the_parts_of_a_column_are_learned_as_two_columns(ranker):
    X, Y = signed()
    own, other = clone(ranker).fit(X, Y), clone(ranker).fit(by_hand(X), Y)
    assert own.n_features_in_ == X.shape[1]
    assert list(own.rank(X[:50], 10)) == list(other.rank(by_hand(X[:50]), 10))
    assert list(own.rank(X[:50].toarray(), 10)) == list(own.rank(X[:50], 10))


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_the_first_negative_value_may_come_late(ranker):
    X, Y = signed()
    X[:90] = abs(X[:90])
    names = sorted({name for row in Y for name in row})
    whole, parts = (
        clone(ranker).partial_fit(X, Y, classes=names),
        clone(ranker).partial_fit(X[:1], Y[:1], classes=names),
    )
    for start in range(1, len(Y), 7):
        parts.partial_fit(X[start : start + 7], Y[start : start + 7])
    assert parts.state_hash() == whole.state_hash()
    assert list(parts.rank(X, 5)) == list(whole.rank(X, 5))


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_models_with_signs_are_saved_and_loaded(ranker, tmp_path):
    X, Y = signed()
    ranker = clone(ranker).fit(X, Y)
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.state_hash() == ranker.state_hash()
    assert list(loaded.rank(X, 5)) == list(ranker.rank(X, 5))
    assert loaded.partial_fit(X, Y).state_hash() == ranker.partial_fit(X, Y).state_hash()


def test_rows_without_negative_values_are_learned_as_before():
    X, Y = stream()
    ranker = Cascade().fit(X, Y)
    assert not ranker.has_signs_
    assert "has_signs" not in ranker.arrays()


def test_a_negative_value_is_ignored_if_none_was_learned():
    ranker = Cascade().fit(np.eye(2), ["a", "b"])
    assert ranker.rank([[1, -5]])[0] == ranker.rank([[1, 0]])[0]
    ranker = FeatureFocus().fit(np.eye(2), ["a", "b"])
    assert ranker.rank(sp.csr_array([[-1.0, 0.0], [0.0, 2.0]])).labels[:, 0].tolist() == [None, "b"]


def test_a_refused_call_with_negative_values_changes_nothing():
    ranker = FeatureFocus().fit(np.eye(2), ["a", "b"])
    before = ranker.state_hash()
    with pytest.raises(ValueError, match="X has 1 rows but Y has 2"):
        ranker.partial_fit([[-1, 0]], ["a", "b"])
    assert not ranker.has_signs_
    assert ranker.state_hash() == before
    with pytest.raises(ValueError, match="values of X must fit into 32-bit floats, got 1e\\+39"):
        ranker.partial_fit([[-1e39, 0]], ["a"])


def test_a_negative_value_of_weight_0_is_ignored():
    X, Y = stream()
    negative = X.copy()
    negative.data[: negative.indptr[1]] *= -1
    weights = np.ones(len(Y))
    weights[0] = 0
    learned = Cascade().partial_fit(negative, Y, sample_weight=weights)
    assert not learned.has_signs_
    assert learned.state_hash() == Cascade().partial_fit(X, Y, sample_weight=weights).state_hash()
    learned.partial_fit(negative[:1], Y[:1], sample_weight=[0])
    assert not learned.has_signs_


def test_a_damaged_mark_of_signs_is_refused(tmp_path):
    FeatureFocus().fit(*signed()).save(tmp_path / "model")
    model = read_model(tmp_path / "model")
    assert FeatureFocus.from_model(model).has_signs_
    for damaged in (np.ones(2, np.int64), np.ones(1), np.full(1, -1)):
        with pytest.raises(DamagedModel, match="has_signs"):
            FeatureFocus.from_model(Model(model.content, {**model.arrays, "has_signs": damaged}))


def test_columns_beyond_the_limit_are_refused():
    wide = sp.csr_array(([-1.0], ([0], [1 << 30])), shape=(1, (1 << 30) + 1))
    with pytest.raises(ValueError, match="X must have at most 2\\*\\*30 columns if values are negative"):
        FeatureFocus().fit(wide, ["a"])


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_models_with_and_without_signs_are_merged(few_labels):
    X, Y = signed()
    plain = Cascade(few_labels=few_labels).fit(abs(X), Y)
    other = Cascade(few_labels=few_labels).fit(X, Y)
    for merged in (merge(plain, other), merge(other, plain)):
        assert merged.has_signs_
        assert merged.score(abs(X), Y) > 0.7
        assert merged.score(X, Y) > 0.7


def test_explanations_name_columns_and_signs():
    frame = pd.DataFrame({"age": [1.0, 0.0, 0.0, 2.0], "income": [0.0, -2.0, 3.0, -1.0]})
    ranker = FeatureFocus(margin=None).fit(frame, ["a", "b", "c", "b"])
    why = ranker.explain(frame.iloc[[3]], "b")
    assert (why.names, why.signs.tolist(), why.features.tolist()) == (["age", "income"], [1, -1], [0, 1])
    assert why.score == pytest.approx(dict(ranker.rank(frame.iloc[[3]])[0])["b"])


def test_explanations_name_columns_after_a_data_frame_without_negative_values(tmp_path):
    frame = pd.DataFrame({"age": [1.0, 0.0], "income": [0.0, 2.0]})
    ranker = FeatureFocus().fit(frame, ["a", "b"])
    assert ranker.explain(frame.iloc[[1]], "b").names == ["income"]
    ranker.save(tmp_path / "model")
    assert load(tmp_path / "model").explain(frame.iloc[[1]], "b").names == ["income"]
    why = FeatureFocus().fit(np.eye(2), ["a", "b"]).explain([[0, 1]], "b")
    assert (why.names, why.signs.tolist()) == (["x1"], [1])


def test_standardized_columns_are_learned():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), Cascade()), X, y).mean() > 0.8
    assert Cascade().fit(StandardScaler().fit_transform(X), y).component(Linear) is not None
