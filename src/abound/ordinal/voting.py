"""Every hypothesis of a PRank learner, and the rank for which most of them vote.

The votes are counted in numpy: a prediction takes time and memory in proportion to the number of updates.
"""

from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.components.rows import Rows

CELLS = 1 << 21  # scores that are in memory at the same time
SPARSE = 10  # rows with more than one of so many entries are multiplied as dense ones, which takes less time


class Kernel(NamedTuple):
    """A kernel and its parameters, as those of `PRank`."""

    name: Literal["linear", "poly", "rbf"]
    degree: int
    gamma: float
    coef0: float

    def values(self, X: "sp.csr_array", Z: "sp.csr_array") -> NDArray[np.float64]:
        """Return the kernel's values of all pairs of rows."""
        if Z.nnz * SPARSE > Z.shape[0] * Z.shape[1]:
            dots = np.asarray(X.toarray() @ Z.toarray().T, np.float64)
        else:
            dots = np.asarray((X @ Z.T).toarray(), np.float64)
        if self.name == "linear":
            return dots
        if self.name == "poly":
            return np.asarray((self.gamma * dots + self.coef0) ** self.degree, np.float64)
        lengths = [np.asarray(one.multiply(one).sum(axis=1)).ravel() for one in (X, Z)]
        distances = lengths[0][:, None] + lengths[1][None, :] - 2.0 * dots
        return np.asarray(np.exp(-self.gamma * np.maximum(distances, 0.0)), np.float64)


class Hypotheses:
    """The hypotheses of a learner in their order; the first has no weights.

    Each of the others is one update: its row, the step by which the row was added to the weights, the number of rows
    seen before it, and the thresholds after it.
    """

    def __init__(
        self,
        rows: Rows,
        steps: NDArray[np.int64],
        born: NDArray[np.int64],
        thresholds: NDArray[np.float64],
    ) -> None:
        self._stored = (rows, steps, born, thresholds)
        self._new: list[tuple[Rows, int, int, NDArray[np.float64]]] = []

    @classmethod
    def empty(cls) -> "Hypotheses":
        """Return the first hypothesis alone, of one rank."""
        rows = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        return cls(rows, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((1, 0)))

    def arrays(self) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows, steps and rows seen of all updates, and the thresholds of all hypotheses."""
        if self._new:
            rows, steps, born, thresholds = self._stored
            lengths = [len(row.indices) for row, *_ in self._new]
            joined = Rows(
                np.concatenate([rows.indptr, rows.indptr[-1] + np.cumsum(lengths)]),
                np.concatenate([rows.indices, *(row.indices for row, *_ in self._new)]),
                np.concatenate([rows.data, *(row.data for row, *_ in self._new)]),
            )
            self._stored = (
                joined,
                np.concatenate([steps, [step for _, step, _, _ in self._new]]),
                np.concatenate([born, [before for _, _, before, _ in self._new]]),
                np.concatenate([thresholds, [after for *_, after in self._new]]),
            )
            self._new = []
        return self._stored

    def add(self, row: Rows, step: int, born: int, thresholds: NDArray[np.float64]) -> None:
        """Add the hypothesis after an update."""
        copied = Rows(row.indptr.copy(), row.indices.copy(), row.data.copy())  # row may be a part of many rows
        self._new.append((copied, step, born, thresholds))

    def insert_threshold(self, at: int, value: float | None) -> None:
        """Insert a threshold of this value into every hypothesis; None repeats the one that is there."""
        rows, steps, born, thresholds = self.arrays()
        column = thresholds[:, at] if value is None else value
        self._stored = (rows, steps, born, np.insert(thresholds, at, column, axis=1))

    def ranks(self, rows: Rows, kernel: Kernel, n_seen: int) -> NDArray[np.int32]:
        """Return the median of the ranks that the hypotheses predict for each row, as rank numbers.

        A hypothesis has one vote for each row of the `n_seen` after which it was in use. If half of the votes are for
        lower ranks than the other half, the highest of the lower ranks is returned.
        """
        learned, steps, born, thresholds = self.arrays()
        votes = np.diff(np.concatenate([[0], born, [n_seen]])).astype(np.float64)
        width = 1 + int(max(rows.indices.max(initial=-1), learned.indices.max(initial=-1)))
        X, Z = (_matrix(part, width) for part in (rows, learned))
        ranks = np.zeros(rows.n_rows, np.int32)
        size = max(1, CELLS // len(votes))
        for start in range(0, rows.n_rows, size):
            part = slice(start, start + size)
            changes = kernel.values(X[part], Z) * steps
            scores = np.pad(np.cumsum(changes, axis=1), ((0, 0), (1, 0)))
            for threshold in thresholds.T:  # they are in order, so that each passed one is one rank
                ranks[part] += 2.0 * ((scores >= threshold) @ votes) > n_seen
        return ranks


def _matrix(rows: Rows, width: int) -> "sp.csr_array":
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.n_rows, max(width, 1)))
