"""Validation of parameters and matrices before a kernel uses them.

Neither scipy nor scikit-learn is imported before a matrix is given: importing them takes longer than loading a model
and ranking a text.
"""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from abound.components.rows import Rows
from abound.kernels.rows import is_canonical_csr
from abound.matrices import check_sparse

if TYPE_CHECKING:
    import scipy.sparse as sp

LARGEST_VALUE = float(np.finfo(np.float32).max)
UNLIMITED = np.iinfo(np.int64).max
INDICES = (np.dtype(np.int32), np.dtype(np.int64))
VALUES = (np.dtype(np.float64),)


def check_number(name: str, value: Any, low: float, high: float = float("inf")) -> None:
    """Raise unless `value` is a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not low <= value <= high:
        limits = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be {limits}, got {value!r}")


def check_whole(name: str, value: Any, low: int, high: int = UNLIMITED) -> None:
    """Raise unless `value` is a whole number from `low` to `high` that fits a kernel."""
    check_number(name, value, low, float("inf") if high == UNLIMITED else high)
    if not isinstance(value, int | np.integer) or value > high:
        raise TypeError(f"{name} must be a whole number of at most 64 bits, got {value!r}")


def canonical_rows(X: Any) -> Rows | None:
    """Return X unchanged if the kernels can take it as it is; full validation takes longer than ranking a row."""
    import scipy.sparse as sp

    if not isinstance(X, sp.csr_array | sp.csr_matrix) or X.ndim != 2 or X.shape[0] == 0:
        return None
    indptr, indices, data = X.indptr, X.indices, X.data
    for array, dtypes in ((indptr, INDICES), (indices, INDICES[:1]), (data, VALUES)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype not in dtypes:
            return None
    if len(indptr) != X.shape[0] + 1 or not (indices.flags.c_contiguous and data.flags.c_contiguous):
        return None
    if not (indices.flags.aligned and data.flags.aligned):
        return None
    rows = Rows(indptr.astype(np.int64), indices, data)
    return rows if is_canonical_csr(*rows, X.shape[1], LARGEST_VALUE) else None


def as_csr(estimator: Any, X: Any, *, learn: bool) -> "sp.csr_array[Any]":
    """Return rows of any form that scikit-learn accepts as a canonical CSR matrix; raise if they are not valid.

    With `learn`, columns beyond the known ones are new features.
    """
    import scipy.sparse as sp
    from sklearn.utils.validation import _check_feature_names, check_array

    check_sparse(X)
    _check_feature_names(estimator, X, reset=learn and estimator.n_features_in_ == 0)
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X", estimator=estimator)
    sparse: bool = sp.issparse(X)
    if not learn and not sparse and X.shape[1] != estimator.n_features_in_:
        # Only a sparse matrix may omit its last columns, or have more.
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"X must have fewer than 2**31 columns, got {X.shape[1]}")
    # Rebuilt from copies: flags on a matrix, such as that it is canonical, may be wrong.
    arrays: Any = (X.data, X.indices, X.indptr) if sparse else X
    X = sp.csr_array(arrays, shape=X.shape, copy=True)
    X.sum_duplicates()
    if X.nnz and (largest := np.abs(X.data).max()) > LARGEST_VALUE:
        raise ValueError(f"values of X must fit into 32-bit floats, got {largest}")
    return cast("sp.csr_array[Any]", X)
