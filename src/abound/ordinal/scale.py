"""The user's ranks in their order, and their numbers in the kernels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.matrices import check_sparse
from abound.store.names import Name

MAX_RANKS = 50  # more distinct values than this, most of them seen once, are measurements, not ranks
MAX_TABLE = 10_000  # integers in a smaller range are looked up in a table


class Scale:
    """Ordered values: numbers in numerical order, strings in alphabetical order, or anything in a given order.

    Examples
    --------
    >>> scale = Scale()
    >>> scale.extend(np.array([1, 5])), scale.extend(np.array([3]))
    ([0, 1], [1])
    >>> scale.numbers(np.array([5, 3])).tolist()
    [2, 1]
    """

    def __init__(self, given: Any = None) -> None:
        self.is_given = given is not None
        self.values: NDArray[Any] = np.array([])
        if given is not None:
            self.values = np.asarray(given)
            if self.values.ndim != 1 or len(np.unique(self.values)) != len(self.values):
                raise ValueError(f"ranks must be a list of distinct values in their order, got {given!r}")
            _check_finite(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def extend(self, values: NDArray[Any]) -> list[int]:
        """Add values; return where the new ones were inserted, to be applied one after the other."""
        _check_finite(values)
        distinct = _distinct(values)
        new = np.setdiff1d(distinct, self.values) if len(self) else distinct
        if len(new) == 0:
            return []
        if self.is_given:
            known = ", ".join(map(str, self.values.tolist()))
            raise ValueError(f"y holds {new.tolist()[0]!r}, which is not among the given ranks {known}")
        if len(self) and (self.values.dtype.kind in "US") != (new.dtype.kind in "US"):
            raise ValueError("ranks must be all numbers or all strings; give `ranks` to order a mixture")
        self.values = np.union1d(self.values, new) if len(self) else new
        return [int(at) for at in np.searchsorted(self.values, new)]

    def restore(self, names: Sequence[Name]) -> None:
        """Restore the values of a saved scale; raise ValueError if they are not valid."""
        values = np.array(names)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("the ranks are not all finite numbers")
        if self.is_given:
            fits = values.tolist() == self.values.tolist()
        else:  # a mixture of strings and numbers has become strings, unlike the saved values
            fits = values.tolist() == list(names) == np.unique(values).tolist()
        if not fits:
            raise ValueError("the model's ranks are not in their order")
        if not self.is_given and len(values):
            self.values = values

    def numbers(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Return the number of each value, from 0; all must be known."""
        if self.values.dtype.kind == values.dtype.kind == "i" and _spread(self.values) < MAX_TABLE:
            low = int(self.values.min())
            table = np.zeros(_spread(self.values) + 1, np.int32)
            table[self.values - low] = np.arange(len(self))
            return np.asarray(table[values - low])
        order = np.argsort(self.values)
        at = np.searchsorted(self.values, values, sorter=order)
        return order[at].astype(np.int32)


def _check_finite(values: NDArray[Any]) -> None:
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        raise ValueError("ranks must be finite numbers or strings, got NaN or infinity")


def _spread(values: NDArray[Any]) -> int:
    return int(values.max()) - int(values.min())


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values, sorted; integers in a small range are counted, which is fastest."""
    if len(values) and values.dtype.kind == "i" and _spread(values) < MAX_TABLE:
        low = values.min()
        return np.asarray(np.flatnonzero(np.bincount(values - low)) + low, values.dtype)
    return np.unique(values)


def validate_targets(y: Any, n_rows: int, *, whole: bool) -> NDArray[Any]:
    """Return y as one value per row; with `whole`, reject values that can only be measurements."""
    from sklearn.utils.validation import assert_all_finite, column_or_1d

    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    check_sparse(y, "y")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "O":
        y = _plain(y)
    assert_all_finite(y, input_name="y")
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(y)}")
    if whole and y.dtype.kind == "f" and len(np.unique(y)) > max(MAX_RANKS, n_rows // 2) and np.any(y != np.floor(y)):
        raise ValueError("Unknown label type: continuous. y must hold ranks that repeat; cut measurements into ranks")
    return np.asarray(y)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Convert Python objects to an array of numbers or of strings."""
    kinds = {isinstance(value, str) for value in y.tolist()}
    if kinds == {True, False}:
        raise ValueError("ranks must be all numbers or all strings; give `ranks` to order a mixture")
    return np.array(y.tolist())
