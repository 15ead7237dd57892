"""Compare a ranking with the true labels."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.matrices import indicator

# The constants of Jain, Prabhu and Varma (KDD 2016) for data sets without published constants.
PROPENSITY_A = 0.55
PROPENSITY_B = 1.5


class RankedLabels(Protocol):
    """Label numbers and scores, best first, padded with -1, such as an `abound.Ranking`."""

    @property
    def indices(self) -> NDArray[np.int32]: ...  # noqa: D102
    @property
    def scores(self) -> NDArray[np.float64]: ...  # noqa: D102


@dataclass(frozen=True)
class Judgement:
    """The input of all metrics. Rows without a true label are left out.

    Attributes
    ----------
    hits : ndarray of shape (n_rows, k), bool
        Whether the j-th ranked label is a true one.
    ranked : ndarray of shape (n_rows, k), bool
        Whether there is a j-th ranked label.
    scores : ndarray of shape (n_rows, k)
    n_true : ndarray of shape (n_rows,)
    n_labels : int
        Number of labels of the ranker or the truth.
    gains : ndarray of shape (n_rows, k)
        1 / propensity of each hit, 0 elsewhere.
    best_gains : ndarray of shape (n_rows, k)
        The largest gains that the first j ranks could have.
    kept : ndarray of shape (n_rows,)
        The numbers of the rows that have a true label.
    """

    hits: NDArray[np.bool_]
    ranked: NDArray[np.bool_]
    scores: NDArray[np.float64]
    n_true: NDArray[np.int64]
    n_labels: int
    gains: NDArray[np.float64]
    best_gains: NDArray[np.float64]
    kept: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Number of ranks per row."""
        return int(self.hits.shape[1])


def inverse_propensities(label_counts: NDArray[np.int64], n_rows: int) -> NDArray[np.float64]:
    """Return 1 / propensity of labels from their number of training rows.

    Examples
    --------
    >>> inverse_propensities(np.array([0, 10, 1000]), 1000).round(2).tolist()
    [8.82, 3.55, 1.22]
    """
    c = (np.log(max(n_rows, 3)) - 1) * (PROPENSITY_B + 1) ** PROPENSITY_A
    return np.asarray(1 + c * (label_counts + PROPENSITY_B) ** -PROPENSITY_A, np.float64)


def validate_ranking(
    truth: Any, ranking: RankedLabels
) -> "tuple[sp.csr_array[Any], NDArray[Any], NDArray[np.float64]]":
    """Return the truth in canonical form, and the indices and scores of a ranking, after checking their shapes."""
    if not hasattr(ranking, "indices") or not hasattr(ranking, "scores"):
        raise TypeError(f"a ranking must have indices and scores, as `rank` returns it, got {type(ranking).__name__}")
    truth = indicator(truth)
    indices, scores = np.asarray(ranking.indices), np.asarray(ranking.scores, np.float64)
    if indices.shape != scores.shape or indices.shape[0] != truth.shape[0]:
        raise ValueError(f"truth has {truth.shape[0]} rows, indices {indices.shape} and scores {scores.shape}")
    return truth, indices, scores


def judge(
    truth: "sp.csr_array[Any]",
    ranking: RankedLabels,
    *,
    label_counts: NDArray[np.int64] | None = None,
    n_train_rows: int | None = None,
) -> Judgement:
    """Compare a ranking with the true labels.

    Parameters
    ----------
    truth : sparse indicator of shape (n_rows, n_labels)
        Over the same label numbers as the ranking; `Ranker.truth` makes it from names.
    ranking : RankedLabels
    label_counts : ndarray of shape (n_labels,), optional
        Training rows of each label, for propensity metrics. By default, all labels have the same weight.
    n_train_rows : int, optional
        Total number of training rows.

    Returns
    -------
    Judgement
    """
    truth, indices, scores = validate_ranking(truth, ranking)
    n_true_all = np.diff(truth.indptr)
    kept = np.flatnonzero(n_true_all)
    indices, scores, n_true = indices[kept], scores[kept], n_true_all[kept].astype(np.int64)
    n_labels = max(truth.shape[1], int(indices.max(initial=-1)) + 1)
    owners = np.repeat(np.arange(len(kept), dtype=np.int64), n_true)
    keys = np.sort(owners * n_labels + truth.indices)
    wanted = np.arange(len(kept), dtype=np.int64)[:, None] * n_labels + indices
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    ranked = indices >= 0
    hits = ranked & (keys[at] == wanted) if len(keys) else np.zeros(indices.shape, bool)

    weights = np.ones(n_labels)
    if label_counts is not None:
        counts = np.zeros(n_labels, np.int64)
        counts[: len(label_counts)] = label_counts
        weights = inverse_propensities(counts, n_train_rows or int(label_counts.sum()))
    gains = np.where(hits, weights[indices], 0.0)
    return Judgement(
        hits, ranked, scores, n_true, n_labels, gains, _best_gains(keys, n_true, weights, indices.shape[1]), kept
    )


def _best_gains(
    keys: NDArray[np.int64], n_true: NDArray[np.int64], weights: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    """Return the cumulative sums of the k largest weights of true labels, for each row."""
    n_labels = len(weights)
    owners, labels = keys // n_labels, keys % n_labels
    order = np.lexsort((-weights[labels], owners))
    starts = np.concatenate([[0], np.cumsum(n_true)[:-1]])
    rank = np.arange(len(keys)) - np.repeat(starts, n_true)
    best = np.zeros((len(n_true), k))
    within = rank < k
    best[owners[order][within], rank[within]] = weights[labels[order][within]]
    return np.cumsum(best, axis=1)
