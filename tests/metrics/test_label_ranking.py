"""The measures against hand-computed figures, against scikit-learn, and against plain readings of their definitions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from abound import Ranking
from abound.metrics import METRICS, compare, evaluate, interval, judge, metric
from abound.metrics.bootstrap import mean_bands
from abound.metrics.judgement import inverse_propensities


def ranking_of(scores, k=None):
    """Rank every label by score, ties by label number, as the rankers do."""
    scores = np.asarray(scores, float)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Ranking(order.astype(np.int32), np.take_along_axis(scores, order, 1), list(range(scores.shape[1])))


HAND = sp.csr_array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])  # the last row has no label: left out
HAND_SCORES = [[0.4, 0.3, 0.2, 0.1], [0.9, 0.5, 0.5, 0.1], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("P@1", 1 / 2),
        ("P@2", (1 / 2 + 1 / 2) / 2),
        ("R@2", (1 / 2 + 1) / 2),
        ("R_1", 1 / 2),
        ("R_2", 1.0),
        ("F1@2", (2 * 1 / 4 + 2 * 1 / 3) / 2),
        ("MRR", (1 + 1 / 2) / 2),
        ("HR", 1 / 0.75),
        ("OneErr", 1 / 2),
        ("Coverage", (3 + 1) / 2),
        ("AvgP", ((1 + 2 / 4) / 2 + 1 / 2) / 2),
        ("loss1", 1.0),
        ("loss2", (2 + 2) / 2),  # the second row's label ties with one and is beaten by another
        ("loss3", (2 / 4 + 2 / 3) / 2),
        ("maxF1/size", (1 / 2 + 0) / 2),
        ("maxF1/row", (2 / 3 + 2 / 3) / 2),
    ],
)
def test_hand_computed_figures(name, figure):
    assert evaluate(HAND, ranking_of(HAND_SCORES), [name])[name] == pytest.approx(figure)


def test_labels_that_are_not_ranked_count_as_the_last_ones():
    # With one rank, a label of each row is missing: it is at rank 4 of 4.
    figures = evaluate(HAND, ranking_of(HAND_SCORES, 1), ["AvgP", "Coverage"])
    assert figures == pytest.approx({"AvgP": ((1 + 2 / 4) / 2 + 1 / 4) / 2, "Coverage": 3.0})


def test_hand_computed_ndcg_and_best_f1_of_means():
    first = (1 + 1 / np.log2(5)) / (1 + 1 / np.log2(3))
    second = 1 / np.log2(3)
    figures = evaluate(HAND, ranking_of(HAND_SCORES), ["nDCG@4", "maxF1/corpus"])
    assert figures["nDCG@4"] == pytest.approx((first + second) / 2)
    # mean precision at 1..4: .5, .5, 1/3, 3/8; mean recall: .25, .75, .75, 1
    assert figures["maxF1/corpus"] == pytest.approx(2 * 0.5 * 0.75 / 1.25)


def test_propensities_follow_the_published_formula():
    counts, n = np.array([1, 7, 300]), 5000
    c = (np.log(n) - 1) * 2.5**0.55
    expected = 1 + c * np.exp(-0.55 * np.log(counts + 1.5))
    assert inverse_propensities(counts, n) == pytest.approx(expected)


def test_propensity_scored_precision_is_the_gain_over_the_best_possible_gain():
    counts, truth = np.array([100, 1, 10]), sp.csr_array([[1, 1, 0], [0, 0, 1]])
    weights = inverse_propensities(counts, 120)
    ranking = ranking_of([[3, 2, 1], [1, 3, 2]])
    figures = evaluate(truth, ranking, ["PSP@1", "PSP@2"], label_counts=counts, n_train_rows=120)
    assert figures["PSP@1"] == pytest.approx(weights[0] / (weights[1] + weights[2]))
    assert figures["PSP@2"] == pytest.approx(1.0)


scores_and_truth = st.integers(2, 6).flatmap(
    lambda n: st.lists(
        st.tuples(
            st.lists(st.integers(0, 3), min_size=n, max_size=n),
            st.lists(st.booleans(), min_size=n, max_size=n).filter(any),
        ),
        min_size=1,
        max_size=5,
    )
)


def plain_losses(scores, truth):
    pairs = [(r, s) for r, s in itertools.product(range(len(truth)), repeat=2) if truth[r] and not truth[s]]
    errors = sum(scores[r] <= scores[s] for r, s in pairs)
    return float(errors > 0), float(errors), errors / max(len(pairs), 1)


@given(scores_and_truth)
@settings(max_examples=100, deadline=None)
def test_losses_equal_the_all_pairs_definition(rows):
    scores, truth = [r[0] for r in rows], np.array([r[1] for r in rows])
    expected = np.mean([plain_losses(s, t) for s, t in zip(scores, truth, strict=True)], axis=0)
    figures = evaluate(sp.csr_array(truth), ranking_of(scores), ["loss1", "loss2", "loss3"])
    assert list(figures.values()) == pytest.approx(expected.tolist())


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_equal_to_scikit_learn_where_it_has_the_measure(seed):
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(2, 9))
    truth = rng.random((7, n_labels)) < 0.4
    truth[np.arange(7), rng.integers(n_labels, size=7)] = True
    scores = rng.random((7, n_labels))
    ranking = ranking_of(scores)
    figures = evaluate(sp.csr_array(truth), ranking, ["AvgP", "Coverage", "nDCG@3", "loss3", "OneErr", "P@1"])
    assert figures["AvgP"] == pytest.approx(sk.label_ranking_average_precision_score(truth, scores))
    assert figures["Coverage"] == pytest.approx(sk.coverage_error(truth, scores) - 1)
    assert figures["nDCG@3"] == pytest.approx(sk.ndcg_score(truth.astype(int), scores, k=3))
    assert figures["loss3"] == pytest.approx(sk.label_ranking_loss(truth, scores))
    assert figures["P@1"] == pytest.approx(1 - figures["OneErr"])


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_order_of_rows_and_names_of_labels_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    truth, scores = rng.random((6, 5)) < 0.5, rng.random((6, 5))
    truth[:, 0] = True
    names = [name + "2" * value.at_k for name, value in METRICS.items()]
    counts = rng.integers(1, 50, size=5)
    rows, labels = rng.permutation(6), rng.permutation(5)
    one = evaluate(sp.csr_array(truth), ranking_of(scores), names, label_counts=counts, n_train_rows=99)
    other = evaluate(
        sp.csr_array(truth[rows][:, labels]),
        ranking_of(scores[rows][:, labels]),
        names,
        label_counts=counts[labels],
        n_train_rows=99,
    )
    assert one == pytest.approx(other)


def test_a_short_ranking_never_looks_better_than_the_whole():
    rng = np.random.default_rng(3)
    truth, scores = sp.csr_array(rng.random((50, 9)) < 0.3), rng.random((50, 9))
    names = ["AvgP", "Coverage", "loss2", "MRR", "maxF1/row"]
    whole, short = (evaluate(truth, ranking_of(scores, k), names) for k in (9, 3))
    assert short["AvgP"] < whole["AvgP"]
    assert short["MRR"] < whole["MRR"]
    assert short["maxF1/row"] <= whole["maxF1/row"]
    assert short["Coverage"] > whole["Coverage"]
    assert short["loss2"] > whole["loss2"]


def test_rows_without_a_true_label_are_left_out():
    assert judge(HAND, ranking_of(HAND_SCORES)).kept.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["P", "P@", "P@0", "MRR5", "precision", "nDCG"])
def test_unknown_measures_are_named_with_the_known_ones(name):
    with pytest.raises(ValueError, match=r"unknown metric .*; the metrics are P@k, R@k"):
        metric(name)


def test_a_name_is_read_as_a_measure_and_its_k():
    assert metric("P@12") == (METRICS["P@"], 12)
    assert metric("maxF1/row") == (METRICS["maxF1/row"], 0)


def test_a_ranking_too_short_for_the_measure_is_refused():
    with pytest.raises(ValueError, match="P@4 needs rankings of at least 4 labels, got 2"):
        evaluate(HAND, ranking_of(HAND_SCORES, 2), ["P@4"])


def test_a_clear_difference_has_an_interval_above_zero_and_none_has_one_around_it():
    rng = np.random.default_rng(0)
    truth = sp.csr_array(np.eye(10)[rng.integers(10, size=400)])
    noise = rng.random((400, 10))
    good, poor = (judge(truth, ranking_of(truth.toarray() * w + noise)) for w in (0.9, 0.3))
    better = compare("P@1", good, poor)
    assert 0 < better.low < better.value < better.high
    same = compare("PSP@1", good, good)
    assert same == (0, 0, 0)
    alone = interval("P@1", poor)
    assert alone.low < alone.value < alone.high


def test_the_interval_has_the_width_that_theory_gives():
    rng = np.random.default_rng(1)
    hits = rng.random(2000) < 0.3
    ranking = ranking_of(np.tile([1.0, 0.0], (2000, 1)))
    truth = sp.csr_array(np.stack([hits, ~hits], axis=1))
    low, high = interval("P@1", judge(truth, ranking))[1:]
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.3 * 0.7 / 2000), rel=0.15)


def test_the_bands_of_columns_are_the_intervals_of_their_means():
    rng = np.random.default_rng(2)
    hits = rng.random((300, 2)) < (0.3, 0.8)
    mean, low, high = mean_bands(hits.astype(float), n_resamples=200)
    for column in range(2):
        truth = sp.csr_array(np.stack([hits[:, column], ~hits[:, column]], axis=1))
        own = interval("P@1", judge(truth, ranking_of(np.tile([1.0, 0.0], (300, 1)))), n_resamples=200)
        assert (mean[column], low[column], high[column]) == pytest.approx(own)


def test_a_paired_comparison_needs_the_same_rows():
    one, other = judge(HAND, ranking_of(HAND_SCORES)), judge(HAND[:1], ranking_of(HAND_SCORES[:1]))
    with pytest.raises(ValueError, match="two rankings of the same rows"):
        compare("P@1", one, other)
