"""Predictions in scikit-learn's forms: sets of labels, probabilities and scores of all classes."""

import json
import lzma

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer

from abound import Cascade, FeatureFocus, Frequency, TextVectorizer, load
from abound.rankers import predicting
from tests.rankers.streams import VARIANTS, stream

CALIBRATED = [Cascade(), Cascade(few_labels=0)]


def single(n_rows=400, seed=0):
    """Rows with one label each."""
    X, Y = stream(n_rows, seed=seed)
    return X, [labels[0] for labels in Y]


# -- sets of labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", CALIBRATED, ids=str)
def test_lists_are_predicted_as_lists_of_the_best_expected_f1(ranker):
    X, Y = stream(600)
    ranker = clone(ranker).fit(X[:500], Y[:500])
    predicted = ranker.predict(X[500:])
    assert predicted.shape == (100,)
    assert all(isinstance(row, list) for row in predicted)
    assert len({len(row) for row in predicted}) > 1  # not a fixed number
    binarizer = MultiLabelBinarizer().fit(Y)
    truth = binarizer.transform(Y[500:])
    best = [row[:1] for row in predicted]
    f1 = f1_score(truth, binarizer.transform(predicted), average="samples")
    assert f1 > f1_score(truth, binarizer.transform(best), average="samples") + 0.05


def test_lists_of_equal_length_stay_lists():
    ranker = FeatureFocus().fit(np.eye(2), [["a", "b"], ["b", "c"]])
    predicted = ranker.predict(np.eye(2))
    assert predicted.shape == (2,)
    assert [sorted(row) for row in predicted] == [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_an_indicator_is_predicted_as_an_indicator_of_the_same_kind(make):
    X, Y = stream(600)
    indicator = MultiLabelBinarizer().fit_transform(Y)
    ranker = Cascade().fit(X[:500], make(indicator[:500]))
    predicted = ranker.predict(X[500:])
    assert sp.issparse(predicted) == (make is sp.csr_array)
    assert predicted.shape == (100, indicator.shape[1])
    assert len(set(predicted.sum(axis=1).tolist())) > 1


def test_columns_of_an_indicator_keep_their_places_after_other_labels():
    X, Y = stream(100)
    indicator = MultiLabelBinarizer().fit_transform(Y)
    ranker = FeatureFocus().partial_fit(X[:1], [[3]])  # so that label number 0 is not column 0
    ranker.partial_fit(X, indicator)
    assert ranker.labels_.names[0] == 3
    assert f1_score(indicator, ranker.predict(X), average="samples") > 0.5


@pytest.mark.parametrize("ranker", [Cascade(calibrate=False), FeatureFocus(), Frequency()], ids=str)
def test_without_probabilities_a_row_gets_as_many_labels_as_rows_have_on_average(ranker):
    X, Y = stream(200)
    mean = sum(map(len, Y)) / len(Y)
    assert round(mean) == 2
    ranker = clone(ranker).fit(X, Y)
    assert [len(labels) for labels in ranker.predict(X)] == [2] * len(Y)
    assert ranker.predict(X)[0] == [name for name, _ in ranker.rank(X[:1], 2)[0]]


def test_a_row_without_votes_gets_no_labels_after_lists():
    ranker = FeatureFocus().fit([[1, 0], [1, 0]], [["a"], ["b"]])
    assert ranker.predict([[0, 1]]).tolist() == [[]]


def test_lists_can_be_predicted_across_folds():
    X, Y = stream(200)
    predicted = cross_val_predict(Cascade(), X, Y, cv=KFold(4))
    assert predicted.shape == (200,)
    assert all(isinstance(row, list) for row in predicted)


@pytest.mark.data
def test_f1_on_reuters_after_multi_label_training(data_folder):
    with lzma.open(data_folder / "reuters21578" / "reuters21578.jsonl.xz", "rt", encoding="utf-8") as lines:
        stories = [story for story in map(json.loads, lines) if story["topics"]][:2_000]
    texts = [f"{story['title']} {story['body']}" for story in stories]
    Y = MultiLabelBinarizer().fit_transform([story["topics"] for story in stories])
    Y = Y[:, Y.sum(axis=0) >= 20]
    X = TextVectorizer().fit_transform(texts)
    assert cross_val_score(Cascade(), X, Y, cv=KFold(3, shuffle=True, random_state=0), scoring="f1_macro").mean() > 0.6
    predicted = Cascade().fit(X[:1_500], Y[:1_500]).predict(X[1_500:])
    assert 0.8 < predicted.sum() / Y[1_500:].sum() < 1.3


# -- matrices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_scores_have_a_column_for_each_class_and_agree_with_predict(ranker):
    X, y = single()
    ranker = clone(ranker).fit(X[:300], y[:300])
    scores = ranker.decision_function(X[300:])
    assert scores.shape == (100, len(ranker.classes_))
    assert np.isfinite(scores).all()
    assert (ranker.classes_[scores.argmax(axis=1)] == ranker.predict(X[300:])).all()
    place = {name: column for column, name in enumerate(ranker.classes_.tolist())}
    (name, score), *_ = ranker.rank(X[300:301], 1)[0]
    assert scores[0, place[name]] == pytest.approx(score)


@pytest.mark.parametrize("ranker", CALIBRATED, ids=str)
def test_probabilities_of_one_label_per_row_sum_to_1_and_agree_with_predict(ranker):
    X, y = single()
    ranker = clone(ranker).fit(X[:300], y[:300])
    for _ in range(2):  # the second time after partial_fit, which teaches the records of labels
        probabilities = ranker.predict_proba(X[300:])
        assert probabilities.shape == (100, len(ranker.classes_))
        assert np.allclose(probabilities.sum(axis=1), 1.0)
        assert probabilities.min() >= 0.0
        assert (ranker.classes_[probabilities.argmax(axis=1)] == ranker.predict(X[300:])).all()
        ranker.partial_fit(X[:300], y[:300])


def test_probabilities_of_lists_are_those_of_the_ranking():
    X, Y = stream(400)
    ranker = Cascade().fit(X[:300], Y[:300])
    probabilities, ranking = ranker.predict_proba(X[300:]), ranker.rank(X[300:], 20)
    place = {name: column for column, name in enumerate(ranker.classes_.tolist())}
    columns = np.array([[place[name] for name in row] for row in ranking.labels.tolist()])
    assert np.array_equal(np.take_along_axis(probabilities, columns, axis=1), ranking.probabilities)
    assert probabilities.sum(axis=1).mean() == pytest.approx(sum(map(len, Y[300:])) / 100, rel=0.2)


def test_a_score_learns_nothing():
    X, Y = single()
    ranker = Cascade().fit(X, Y)
    before = ranker.state_hash(), len(ranker.classes_)
    assert ranker.score(X[:2], ["never seen", "neither"]) == 0.0
    assert (ranker.state_hash(), len(ranker.classes_)) == before


@pytest.mark.parametrize(("most", "is_sparse"), [(19, True), (20, False)])
def test_scores_of_many_classes_are_sparse(most, is_sparse, monkeypatch):
    monkeypatch.setattr(predicting, "DENSE_LABELS", most)
    X, Y = single()
    ranker = Frequency().fit(X, Y)
    assert len(ranker.classes_) == 20
    assert sp.issparse(ranker.decision_function(X)) == is_sparse


def test_a_sparse_matrix_has_the_20_best_labels(monkeypatch):
    monkeypatch.setattr(predicting, "DENSE_LABELS", 19)
    ranker = Frequency().fit(np.ones((30, 1)), list(range(30)))
    assert np.diff(ranker.decision_function(np.ones((3, 1))).indptr).tolist() == [20] * 3


def test_a_prediction_learns_nothing():
    ranker = FeatureFocus().fit(np.eye(3), ["a", "b", "c"])
    before = ranker.state_hash()
    for predict in (ranker.predict, ranker.decision_function):
        predict(sp.csr_array(-np.eye(5)))
        assert (ranker.state_hash(), ranker.n_features_in_, ranker.has_signs_) == (before, 3, False)


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_two_classes_have_one_column_of_scores_whose_sign_is_the_class(ranker):
    X, y = single()
    y = np.array([name < "label 15" for name in y])
    ranker = clone(ranker).fit(X, y.astype(int))
    scores = ranker.decision_function(X)
    assert scores.shape == (400,)
    assert ((scores > 0) == ranker.predict(X)).all()
    # An indicator with two columns is not a binary target.
    assert clone(ranker).fit(X, np.column_stack([y, ~y])).decision_function(X).shape == (400, 2)


def test_ties_go_to_the_label_that_predict_returns():
    ranker = FeatureFocus(margin=None, rating="none").fit([[1.0], [1.0]], ["z", "a"])
    assert len({score for _, score in ranker.rank([[1.0]])[0]}) == 1
    assert ranker.predict([[1.0]]).tolist() == ["z"]
    assert ranker.decision_function([[1.0]])[0] > 0


def test_a_row_without_votes_is_scored_by_frequency_after_names():
    ranker = FeatureFocus().fit([[1, 0], [1, 0], [1, 0], [1, 0]], ["a", "c", "c", "b"])
    assert ranker.decision_function([[0, 1]]).tolist() == [[0.25, 0.25, 0.5]]
    ranker = FeatureFocus().fit([[1, 0], [1, 0], [1, 0]], [["a"], ["b"], ["c"]])
    assert ranker.decision_function([[0, 1]]).tolist() == [[0.0, 0.0, 0.0]]


def test_many_labels_have_sparse_matrices_of_the_best():
    rng = np.random.default_rng(0)
    labels = rng.integers(1_200, size=3_000)
    X = sp.csr_array((np.ones(6_000), np.column_stack([labels, rng.integers(1_200, size=3_000)]).ravel(),
                      np.arange(0, 6_001, 2)), shape=(3_000, 1_200))  # fmt: skip
    X.sum_duplicates()
    ranker = Cascade().fit(X, labels)
    assert len(ranker.classes_) > 1_000
    scores, probabilities = ranker.decision_function(X[:50]), ranker.predict_proba(X[:50])
    for matrix in (scores, probabilities):
        assert sp.issparse(matrix)
        assert matrix.shape == (50, len(ranker.classes_))
        assert 1 <= np.diff(matrix.indptr).max() <= 20
        best = [row.indices[row.data.argmax()] for row in (matrix[[number]] for number in range(50))]
        assert (ranker.classes_[best] == ranker.predict(X[:50])).all()
    assert np.allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("ranker", [FeatureFocus(), Cascade(calibrate=False), Frequency()], ids=str)
def test_rankers_without_calibration_have_no_probabilities(ranker):
    assert not hasattr(ranker, "predict_proba")
    assert not hasattr(clone(ranker).fit(*single()), "predict_proba")


def test_few_rows_give_no_probabilities():
    assert hasattr(Cascade(), "predict_proba")
    ranker = Cascade().fit(np.eye(3), ["a", "b", "c"])
    assert not hasattr(ranker, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        ranker.predict_proba(np.eye(3))
    assert "at least 40" in str(caught.value.__cause__)


def test_forms_survive_saving(tmp_path):
    X, Y = stream(200)
    ranker = Cascade().fit(X, Y)
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.predict(X).tolist() == ranker.predict(X).tolist()
    assert np.array_equal(loaded.predict_proba(X), ranker.predict_proba(X))
