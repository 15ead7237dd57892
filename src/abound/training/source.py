"""Rows that `fit` trains on: in a seeded random order, in pieces, from memory or from a file.

Files are often sorted by label or by date. A learner that visits rows in that order forgets the first labels, so rows
are visited in an order that depends only on the seed and on the row's number. The result does not depend on how the
rows are divided into pieces.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import cut, join, select
from abound.components.weighting import copies_of
from abound.kernels.batch import Batch

BLOCK = 16_384  # rows that a later pass shuffles among themselves; the order of the blocks is random, too
PIECE = 4_096  # rows of a matrix per piece


def sort_keys(numbers: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Return a random key for each row number; all keys differ, and they order the rows.

    This is the splitmix64 generator: a one-to-one mapping of 64-bit numbers, the same on every machine.
    """
    golden = 0x9E3779B97F4A7C15
    keys = np.asarray(numbers).astype(np.uint64)
    keys += np.uint64((seed * golden + golden) % (1 << 64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    return keys


def training_order(n_rows: int, seed: int) -> NDArray[np.int64]:
    """Return the row numbers in the order in which `fit` visits them.

    Examples
    --------
    >>> sorted(training_order(5, seed=0).tolist())
    [0, 1, 2, 3, 4]
    """
    return np.argsort(sort_keys(np.arange(n_rows), seed), kind="stable")


class RowSource(ABC):
    """Rows with their labels, in training order."""

    n_rows: int
    watched_ranks = 0  # labels of each ranking of held-out rows that `watch_ranking` is called with

    @abstractmethod
    def parts(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield the rows at positions start .. stop-1 of the training order, piece by piece."""

    def unwatched(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield the same rows as `parts` for something else than a pass, which no progress report counts."""
        return self.parts(start, stop)

    def n_copies(self, start: int, stop: int) -> int:
        """Return how many rows those at positions start .. stop-1 are if each is repeated by its weight."""
        return stop - start

    def unseen(self, start: int, stop: int) -> Batch:
        """Return the same rows as they would be if nothing had been learned from them, not even their words."""
        return join(list(self.unwatched(start, stop)))

    def shuffled(self, start: int, stop: int, random: np.random.Generator) -> Iterator[Batch]:
        """Yield the same rows in another random order: blocks, and the rows within each block, are shuffled."""
        edges = [*range(start, stop, BLOCK), stop]
        for number in random.permutation(len(edges) - 1):
            block = join(list(self.parts(edges[number], edges[number + 1])))
            yield select(block, random.permutation(block.n_rows))

    def watch_ranking(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:  # noqa: B027  optional
        """Take the rankings of the next held-out rows, which were not learned yet. By default, nothing is done."""

    def watch_trial(self, number: int, n_trials: int) -> None:  # noqa: B027  optional
        """Take the number of a trial that begins before the first pass, from 1, or 0 after the last one."""

    def whole(self) -> Batch:
        """Return all rows in one batch, for a ranker that cannot learn them piece by piece."""
        return join(list(self.parts(0, self.n_rows)))


def skip_shuffle(n_rows: int, random: np.random.Generator) -> None:
    """Draw from the generator what `RowSource.shuffled` draws for `n_rows` rows."""
    sizes = np.diff([*range(0, n_rows, BLOCK), n_rows])
    for number in random.permutation(len(sizes)):
        random.permutation(sizes[number])


class MatrixRows(RowSource):
    """Rows in memory; `order` is their training order, or None to keep their order."""

    def __init__(self, batch: Batch, order: NDArray[np.int64] | None = None) -> None:
        self.n_rows = batch.n_rows
        self._batch, self._order = batch, order

    def parts(self, start: int, stop: int) -> Iterator[Batch]:
        """Yield the rows at positions start .. stop-1 of the training order, piece by piece."""
        if self._order is None:
            yield cut(self._batch, start, stop)
            return
        for first in range(start, stop, PIECE):
            yield select(self._batch, self._order[first : min(first + PIECE, stop)])

    def n_copies(self, start: int, stop: int) -> int:
        """Return how many rows those at positions start .. stop-1 are if each is repeated by its weight."""
        weights = self._batch.weights
        if weights is None:
            return stop - start
        chosen = slice(start, stop) if self._order is None else self._order[start:stop]
        return int(copies_of(weights[chosen]).sum())

    def whole(self) -> Batch:
        """Return all rows in one batch."""
        return self._batch if self._order is None else super().whole()
