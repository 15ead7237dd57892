"""Every ranker is a scikit-learn estimator: its own checks, pipelines, cross-validation, parameters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from abound import Cascade, Explanation, FeatureFocus, Frequency, Independent, load
from abound.errors import DamagedModel
from abound.training.source import training_order
from tests.rankers.streams import VARIANTS, stream

GROWS = "features may appear at any call of partial_fit, so a wider X is no error"
NAMES = "a list of lists holds names of labels, not an indicator"
EXPECTED_FAILURES = {
    "check_classifiers_multilabel_representation_invariance": NAMES,
    "check_n_features_in_after_fitting": GROWS,
    "check_estimators_partial_fit_n_features": GROWS,
}
WITH_PROBABILITIES = {
    "check_decision_proba_consistency": "probabilities depend on the scores of all ranked labels, not on a difference",
}
ORDER = "rows are learned one by one, so their order counts, and the check compares rows in different orders"
ONE_BY_ONE = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
    "check_class_weight_classifiers": "class_weight is None or 'balanced'; sample_weight takes any other weights",
}


def expected_failures(ranker):
    probabilities = WITH_PROBABILITIES if str(ranker) == "Cascade()" else {}
    return EXPECTED_FAILURES | probabilities | (ONE_BY_ONE if ranker.takes_fractions else {})


@parametrize_with_checks(VARIANTS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ranker", [FeatureFocus(), Independent(p_ind=0.1), Cascade(), Cascade(few_labels=0)], ids=str)
def test_works_in_a_pipeline_with_cross_validation(ranker):
    texts = ["red apple", "green apple", "apple pie", "fast car", "red car", "car race"] * 5
    labels = [["fruit"], ["fruit"], ["fruit", "food"], ["vehicle"], ["vehicle"], ["vehicle", "sport"]] * 5
    scores = cross_val_score(make_pipeline(TfidfVectorizer(), ranker), texts, labels, cv=KFold(3))
    assert scores.min() > 0.9


def test_grid_search_finds_the_parameter_that_matters():
    X, Y = stream(400)
    search = GridSearchCV(FeatureFocus(), {"w_min": [0.01, 0.9]}, cv=KFold(3)).fit(X, Y)
    assert search.best_params_ == {"w_min": 0.01}


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_a_label_may_be_given_in_any_form(ranker):
    X, Y = stream()
    names = sorted({name for row in Y for name in row})
    indicator = np.zeros((len(Y), len(names)), int)
    for row, labels in enumerate(Y):
        indicator[row, [names.index(name) for name in labels]] = 1
    fresh, kind = clone(ranker), ranker.kind
    if kind == "independent":
        fresh.set_params(p_ind=0.05)  # partial_fit chooses none
    if kind == "mmp":
        fresh.set_params(passes=1, averaged=False)  # what partial_fit does
    if kind == "cascade":
        fresh.set_params(passes=1)
    dense, lists = clone(fresh).fit(X, indicator), clone(fresh)
    order = training_order(len(Y), 0) if kind == "cascade" else np.arange(len(Y))  # in which `fit` visits the rows
    # All labels are known, so that they are numbered as the columns are.
    lists.partial_fit(X[order], [Y[row] for row in order], classes=names)
    sparse = clone(fresh).fit(X, sp.csr_array(indicator))
    assert dense.state_hash() == sparse.state_hash()
    by_name = [[(names[label], score) for label, score in row] for row in dense.rank(X[:20], 30)]
    for one, other in zip(lists.rank(X[:20], 30), by_name, strict=True):
        assert one == other
    assert dense.predict(X).shape == indicator.shape
    assert isinstance(dense.predict(X), np.ndarray)
    assert sp.issparse(sparse.predict(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"margin": -1}, "margin must be between 0 and 3.40282e\\+38, got -1"),
        ({"w_min": 2}, "w_min must be between 0 and 0.99, got 2"),
        ({"d_max": 0}, "d_max must be at least 1, got 0"),
        ({"passes": 0}, "passes must be at least 1, got 0"),
        ({"horizon": 1e9}, "horizon must be between 1 and 65536, got 1000000000.0"),
        ({"rating": "high"}, "rating must be 'seen', 'none' or 'learned', got 'high'"),
    ],
)
def test_a_bad_parameter_is_named(params, message):
    with pytest.raises(ValueError, match=message):
        FeatureFocus(**params).fit([[1]], ["a"])


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0], [2.0]], ["a"], "X has 2 rows but Y has 1"),
        ([[1e39]], ["a"], "values of X must fit into 32-bit floats"),
        ([[1.0]], np.array([[0, 2]]), "an indicator matrix must hold 0 and 1 only"),
    ],
)
def test_bad_input_gets_one_sentence(X, Y, message):
    with pytest.raises(ValueError, match=message):
        FeatureFocus().fit(X, Y)


def test_labels_that_are_no_names_are_refused():
    with pytest.raises(TypeError, match="a label must be a string or a number, got dict"):
        FeatureFocus().fit([[1.0]], [[{}]])
    with pytest.raises(TypeError, match="got the string 'b' among lists"):
        FeatureFocus().fit([[1.0], [1.0]], [["a"], "b"])


@pytest.mark.parametrize(("value", "found"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_a_label_that_is_no_number_is_named(value, found):
    with pytest.raises(ValueError, match=f"a label must be a string or a number, got {found}"):
        FeatureFocus().fit([[1.0], [1.0]], np.array([1.0, value]))


def test_wrong_labels_are_refused_by_a_ranker_that_cannot_learn_them():
    with pytest.raises(ValueError, match="a frequency ranker cannot learn from wrong labels; a cascade can"):
        Frequency().partial_fit([[1.0]], [["a"]], wrong=[["b"]])


def test_a_label_is_not_both_right_and_wrong():
    with pytest.raises(ValueError, match="label 'b' is both right and wrong for the same row"):
        Cascade().partial_fit(np.eye(2), [["a"], ["a", "b"]], wrong=[["b"], ["b"]])


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_five_labels_are_ranked_unless_there_are_fewer(ranker):
    X, Y = stream()
    assert clone(ranker).fit(X, Y).rank(X).indices.shape == (200, 5)
    one = clone(ranker).fit(X[:3], ["a"] * 3)
    assert one.rank(X[:3]).indices.shape == (3, 1)


def test_k_must_be_positive():
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, got 0"):
        Frequency().fit([[1]], ["a"]).rank([[1]], k=0)


@pytest.mark.parametrize(("first", "then"), [("none", "learned"), ("learned", "none")])
def test_ratings_are_learnt_from_the_beginning_or_not_at_all(first, then, tmp_path):
    X, Y = stream()
    ranker = FeatureFocus(rating=first).fit(X, Y)
    expected = list(ranker.rank(X, 7))
    ranker.save(tmp_path / "model")
    ranker.set_params(rating=then)
    assert list(ranker.rank(X, 7)) == expected
    with pytest.raises(ValueError, match=f"rating is '{then}', but the model was fitted .* rating='learned'; call fit"):
        ranker.partial_fit(X, Y)
    assert ranker.fit(X, Y).state_hash() == FeatureFocus(rating=then).fit(X, Y).state_hash()
    with pytest.raises(DamagedModel, match=f"rating is '{then}', but the model was fitted"):
        load(tmp_path / "model", rating=then)


def test_a_name_keeps_its_type():
    ranker = FeatureFocus().fit(np.eye(4), ["1", 1, "x", 2.5])
    assert ranker.predict(np.eye(4)).tolist() == ["1", 1, "x", 2.5]
    assert ranker.classes_.tolist() == [1, 2.5, "1", "x"]


def test_unknown_labels_count_as_missed():
    ranker = FeatureFocus().fit(np.eye(2), [["a"], ["b"]])
    assert ranker.score(np.eye(2), [["a"], ["c"]]) == 0.5
    assert ranker.truth([["a", "c"], ["d"]]).toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_truth_may_be_an_indicator(make):
    ranker = FeatureFocus().fit(np.eye(2), make([[0, 1, 0], [1, 0, 1]]))
    assert ranker.truth(make([[0, 1, 1], [1, 0, 0]])).toarray().tolist() == [[0, 1, 1], [1, 0, 0]]


def test_a_row_without_votes_ranks_nothing_and_predicts_the_most_frequent():
    ranker = FeatureFocus().fit([[1, 0], [1, 0], [1, 0]], ["a", "b", "b"])
    assert ranker.rank([[0, 1]]).indices.tolist() == [[-1, -1]]
    assert ranker.rank([[0, 1]]).labels.tolist() == [[None, None]]
    assert ranker.predict([[0, 1]]).tolist() == ["b"]


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_explanations_sum_to_the_score(ranker):
    X, Y = stream()
    ranker = clone(ranker).fit(X, Y)
    for row in range(30):
        for label, score in ranker.rank(X[[row]], 20)[0]:
            why = ranker.explain(X[[row]], label)
            assert why.score == pytest.approx(score, rel=1e-12, abs=1e-12)
            assert why.label == label
            assert set(why.features) <= set(X[[row]].indices)


def test_an_explanation_without_a_bias_is_the_sum_of_its_votes():
    explanation = Explanation("a", np.array([3, 5]), np.array([0.5, 0.25]))
    assert explanation.score == 0.75
    assert len(explanation.signs) == 0


def test_explaining_an_unknown_label_says_so():
    with pytest.raises(ValueError, match="label 'z' is not known"):
        FeatureFocus().fit([[1]], ["a"]).explain([[1]], "z")


def test_sparse_rows_may_be_wider_or_narrower_than_those_learnt():
    ranker = FeatureFocus().fit(np.eye(3), ["a", "b", "c"])
    assert ranker.predict(sp.csr_array([[0.0, 1.0]])).tolist() == ["b"]
    assert ranker.predict(sp.csr_array([[0.0, 0.0, 1.0, 0.0, 5.0]])).tolist() == ["c"]


def test_repeated_entries_of_a_sparse_row_are_summed():
    twice = sp.csr_array((np.array([0.5, 0.5]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert FeatureFocus().fit(twice, ["a"]).state_hash() == FeatureFocus().fit([[1.0]], ["a"]).state_hash()


def test_independent_chooses_its_threshold_on_held_out_rows():
    X, Y = stream(500)
    ranker = Independent(random_state=1).fit(X, Y)
    assert ranker.p_ind_ > 0.01  # noise edges hurt here: the smallest threshold cannot be the best
    assert Independent(p_ind=0.07).fit(X, Y).p_ind_ == 0.07
    chosen, careless = ranker.score(*stream(500, seed=9)), Independent(p_ind=0.0).fit(X, Y).score(*stream(500, seed=9))
    assert chosen >= careless


def test_independent_counts_exactly():
    ranker = Independent(p_ind=0.0).fit([[1, 1], [2, 0], [3, 0], [0, 5]], [["a"], ["a"], ["b"], ["b", "c"]])
    assert dict(ranker.rank([[1, 0]])[0]) == {"a": 2 / 3, "b": 1 / 3}
    assert dict(ranker.rank([[0, 9]])[0]) == {"a": 1 / 2, "b": 1 / 2, "c": 1 / 2}


def test_independent_partial_fit_equals_fit():
    X, Y = stream()
    whole = Independent(p_ind=0.05).fit(X, Y)
    parts = Independent(p_ind=0.05)
    for start in range(0, len(Y), 37):
        parts.partial_fit(X[start : start + 37], Y[start : start + 37])
    assert parts.state_hash() == whole.state_hash()
