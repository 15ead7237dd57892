"""The three forms of rows during training: dense, sparse, and thermometer bits by table.

Each form computes the scores of a block of rows, and the weighted sum of the block. Blocks do not depend on the number
of threads, and their sums are added in order: equal rows give equal bytes on one core and on many.
"""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.kernels.thermometer import thermometer_score, thermometer_sum

Floats = NDArray[np.float64]


class Block(Protocol):
    """Some rows, as the cutting plane uses them."""

    def scores(self, w: Floats) -> Floats:
        """Return w . x of each row."""

    def weighted_sum(self, weights: Floats) -> Floats:
        """Return the sum of the rows, each times its weight."""


class MatrixBlock:
    """Rows of a dense or a sparse matrix."""

    def __init__(self, X: Any) -> None:
        self._X = X
        self._transposed = X.T  # a view; for CSR rows it is their CSC form

    def scores(self, w: Floats) -> Floats:
        """Return w . x of each row."""
        return np.asarray(self._X @ w, np.float64)

    def weighted_sum(self, weights: Floats) -> Floats:
        """Return the sum of the rows, each times its weight."""
        return np.asarray(self._transposed @ weights, np.float64)


class ThermometerTable:
    """Rows of thermometer bits, stored as one bin per column: the output of ``ThermometerFeatures(output="table")``.

    Behaves like the sparse matrix of its bits for shape, row selection, and conversion to a dense or sparse matrix.

    Parameters
    ----------
    bins : ndarray of shape (n_rows, n_columns), int32
        The number of its column's thresholds that each value exceeds.
    n_thresholds : ndarray of shape (n_columns,)
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, bins: NDArray[np.int32], n_thresholds: NDArray[np.int64]) -> None:
        self.bins = np.ascontiguousarray(bins, np.int32)
        self.n_thresholds = np.asarray(n_thresholds, np.int64)
        if self.bins.ndim != 2 or self.bins.shape[1] != len(self.n_thresholds):
            raise ValueError(f"bins must have {len(self.n_thresholds)} columns, got shape {self.bins.shape}")
        if np.any(self.bins < 0) or np.any(self.bins > self.n_thresholds):
            raise ValueError("a bin must lie between 0 and the number of its column's thresholds")
        # A column with t thresholds has t + 1 cells in the tables, the first of which is always zero.
        self._starts = np.concatenate([[0], np.cumsum(self.n_thresholds + 1)])
        self._cells = self.bins + self._starts[:-1].astype(np.int32)
        cell_columns = np.repeat(np.arange(len(self.n_thresholds)), self.n_thresholds + 1)
        self._bit_cells = np.setdiff1d(np.arange(self._starts[-1]), self._starts[:-1])
        self._columns = cell_columns

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and bits."""
        return len(self.bins), int(self.n_thresholds.sum())

    def __len__(self) -> int:
        return len(self.bins)

    def __getitem__(self, rows: Any) -> "ThermometerTable":
        """Return some of the rows."""
        return ThermometerTable(np.atleast_2d(self.bins[rows]), self.n_thresholds)

    def tocsr(self) -> "sp.csr_array[Any]":
        """Return the bits as a sparse matrix."""
        n_bits = self.bins.sum(axis=1)
        first_bit = np.concatenate([[0], np.cumsum(self.n_thresholds)])[:-1]
        counts = self.bins.ravel().astype(np.int64)
        ends = np.cumsum(counts)
        indices = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        indices += np.repeat(np.tile(first_bit, len(self)), counts)
        indptr = np.concatenate([[0], np.cumsum(n_bits)])
        if max(len(indices), self.shape[1]) <= np.iinfo(np.int32).max:  # many solvers need 32-bit indices
            indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
        return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=self.shape)

    def toarray(self) -> Floats:
        """Return the bits as a dense matrix."""
        return np.asarray(self.tocsr().toarray(), np.float64)

    def tables(self, w: Floats) -> Floats:
        """Return what each bin of each column adds to a score: sums of the weights of its bits."""
        tables = np.zeros(self._starts[-1])
        tables[self._bit_cells] = w
        ends = np.cumsum(tables)
        return np.asarray(ends - ends[self._starts[:-1]][self._columns], np.float64)

    def scores(self, w: Floats) -> Floats:
        """Return w . x of each row."""
        out = np.empty(len(self))
        thermometer_score(self._cells, self.tables(w), 0, len(self), out)
        return out

    def weighted_sum(self, weights: Floats) -> Floats:
        """Return the sum of the rows, each times its weight."""
        cells = np.zeros(self._starts[-1])
        thermometer_sum(self._cells, weights, 0, len(self), cells)
        # A bit is set in the rows of its bin and of all bins above: the column's total minus the bins below.
        below = np.cumsum(cells) - cells
        totals = np.add.reduceat(cells, self._starts[:-1])
        bits = totals[self._columns] - (below - below[self._starts[:-1]][self._columns])
        return np.asarray(bits[self._bit_cells], np.float64)


def make_block(X: Any) -> Block:
    """Return rows in the form that the cutting plane uses."""
    return X if isinstance(X, ThermometerTable) else MatrixBlock(X)
