"""The later options of MMP equal their oracle: other updates, the AvgP loss, and negative values as in the paper."""

import random

import numpy as np
import pytest
import scipy.sparse as sp

from abound import MMP, load
from abound.rankers.mmp import LOSSES, UPDATE_NAMES, seed_of
from tests.rankers.test_mmp import as_row, stored
from tests.reference.mmp import MMPReference

pytestmark = pytest.mark.kernel

PAPER = {"margin": 0.0, "rivals": None, "passes": 1, "averaged": False}


def signed_stream(seed, n_rows=25, n_features=8, n_labels=6):
    """Return rows of any sign, with some values that repeat so that scores tie."""
    rng = random.Random(seed)
    values = [-1.0, -0.5, 0.5, 1.0, rng.uniform(-2, 2)]
    stream = []
    for _ in range(n_rows):
        row = {f: rng.choice(values) for f in rng.sample(range(n_features), rng.randint(1, 4))}
        stream.append((row, sorted(rng.sample(range(n_labels), rng.randint(0, n_labels)))))
    return stream


def close(found, wanted):
    """Tell whether two sets of weights are the same but for rounding; a weight of 0 is as good as none."""
    pairs = {(label, f) for weights in (found, wanted) for label, row in weights.items() for f in row}
    return all(
        found.get(label, {}).get(f, 0.0) == pytest.approx(wanted.get(label, {}).get(f, 0.0), rel=1e-5, abs=1e-5)
        for label, f in pairs
    )


@pytest.mark.parametrize("candidates", ["all", "touched"])
@pytest.mark.parametrize("update", UPDATE_NAMES)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_and_update_equals_its_oracle_on_rows_of_any_sign(loss, update, candidates):
    for seed in range(6):
        options = {"margin": 0.25 * (seed % 3), "rivals": (None, 2, 4)[seed % 3], "candidates": candidates}
        ranker = MMP(loss=loss, update=update, negative_values="linear", random_state=seed, passes=1, **options)
        ranker.partial_fit(sp.csr_array((1, 1)), [[]], classes=range(6))
        oracle = MMPReference(loss, update=update, seed=seed_of(seed), single=True, **options)
        for row, labels in signed_stream(seed):
            oracle.learn(row, labels, 6)
            ranker.partial_fit(as_row(row, 8), [labels])
            found = stored(ranker)
            assert close(found, oracle.w)
            oracle.w = {label: dict(weights) for label, weights in found.items()}  # rounding does not add up


@pytest.mark.parametrize("update", UPDATE_NAMES)
def test_updates_differ_and_sum_to_the_loss(update):
    X, y = np.array([[1.0, -2.0]]), [[0, 1]]
    ranker = MMP(loss="avgp", update=update, negative_values="linear", **PAPER)
    ranker.partial_fit(sp.csr_array((1, 1)), [[]], classes=range(4))
    ranker.partial_fit(X, y)
    weights = stored(ranker)
    up = sum(weights.get(label, {}).get(0, 0.0) for label in (0, 1))
    down = sum(weights.get(label, {}).get(0, 0.0) for label in (2, 3))
    assert up == pytest.approx(1 - (1 / 3 + 2 / 4) / 2)  # all tie: both others are above the first relevant label
    assert down == pytest.approx(-up)
    assert len(weights) == (2 if update == "max" else 4)


def test_max_moves_the_lowest_relevant_label_and_the_highest_other():
    ranker = MMP(loss=1, update="max", **PAPER).partial_fit(sp.csr_array((1, 1)), [[]], classes=range(4))
    ranker.partial_fit([[1.0]], [[0, 1]])  # all tie: label 1 ranks below label 0, label 2 above label 3
    assert stored(ranker) == {1: {0: 1.0}, 2: {0: -1.0}}


def test_proportional_moves_by_the_distance():
    ranker = MMP(loss=2, update="proportional", **PAPER)
    ranker.partial_fit(sp.csr_array((1, 2)), [[]], classes=range(3))
    ranker.partial_fit([[1.0, 0.0]], [[1]])  # ties: 1 pair with 0 and 1 with 2
    assert stored(ranker) == {0: {0: -1.0}, 1: {0: 2.0}, 2: {0: -1.0}}
    ranker.partial_fit([[1.0, 0.0]], [[0]])  # label 1 is 3 above label 0, label 2 ties: 2 pairs, all of the step to 1
    assert stored(ranker) == {0: {0: 1.0}, 2: {0: -1.0}}


def test_random_shares_depend_on_the_seed_alone():
    stream = signed_stream(1)
    X, Y = sp.vstack([as_row(row, 8) for row, _ in stream], format="csr"), [labels for _, labels in stream]
    make = lambda seed: MMP(update="random", random_state=seed, negative_values="linear", **PAPER)  # noqa: E731
    whole, other = make(3).partial_fit(X, Y, classes=range(6)), make(4).partial_fit(X, Y, classes=range(6))
    parts = make(3).partial_fit(X[:7], Y[:7], classes=range(6)).partial_fit(X[7:], Y[7:])
    assert whole.state_hash() == parts.state_hash() != other.state_hash()


@pytest.mark.parametrize("seed", range(3))
def test_a_linear_column_is_multiplied_with_its_weight(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(80, 5)), rng.random((80, 4)) < 0.4
    ranker = MMP(negative_values="linear", **PAPER).fit(X, Y)
    assert ranker.has_signs_ is False
    scores = ranker.decision_function(X)
    assert np.allclose(ranker.decision_function(-X), -scores)
    assert np.allclose(ranker.decision_function(2 * X), 2 * scores)
    explained = ranker.explain(X[[0]], 1)
    assert explained.votes.sum() + explained.prior == pytest.approx(scores[0, 1])
    split = MMP(**PAPER).fit(X, Y)
    assert split.has_signs_ is True
    assert not np.allclose(split.decision_function(-X), -split.decision_function(X))


def test_the_options_are_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 5)), rng.random((60, 4)) < 0.4
    ranker = MMP(loss="avgp", update="random", negative_values="linear", random_state=5, **PAPER).fit(X[:40], Y[:40])
    ranker.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.params() == ranker.params()
    for one in (ranker, loaded):
        one.partial_fit(X[40:], Y[40:])
    assert loaded.state_hash() == ranker.state_hash()
    assert np.array_equal(loaded.rank(-X).scores, ranker.rank(-X).scores)


def test_a_model_that_has_split_its_columns_stays_so():
    X, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), ["a", "b"]
    ranker = MMP().fit(X, y)
    before = ranker.rank(X).scores
    assert np.array_equal(ranker.set_params(negative_values="linear").rank(X).scores, before)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": 4}, "loss must be 1, 2, 3 or 'avgp', got 4"),
        ({"margin": -0.5}, "margin must be between 0 and 3.40282e\\+38, got -0.5"),
        ({"loss": 1.0}, "loss must be 1, 2, 3 or 'avgp', got 1.0"),
        ({"update": "mean"}, "update must be one of 'uniform', 'max', 'proportional', 'random', got 'mean'"),
        ({"negative_values": True}, "negative_values must be 'split' or 'linear', got True"),
    ],
)
def test_bad_options_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        MMP(**params).fit([[1.0]], ["a"])
