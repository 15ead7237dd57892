"""Weights of rows: a row is learned once for each unit of its weight, and once more by the fraction that is left.

Copies of a row are made when it is learned, after rows were ordered and held out, so that they are never separated.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import cut, select
from abound.kernels.batch import Batch

COPIES = 16_384  # rows that exist at once, unless a single row has more copies


def copies_of(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how often each row is learned.

    Examples
    --------
    >>> copies_of(np.array([0.0, 0.5, 1.0, 2.25])).tolist()
    [0, 1, 1, 3]
    """
    return np.ceil(weights).astype(np.int64)


def n_copies(batch: Batch) -> int:
    """Return how many rows a batch has if each is repeated by its weight."""
    return batch.n_rows if batch.weights is None else int(copies_of(batch.weights).sum())


def repeated(batch: Batch) -> Iterator[Batch]:
    """Yield rows repeated by their weights, in their order and piece by piece.

    The weights that are left are fractions, which scale the update of a row. A batch without weights above 1 is
    yielded unchanged.
    """
    weights = batch.weights
    if weights is None or (weights.max(initial=0.0) <= 1.0 and weights.min(initial=1.0) > 0.0):
        yield batch
        return
    copies = copies_of(weights)
    ends, start, n_known = np.cumsum(copies), 0, batch.n_known
    while start < batch.n_rows:
        n_done = int(ends[start] - copies[start])
        stop = max(start + 1, int(np.searchsorted(ends, n_done + COPIES, side="right")))
        part = cut(batch, start, stop, n_known)
        n_known = max(n_known, int(part.targets.ids.max(initial=-1)) + 1)
        if ends[stop - 1] > n_done:
            yield _repeated(part, copies[start:stop])
        start = stop


def _repeated(batch: Batch, copies: NDArray[np.int64]) -> Batch:
    """Return each row as often as it is learned; only the last copy of a row may have a fraction as weight."""
    rows = select(batch, np.repeat(np.arange(batch.n_rows), copies))
    assert rows.weights is not None
    first = np.repeat(np.cumsum(copies) - copies, copies)
    left = np.minimum(1.0, rows.weights - (np.arange(rows.n_rows) - first))
    return Batch(rows.rows, rows.targets, rows.wrong, None if np.all(left == 1.0) else left)
