"""Baselines for PRank: regression rounded to a rank, and one prototype per rank.

Their loops are plain Python: they serve for comparison, and take a few microseconds per row.
"""

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows
from abound.ordinal.base import OrdinalEstimator
from abound.rankers.validation import check_number, check_whole
from abound.store import Model
from abound.store.directory import Source


class Baseline(OrdinalEstimator):
    """What both baselines share: a matrix of weights, one row for each score."""

    passes: int

    def _check_params(self) -> None:
        check_whole("passes", self.passes, 1)

    def _reset(self) -> None:
        self._weights = np.zeros((1, 0))

    def _ensure_features(self, n: int) -> None:
        missing = n - self._weights.shape[1]
        if missing > 0:
            self._weights = np.pad(self._weights, ((0, 0), (0, missing)))

    def _learn(self, rows: Rows, ranks: NDArray[np.int32]) -> NDArray[np.int32]:
        predicted = np.empty(rows.n_rows, np.int32)
        for row, (columns, values) in enumerate(self._each(rows)):
            predicted[row] = self._step(columns, values, int(ranks[row]))
        return predicted

    def _each(self, rows: Rows) -> Iterator[tuple[Any, NDArray[np.float64]]]:
        """Yield columns and values of each row; for dense rows, the columns are a slice."""
        bounds, width = rows.indptr.tolist(), self._weights.shape[1]
        dense = len(rows.data) == width * rows.n_rows and all(b == i * width for i, b in enumerate(bounds))
        for start, stop in itertools.pairwise(bounds):
            yield slice(None) if dense else rows.indices[start:stop], rows.data[start:stop]

    @abstractmethod
    def _step(self, columns: Any, values: NDArray[np.float64], rank: int) -> int:
        """Learn one row; return its rank number before."""

    def _scores(self, rows: Rows) -> NDArray[np.float64]:
        import scipy.sparse as sp

        width = max(self._weights.shape[1], int(rows.indices.max(initial=-1)) + 1)
        X = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.n_rows, width))
        return np.asarray(X[:, : self._weights.shape[1]] @ self._weights.T)

    def _state(self) -> dict[str, Source]:
        return {"weights": self._weights}

    def _restore(self, model: Model) -> None:
        self._weights = model.take("weights", np.float64, self._n_scored(), self.n_features_in_)

    @abstractmethod
    def _n_scored(self) -> int:
        """Return the number of scores."""


class WidrowHoff(Baseline):
    """Learn a rank's number by online least squares, and predict the nearest rank.

    With a constant rate and no penalty, scikit-learn's SGDRegressor does the same in one pass. This class predicts
    ranks, and predicts each row before learning it.

    Parameters
    ----------
    rate : float
        The learning rate; a step never overshoots the row's rank, so that rows with a large norm do not diverge.
    intercept : bool
        Whether to learn an intercept, at the same rate.
    passes : int
        The number of passes of `fit` over the rows.
    ranks : sequence, optional
        All ranks in their order.

    Examples
    --------
    >>> from abound import WidrowHoff
    >>> WidrowHoff(passes=50).fit([[0.0], [1.0], [2.0]], [1, 2, 3]).predict([[0.1], [1.9]]).tolist()
    [1, 3]
    """

    kind = "widrow-hoff"

    def __init__(
        self, *, rate: float = 0.1, intercept: bool = True, passes: int = 1, ranks: Sequence[Any] | None = None
    ) -> None:
        self.rate = rate
        self.intercept = intercept
        self.passes = passes
        self.ranks = ranks

    def _check_params(self) -> None:
        super()._check_params()
        check_number("rate", self.rate, 0.0, 1e300)

    def _reset(self) -> None:
        super()._reset()
        self.intercept_ = 0.0

    def _insert_rank(self, at: int, n_known: int) -> None:
        """Do nothing: the prediction is a number, whatever the ranks are."""

    def _n_scored(self) -> int:
        return 1

    def _nearest(self, scores: Any) -> Any:
        # Ranks count from 1, as in the paper: a regression without an intercept starts from there.
        return np.clip(np.floor(scores - 0.5), 0, len(self.scale_) - 1)

    def _step(self, columns: Any, values: NDArray[np.float64], rank: int) -> int:
        weights = self._weights[0]
        score = float(weights[columns] @ values) + self.intercept_
        longest = 1.0 / (float(values @ values) + bool(self.intercept) or 1.0)
        change = min(self.rate, longest) * (rank + 1 - score)
        weights[columns] += change * values
        if self.intercept:
            self.intercept_ += change
        return int(self._nearest(score))

    def _predict(self, rows: Rows) -> NDArray[np.int32]:
        return np.asarray(self._nearest(self._scores(rows)[:, 0] + self.intercept_), np.int32)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the columns."""
        return np.asarray(self._weights[0])

    def _state(self) -> dict[str, Source]:
        return {**super()._state(), "intercept": np.array([self.intercept_])}

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        (self.intercept_,) = model.take("intercept", np.float64, 1).tolist()


class MulticlassPerceptron(Baseline):
    """Keep one prototype per rank and predict the one that scores highest; the order of the ranks is ignored.

    The ultraconservative update of Crammer and Singer: after a mistake, the true rank's prototype moves towards the
    row, and all that scored at least as high move away from it in equal parts.

    Parameters
    ----------
    passes : int
        The number of passes of `fit` over the rows.
    ranks : sequence, optional
        All ranks in their order.

    References
    ----------
    K. Crammer, Y. Singer, "Ultraconservative online algorithms for multiclass problems", COLT 2001.

    Examples
    --------
    >>> from abound import MulticlassPerceptron
    >>> MulticlassPerceptron().fit([[1.0, 0.0], [0.0, 1.0]] * 3, [1, 2] * 3).predict([[0.0, 2.0]]).tolist()
    [2]
    """

    kind = "multiclass-perceptron"

    def __init__(self, *, passes: int = 1, ranks: Sequence[Any] | None = None) -> None:
        self.passes = passes
        self.ranks = ranks

    def _reset(self) -> None:
        self._weights = np.zeros((0, 0))

    def _insert_rank(self, at: int, n_known: int) -> None:  # noqa: ARG002  part of the interface
        self._weights = np.insert(self._weights, at, 0.0, axis=0)

    def _n_scored(self) -> int:
        return len(self.scale_)

    def _step(self, columns: Any, values: NDArray[np.float64], rank: int) -> int:
        scores = self._weights[:, columns] @ values
        predicted = int(scores.argmax())  # the lowest rank of a tie
        wrong = scores >= scores[rank]
        wrong[rank] = False
        n_wrong = int(wrong.sum())
        if n_wrong:
            self._weights[rank, columns] += values
            part = values / n_wrong
            for other in np.flatnonzero(wrong):
                self._weights[other, columns] -= part
        return predicted

    def _predict(self, rows: Rows) -> NDArray[np.int32]:
        return np.asarray(self._scores(rows).argmax(axis=1), np.int32)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of every rank: one column per rank, or the second minus the first if there are two."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "scale_")
        scores = self._scores(self._rows(X, learn=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The prototypes, lowest rank first."""
        return self._weights
