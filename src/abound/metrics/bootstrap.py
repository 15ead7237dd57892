"""Bootstrap confidence intervals over rows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.metrics.judgement import Judgement
from abound.metrics.label_ranking import figures, metric

LEVEL = 0.95


class Interval(NamedTuple):
    """A value and its 95% bootstrap interval."""

    value: float
    low: float
    high: float


def interval(name: str, judgement: Judgement, *, n_resamples: int = 1000, random_state: int = 0) -> Interval:
    """Return a metric with its percentile bootstrap interval over rows."""
    rows, reduce = figures(name, judgement), metric(name)[0].reduce
    return resampled(rows, reduce, n_resamples=n_resamples, random_state=random_state)


def resampled(
    rows: NDArray[np.float64], reduce: Callable[[NDArray[np.float64]], float], *, n_resamples: int, random_state: int
) -> Interval:
    """Return `reduce(rows)` with its percentile bootstrap interval."""
    rng = np.random.default_rng(random_state)
    draws = [reduce(rows[rng.integers(len(rows), size=len(rows))]) for _ in range(n_resamples)]
    return Interval(reduce(rows), *_quantiles(draws))


def mean_bands(
    rows: NDArray[np.float64], *, n_resamples: int = 200, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each column with the bounds of its percentile bootstrap interval over rows.

    Examples
    --------
    >>> mean, low, high = mean_bands(np.array([[0.0, 1.0], [1.0, 1.0]] * 50))
    >>> mean.tolist(), bool(low[0] < 0.5 < high[0]), low[1], high[1]
    ([0.5, 1.0], True, np.float64(1.0), np.float64(1.0))
    """
    rng, n = np.random.default_rng(random_state), len(rows)
    # A resample is the number of draws per row, so one matrix product serves all columns.
    draws = [np.bincount(rng.integers(n, size=n), minlength=n) @ rows / n for _ in range(n_resamples)]
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return rows.mean(axis=0), low, high


def compare(
    name: str, first: Judgement, second: Judgement, *, n_resamples: int = 1000, random_state: int = 0
) -> Interval:
    """Return the difference first - second on the same rows with its paired percentile bootstrap interval.

    Both are resampled together, so rows that are hard for both do not widen the interval.
    """
    if not np.array_equal(first.kept, second.kept):
        raise ValueError("a paired comparison needs two rankings of the same rows")
    a, b, reduce = figures(name, first), figures(name, second), metric(name)[0].reduce
    rng = np.random.default_rng(random_state)
    draws = []
    for _ in range(n_resamples):
        chosen = rng.integers(len(a), size=len(a))
        draws.append(reduce(a[chosen]) - reduce(b[chosen]))
    return Interval(reduce(a) - reduce(b), *_quantiles(draws))


def _quantiles(draws: list[float]) -> tuple[float, float]:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
