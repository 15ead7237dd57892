"""The pairs of candidates as arrays that are built part by part."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abound.kernels.pairs import PairTables
from abound.store.directory import Blocks, Source

PART_PAIRS = 1 << 17  # sorted in about ten milliseconds
DTYPES = (np.dtype(np.int32), np.dtype(np.float32), np.dtype(np.float32))  # of labels, weights and grad_sq


class TableParts:
    """Build the sorted arrays of pair tables in parts, so that other threads can run in between.

    A part is built when it is first read, and kept for the other arrays. The tables must not change meanwhile.

    Parameters
    ----------
    tables : PairTables
    """

    def __init__(self, tables: PairTables) -> None:
        self._tables = tables
        self._indptr = tables.indptr()
        bounds = np.searchsorted(self._indptr, np.arange(0, tables.n_pairs, PART_PAIRS), side="left")
        self._bounds = [*np.unique([0, *bounds]).tolist(), tables.n_features]
        self._made: dict[int, tuple[NDArray[Any], ...]] = {}

    def arrays(self) -> tuple[Source, ...]:
        """Return (indptr, labels, weights, grad_sq)."""
        columns = (Blocks(dtype, self._tables.n_pairs, partial(self._parts, i)) for i, dtype in enumerate(DTYPES))
        return self._indptr, *columns

    def _parts(self, column: int) -> Iterator[NDArray[Any]]:
        for number, start in enumerate(self._bounds[:-1]):
            if number not in self._made:
                self._made[number] = self._tables.part(start, self._bounds[number + 1])
            yield self._made[number][column]
