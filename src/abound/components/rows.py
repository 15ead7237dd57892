"""Batches of rows, as components take them: sliced, selected and joined."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.kernels.batch import Batch

Lists: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32]]  # of labels: ids[indptr[i]:indptr[i+1]] for row i


class Rows(NamedTuple):
    """Sparse rows: the three arrays of a CSR matrix."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def row(self, number: int) -> "Rows":
        """Return one of the rows."""
        if self.n_rows == 1:
            return self
        start, stop = self.indptr[number : number + 2].tolist()
        return Rows(np.array([0, stop - start], np.int64), self.indices[start:stop], self.data[start:stop])

    def select(self, chosen: NDArray[np.int64]) -> "Rows":
        """Return the chosen rows, in the chosen order."""
        return select_rows(self, chosen)


class Targets(NamedTuple):
    """The label numbers of each row, in ascending order: ids[indptr[i]:indptr[i+1]]."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    n_known: int  # labels that were known before the first row


def cut_lists(lists: Lists, start: int, stop: int) -> Lists:
    """Return the lists of rows start .. stop-1."""
    indptr, ids = lists
    return indptr[start : stop + 1] - indptr[start], ids[indptr[start] : indptr[stop]]


def cut(batch: Batch, start: int, stop: int, n_known: int | None = None) -> Batch:
    """Return rows start .. stop-1 of a batch; `n_known` labels are known before them."""
    rows, targets = batch.rows, batch.targets
    if start == 0 and stop == batch.n_rows:
        return batch
    first, last = rows.indptr[start], rows.indptr[stop]
    part = Rows(rows.indptr[start : stop + 1] - first, rows.indices[first:last], rows.data[first:last])
    known = batch.n_known if n_known is None else n_known
    labels = Targets(*cut_lists((targets.indptr, targets.ids), start, stop), known)
    wrong = None if batch.wrong is None else cut_lists(batch.wrong, start, stop)
    return Batch(part, labels, wrong, None if batch.weights is None else batch.weights[start:stop])


def chosen_entries(indptr: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index pointers of the chosen lists, concatenated, and the source of each of their entries."""
    starts = indptr[chosen]
    lengths = indptr[chosen + 1] - starts
    pointers = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(lengths, out=pointers[1:])
    return pointers, np.repeat(starts - pointers[:-1], lengths) + np.arange(pointers[-1])


def select_rows(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    """Return the chosen rows, in the chosen order."""
    indptr, entries = chosen_entries(rows.indptr, chosen)
    return Rows(indptr, rows.indices[entries], rows.data[entries])


def select(batch: Batch, chosen: NDArray[np.int64]) -> Batch:
    """Return the chosen rows of a batch, in the chosen order."""
    targets, wrong = batch.targets, batch.wrong
    label_indptr, labels = chosen_entries(targets.indptr, chosen)
    if wrong is not None:
        wrong_indptr, numbers = chosen_entries(wrong[0], chosen)
        wrong = (wrong_indptr, wrong[1][numbers])
    return Batch(
        select_rows(batch.rows, chosen),
        Targets(label_indptr, targets.ids[labels], targets.n_known),
        wrong,
        None if batch.weights is None else batch.weights[chosen],
    )


def join(batches: Sequence[Batch]) -> Batch:
    """Return the rows of several batches as one."""
    if len(batches) == 1:
        return batches[0]
    rows, targets = [batch.rows for batch in batches], [batch.targets for batch in batches]
    indices, data = _all([part.indices for part in rows], np.int32), _all([part.data for part in rows])
    ids, n_known = _all([part.ids for part in targets], np.int32), targets[0].n_known if targets else 0
    weights = None
    if any(batch.weights is not None for batch in batches):
        weights = _all([np.ones(one.n_rows) if one.weights is None else one.weights for one in batches])
    return Batch(
        Rows(join_pointers([part.indptr for part in rows]), indices, data),
        Targets(join_pointers([part.indptr for part in targets]), ids, n_known),
        weights=weights,
    )


def join_pointers(pointers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the index pointers of several lists of lists, concatenated."""
    lengths = [np.diff(one) for one in pointers]
    joined = np.zeros(1 + sum(map(len, lengths)), np.int64)
    if lengths:
        np.cumsum(np.concatenate(lengths), out=joined[1:])
    return joined


def _all(arrays: Sequence[NDArray[np.generic]], dtype: type = np.float64) -> NDArray:  # type: ignore[type-arg]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def empty_ranking(n_rows: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return arrays for the k best labels of rows and their scores; -1 means no label."""
    return np.full((n_rows, k), -1, np.int32), np.zeros((n_rows, k))
