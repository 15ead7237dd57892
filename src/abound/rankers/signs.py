"""Columns with negative values: the positive part of column j is feature 2j, and the negative part is feature 2j + 1.

A ranker numbers its features this way from the first negative value on that it learns. What it has learned before is
renumbered then, so that the state does not depend on when that was.
"""

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows

MAX_SIGNED = 1 << 30  # columns, of which each has two features


def split_signs(rows: Rows) -> Rows:
    """Return rows of columns as rows of features without negative values.

    Examples
    --------
    >>> split_signs(Rows(np.array([0, 2]), np.array([0, 3], np.int32), np.array([0.5, -2.0])))
    Rows(indptr=array([0, 2]), indices=array([0, 7], dtype=int32), data=array([0.5, 2. ]))
    """
    if (last := int(rows.indices.max(initial=-1))) >= MAX_SIGNED:
        raise ValueError(f"X must have at most 2**30 columns if values are negative, got {last + 1}")
    return Rows(rows.indptr, 2 * rows.indices + (rows.data < 0).astype(np.int32), np.abs(rows.data))


def without_negative(rows: Rows) -> Rows:
    """Return rows without their negative values."""
    kept = rows.data >= 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return Rows(indptr.astype(np.int64), rows.indices[kept], rows.data[kept])


def columns_of(features: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns of features, and the sign of each: 1 or -1."""
    return features // 2, 1 - 2 * (features % 2)


def positive_parts(n_columns: int) -> NDArray[np.int32]:
    """Return the features of the positive parts of columns."""
    return 2 * np.arange(n_columns, dtype=np.int32)
