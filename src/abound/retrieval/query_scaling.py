"""Normalise scores within each query."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from abound.matrices import check_sparse
from abound.retrieval.queries import Queries, group_queries

METHODS = ("minmax", "percentile", "standard")


class QueryScaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Normalise each column within each query; other queries have no influence.

    Parameters
    ----------
    method : {"minmax", "percentile", "standard"}
        "minmax" scales from 0 for the lowest score of the query to 1 for the highest. "percentile" is the share of the
        query's scores that are lower (ties count half). "standard" has mean 0 and variance 1. A column that is constant
        in a query becomes 0, or 0.5 for "percentile". A missing score (NaN) stays missing.

    Examples
    --------
    >>> QueryScaler().fit_transform([[1.0], [3.0], [10.0], [20.0]], qid=[1, 1, 2, 2]).ravel().tolist()
    [0.0, 1.0, 0.0, 1.0]
    """

    # scikit-learn's metadata routing passes qid on request: see `set_transform_request`.
    def __init__(self, method: str = "minmax") -> None:
        self.method = method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Store the columns; there is nothing else to learn."""
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {self.method!r}")
        check_sparse(X)
        validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.fitted_ = True
        return self

    def fit_transform(self, X: Any, y: Any = None, qid: Any = None) -> NDArray[np.float64]:
        """Return the normalised scores."""
        scaled: NDArray[np.float64] = self.fit(X, y).transform(X, qid=qid)
        return scaled

    def transform(self, X: Any, qid: Any = None) -> NDArray[np.float64]:
        """Return the normalised scores.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        qid : array-like of shape (n_documents,), optional
            The query of each document, in any order; by default all documents belong to one query.
        """
        check_is_fitted(self, "fitted_")
        check_sparse(X)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        queries = group_queries(qid, X.shape[0])
        scaled: NDArray[np.float64] = np.empty(X.shape)
        scaled[queries.order] = _scale(self.method, X[queries.order], queries)
        return scaled

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, which do not change."""
        from sklearn.utils.validation import _check_feature_names_in

        return np.asarray(_check_feature_names_in(self, input_features), object)


def _scale(method: str, rows: NDArray[np.float64], queries: Queries) -> NDArray[np.float64]:
    """Normalise rows that are in the order of their queries."""
    starts, sizes = queries.indptr[:-1], np.diff(queries.indptr)
    if method == "percentile":
        missing = np.isnan(rows)
        above_all = np.where(missing, np.inf, rows)  # there they change no other rank; omitting them takes much longer
        parts = [slice(a, b) for a, b in zip(starts, queries.indptr[1:], strict=True)]
        ranks = np.concatenate([rankdata(above_all[part], axis=0) for part in parts])
        counts = np.maximum(np.add.reduceat(~missing, starts, axis=0, dtype=np.int64), 1)
        return np.where(missing, np.nan, (ranks - 0.5) / np.repeat(counts, sizes, axis=0))
    if method == "minmax":
        shift = np.fmin.reduceat(rows, starts, axis=0)
        spread = np.fmax.reduceat(rows, starts, axis=0) - shift
    else:
        known = np.where(np.isnan(rows), 0.0, rows)
        n = np.maximum(np.add.reduceat((~np.isnan(rows)).astype(float), starts, axis=0), 1)
        shift = np.add.reduceat(known, starts, axis=0) / n
        away = np.where(np.isnan(rows), 0.0, rows - np.repeat(shift, sizes, axis=0))
        spread = np.sqrt(np.add.reduceat(away * away, starts, axis=0) / n)
    spread = np.where(spread > 0, spread, 1.0)
    return np.asarray((rows - np.repeat(shift, sizes, axis=0)) / np.repeat(spread, sizes, axis=0), np.float64)
