"""Measure rankings from their hits: which true label of its row each ranked label is.

The hits of a cell are stored beside its figures. They suffice for all measures and for paired differences, so that one
side can be measured again without the other.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.metrics import judge, metric
from abound.metrics.label_ranking import figures
from benchmarks.sets import LabelSet

MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
RANKS = 5
RESAMPLES = 1000
# Labels by the number of their training rows: from the first number of each up to the next.
BUCKETS = (0, 1, 2, 4, 11, 31, 101, 301, 1001)

Judged = dict[str, tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Ranked:
    """Label numbers and scores, best first."""

    indices: Any
    scores: Any


def hits_of(truth: "sp.csr_array", labels: np.ndarray) -> np.ndarray:
    """Return for each rank the position of the label among the true labels of its row, from 1, or 0 for a wrong label.

    Examples
    --------
    >>> hits_of(sp.csr_array([[0, 1, 1], [1, 0, 0]]), np.array([[2, 0], [1, -1]])).tolist()
    [[2, 0], [0, 0]]
    """
    found = np.zeros(labels[:, :RANKS].shape, np.uint16)
    for row in range(truth.shape[0]):
        true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        for place, label in enumerate(true.tolist(), start=1):
            found[row, labels[row, :RANKS] == label] = place
    return found


class Measured:
    """The truth of a data set and the draws of its bootstrap, which are the same for each system."""

    def __init__(self, data: LabelSet) -> None:
        truth = sp.csr_array(data.Y_test)
        truth.sort_indices()
        self.truth = truth
        self.n_labels = truth.shape[1]
        # One more column for each rank: these labels are never true and stand for wrong ones.
        self._wide = sp.csr_array((truth.data, truth.indices, truth.indptr), (truth.shape[0], self.n_labels + RANKS))
        counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
        self._counts = np.concatenate([counts, np.zeros(RANKS, np.int64)])
        self._n_train_rows = int(data.X_train.shape[0])
        n_rows = int((np.diff(truth.indptr) > 0).sum())
        rng = np.random.default_rng(0)
        self._draws = np.empty((RESAMPLES, n_rows), np.float32)  # how often each row is drawn
        for draw in self._draws:
            draw[:] = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)

    def judged(self, hits: np.ndarray) -> Judged:
        """Return each measure and its resampled values."""
        labels = np.tile(np.arange(self.n_labels, self.n_labels + RANKS, dtype=np.int32), (len(hits), 1))
        rows, places = np.nonzero(hits)
        labels[rows, places] = self.truth.indices[self.truth.indptr[rows] + hits[rows, places] - 1]
        ranked = Ranked(labels, np.tile(np.arange(RANKS, 0, -1.0), (len(hits), 1)))
        judgement = judge(self._wide, ranked, label_counts=self._counts, n_train_rows=self._n_train_rows)
        found: Judged = {}
        for name in MEASURES:
            each = figures(name, judgement)
            if each.ndim == 1:  # a mean over rows
                resampled = self._draws @ each.astype(np.float32) / len(each)
            else:  # the ratio of two sums
                sums = self._draws @ each.astype(np.float32)
                resampled = sums[:, 0] / sums[:, 1]
            found[name] = (float(metric(name)[0].reduce(each)), resampled.astype(np.float64))
        return found

    def recall_by_frequency(self, hits: np.ndarray) -> list[float | None]:
        """Return the share of true labels among the first five, for labels of each bucket."""
        rows = np.repeat(np.arange(self.truth.shape[0]), np.diff(self.truth.indptr))
        places = np.arange(len(rows)) - self.truth.indptr[rows] + 1
        hit = (hits[rows] == places[:, None]).any(axis=1)
        bucket = self._buckets()
        return [round(float(hit[bucket == b].mean()), 6) if (bucket == b).any() else None for b in range(len(BUCKETS))]

    def pairs_by_frequency(self) -> list[int]:
        """Return how many true labels of test rows are in each bucket."""
        return [int(n) for n in np.bincount(self._buckets(), minlength=len(BUCKETS))]

    def _buckets(self) -> np.ndarray:
        return np.searchsorted(BUCKETS, self._counts[self.truth.indices], side="right") - 1


def bucket_names() -> list[str]:
    """Return the names of the buckets."""
    ends = [(first, after - 1) for first, after in itertools.pairwise(BUCKETS)]
    return [*(f"{first}" if last == first else f"{first}-{last}" for first, last in ends), f"{BUCKETS[-1]}+"]


def with_interval(value: float, resampled: np.ndarray) -> list[float]:
    """Return a figure and the interval that contains 95% of its resampled values."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return [round(float(number), 6) for number in (value, low, high)]


def difference(first: tuple[float, np.ndarray], second: tuple[float, np.ndarray]) -> list[float]:
    """Return first minus second with its paired interval."""
    return with_interval(first[0] - second[0], first[1] - second[1])
