"""Validation of sparse matrices from outside, before any loop of abound or scipy follows their indices.

scipy validates a matrix only when it is created, and not completely. If its arrays are changed afterwards, a conversion
or a product can access memory out of bounds. So each public call validates its sparse arguments here first.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import scipy.sparse as sp

MAX_COLUMNS = 1 << 27  # for estimators that store something for every column, used or not


def check_sparse(X: Any, name: str = "X") -> None:
    """Raise ValueError if X is an inconsistent sparse matrix; ignore anything else.

    Parameters
    ----------
    X : anything
    name : str
        The name of X in the message.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_array([[0.0, 1.0]])
    >>> X.indices[0] = 7
    >>> check_sparse(X)
    Traceback (most recent call last):
        ...
    ValueError: X is a damaged sparse matrix: it has 2 columns, but an index of 7
    """
    if not _is_sparse(X):
        return
    if X.ndim != 2:
        raise ValueError(f"{name} must be a matrix with rows and columns, got a sparse array of {X.ndim} dimension(s)")
    fault = _CHECKS[X.format](X) if X.format in _CHECKS else "its format is unknown"
    if fault:
        raise ValueError(f"{name} is a damaged sparse matrix: {fault}")


def check_width(X: Any, name: str = "X") -> None:
    """Raise ValueError if X has too many columns to store something for each of them."""
    if X.shape[1] > MAX_COLUMNS:
        raise ValueError(f"{name} must have at most {MAX_COLUMNS} columns, since each takes memory; got {X.shape[1]}")


def indicator(Y: Any) -> "sp.csr_array[Any]":
    """Return an indicator matrix in canonical form, with an entry True for each label of each row.

    A repeated entry counts once. Any value other than 0 and 1 raises ValueError.
    """
    import scipy.sparse as sp

    check_sparse(Y, "Y")
    if not _is_sparse(Y):
        Y = np.asarray(Y)
        if Y.ndim != 2:
            raise ValueError(f"an indicator matrix must have rows and columns, got shape {Y.shape}")
        values = Y
    elif Y.format in ("lil", "dok"):
        Y = Y.tocoo()
        values = Y.data
    else:
        values = Y.data
    if values.dtype.kind not in "biufc" or np.any((values != 0) & (values != 1)):
        raise ValueError("an indicator matrix must hold 0 and 1 only; give lists of label names instead")
    canonical = sp.csr_array(Y.astype(bool))  # repeated entries sum to True
    canonical.sum_duplicates()
    canonical.eliminate_zeros()
    return canonical


def _is_sparse(X: Any) -> bool:
    import scipy.sparse as sp

    return bool(sp.issparse(X))


def _whole(array: Any, n: int | None = None) -> str:
    """Return what is wrong with an array that must hold n indices, or an empty string."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        return "its indices are not an array of integers"
    return "" if n is None or len(array) == n else f"it has {len(array)} indices where there must be {n}"


def _range(indices: NDArray[Any], limit: int, axis: str) -> str:
    """Return what is wrong with indices that must be at least 0 and below a limit, or an empty string."""
    if len(indices) == 0:
        return ""
    low, high = int(indices.min()), int(indices.max())
    return "" if low >= 0 and high < limit else f"it has {limit} {axis}, but an index of {low if low < 0 else high}"


def _compressed(X: Any) -> str:
    """Check a CSR, CSC or BSR matrix."""
    n_outer, n_inner, axis = X.shape[0], X.shape[1], "columns"
    dimensions = 1
    if X.format == "csc":
        n_outer, n_inner, axis = X.shape[1], X.shape[0], "rows"
    elif X.format == "bsr":
        dimensions = 3
        if not isinstance(X.data, np.ndarray) or X.data.ndim != 3 or 0 in X.data.shape[1:]:
            return "its blocks are not a three-dimensional array"
        if X.shape[0] % X.data.shape[1] or X.shape[1] % X.data.shape[2]:
            return "its blocks do not fit its shape"
        n_outer, n_inner, axis = n_outer // X.data.shape[1], n_inner // X.data.shape[2], "blocks in a row"
    fault = _whole(X.indptr, n_outer + 1) or _whole(X.indices)
    if fault:
        return fault
    if not isinstance(X.data, np.ndarray) or X.data.ndim != dimensions or len(X.data) != len(X.indices):
        return "it does not have a value for each index"
    if int(X.indptr[0]) != 0 or int(X.indptr[-1]) > len(X.indices) or np.any(X.indptr[1:] < X.indptr[:-1]):
        return "indptr must begin with 0, never decrease, and end within the indices"
    return _range(X.indices[: int(X.indptr[-1])], n_inner, axis)


def _coordinates(X: Any) -> str:
    fault = _whole(X.row) or _whole(X.col, len(X.row))
    if fault:
        return fault
    if not isinstance(X.data, np.ndarray) or X.data.shape != X.row.shape:
        return "it does not have a value for each index"
    return _range(X.row, X.shape[0], "rows") or _range(X.col, X.shape[1], "columns")


def _diagonals(X: Any) -> str:
    fault = _whole(X.offsets)
    if fault:
        return fault
    if not isinstance(X.data, np.ndarray) or X.data.ndim != 2 or len(X.data) != len(X.offsets):
        return "it does not have values for each diagonal"
    distinct = len(np.unique(X.offsets)) == len(X.offsets)
    return "" if distinct else "a diagonal occurs twice"


def _lists(X: Any) -> str:
    for array in (X.rows, X.data):
        if not isinstance(array, np.ndarray) or array.shape != (X.shape[0],) or array.dtype != object:
            return "it does not have a list for each row"
    for columns, values in zip(X.rows, X.data, strict=True):
        if not isinstance(columns, list) or not isinstance(values, list) or len(columns) != len(values):
            return "a row does not have a value for each column"
        if not all(isinstance(column, int | np.integer) and 0 <= column < X.shape[1] for column in columns):
            return f"it has {X.shape[1]} columns, but a row names another"
    return ""


def _keys(X: Any) -> str:
    n_rows, n_columns = X.shape
    inside = all(0 <= row < n_rows and 0 <= column < n_columns for row, column in X.keys())  # noqa: SIM118  not a dict
    return "" if inside else "it has a key beyond its shape"


_CHECKS = {
    "bsr": _compressed,
    "coo": _coordinates,
    "csc": _compressed,
    "csr": _compressed,
    "dia": _diagonals,
    "dok": _keys,
    "lil": _lists,
}
