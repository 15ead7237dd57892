"""The ordinal measures: hand-computed, and equal to scikit-learn's where it has them."""

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from abound.metrics import ORDINAL_METRICS, evaluate_ranks, rank_interval

TRUE, PREDICTED = [1, 1, 1, 2, 5, 5], [1, 2, 5, 2, 1, 5]


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("rank_loss", (0 + 1 + 2 + 0 + 2 + 0) / 6),
        ("MAE", (0 + 1 + 4 + 0 + 4 + 0) / 6),
        ("macro_MAE", (5 / 3 + 0 + 2) / 3),
        ("accuracy", 3 / 6),
        ("within_one", 4 / 6),
        ("kappa", 1 - (9 / 6) / (54 / 36)),  # 54 is the sum over all pairs of a true and a predicted rank
    ],
)
def test_hand_computed_figures(name, figure):
    assert evaluate_ranks(TRUE, PREDICTED, [name])[name] == pytest.approx(figure)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=3, max_size=40))
@settings(max_examples=80, deadline=None)
def test_equal_to_scikit_learn_where_it_has_the_measure(pairs):
    true, predicted = (np.array(side) for side in zip(*pairs, strict=True))
    ours = evaluate_ranks(true, predicted, ranks=[1, 2, 3, 4])
    assert ours["MAE"] == pytest.approx(sk.mean_absolute_error(true, predicted))
    assert ours["rank_loss"] == ours["MAE"]
    assert ours["accuracy"] == pytest.approx(sk.accuracy_score(true, predicted))
    each = [sk.mean_absolute_error(true[true == r], predicted[true == r]) for r in np.unique(true)]
    assert ours["macro_MAE"] == pytest.approx(np.mean(each))
    if len(set(true) | set(predicted)) > 1:
        kappa = sk.cohen_kappa_score(true, predicted, labels=[1, 2, 3, 4], weights="quadratic")
        assert ours["kappa"] == pytest.approx(kappa)


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_order_of_rows_and_names_of_ranks_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    true, predicted, order = rng.integers(4, size=30), rng.integers(4, size=30), rng.permutation(30)
    names = np.array(["poor", "fair", "good", "best"])
    whole = evaluate_ranks(true, predicted, ranks=[0, 1, 2, 3])
    assert evaluate_ranks(true[order], predicted[order], ranks=[0, 1, 2, 3]) == pytest.approx(whole)
    assert evaluate_ranks(names[true], names[predicted], ranks=names) == pytest.approx(whole)


def test_a_perfect_prediction_and_one_that_never_varies():
    figures = evaluate_ranks([1, 2, 3], [1, 2, 3])
    assert figures == {"rank_loss": 0, "MAE": 0, "macro_MAE": 0, "accuracy": 1, "within_one": 1, "kappa": 1}
    assert evaluate_ranks([1, 2, 3], [2, 2, 2])["kappa"] == 0
    assert np.isnan(evaluate_ranks([2, 2], [2, 2])["kappa"])


def test_an_interval_holds_its_figure():
    rng = np.random.default_rng(0)
    true = rng.integers(1, 6, size=500)
    predicted = np.clip(true + rng.integers(-1, 2, size=500), 1, 5)
    for name in ORDINAL_METRICS:
        value, low, high = rank_interval(name, true, predicted, n_resamples=100)
        assert low <= value <= high
        assert value == evaluate_ranks(true, predicted, [name])[name]


def test_an_interval_depends_on_the_seed_which_is_0():
    true, predicted = np.random.default_rng(0).integers(1, 6, size=(2, 50))
    found = [rank_interval("MAE", true, predicted, n_resamples=100, random_state=seed) for seed in (0, 1)]
    assert rank_interval("MAE", true, predicted, n_resamples=100) == found[0] != found[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1], ["MAE"]), "one value per row, got shapes"),
        (([1, 2], [1, 2], ["MSE"]), "unknown metric 'MSE'; the metrics are rank_loss, MAE"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluate_ranks(*arguments)


def test_a_rank_that_was_not_given_is_named():
    with pytest.raises(ValueError, match=r"'d' is not among the given ranks \['a', 'b'\]"):
        evaluate_ranks(["a", "d"], ["a", "b"], ranks=["a", "b"])
