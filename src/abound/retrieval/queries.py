"""The assignment of rows to queries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Queries:
    """Rows in the order of their queries.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Row numbers, grouped by query; within a query, in the given order.
    indptr : ndarray of shape (n_queries + 1,)
        Where each query begins in `order`.
    names : ndarray of shape (n_queries,)
        The queries, in the order in which they first appear.
    """

    order: NDArray[np.int64]
    indptr: NDArray[np.int64]
    names: NDArray[Any]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The query number of each row, in the given order."""
        codes = np.empty(len(self.order), np.int64)
        codes[self.order] = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        return codes


def group_queries(qid: Any, n_rows: int) -> Queries:
    """Group rows by query.

    Parameters
    ----------
    qid : array-like of shape (n_rows,) or None
        The query of each row, numbers or strings in any order; None means one query for all rows.
    n_rows : int

    Examples
    --------
    >>> queries = group_queries(["b", "a", "b"], 3)
    >>> queries.order.tolist(), queries.indptr.tolist(), queries.names.tolist()
    ([0, 2, 1], [0, 2, 3], ['b', 'a'])
    """
    given = np.zeros(n_rows, np.int64) if qid is None else np.asarray(qid)
    if given.ndim != 1 or len(given) != n_rows:
        raise ValueError(f"qid must have an entry for each of the {n_rows} rows, got shape {given.shape}")
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise ValueError("qid must name a query for each row, but holds NaN")
    if given.dtype == object:
        given = given.astype(str)
    names, first, inverse = np.unique(given, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    number = np.empty(len(names), np.int64)
    number[by_appearance] = np.arange(len(names))
    codes = number[inverse.reshape(-1)]
    indptr = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.bincount(codes, minlength=len(names)), out=indptr[1:])
    return Queries(np.argsort(codes, kind="stable"), indptr, names[by_appearance])
