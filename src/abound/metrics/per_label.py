"""Metrics of each label over rows, from sparse arrays: nothing has a cell for each pair of a row and a label."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.metrics.judgement import RankedLabels, validate_ranking

PAIRS = 1 << 20  # missed and wrong labels that are paired at once


@dataclass(frozen=True)
class LabelFigures:
    """Metrics of labels, as arrays. Each label is true for a row, or assigned to one.

    Attributes
    ----------
    labels : ndarray of int64
        Label numbers, in ascending order.
    support : ndarray of int64
        Number of rows that have the label.
    assigned : ndarray of int64
        Number of rows that the label was assigned to.
    right : ndarray of int64
        How many of these have the label.
    precision : ndarray of float64
        Share of the assignments that are right; NaN for a label that was never assigned.
    recall : ndarray of float64
        Share of the rows with the label that it was assigned to; NaN for a label without such rows.
    f1 : ndarray of float64
        Twice the right assignments, divided by support plus assignments.
    average_precision : ndarray of float64
        Of the rows, ordered by the value that they give the label, as scikit-learn computes it; NaN for a label
        without rows. Rows whose ranking does not have the label are last, all tied.
    confused_with : ndarray of int64
        The wrong label that was assigned most often to rows where the label is missing; -1 if there is none.
    confused_rows : ndarray of int64
        The number of these rows.
    """

    labels: NDArray[np.int64]
    support: NDArray[np.int64]
    assigned: NDArray[np.int64]
    right: NDArray[np.int64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    average_precision: NDArray[np.float64]
    confused_with: NDArray[np.int64]
    confused_rows: NDArray[np.int64]

    def worst_first(self) -> NDArray[np.int64]:
        """Return the positions of the labels by F1, the lowest first; of equal ones, those of most rows come first."""
        return np.lexsort((self.labels, -self.support, self.f1))


def label_figures(
    truth: "sp.csr_array[Any]", ranking: RankedLabels, assigned: Any, values: Any | None = None
) -> LabelFigures:
    """Compute metrics of every label that is true or assigned.

    Parameters
    ----------
    truth : sparse indicator of shape (n_rows, n_labels)
        `Tagger.truth` creates it from names.
    ranking : RankedLabels
        The result of `rank` of a ranker or `rank_arrays` of a tagger.
    assigned : ndarray of bool
        Which ranked labels are assigned; has the shape of the ranking.
    values : ndarray of float, optional
        What rows are ordered by for the average precision of a label, such as the probabilities of the ranking. By
        default, the scores.

    Examples
    --------
    >>> from abound import Ranking
    >>> ranking = Ranking(np.array([[0, 1], [0, 1]]), np.array([[0.9, 0.1], [0.8, 0.2]]), "ab")
    >>> found = label_figures(sp.csr_array([[1, 0], [0, 1]]), ranking, np.array([[True, False], [True, False]]))
    >>> found.support.tolist(), found.assigned.tolist(), found.f1.round(2).tolist(), found.confused_with.tolist()
    ([1, 1], [2, 0], [0.67, 0.0], [-1, 0])
    """
    truth, indices, scores = validate_ranking(truth, ranking)
    chosen, by = np.asarray(assigned, bool), scores if values is None else np.asarray(values, np.float64)
    if chosen.shape != indices.shape or by.shape != indices.shape:
        raise ValueError(f"assigned {chosen.shape} and values {by.shape} must have the ranking's shape {indices.shape}")
    n_labels = max(truth.shape[1], int(indices.max(initial=-1)) + 1)
    true = np.repeat(np.arange(truth.shape[0], dtype=np.int64), np.diff(truth.indptr)) * n_labels + truth.indices
    true.sort()
    rows, ranks = np.nonzero(indices >= 0)
    labels = indices[rows, ranks].astype(np.int64)
    keys = rows * n_labels + labels
    hits, chosen = _is_in(keys, true), chosen[rows, ranks]

    support, n_assigned = (np.bincount(of, minlength=n_labels) for of in (true % n_labels, labels[chosen]))
    right = np.bincount(labels[chosen & hits], minlength=n_labels)
    precisions = average_precisions(labels, by[rows, ranks], hits, support, truth.shape[0])
    missed = true[~_is_in(true, np.sort(keys[chosen]))]
    confused_with, confused_rows = _confused(missed, keys[chosen & ~hits], n_labels)
    known = np.flatnonzero((support > 0) | (n_assigned > 0))
    support, n_assigned, right = support[known], n_assigned[known], right[known]
    return LabelFigures(
        known,
        support,
        n_assigned,
        right,
        _shares(right, n_assigned),
        _shares(right, support),
        2 * right / (support + n_assigned),
        precisions[known],
        confused_with[known],
        confused_rows[known],
    )


def average_precisions(
    labels: NDArray[np.int64],
    values: NDArray[np.float64],
    hits: NDArray[np.bool_],
    support: NDArray[np.int64],
    n_rows: int,
) -> NDArray[np.float64]:
    """Return the average precision of each label over rows; NaN for labels without a row.

    Parameters
    ----------
    labels, values, hits : ndarray
        The label of each pair of a row and a ranked label, its value, and whether the row has it.
    support : ndarray of shape (n_labels,)
        Number of rows that have the label.
    n_rows : int
    """
    order = np.lexsort((-values, labels))
    labels, values, hits = labels[order], values[order], hits[order]
    starts = np.searchsorted(labels, np.arange(len(support)))
    total = np.concatenate([[0], np.cumsum(hits)])
    found = total[1:] - total[starts[labels]]  # true rows of the label, up to this one
    ranks = np.arange(1, len(labels) + 1) - starts[labels]
    # All rows of equal value count together, at the last of them.
    is_last = np.ones(len(labels), bool)
    is_last[:-1] = (labels[1:] != labels[:-1]) | (values[1:] != values[:-1])
    labels_at, found_at, ranks_at = labels[is_last], found[is_last], ranks[is_last]
    before = np.zeros(len(labels_at), np.int64)
    before[1:] = np.where(labels_at[1:] == labels_at[:-1], found_at[:-1], 0)
    sums = np.bincount(labels_at, (found_at - before) * found_at / ranks_at, minlength=len(support))
    missing = support - np.bincount(labels[hits], minlength=len(support))
    # The others are tied below all ranked rows, where the precision is support / n_rows.
    return _shares(sums + missing * support / max(n_rows, 1), support)


def _confused(
    missed: NDArray[np.int64], wrong: NDArray[np.int64], n_labels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the label that was most often assigned instead of each label, and how often.

    Both arguments are pairs of rows and labels, as row * n_labels + label, ordered by row. Some labels are counted at
    once, so that memory is bounded.
    """
    best, counts = np.full(n_labels, -1, np.int64), np.zeros(n_labels, np.int64)
    given_rows, given = wrong // n_labels, wrong % n_labels
    order = np.argsort(missed % n_labels, kind="stable")
    rows, labels = missed[order] // n_labels, missed[order] % n_labels
    starts = np.searchsorted(given_rows, rows)
    lengths = np.searchsorted(given_rows, rows, side="right") - starts
    for part in _whole_labels(labels, lengths):
        n = lengths[part]
        at = np.arange(n.sum()) + np.repeat(starts[part] - (np.cumsum(n) - n), n)
        pairs, n_rows = np.unique(np.repeat(labels[part], n) * n_labels + given[at], return_counts=True)
        # Repeated indices keep the last value: the most frequent label, and of equal ones, the lowest number.
        pairs, n_rows = (of[np.lexsort((-pairs, n_rows))] for of in (pairs, n_rows))
        best[pairs // n_labels], counts[pairs // n_labels] = pairs % n_labels, n_rows
    return best, counts


def _whole_labels(labels: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[slice]:
    """Split sorted labels into parts of at most PAIRS pairs, or of one label."""
    ends = np.append(np.flatnonzero(labels[1:] != labels[:-1]) + 1, len(labels))
    done, start = np.concatenate([[0], np.cumsum(lengths)]), 0
    while start < len(labels):
        fitting = ends[(ends > start) & (done[ends] <= done[start] + PAIRS)]
        stop = int(fitting[-1]) if len(fitting) else int(ends[np.searchsorted(ends, start, side="right")])
        yield slice(start, stop)
        start = stop


def _is_in(keys: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which keys are in a sorted array."""
    if not len(among):
        return np.zeros(len(keys), bool)
    return np.asarray(among[np.minimum(np.searchsorted(among, keys), len(among) - 1)] == keys)


def _shares(part: NDArray[Any], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return shares
