"""Scores as thermometer bits: a linear ranker on them learns a step function of each score."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from abound.matrices import check_sparse
from abound.retrieval.design import ThermometerTable

MAX_THRESHOLDS = 1_000_000  # per column; memory grows with it


class ThermometerFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turn each score into bits 1[score > t], with thresholds t learned from the training rows.

    A missing score (NaN) has no bits. If training rows lack a score, the first bit tells whether it is present.
    Section 4.1 of Yue et al., SIGIR 2007.

    Parameters
    ----------
    n_thresholds : int
        The maximum number of thresholds per column; a column with fewer distinct values gets fewer.
    strategy : {"quantile", "uniform"}
        Whether thresholds are at quantiles, or evenly spaced from the lowest to the highest score.
    output : {"sparse", "table"}
        Whether the bits are explicit, or stored as one bin per column. `SVMMap` learns the same from both; with the
        table, its time does not depend on the number of thresholds.

    Attributes
    ----------
    thresholds_ : list of ndarray
        The thresholds of each column, in ascending order.

    Examples
    --------
    >>> bits = ThermometerFeatures(n_thresholds=2).fit([[1.0], [2.0], [3.0], [4.0]])
    >>> bits.thresholds_[0].tolist()
    [2.0, 3.0]
    >>> bits.transform([[1.0], [2.5], [9.0]]).toarray().tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, n_thresholds: int = 50, strategy: str = "quantile", output: str = "sparse") -> None:
        self.n_thresholds = n_thresholds
        self.strategy = strategy
        self.output = output

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_params(self) -> None:
        if not isinstance(self.n_thresholds, int | np.integer) or not 1 <= self.n_thresholds <= MAX_THRESHOLDS:
            raise ValueError(
                f"n_thresholds must be a whole number from 1 to {MAX_THRESHOLDS:,}, got {self.n_thresholds!r}"
            )
        for name, known in (("strategy", ("quantile", "uniform")), ("output", ("sparse", "table"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {getattr(self, name)!r}")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Learn the thresholds of each column."""
        self._check_params()
        check_sparse(X)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.thresholds_ = [self._thresholds(column) for column in X.T]
        return self

    def _thresholds(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        values = column[~np.isnan(column)]
        if not len(values):
            return np.zeros(0)
        low, high, n = values.min(), values.max(), int(self.n_thresholds)
        present = [np.nextafter(low, -np.inf)] if len(values) < len(column) else []
        n_steps = n - len(present)
        levels = np.arange(1, n_steps + 1) / (n_steps + 1)
        if self.strategy == "quantile":
            steps = np.quantile(values, levels, method="lower")
        else:
            steps = low + (high - low) * np.arange(n_steps) / max(n_steps, 1)
        return np.unique(np.concatenate([present, steps[steps < high]]))

    def transform(self, X: Any) -> Any:
        """Return the bits: a sparse matrix, or a ThermometerTable."""
        check_is_fitted(self, "thresholds_")
        check_sparse(X)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        bins = np.zeros(X.shape, np.int32)
        for number, thresholds in enumerate(self.thresholds_):
            column = X[:, number]
            bins[:, number] = np.where(np.isnan(column), 0, np.searchsorted(thresholds, column, side="left"))
        table = ThermometerTable(bins, np.array([len(t) for t in self.thresholds_], np.int64))
        return table if self.output == "table" else table.tocsr()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the bits, such as 'bm25>12.5'."""
        check_is_fitted(self, "thresholds_")
        names = _check_feature_names_in(self, input_features)
        pairs = zip(names, self.thresholds_, strict=True)
        return np.array([f"{name}>{t:.17g}" for name, thresholds in pairs for t in thresholds.tolist()], object)
