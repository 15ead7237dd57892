"""Weights of examples: a whole weight repeats a row, a fraction scales its update, and 0 leaves it out."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import recall_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from abound import MMP, Cascade, FeatureFocus, Frequency, Independent, Perceptron, Rocchio
from abound.rankers.weighting import learned_rows
from abound.training.schedule import schedule
from abound.training.source import training_order
from tests.rankers.streams import VARIANTS, stream
from tests.reference.feature_focus import FeatureFocusOracle

FRACTIONAL = [ranker for ranker in VARIANTS if ranker.takes_fractions]
BALANCED = [Cascade(), Cascade(few_labels=0), FeatureFocus(), FeatureFocus(rating="learned"), MMP(), Perceptron()]


def whole_weights(n_rows, seed=3):
    return np.random.default_rng(seed).choice([0, 1, 1, 2, 3, 7], n_rows)


def repeat(X, Y, weights):
    """Give every row as often as its weight says."""
    rows = np.repeat(np.arange(len(Y)), weights)
    return X[rows], [Y[row] for row in rows]


# -- whole weights --------------------------------------------------------------------------------


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_a_whole_weight_is_the_row_given_as_often(ranker):
    X, Y = stream(300)
    weights = whole_weights(len(Y))
    weighted, repeated = clone(ranker), clone(ranker)
    for start in range(0, len(Y), 150):
        part = slice(start, start + 150)
        weighted.partial_fit(X[part], Y[part], sample_weight=weights[part])
        repeated.partial_fit(*repeat(X[part], Y[part], weights[part]))
    assert weighted.state_hash() == repeated.state_hash()
    assert weighted.state_hash() != clone(ranker).partial_fit(X, Y).state_hash()
    assert weighted.n_rows_seen_ == weights.sum()


@pytest.mark.parametrize(
    "ranker",
    [
        FeatureFocus(passes=2),
        FeatureFocus(rating="learned", passes=2),
        Frequency(),
        Independent(p_ind=0.05),
        Rocchio(),
        MMP(passes=1),
        Perceptron(averaged=True),
    ],
    ids=str,
)
def test_fit_in_the_order_of_the_rows_is_fit_on_repeated_rows(ranker):
    X, Y = stream(300)
    weights = whole_weights(len(Y))
    weighted = clone(ranker).fit(X, Y, sample_weight=weights)
    assert weighted.state_hash() == clone(ranker).fit(*repeat(X, Y, weights)).state_hash()
    assert weighted.state_hash() != clone(ranker).fit(X, Y).state_hash()


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_a_cascade_learns_copies_one_after_another(few_labels):
    X, Y = stream(300)
    weights = whole_weights(len(Y)) + 1  # all rows are kept, so that their order is that of the row numbers
    fresh = Cascade(few_labels=few_labels, passes=1, calibrate=False)
    order = training_order(len(Y), 0)
    names = dict.fromkeys(name for row in Y for name in row)  # `fit` numbers all labels before it learns
    repeated = clone(fresh).partial_fit(*repeat(X[order], [Y[row] for row in order], weights[order]), classes=names)
    weighted = clone(fresh).fit(X, Y, sample_weight=weights)
    assert weighted.state_hash() == repeated.state_hash()
    assert weighted.n_learned == weights.sum()


@pytest.mark.parametrize("few_labels", [0, 1000])
def test_all_copies_count_in_the_average_of_the_last_pass(few_labels):
    """The linear model averages ten states of the last pass, so it must know how many rows the pass has."""
    X, Y = stream(200)
    weights = np.full(len(Y), 2.5)
    fresh = Cascade(few_labels=few_labels, passes=2, calibrate=False)
    by_hand = clone(fresh)
    by_hand.reset()
    source = by_hand.source(by_hand.encode(X, Y, weights))
    by_hand.choose_form(len(Y))
    for round_ in schedule(len(Y), by_hand.plan(len(Y))):
        parts = source.parts(0, len(Y))
        if round_.orders is not None:
            random = np.random.default_rng()
            random.bit_generator.state = round_.orders[0]
            parts = source.shuffled(0, len(Y), random)
        by_hand.learn_parts(parts, 3 * len(Y), again=round_.again, last=round_.last)
    by_hand.count_learned(3 * len(Y))
    assert clone(fresh).fit(X, Y, sample_weight=weights).state_hash() == by_hand.state_hash()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("ranker", [Cascade(), Cascade(few_labels=0), FeatureFocus()], ids=str)
def test_weights_reach_every_shard_and_are_deterministic(ranker, shards):
    X, Y = stream(300)
    weights = whole_weights(len(Y)) * 0.7
    hashes = {
        clone(ranker).set_params(shards=shards, n_jobs=jobs).fit(X, Y, sample_weight=weights).state_hash()
        for jobs in (1, 2)
    }
    assert len(hashes) == 1
    assert clone(ranker).set_params(shards=shards).fit(X, Y).state_hash() not in hashes


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
def test_weights_of_one_change_nothing(ranker):
    X, Y = stream()
    ones = np.ones(len(Y))
    assert clone(ranker).fit(X, Y, sample_weight=ones).state_hash() == clone(ranker).fit(X, Y).state_hash()
    partial = clone(ranker).partial_fit(X, Y, sample_weight=ones)
    assert partial.state_hash() == clone(ranker).partial_fit(X, Y).state_hash()


@pytest.mark.parametrize("ranker", VARIANTS, ids=str)
@pytest.mark.parametrize("form", ["lists", "names", "dense", "sparse"])
def test_a_row_of_weight_0_is_ignored(ranker, form):
    X, Y = stream()
    Y = {
        "lists": Y,
        "names": np.array([row[0] for row in Y]),
        "dense": (dense := np.array([[name in row for name in ("label 1", "label 2")] for row in Y], int)),
        "sparse": sp.csr_array(dense),
    }[form]
    kept = np.arange(len(X.indptr) - 1) % 3 > 0
    chosen = [row for row, keep in zip(Y, kept, strict=True) if keep] if form == "lists" else Y[kept]
    for method in ("fit", "partial_fit"):
        weighted = getattr(clone(ranker), method)(X, Y, sample_weight=kept.astype(float))
        assert weighted.state_hash() == getattr(clone(ranker), method)(X[kept], chosen).state_hash()


def test_partial_fit_ignores_a_batch_of_weight_0():
    ranker = FeatureFocus().partial_fit([[1, 0]], ["a"])
    before = ranker.state_hash()
    assert ranker.partial_fit([[1, 0, 1]], ["b"], sample_weight=[0]).state_hash() == before
    assert ranker.n_features_in_ == 2


def test_wrong_labels_are_weighted_too():
    X, Y = stream(100)
    none, wrong = [[] for _ in Y], [["label 1"] for _ in Y]
    weights = whole_weights(len(Y))
    for few_labels in (0, 1000):
        base = Cascade(few_labels=few_labels)
        weighted = clone(base).partial_fit(X, Y).partial_fit(X, none, wrong=wrong, sample_weight=weights)
        rows = np.repeat(np.arange(len(Y)), weights)
        repeated = clone(base).partial_fit(X, Y)
        repeated.partial_fit(X[rows], [[] for _ in rows], wrong=[["label 1"] for _ in rows])
        assert weighted.state_hash() == repeated.state_hash()


# -- fractions ------------------------------------------------------------------------------------


def test_half_a_weight_moves_a_count_by_half():
    learned = {"a": 1.0, "b": 0.5}
    ranker = FeatureFocus(margin=None, rating="none").fit([[1.0], [1.0]], list(learned), sample_weight=[1.0, 0.5])
    assert dict(ranker.rank([[1.0]])[0]) == {"a": 1 / 1.5, "b": 0.5 / 1.5}


@pytest.mark.parametrize("boolean", [False, True])
def test_fractions_equal_the_oracle(boolean):
    """A count is scaled like a value; whether a row is learned at all depends on its unscaled values."""
    rng, oracle = np.random.default_rng(0), FeatureFocusOracle(margin=float("inf"), rating=False, boolean=boolean)
    X, Y = stream(200)
    weights = rng.choice([0.25, 0.5, 1.0, 1.5, 2.75], len(Y))
    ranker = FeatureFocus(margin=None, rating="none", boolean=boolean).fit(X, Y, sample_weight=weights)
    numbers = {name: number for number, name in enumerate(ranker.labels_.names)}
    for row, (names, weight) in enumerate(zip(Y, weights, strict=True)):
        features = dict(zip(X[[row]].indices.tolist(), X[[row]].data.tolist(), strict=True))
        for copy in range(int(np.ceil(weight))):
            scale = min(1.0, weight - copy)
            for c in sorted(numbers[name] for name in names):
                for f, v in oracle.active(features):
                    oracle.update(f, c, v * scale)
    for row in range(0, 200, 7):
        features = dict(zip(X[[row]].indices.tolist(), X[[row]].data.tolist(), strict=True))
        expected = [(ranker.labels_.names[label], score) for label, score in oracle.rank(features)]
        assert ranker.rank(X[[row]], 20)[0] == expected[:20]


def test_rows_come_as_often_as_their_weights_say_and_the_last_copy_has_the_fraction():
    parts = list(learned_rows(np.array([2.0, 0.0, 1.5, 0.25]), 4, step=3))
    assert [rows for rows, _ in parts] == [[0, 0, 2], [2, 3]]
    assert parts[0][1] is None
    assert parts[1][1].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("ranker", FRACTIONAL, ids=str)
def test_a_fraction_lies_between_nothing_and_the_whole_row(ranker):
    X, Y = stream(150)
    base, row = clone(ranker).partial_fit(X, Y), X[[0]]
    label = min(set(base.classes_) - set(Y[0]), key=lambda name: base.explain(row, name).score)
    weights = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]
    scores = []
    for weight in weights:
        learned = clone(ranker).partial_fit(X, Y).partial_fit(row, [[label]], sample_weight=[weight])
        scores.append(learned.explain(row, label).score)
    assert base.explain(row, label).score == scores[0]
    assert np.all(np.diff(scores) > 0), scores
    step = (scores[3] - scores[0]) / (scores[-1] - scores[0])
    assert 0.2 < step < 0.85


@pytest.mark.parametrize("ranker", [Frequency(), Independent(p_ind=0.1), Rocchio()], ids=str)
def test_a_ranker_that_counts_rows_refuses_fractions(ranker):
    message = f"a {ranker.kind} ranker counts rows, so weights must be whole numbers, got 0.5"
    with pytest.raises(ValueError, match=re.escape(message)):
        ranker.fit([[1.0], [1.0]], ["a", "b"], sample_weight=[1, 0.5])
    with pytest.raises(ValueError, match=re.escape(message)):
        ranker.partial_fit([[1.0]], ["a"], sample_weight=[0.5])


# -- validation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, -1], ValueError, "a weight must be a number from 0 to 1,000, got -1.0 for row 1"),
        ([float("nan"), 1], ValueError, "a weight must be a number from 0 to 1,000, got nan for row 0"),
        ([1, float("inf")], ValueError, "a weight must be a number from 0 to 1,000, got inf for row 1"),
        ([1, 1000.5], ValueError, "a weight must be a number from 0 to 1,000, got 1000.5 for row 1"),
        ([1], ValueError, "there are 2 rows but 1 weights; give one weight per row"),
        ([[1, 1]], ValueError, "sample_weight must have one dimension, got 2; give one number per row"),
        (["much", 1], TypeError, "sample_weight must hold one number per row"),
        ([0, 0], ValueError, "all weights are zero, so there is nothing to learn; give at least one row a positive"),
    ],
)
def test_a_bad_weight_gets_one_sentence(weights, error, message):
    with pytest.raises(error, match=re.escape(message)):
        FeatureFocus().fit([[1.0], [2.0]], ["a", "b"], sample_weight=weights)


ODD = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-40, 1e-9, 0.999999999, 1.0, 1.0000000001, 2.5, 999.5, 1000.0]),
    st.floats(0, 3),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ODD, min_size=12, max_size=12), st.integers(0, len(FRACTIONAL) - 1))
def test_odd_weights_leave_a_model_that_can_be_saved_and_loaded(tmp_path_factory, weights, number):
    X, Y = stream(12, 10, 4)
    ranker = clone(FRACTIONAL[number])
    if not any(weights):
        return
    ranker.fit(X, Y, sample_weight=weights)
    ranker.partial_fit(X, Y, sample_weight=weights)
    assert np.isfinite(ranker.rank(X, 4).scores).all()
    path = tmp_path_factory.mktemp("weights") / "model"
    ranker.save(path)
    assert type(ranker).load(path).state_hash() == ranker.state_hash()


# -- balanced -------------------------------------------------------------------------------------


def imbalanced(n_rows=600, seed=0):
    """Rows of one frequent label and two rare ones, whose features are easily confused with those of the frequent."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["usual", "rare", "rarer"], n_rows, p=[0.9, 0.07, 0.03])
    X = rng.random((n_rows, 12)) * (rng.random((n_rows, 12)) < 0.4)
    for number, name in enumerate(["usual", "rare", "rarer"]):
        X[y == name, number] += (rng.random((y == name).sum()) < 0.5) * 0.8
    return sp.csr_array(X), y


@pytest.mark.parametrize("ranker", BALANCED, ids=str)
def test_balanced_labels_raise_the_recall_of_rare_ones(ranker):
    X, y = imbalanced()
    other, truth = imbalanced(seed=1)
    recalls = []
    for class_weight in (None, "balanced"):
        fitted = clone(ranker).set_params(class_weight=class_weight).fit(X, y)
        recalls.append(recall_score(truth, fitted.predict(other), average="macro"))
    assert recalls[1] > recalls[0], recalls


@pytest.mark.parametrize("ranker", BALANCED, ids=str)
def test_balanced_is_the_formula_of_scikit_learn(ranker):
    X, y = imbalanced(200)
    names, counts = np.unique(y, return_counts=True)
    by_hand = len(y) / (len(names) * counts[np.searchsorted(names, y)])
    balanced = clone(ranker).set_params(class_weight="balanced").fit(X, y)
    assert balanced.state_hash() == clone(ranker).fit(X, y, sample_weight=by_hand).state_hash()


def test_balanced_needs_one_label_per_row_and_all_rows():
    with pytest.raises(ValueError, match="needs one label per row, but row 1 has 2; give sample_weight instead"):
        FeatureFocus(class_weight="balanced").fit([[1], [1]], [["a"], ["a", "b"]])
    with pytest.raises(ValueError, match="needs one label per row, but row 0 has 0; give sample_weight instead"):
        FeatureFocus(class_weight="balanced").fit([[1], [1]], [[], ["a"]])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows: use fit"):
        FeatureFocus(class_weight="balanced").partial_fit([[1]], ["a"])
    with pytest.raises(ValueError, match="class_weight must be None or 'balanced', got 'even'"):
        FeatureFocus(class_weight="even").fit([[1]], ["a"])


# -- scikit-learn ---------------------------------------------------------------------------------


def test_weights_go_through_a_pipeline():
    X, Y = stream()
    weights = whole_weights(len(Y))
    pipeline = make_pipeline(MaxAbsScaler(), FeatureFocus()).fit(X, Y, featurefocus__sample_weight=weights)
    direct = FeatureFocus().fit(MaxAbsScaler().fit_transform(X), Y, sample_weight=weights)
    assert pipeline[-1].state_hash() == direct.state_hash()


@pytest.mark.parametrize("routing", [False, True])
def test_weights_go_through_cross_validation(routing):
    X, Y = stream()
    y, weights = np.array([row[0] for row in Y]), whole_weights(len(Y)).astype(float)
    folds = KFold(3)
    with config_context(enable_metadata_routing=routing), warnings.catch_warnings():
        ranker = FeatureFocus()
        if routing:
            ranker.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scores = cross_val_score(ranker, X, y, cv=folds, params={"sample_weight": weights})
    expected = [
        FeatureFocus().fit(X[train], y[train], sample_weight=weights[train]).score(X[test], y[test])
        for train, test in folds.split(X)
    ]
    assert scores.tolist() == expected
