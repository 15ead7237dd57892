"""Measure the rankings of a data set: measures with intervals, paired differences, and recall by label frequency."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.metrics import judge, metric
from abound.metrics.label_ranking import figures
from benchmarks.sets import LabelSet

MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "nDCG@5", "R@10")
RESAMPLES = 1000
# Labels by the number of their training rows: from the first number of each up to the next.
BUCKETS = (0, 1, 2, 4, 11, 31, 101, 301, 1001)
BUCKET_K = 5


@dataclass(frozen=True)
class Ranked:
    """The label numbers and scores that a system wrote."""

    indices: Any
    scores: Any


class Measured:
    """Measures of the rankings of one data set, resampled with the same draws, so that differences are paired."""

    def __init__(self, data: LabelSet) -> None:
        self.truth = sp.csr_array(data.Y_test)
        self.n_train_rows = data.X_train.shape[0]
        self.counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
        n_rows = int((np.diff(self.truth.indptr) > 0).sum())
        rng = np.random.default_rng(0)
        self.draws = np.empty((RESAMPLES, n_rows), np.float32)  # how often each row is drawn
        for draw in self.draws:
            draw[:] = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)

    def judged(self, ranked: Ranked) -> dict[str, tuple[float, np.ndarray]]:
        """Return each measure and its resampled values."""
        judgement = judge(self.truth, ranked, label_counts=self.counts, n_train_rows=self.n_train_rows)
        found = {}
        for name in MEASURES:
            rows = figures(name, judgement)
            if rows.ndim == 1:  # a mean over rows
                resampled = self.draws @ rows.astype(np.float32) / len(rows)
            else:  # the ratio of two sums
                sums = self.draws @ rows.astype(np.float32)
                resampled = sums[:, 0] / sums[:, 1]
            found[name] = (metric(name)[0].reduce(rows), resampled.astype(np.float64))
        return found

    def by_frequency(self, ranked: Ranked) -> list[float | None]:
        """Return the share of true labels among the first five, for labels of each bucket."""
        rows = np.repeat(np.arange(self.truth.shape[0]), np.diff(self.truth.indptr))
        hit = (np.asarray(ranked.indices)[rows, :BUCKET_K] == self.truth.indices[:, None]).any(axis=1)
        bucket = self._buckets()
        return [round(float(hit[bucket == b].mean()), 6) if (bucket == b).any() else None for b in range(len(BUCKETS))]

    def pairs_by_frequency(self) -> list[int]:
        """Return how many true labels of test rows are in each bucket."""
        return [int(n) for n in np.bincount(self._buckets(), minlength=len(BUCKETS))]

    def _buckets(self) -> np.ndarray:
        return np.searchsorted(BUCKETS, self.counts[self.truth.indices], side="right") - 1


def bucket_names() -> list[str]:
    """Return the names of the buckets."""
    ends = [f"{first}" if last == first else f"{first}-{last}" for first, last in _spans()]
    return [*ends, f"{BUCKETS[-1]}+"]


def _spans() -> list[tuple[int, int]]:
    return [(first, after - 1) for first, after in itertools.pairwise(BUCKETS)]


def with_interval(value: float, resampled: np.ndarray) -> list[float]:
    """Return a figure and the interval that contains 95% of its resampled values."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return [round(float(number), 6) for number in (value, low, high)]


def difference(first: tuple[float, np.ndarray], second: tuple[float, np.ndarray]) -> list[float]:
    """Return first minus second with its paired interval."""
    return with_interval(first[0] - second[0], first[1] - second[1])
