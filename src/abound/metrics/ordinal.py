"""Metrics of ordinal predictions, each in two parts: values per row, and a function that reduces them to one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abound.metrics.bootstrap import Interval, resampled

Figures: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class RankedRows:
    """True and predicted ranks, as numbers from 0 in order and as values.

    The values of strings are their numbers.
    """

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    true_values: NDArray[np.float64]
    predicted_values: NDArray[np.float64]


@dataclass(frozen=True)
class OrdinalMetric:
    """A metric of ordinal predictions: `rows` computes one or more values per row, `reduce` reduces them to one."""

    rows: Callable[[RankedRows], Figures]
    reduce: Callable[[Figures], float]
    summary: str


def _mean(figures: Figures) -> float:
    return float(figures.mean()) if len(figures) else float("nan")


def _mean_of_group_means(figures: Figures) -> float:
    errors, groups = figures[:, 0], figures[:, 1].astype(np.int64)
    counts = np.bincount(groups)
    sums = np.bincount(groups, errors)
    return _mean(sums[counts > 0] / counts[counts > 0])


def _quadratic_kappa(figures: Figures) -> float:
    true, predicted = figures[:, 0], figures[:, 1]
    # The expected squared distance of independent pairs: both variances plus the squared distance of the means.
    expected = true.var() + predicted.var() + (true.mean() - predicted.mean()) ** 2
    return float(1 - ((true - predicted) ** 2).mean() / expected) if expected > 0 else float("nan")


def _distance(r: RankedRows) -> Figures:
    return np.asarray(np.abs(r.true - r.predicted), np.float64)


def _value_distance(r: RankedRows) -> Figures:
    return np.asarray(np.abs(r.true_values - r.predicted_values), np.float64)


def _value_distance_and_truth(r: RankedRows) -> Figures:
    return np.stack([_value_distance(r), r.true.astype(np.float64)], axis=1)


def _within_one(r: RankedRows) -> Figures:
    return np.asarray(np.abs(r.true - r.predicted) <= 1, np.float64)


def _hit(r: RankedRows) -> Figures:
    return np.asarray(r.true == r.predicted, np.float64)


def _pair(r: RankedRows) -> Figures:
    return np.stack([r.true, r.predicted], axis=1).astype(np.float64)


ORDINAL_METRICS: dict[str, OrdinalMetric] = {
    "rank_loss": OrdinalMetric(_distance, _mean, "mean number of thresholds between the true and the predicted rank"),
    "MAE": OrdinalMetric(_value_distance, _mean, "mean distance between the values of the ranks"),
    "macro_MAE": OrdinalMetric(
        _value_distance_and_truth, _mean_of_group_means, "MAE of the rows of each true rank, averaged over the ranks"
    ),
    "accuracy": OrdinalMetric(_hit, _mean, "share of rows with the right rank"),
    "within_one": OrdinalMetric(_within_one, _mean, "share of rows that are off by at most one rank"),
    "kappa": OrdinalMetric(_pair, _quadratic_kappa, "Cohen's kappa with quadratic weights"),
}


def compare_ranks(y_true: ArrayLike, y_pred: ArrayLike, ranks: Sequence[Any] | None = None) -> RankedRows:
    """Number the true and predicted ranks, lowest first.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    ranks : sequence, optional
        All ranks in order; by default, the sorted values.
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 1 or true.shape != predicted.shape:
        raise ValueError(f"y_true and y_pred need one value per row, got shapes {true.shape} and {predicted.shape}")
    both = np.concatenate([true, predicted])
    values = np.unique(both) if ranks is None else np.asarray(ranks)
    order = np.argsort(values, kind="stable")
    unknown = np.setdiff1d(both, values)
    if len(unknown):
        raise ValueError(f"{unknown.tolist()[0]!r} is not among the given ranks {values.tolist()}")
    t, p = (order[np.searchsorted(values, y, sorter=order)].astype(np.int64) for y in (true, predicted))
    is_number = values.dtype.kind in "iufb" and (ranks is None or bool(np.all(np.diff(values.astype(float)) > 0)))
    numbers = values.astype(np.float64) if is_number else np.arange(len(values), dtype=np.float64)
    return RankedRows(t, p, numbers[t], numbers[p])


def _metric(name: str) -> OrdinalMetric:
    if name not in ORDINAL_METRICS:
        raise ValueError(f"unknown metric {name!r}; the metrics are {', '.join(ORDINAL_METRICS)}")
    return ORDINAL_METRICS[name]


def evaluate_ranks(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    metrics: Iterable[str] = tuple(ORDINAL_METRICS),
    *,
    ranks: Sequence[Any] | None = None,
) -> dict[str, float]:
    """Compute metrics of ordinal predictions.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Ranks as values.
    metrics : iterable of names
        See ORDINAL_METRICS.
    ranks : sequence, optional
        All ranks in order; needed for strings or if some ranks do not occur.

    Returns
    -------
    dict from name to value

    Examples
    --------
    >>> evaluate_ranks([1, 2, 5], [1, 5, 2], ["rank_loss", "MAE", "within_one"])
    {'rank_loss': 0.6666666666666666, 'MAE': 2.0, 'within_one': 1.0}
    """
    rows = compare_ranks(y_true, y_pred, ranks)
    return {name: _metric(name).reduce(_metric(name).rows(rows)) for name in metrics}


def rank_interval(
    name: str,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    ranks: Sequence[Any] | None = None,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Interval:
    """Return a metric of ordinal predictions with its percentile bootstrap interval over rows."""
    metric = _metric(name)
    figures = metric.rows(compare_ranks(y_true, y_pred, ranks))
    return resampled(figures, metric.reduce, n_resamples=n_resamples, random_state=random_state)
