"""Metrics of each label, against scikit-learn and plain Python."""

import time
import tracemalloc
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from abound import Ranking
from abound.metrics import label_figures, per_label

VALUES = [0.9, 0.5, 0.5, 0.2]


@st.composite
def evaluations(draw):
    """Rows of few labels, ranked with ties, some assigned."""
    n_rows, n_labels, k = draw(st.integers(1, 12)), draw(st.integers(2, 6)), draw(st.integers(1, 4))
    truth = np.array(draw(st.lists(st.lists(st.booleans(), min_size=n_labels, max_size=n_labels), min_size=n_rows,
                                   max_size=n_rows)))  # fmt: skip
    indices, scores = np.full((n_rows, k), -1, np.int32), np.zeros((n_rows, k))
    for row in range(n_rows):
        ranked = draw(st.permutations(range(n_labels)))[: draw(st.integers(0, min(k, n_labels)))]
        indices[row, : len(ranked)] = ranked
        scores[row, : len(ranked)] = sorted(draw(st.lists(st.sampled_from(VALUES), min_size=len(ranked),
                                                          max_size=len(ranked))), reverse=True)  # fmt: skip
    assigned = np.array(draw(st.lists(st.lists(st.booleans(), min_size=k, max_size=k), min_size=n_rows,
                                      max_size=n_rows))) & (indices >= 0)  # fmt: skip
    return truth, indices, scores, assigned


def dense(indices, values, n_labels, fill):
    out = np.full((len(indices), n_labels), fill, float)
    for row, (labels, cells) in enumerate(zip(indices.tolist(), values.tolist(), strict=True)):
        for label, value in zip(labels, cells, strict=True):
            if label >= 0:
                out[row, label] = value
    return out


def plain_confusions(truth, assigned):
    """For each label, how often each wrong label was assigned to rows where it is missing."""
    found = [Counter() for _ in range(truth.shape[1])]
    for true, chosen in zip(truth, assigned, strict=True):
        for missed in np.flatnonzero(true & ~chosen):
            found[missed].update(np.flatnonzero(chosen & ~true).tolist())
    return found


@settings(max_examples=100)
@given(evaluations(), st.sampled_from([1, 3, 1 << 20]))
def test_every_figure_equals_that_of_scikit_learn(evaluation, n_pairs):
    truth, indices, scores, assigned = evaluation
    n_labels = truth.shape[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(per_label, "PAIRS", n_pairs)
        found = label_figures(sp.csr_array(truth.astype(np.int8)), Ranking(indices, scores, "abcdef"), assigned)
    given_labels = dense(indices, assigned, n_labels, 0).astype(bool)
    known = np.flatnonzero(truth.any(axis=0) | given_labels.any(axis=0))
    assert found.labels.tolist() == known.tolist()
    wanted = precision_recall_fscore_support(truth, given_labels, labels=range(n_labels), zero_division=np.nan)
    for name, column in zip(("precision", "recall", "f1", "support"), wanted, strict=True):
        np.testing.assert_allclose(getattr(found, name), np.asarray(column)[known], err_msg=name)
    assert found.assigned.tolist() == given_labels.sum(axis=0)[known].tolist()
    assert found.right.tolist() == (given_labels & truth).sum(axis=0)[known].tolist()
    values = dense(indices, scores, n_labels, -1.0)  # unranked labels are below all ranked ones
    for place, label in enumerate(known.tolist()):
        if truth[:, label].any():
            wanted = average_precision_score(truth[:, label], values[:, label])
            assert found.average_precision[place] == pytest.approx(wanted, abs=1e-12)
        else:
            assert np.isnan(found.average_precision[place])
    confusions = plain_confusions(truth, given_labels)
    for place, label in enumerate(known.tolist()):
        most = min(((-n, other) for other, n in confusions[label].items()), default=(0, -1))
        assert (found.confused_with[place], found.confused_rows[place]) == (most[1], -most[0])


def test_labels_come_worst_first():
    truth = sp.csr_array(np.array([[1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1]], np.int8))
    ranking = Ranking(np.array([[1, 0], [3, 0], [0, 3]], np.int32), np.array([[2.0, 1.0]] * 3), "abcd")
    found = label_figures(truth, ranking, np.array([[True, False], [True, False], [True, False]]))
    ordered = found.labels[found.worst_first()].tolist()
    assert ordered == [0, 2, 3, 1]  # F1 0 with two rows, 0 with one, 0.5, 1
    assert found.f1[found.worst_first()].tolist() == [0.0, 0.0, 0.5, 1.0]


def test_other_values_than_scores_can_order_the_rows():
    truth = sp.csr_array(np.array([[1], [0]], np.int8))
    ranking = Ranking(np.array([[0], [0]], np.int32), np.array([[1.0], [2.0]]), "a")
    none = np.zeros((2, 1), bool)
    assert label_figures(truth, ranking, none).average_precision[0] == 0.5
    assert label_figures(truth, ranking, none, np.array([[0.9], [0.1]])).average_precision[0] == 1.0
    with pytest.raises(ValueError, match="must have the ranking's shape"):
        label_figures(truth, ranking, np.zeros((2, 2), bool))


def test_nothing_ranked_and_nothing_true():
    nothing = Ranking(np.full((2, 3), -1, np.int32), np.zeros((2, 3)), "")
    assert len(label_figures(sp.csr_array((2, 4), dtype=np.int8), nothing, np.zeros((2, 3), bool)).labels) == 0
    found = label_figures(sp.csr_array(np.array([[1, 0], [1, 0]], np.int8)), nothing, np.zeros((2, 3), bool))
    assert found.average_precision.tolist() == [1.0]  # every row has the label


def test_many_labels_and_rows_need_little_memory_and_time():
    n, k = 100_000, 20
    rng = np.random.default_rng(0)
    # Labels of very different frequency; some rows have very many.
    true = np.minimum(rng.zipf(1.3, 4 * n) - 1, n - 1)
    truth = sp.csr_array((np.ones(4 * n, np.int8), (np.repeat(np.arange(n), 4), true)), shape=(n, n))
    truth.data[:] = 1
    indices = (rng.integers(0, n, (n, 1)) + np.arange(k) * 7919) % n
    indices[:, 0] = true[::4]
    scores = -np.sort(-rng.random((n, k)), axis=1)
    tracemalloc.start()
    started = time.perf_counter()
    found = label_figures(truth, Ranking(indices.astype(np.int32), scores, ()), scores > 0.5)
    seconds, peak = time.perf_counter() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.labels) > 50_000
    assert found.confused_rows.max() > 0
    assert peak < 600e6  # a byte for each pair of a row and a label would be 10 GB
    assert seconds < 60
    print(f"{seconds:.1f} s, {peak / 1e6:.0f} MB")
