"""Lists of numbers in two flat arrays: the numbers of all lists, and the offset of each list."""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray


class Lists(NamedTuple):
    """For each of n items a sorted list of numbers."""

    indptr: NDArray[np.int64]
    numbers: NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]], n: int) -> Self:
        """Build the lists of n items from pairs of item and number; repeated pairs count once."""
        table = np.array(list(pairs), np.int64).reshape(-1, 2)
        table = table[np.lexsort((table[:, 1], table[:, 0]))]
        repeated = np.zeros(len(table), bool)
        repeated[1:] = (table[1:] == table[:-1]).all(axis=1)
        return cls._sorted(table[~repeated], n)

    @classmethod
    def _sorted(cls, table: NDArray[np.int64], n: int) -> Self:
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(table[:, 0], minlength=n), out=indptr[1:])
        return cls(indptr, table[:, 1].astype(np.int32))

    @property
    def owners(self) -> NDArray[np.int64]:
        """The item of each number."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def reversed(self, n: int) -> Self:
        """Return for each of n numbers the list of items that have it."""
        table = np.stack([self.numbers.astype(np.int64), self.owners], axis=1)
        return self._sorted(table[np.lexsort((table[:, 1], table[:, 0]))], n)

    def without(self, dropped: NDArray[np.bool_]) -> Self:
        """Return the lists without some of their numbers."""
        kept = ~dropped
        table = np.stack([self.owners[kept], self.numbers[kept].astype(np.int64)], axis=1)
        return self._sorted(table, len(self.indptr) - 1)

    def row(self, item: int) -> list[int]:
        """Return the list of one item."""
        found: list[int] = self.numbers[self.indptr[item] : self.indptr[item + 1]].tolist()
        return found

    def all_of(self, items: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the numbers of several items."""
        starts, sizes = self.indptr[items], self.indptr[items + 1] - self.indptr[items]
        shift = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) if len(items) else starts
        return self.numbers[np.arange(int(sizes.sum())) + shift]

    def check(self, n: int, n_numbers: int, what: str) -> None:
        """Raise ValueError unless these are lists of n items with numbers below `n_numbers`."""
        indptr, numbers = self
        fits = indptr.dtype == np.int64 and numbers.dtype == np.int32 and indptr.ndim == numbers.ndim == 1
        fits = fits and len(indptr) == n + 1 and indptr[0] == 0 and indptr[-1] == len(numbers)
        fits = fits and bool(np.all(np.diff(indptr) >= 0))
        if not fits or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < n_numbers):
            raise ValueError(f"the {what} of the hierarchy do not match its concepts")


def break_cycles(parents: Lists) -> tuple[Lists, int]:
    """Leave out relations that close a cycle; return the others, and how many were left out.

    Only concepts of a cycle are visited one by one, so that a large vocabulary without cycles costs little.
    """
    if not len(parents.numbers):
        return parents, 0
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, owners = len(parents.indptr) - 1, parents.owners
    graph = csr_array((np.ones(len(parents.numbers), np.int8), parents.numbers, parents.indptr), shape=(n, n))
    _, component = connected_components(graph, directed=True, connection="strong")
    inside = component[owners] == component[parents.numbers]
    dropped = np.zeros(len(inside), bool)
    done: set[int] = set()
    for start in np.unique(owners[inside]).tolist():
        _drop_back_edges(start, parents, inside, dropped, done)
    return parents.without(dropped), int(dropped.sum())


def _drop_back_edges(
    start: int, parents: Lists, inside: NDArray[np.bool_], dropped: NDArray[np.bool_], done: set[int]
) -> None:
    """Visit the broader concepts of one, depth first, and mark each relation that leads back to the current path."""
    if start in done:
        return
    path, on_path = [(start, int(parents.indptr[start]))], {start}
    while path:
        item, at = path.pop()
        if at == parents.indptr[item + 1]:
            on_path.discard(item)
            done.add(item)
            continue
        path.append((item, at + 1))
        parent = int(parents.numbers[at])
        if not inside[at] or parent in done:
            continue
        if parent in on_path:
            dropped[at] = True
        else:
            path.append((parent, int(parents.indptr[parent])))
            on_path.add(parent)
