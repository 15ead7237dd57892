"""The index kernels equal the plain-Python oracle, bit for bit and after every row."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abound import FeatureFocus, load
from tests.kernels.streams import NAMES, any_stream, as_matrix, extreme, long_stream, streams
from tests.reference.feature_focus import FeatureFocusOracle

pytestmark = pytest.mark.kernel

CHOICES = {
    "margin": (0.0, 0.1, 0.5, None),
    "w_min": (0.0, 0.01, 0.3, 0.9, 0.99),
    "d_max": (1, 2, 25, None),
    "horizon": (2.0, 7.3, None),
    "leak": (True, False),
    "rating": ("seen", "none"),
    "boolean": (False, True),
    "candidates": (None, 1, 3),
}
options = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()})


def make_oracle(params):
    horizon = 65536.0 if params.get("horizon") is None else params["horizon"]
    rating = params.get("rating", "seen") == "seen"
    margin = float("inf") if params.get("margin", 0.5) is None else params.get("margin", 0.5)
    return FeatureFocusOracle(**{**params, "horizon": horizon, "rating": rating, "margin": margin})


def state(ranker):
    """Return (totals, seen counts, edge lists) of a ranker, a list entry for each feature."""
    indptr, totals, seen = ranker.head.store.headers()
    edges = ranker.head.store.edges(0, ranker.head.store.n_features)
    pairs = list(zip(edges["label"].tolist(), edges["weight"].tolist(), strict=True))
    lists = [pairs[a:b] for a, b in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)]
    return totals.tolist(), seen.tolist(), lists


def oracle_state(oracle, n_features):
    assert max(oracle.n, default=-1) < n_features
    return (
        [oracle.W.get(f, 0.0) for f in range(n_features)],
        [oracle.n.get(f, 0) for f in range(n_features)],
        [oracle.edges.get(f, []) for f in range(n_features)],
    )


def ranking(ranker, X, row=0):
    """Return the whole ranking of a row, as the oracle gives it: label numbers and scores."""
    found = ranker.rank(X, 10_000)
    indices, scores = found.indices[row].tolist(), found.scores[row].tolist()
    return [(label, score) for label, score in zip(indices, scores, strict=True) if label >= 0]


def check_row_by_row(params, stream):
    ranker, oracle, ids = FeatureFocus(**params), make_oracle(params), {}
    for row, labels, spare in stream:
        X = as_matrix([row], spare)
        numbers = [ids.setdefault(name, len(ids)) for name in labels]
        if hasattr(ranker, "labels_"):
            assert ranking(ranker, X) == oracle.rank(row)
        ranker.partial_fit(X, [labels])
        oracle.learn(row, numbers, count=True)
        assert ranker.labels_.names == list(ids)
        assert state(ranker) == oracle_state(oracle, ranker.head.store.n_features)
        assert ranking(ranker, X) == oracle.rank(row)
    return ranker, oracle, ids


@settings(deadline=None, max_examples=250)
@given(options, any_stream)
@example({"margin": 0.5}, [({}, [], 0)])
@example({"margin": 0.5}, [({}, [7], 2), ({3: 1.0}, [], 0), ({3: 1.0}, [7, 7], 0)])
def test_state_and_ranking_equal_the_oracle_after_every_row(params, stream):
    ranker, oracle, _ = check_row_by_row(params, stream)
    rows = [row for row, _, _ in stream]
    X = as_matrix(rows)
    for i, row in enumerate(rows):
        assert ranking(ranker, X, i) == oracle.rank(row)


@settings(deadline=None, max_examples=100)
@given(options, streams(extreme, max_rows=10))
@example({"w_min": 0.0, "horizon": 2.0}, [({0: 1e20}, list(NAMES), 0)])
def test_values_at_the_ends_of_single_precision_equal_the_oracle(params, stream):
    check_row_by_row(params, stream)


@pytest.mark.parametrize("exact", [True, False], ids=["dyadic", "arbitrary"])
@pytest.mark.parametrize("leak", [True, False], ids=["leak", "no-leak"])
@pytest.mark.parametrize("w_min", CHOICES["w_min"])
def test_long_lists_equal_the_oracle_after_every_row(w_min, leak, exact):
    # Lists outgrow their first room many times, which streams of a dozen rows do not reach.
    for seed, (margin, d_max, horizon) in enumerate([(None, 25, None), (0.1, None, 9.0), (0.0, 2, None)]):
        params = {"margin": margin, "d_max": d_max, "horizon": horizon, "w_min": w_min, "leak": leak}
        check_row_by_row(params, long_stream(seed, 120, 12, 150, exact))


def test_edges_that_are_halved_to_nothing_are_dropped(tmp_path):
    # Without w_min nothing else drops them, and below the normal numbers two unequal weights would become
    # equal and stand in the wrong order: a list that could be saved but not loaded.
    params = {"w_min": 0.0, "horizon": 2.0, "margin": 1e9}
    stream = [({0: 1.0}, [0], 0), ({0: 1.1}, [1], 0)] + [({0: 2.0}, [2], 0)] * 160
    ranker, _, _ = check_row_by_row(params, stream)
    assert ranker.n_edges_ == 1
    ranker.save(tmp_path / "model")
    assert load(tmp_path / "model").state_hash() == ranker.state_hash()


@settings(deadline=None, max_examples=80)
@given(options, any_stream)
def test_explanations_are_the_oracles_votes_and_sum_to_the_score(params, stream):
    ranker, oracle, ids = check_row_by_row(params, stream)
    for row, _, spare in stream:
        X, scores = as_matrix([row], spare), oracle.scores(row)
        for name, number in ids.items():
            explanation = ranker.explain(X, name)
            votes = list(zip(explanation.features.tolist(), explanation.votes.tolist(), strict=True))
            assert votes == oracle.explain(row, number)
            assert explanation.score == scores.get(number, 0.0)


@settings(deadline=None, max_examples=80)
@given(options, any_stream, st.data())
def test_chunks_rows_and_fit_reach_the_same_state(params, stream, data):
    rows, labels = [row for row, _, _ in stream], [labels for _, labels, _ in stream]
    whole = FeatureFocus(**params, passes=1).fit(as_matrix(rows), labels)
    single, chunked = FeatureFocus(**params), FeatureFocus(**params)
    for row, names in zip(rows, labels, strict=True):
        single.partial_fit(as_matrix([row]), [names])
    start = 0
    while start < len(rows):
        end = start + data.draw(st.integers(1, len(rows) - start), label="chunk")
        chunked.partial_fit(as_matrix(rows[start:end]), labels[start:end])
        start = end
    assert single.state_hash() == whole.state_hash()
    assert chunked.state_hash() == whole.state_hash()


@settings(deadline=None, max_examples=80)
@given(options, any_stream)
def test_three_passes_equal_the_oracle_fed_three_times_counting_once(params, stream):
    rows, labels = [row for row, _, _ in stream], [labels for _, labels, _ in stream]
    ranker = FeatureFocus(**params, passes=3).fit(as_matrix(rows), labels)
    oracle, ids = make_oracle(params), {}
    numbers = [[ids.setdefault(name, len(ids)) for name in names] for names in labels]
    for i in range(3):
        for row, row_numbers in zip(rows, numbers, strict=True):
            oracle.learn(row, row_numbers, count=i == 0)
    assert state(ranker) == oracle_state(oracle, ranker.head.store.n_features)


def test_repeated_and_unsorted_columns_are_one_feature_with_the_summed_value():
    indices, data = np.array([3, 0, 3], np.int32), np.array([0.25, 1.0, 0.5])
    X = sp.csr_array((data, indices, np.array([0, 3], np.int32)), shape=(1, 4))
    oracle = FeatureFocusOracle()
    oracle.learn({0: 1.0, 3: 0.75}, [0])
    ranker = FeatureFocus().partial_fit(X, [["a"]])
    assert state(ranker) == oracle_state(oracle, 4)
    assert ranking(ranker, X) == oracle.rank({0: 1.0, 3: 0.75})


@pytest.mark.parametrize("leak", [True, False], ids=["leak", "no-leak"])
@pytest.mark.parametrize("w_min", [0.0, 0.01, 0.3, 0.9])
@pytest.mark.parametrize("horizon", [None, 3.0])
def test_shares_sum_to_at_most_one_lists_are_short_and_sorted(w_min, leak, horizon):
    ranker = FeatureFocus(margin=None, w_min=w_min, leak=leak, horizon=horizon)
    longest = 0
    for row, labels, _ in long_stream(7, 400, 4, 300, exact=False):
        ranker.partial_fit(as_matrix([row]), [labels])
        for total, _, edges in zip(*state(ranker), strict=True):
            shares = [w / total for _, w in edges]
            longest = max(longest, len(edges))
            assert sum(shares) <= 1 + 1e-6
            assert all(share >= w_min for share in shares)
            assert edges == sorted(edges, key=lambda edge: (-edge[1], edge[0]))
            assert len({label for label, _ in edges}) == len(edges)
            if w_min > 0:
                assert len(edges) <= math.floor((1 + 1e-6) / w_min)
    # The bounds were not met by an index that learns nothing.
    assert longest >= min(10, math.floor(1 / max(w_min, 0.01)))


# Section 4.3.1, case 1: the first feature is on in the rows of "c1" and in no other; the second is always on.
BOTH, SECOND = {0: 1.0, 1: 1.0}, {1: 1.0}
CASE_1 = [(BOTH, ["c1"]), (BOTH, ["c1"]), (SECOND, ["c2"])] * 20


def learn_all(stream, **params):
    ranker = FeatureFocus(rating="none", **params)
    for row, labels in stream:
        ranker.partial_fit(as_matrix([row]), [labels])
    return ranker


def shares(ranker, feature):
    totals, _, lists = state(ranker)
    return {ranker.labels_.names[label]: w / totals[feature] for label, w in lists[feature]}


def test_lazy_updating_leaves_a_shared_feature_to_the_label_that_has_no_other():
    ranker = learn_all(CASE_1, margin=0.0)
    assert ranker.rank(as_matrix([BOTH]))[0][0][0] == "c1"
    assert ranker.rank(as_matrix([SECOND]))[0][0][0] == "c2"
    first, second = shares(ranker, 0), shares(ranker, 1)
    assert "c2" not in first
    assert first["c1"] > second["c2"] > second["c1"]


def test_always_updating_gives_a_shared_feature_to_the_more_frequent_label():
    ranker = learn_all(CASE_1, margin=None)
    assert [name for name, _ in ranker.rank(as_matrix([SECOND]))[0]] == ["c1", "c2"]
    assert shares(ranker, 1) == {"c1": 40 / 60, "c2": 20 / 60}


# Section 4.3.1, case 2: one feature and the paper's worst sequence, with "c1" in half of the rows.
CASE_2 = [({0: 1.0}, [name]) for name in ("c2", "c1", "c3", "c1")] * 25


def test_always_updating_learns_the_shares_of_labels_on_one_feature():
    ranker = learn_all(CASE_2, margin=None)
    assert [name for name, _ in ranker.rank(as_matrix([{0: 1.0}]))[0]] == ["c1", "c2", "c3"]
    assert shares(ranker, 0) == {"c1": 0.5, "c2": 0.25, "c3": 0.25}


def test_lazy_updating_makes_the_labels_of_one_feature_nearly_equal():
    _, _, [edges] = state(learn_all(CASE_2, margin=0.0))
    weights = [w for _, w in edges]
    assert len(weights) == 3
    assert max(weights) - min(weights) <= 1
