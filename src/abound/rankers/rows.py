"""Sparse rows and their labels, as the kernels take them: cut, selected and joined."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.rankers.labels import Targets


class Rows(NamedTuple):
    """Sparse rows as the kernels take them: the three arrays of a CSR matrix."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.indptr) - 1

    def row(self, number: int) -> "Rows":
        """Return one of the rows."""
        if self.n_rows == 1:
            return self
        start, stop = self.indptr[number : number + 2].tolist()
        return Rows(np.array([0, stop - start], np.int64), self.indices[start:stop], self.data[start:stop])


Part: TypeAlias = tuple[Rows, Targets]
Lists: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32]]  # of labels: ids[indptr[i]:indptr[i+1]] for row i
NOTHING: Lists = (np.zeros(0, np.int64), np.zeros(0, np.int32))


def cut_lists(lists: Lists, start: int, stop: int) -> Lists:
    """Return the lists of rows start .. stop-1."""
    indptr, ids = lists
    return indptr[start : stop + 1] - indptr[start], ids[indptr[start] : indptr[stop]]


def cut_rows(rows: Rows, targets: Targets, start: int, stop: int, n_known: int) -> Part:
    """Return rows start .. stop-1 and their labels."""
    if start == 0 and stop == rows.n_rows:
        return rows, targets
    first, last = rows.indptr[start], rows.indptr[stop]
    part = Rows(rows.indptr[start : stop + 1] - first, rows.indices[first:last], rows.data[first:last])
    return part, Targets(*cut_lists((targets.indptr, targets.ids), start, stop), n_known)


def chosen_entries(indptr: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pointers of the chosen lists, put one after the other, and where each of their entries comes from."""
    starts = indptr[chosen]
    lengths = indptr[chosen + 1] - starts
    pointers = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(lengths, out=pointers[1:])
    return pointers, np.repeat(starts - pointers[:-1], lengths) + np.arange(pointers[-1])


def select(rows: Rows, targets: Targets, chosen: NDArray[np.int64]) -> Part:
    """Return the chosen rows and their labels, in the order of the choice."""
    indptr, entries = chosen_entries(rows.indptr, chosen)
    label_indptr, labels = chosen_entries(targets.indptr, chosen)
    return (
        Rows(indptr, rows.indices[entries], rows.data[entries]),
        Targets(label_indptr, targets.ids[labels], targets.n_known),
    )


def join_parts(parts: Sequence[Part]) -> Part:
    """Return the rows of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    rows, targets = [part[0] for part in parts], [part[1] for part in parts]
    indices, data = _all([part.indices for part in rows], np.int32), _all([part.data for part in rows])
    ids, n_known = _all([part.ids for part in targets], np.int32), targets[0].n_known if targets else 0
    return (
        Rows(join_pointers([part.indptr for part in rows]), indices, data),
        Targets(join_pointers([part.indptr for part in targets]), ids, n_known),
    )


def join_pointers(pointers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the pointers of lists of lists that are put one after the other."""
    lengths = [np.diff(one) for one in pointers]
    joined = np.zeros(1 + sum(map(len, lengths)), np.int64)
    if lengths:
        np.cumsum(np.concatenate(lengths), out=joined[1:])
    return joined


def _all(arrays: Sequence[NDArray[np.generic]], dtype: type = np.float64) -> NDArray:  # type: ignore[type-arg]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)
