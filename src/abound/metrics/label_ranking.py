"""Metrics of label rankings, each in two parts: a value per row, and a function that reduces the rows to one value.

A ranking may have fewer labels than the label set. Missing labels rank below all others. If a metric needs their rank,
true labels are assumed to come last, so that a short ranking never looks better than a complete one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.metrics.judgement import Judgement, RankedLabels, judge

Figures: TypeAlias = NDArray[np.float64]


def _mean(figures: Figures) -> float:
    return float(figures.mean()) if len(figures) else float("nan")


@dataclass(frozen=True)
class Metric:
    """A metric of label rankings.

    Attributes
    ----------
    rows : callable
        Computes the values of each row from a Judgement and, for a metric at k, from k.
    reduce : callable
        Reduces the values of rows to one value. The bootstrap resamples its input.
    at_k : bool
        Whether the name ends with a number.
    """

    rows: Callable[[Judgement, int], Figures]
    summary: str
    reduce: Callable[[Figures], float] = _mean
    at_k: bool = False


# -- the first k labels ------------------------------------------------------------------------------


def _precision(j: Judgement, k: int) -> Figures:
    return np.asarray(j.hits[:, :k].sum(axis=1) / k, np.float64)


def _recall(j: Judgement, k: int) -> Figures:
    return np.asarray(j.hits[:, :k].sum(axis=1) / j.n_true, np.float64)


def _any_hit(j: Judgement, k: int) -> Figures:
    return np.asarray(j.hits[:, :k].any(axis=1), np.float64)


def _f1(j: Judgement, k: int) -> Figures:
    return np.asarray(2 * j.hits[:, :k].sum(axis=1) / (k + j.n_true), np.float64)


def _ndcg(j: Judgement, k: int) -> Figures:
    discounts = 1 / np.log2(np.arange(2, k + 2))
    ideal = np.cumsum(discounts)[np.minimum(j.n_true, k) - 1]
    return np.asarray(j.hits[:, :k] @ discounts[: j.width] / ideal, np.float64)


def _propensity_scored(j: Judgement, k: int) -> Figures:
    return np.stack([j.gains[:, :k].sum(axis=1), j.best_gains[:, min(k, j.width) - 1]], axis=1)


def _ratio(figures: Figures) -> float:
    total = figures[:, 1].sum()
    return float(figures[:, 0].sum() / total) if total else float("nan")


# -- the first right label ---------------------------------------------------------------------------


def _reciprocal_rank(j: Judgement, _: int) -> Figures:
    first = j.hits.argmax(axis=1)
    return np.asarray(np.where(j.hits.any(axis=1), 1 / (first + 1), 0.0), np.float64)


def _harmonic_rank(figures: Figures) -> float:
    mean = _mean(figures)
    return 1 / mean if mean else float("inf")


def _one_error(j: Judgement, _: int) -> Figures:
    return (~j.hits[:, 0]).astype(np.float64)


# -- the whole ranking -------------------------------------------------------------------------------


def _coverage(j: Judgement, _: int) -> Figures:
    last = j.width - 1 - j.hits[:, ::-1].argmax(axis=1)
    return np.where(j.hits.sum(axis=1) == j.n_true, last, j.n_labels - 1).astype(np.float64)


def _average_precision(j: Judgement, _: int) -> Figures:
    n_hits = np.cumsum(j.hits, axis=1)
    total = (j.hits * n_hits / np.arange(1, j.width + 1)).sum(axis=1)
    missing = j.n_true - n_hits[:, -1]
    for row in np.flatnonzero(missing):
        u, n = missing[row], j.n_true[row]
        total[row] += (np.arange(n - u + 1, n + 1) / np.arange(j.n_labels - u + 1, j.n_labels + 1)).sum()
    return np.asarray(total / j.n_true, np.float64)


def _error_pairs(j: Judgement) -> NDArray[np.int64]:
    """Count the pairs of a true label and a wrong label that does not score lower."""
    wrong = np.cumsum(j.ranked & ~j.hits, axis=1)
    not_lower = wrong.copy()  # per rank: wrong labels with at least this score; within a tie, the last rank counts
    for rank in range(j.width - 2, -1, -1):
        tied = (j.scores[:, rank] == j.scores[:, rank + 1]) & j.ranked[:, rank + 1]
        not_lower[tied, rank] = not_lower[tied, rank + 1]
    missing = j.n_true - j.hits.sum(axis=1)
    return np.asarray((j.hits * not_lower).sum(axis=1) + missing * (j.n_labels - j.n_true), np.int64)


def _loss1(j: Judgement, _: int) -> Figures:
    return (_error_pairs(j) > 0).astype(np.float64)


def _loss2(j: Judgement, _: int) -> Figures:
    return _error_pairs(j).astype(np.float64)


def _loss3(j: Judgement, _: int) -> Figures:
    return np.asarray(_error_pairs(j) / np.maximum(j.n_true * (j.n_labels - j.n_true), 1), np.float64)


# -- three definitions of the largest F1 -------------------------------------------------------------


def _precision_and_recall(j: Judgement, _: int) -> Figures:
    n_hits = np.cumsum(j.hits, axis=1)
    return np.concatenate([n_hits / np.arange(1, j.width + 1), n_hits / j.n_true[:, None]], axis=1)


def _best_f1_of_means(figures: Figures) -> float:
    precision, recall = np.split(figures.mean(axis=0), 2)
    total = precision + recall
    return float(np.max(2 * precision * recall / np.where(total > 0, total, 1)))


def _f1_at_size(j: Judgement, _: int) -> Figures:
    n_hits = np.cumsum(j.hits, axis=1)
    last = np.minimum(j.n_true, j.width) - 1
    return np.asarray(n_hits[np.arange(len(n_hits)), last] / j.n_true, np.float64)


def _best_f1_of_row(j: Judgement, _: int) -> Figures:
    n_hits = np.cumsum(j.hits, axis=1)
    return np.asarray((2 * n_hits / (np.arange(1, j.width + 1) + j.n_true[:, None])).max(axis=1), np.float64)


METRICS: dict[str, Metric] = {
    "P@": Metric(_precision, "share of the first k that are right", at_k=True),
    "R@": Metric(_recall, "share of the right labels that are among the first k", at_k=True),
    "R_": Metric(_any_hit, "share of rows with a right label among the first k", at_k=True),
    "F1@": Metric(_f1, "F1 of the first k, averaged over rows", at_k=True),
    "nDCG@": Metric(_ndcg, "discounted gain of the first k, relative to the best possible", at_k=True),
    "PSP@": Metric(_propensity_scored, "precision in which rare labels count more", _ratio, at_k=True),
    "MRR": Metric(_reciprocal_rank, "mean of 1 / rank of the first right label"),
    "HR": Metric(_reciprocal_rank, "harmonic mean rank of the first right label, 1 / MRR", _harmonic_rank),
    "OneErr": Metric(_one_error, "share of rows whose first label is wrong"),
    "Coverage": Metric(_coverage, "number of ranks to cover all right labels, minus one"),
    "AvgP": Metric(_average_precision, "mean precision at the ranks of the right labels"),
    "loss1": Metric(_loss1, "share of rows with an imperfect ranking"),
    "loss2": Metric(_loss2, "pairs of a right and a wrong label in the wrong order"),
    "loss3": Metric(_loss3, "share of the pairs that are in the wrong order"),
    "maxF1/corpus": Metric(
        _precision_and_recall, "F1 of mean precision and mean recall at the best rank", _best_f1_of_means
    ),
    "maxF1/size": Metric(_f1_at_size, "mean F1 at the number of right labels"),
    "maxF1/row": Metric(_best_f1_of_row, "mean over rows of the best F1 at any rank"),
}
DEFAULT_METRICS = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5")


def metric(name: str) -> tuple[Metric, int]:
    """Return a metric by name, such as ``MRR`` or ``P@5``, and its k, or 0.

    Examples
    --------
    >>> metric("P@5")[1]
    5
    """
    stem = name if name in METRICS else name.rstrip("0123456789")
    known = METRICS.get(stem)
    if known is None or known.at_k != (stem != name) or name.endswith(("@0", "_0")):
        names = ", ".join(key + "k" * value.at_k for key, value in METRICS.items())
        raise ValueError(f"unknown metric {name!r}; the metrics are {names}")
    return known, int(name[len(stem) :] or 0)


def figures(name: str, judgement: Judgement) -> Figures:
    """Return the values of each row for a metric."""
    definition, k = metric(name)
    if k > judgement.width and judgement.width < judgement.n_labels:
        raise ValueError(f"{name} needs rankings of at least {k} labels, got {judgement.width}")
    return definition.rows(judgement, k)


def evaluate(
    truth: "sp.csr_array[Any]",
    ranking: RankedLabels,
    metrics: Iterable[str] = DEFAULT_METRICS,
    *,
    label_counts: NDArray[np.int64] | None = None,
    n_train_rows: int | None = None,
) -> dict[str, float]:
    """Compute metrics of a ranking.

    Parameters
    ----------
    truth : sparse indicator of shape (n_rows, n_labels)
    ranking : RankedLabels
    metrics : iterable of names
        See METRICS. Names that end with ``@`` or ``_`` need a number.
    label_counts, n_train_rows
        Needed by PSP@k; see `judge`.

    Returns
    -------
    dict from name to value
        Rows without a true label are left out.

    Examples
    --------
    >>> from abound import Ranking
    >>> ranking = Ranking(np.array([[2, 0]]), np.array([[0.9, 0.1]]), "abc")
    >>> evaluate(sp.csr_array([[1, 0, 0]]), ranking, ["P@1", "MRR", "Coverage"])
    {'P@1': 0.0, 'MRR': 0.5, 'Coverage': 1.0}
    """
    judgement = judge(truth, ranking, label_counts=label_counts, n_train_rows=n_train_rows)
    return {name: metric(name)[0].reduce(figures(name, judgement)) for name in metrics}
