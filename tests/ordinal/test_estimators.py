"""Every ordinal learner is a scikit-learn estimator, takes a person's own ranks, and can be kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import abound
from abound import PRank
from abound.errors import DamagedModel
from abound.ordinal import KINDS, ordinal_class

ONE_SCORE = "the decision function is one score a row, to be held against thresholds_, not one a class"
EXPECTED_FAILURES = {"PRank": {"check_classifiers_train": ONE_SCORE, "check_classifiers_classes": ONE_SCORE}}
LEARNERS = [ordinal_class(kind)() for kind in KINDS] + [PRank(kernel="poly", budget=150), PRank(voting=True)]


@parametrize_with_checks(
    LEARNERS,
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rated(n=400, seed=0):
    """Rows whose rank is cut from a linear score with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(scale=0.2, size=n), [-1.0, 0.0, 1.0]) + 1


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: f"{learner.kind}-{getattr(learner, 'kernel', '')}")
def test_learns_what_is_in_order_and_works_with_cross_validation(learner):
    X, y = rated()
    assert cross_val_score(make_pipeline(StandardScaler(), learner), X, y).mean() > 0.5


def test_prank_is_better_the_more_it_may_go_through_the_rows():
    X, y = rated(1000)
    search = GridSearchCV(PRank(), {"average": [True, False], "passes": [1, 5]}, scoring="neg_mean_absolute_error")
    assert search.fit(X, y).best_params_["average"]
    assert -search.best_score_ < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_the_users_own_values(kind):
    X, y = rated()
    for values in (["never", "seldom", "often", "always"], [0.5, 1.0, 2.5, 10.0], [-3, 7, 8, 9]):
        learner = ordinal_class(kind)(ranks=values).fit(X, np.array(values)[y - 1])
        assert learner.classes_.tolist() == values
        assert set(learner.predict(X).tolist()) <= set(values)
        assert np.mean(learner.predict(X) == np.array(values)[y - 1]) > 0.5


def test_numbers_are_ordered_as_numbers_and_texts_as_texts():
    assert PRank().fit([[1.0], [2.0]], [10, 9]).classes_.tolist() == [9, 10]
    assert PRank().fit([[1.0], [2.0]], ["10", "9"]).classes_.tolist() == ["10", "9"]
    assert PRank(ranks=["9", "10"]).fit([[1.0], [2.0]], ["10", "9"]).classes_.tolist() == ["9", "10"]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: f"{learner.kind}-{getattr(learner, 'kernel', '')}")
def test_a_model_directory_keeps_everything_and_learning_goes_on(learner, tmp_path):
    X, y = rated()
    names = np.array(["a", "b", "c", "d"])
    learner.fit(sp.csr_array(X[:200]), names[y[:200] - 1])
    learner.save(tmp_path / "model")
    loaded = abound.load(tmp_path / "model")
    assert type(loaded) is type(learner)
    assert loaded.state_hash() == learner.state_hash()
    assert loaded.predict(X).tolist() == learner.predict(X).tolist()
    for one in (learner, loaded):
        one.partial_fit(X[200:], names[y[200:] - 1])
    assert loaded.state_hash() == learner.state_hash()


def test_a_model_that_does_not_fit_together_is_refused(tmp_path):
    X, y = rated(50)
    prank = PRank().fit(X, y)
    prank._thresholds = prank._thresholds[::-1].copy()
    prank.save(tmp_path / "model")
    with pytest.raises(DamagedModel, match="not in order"):
        abound.load(tmp_path / "model")
    prank = PRank(kernel="poly").fit(X, y)
    prank.n_features_in_ = 2
    prank.save(tmp_path / "model")
    with pytest.raises(DamagedModel, match="have unknown columns"):
        abound.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({"margin": -1}, [1, 2], "margin must be between 0 and 1e\\+300, got -1"),
        ({"passes": 0}, [1, 2], "passes must be at least 1, got 0"),
        ({"kernel": "cosine"}, [1, 2], "kernel must be 'linear', 'poly' or 'rbf', got 'cosine'"),
        ({"budget": 5}, [1, 2], "budget needs kernel='poly' or 'rbf'"),
        ({"ranks": [1, 1]}, [1, 2], "ranks must be a list of distinct values in their order"),
        ({"ranks": [1, 2]}, [1, 3], "y holds 3, which is not among the given ranks 1, 2"),
        ({}, [1, 2, 3], "X has 2 rows but y has 3"),
        ({}, ["a", 1], "ranks must be all numbers or all strings"),
        ({}, [1.0, float("nan")], "y contains NaN"),
    ],
)
def test_bad_input_gets_one_sentence(params, y, message):
    if y == ["a", 1]:
        y = np.array(y, object)
    with pytest.raises(ValueError, match=message):
        PRank(**params).fit([[1.0], [2.0]], y)


def test_measurements_are_no_ranks():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="cut measurements into ranks"):
        PRank().fit(rng.normal(size=(200, 2)), rng.normal(size=200))
    halves = PRank().fit(rng.normal(size=(200, 2)), rng.integers(1, 10, size=200) / 2)
    assert len(halves.classes_) == 9


def test_texts_after_numbers_are_refused():
    with pytest.raises(ValueError, match="all numbers or all strings"):
        PRank().fit([[1.0]], [1]).partial_fit([[1.0]], ["a"])


def test_a_kernel_has_no_weights_a_column():
    with pytest.raises(AttributeError, match="coef_ exists after fit with kernel='linear'"):
        _ = PRank(kernel="rbf").fit([[1.0], [2.0]], [1, 2]).coef_


def test_values_that_are_not_finite_are_named_and_leave_nothing_half_learnt():
    prank = PRank().fit([[1.0], [2.0]], [1, 2])
    before = prank.state_hash()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        prank.partial_fit([[1.0], [float("nan")]], [1, 2])
    assert prank.state_hash() == before
    with pytest.raises(ValueError, match="Input X contains infinity"):
        prank.fit([[1.0], [2.0], [float("inf")]], [1, 2, 2])
    with pytest.raises(NotFittedError):
        prank.predict([[1.0]])
    with pytest.raises(ValueError, match="so large that a score is not finite"):
        prank.fit([[1e300]] * 4, [1, 2, 1, 2])
