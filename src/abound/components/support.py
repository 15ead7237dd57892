"""Rows that changed prototypes, and how much each changed those of each label: prototypes in the space of a kernel."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.components.base import FIRST_BATCH, BatchPosition, Component, Reasons
from abound.components.rows import Rows, Targets
from abound.growing import Growing
from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings, row_changes
from abound.store import Model
from abound.store.directory import Source
from abound.store.model import is_sorted

Array = NDArray[Any]


class Kernel(NamedTuple):
    """A kernel: "linear" is x.x', "poly" is (gamma x.x' + coef0)^degree, "rbf" is exp(-gamma |x - x'|^2)."""

    name: str
    gamma: float = 1.0
    coef0: float = 1.0
    degree: int = 2

    def values(self, products: Array, norms: Array, norm: float) -> Array:
        """Return the kernel's values from inner products and squared norms."""
        if self.name == "poly":
            return np.asarray((self.gamma * products + self.coef0) ** self.degree)
        if self.name == "rbf":
            return np.asarray(np.exp(-self.gamma * np.maximum(0.0, norms + norm - 2.0 * products)))
        return products


class SupportRows(Component):
    """The rows that changed something, in the order in which they were learned.

    The prototype of label c is the sum over the rows i of a[i, c] times the row, in the space of the kernel. Nothing
    else is known of it, so that a score takes time in proportion to the number of rows.
    """

    kind = "support"
    can_merge = False

    def __init__(self, settings: PrototypeSettings, kernel: Kernel, prediction: str) -> None:
        self.settings, self.kernel, self.prediction = settings, kernel, prediction
        self.n_rows = 0  # rows learned
        self.start = 0  # rows learned before those over which predictions are averaged
        empty = np.zeros(0, np.int64)
        self.replace(Rows(np.zeros(1, np.int64), empty.astype(np.int32), np.zeros(0)), empty, empty, empty, np.zeros(0))

    def replace(self, rows: Rows, born: Array, owners: Array, labels: Array, amounts: Array) -> None:
        """Replace the kept rows, and the amounts by which they changed labels."""
        self.indices, self.data = Growing(rows.indices), Growing(rows.data)
        row_of_entry = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        self.row_of_entry = Growing(row_of_entry)
        norms = np.bincount(row_of_entry, rows.data * rows.data, minlength=rows.n_rows)
        self.norms = Growing(norms.astype(np.float64))
        self.born = Growing(born)  # the number of the row, from 1
        self.owners, self.labels, self.amounts = Growing(owners), Growing(labels.astype(np.int32)), Growing(amounts)

    @property
    def n_support(self) -> int:
        """The number of rows that are kept."""
        return len(self.born.rows)

    # -- learning and ranking ----------------------------------------------------------------------

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:  # noqa: ARG002
        """Learn rows in order, in place."""
        rows, targets, n_known = batch.rows, batch.targets, batch.n_known
        for i in range(batch.n_rows):
            row, ids = rows.row(i), targets.ids[targets.indptr[i] : targets.indptr[i + 1]]
            n_known = max(n_known, int(ids.max(initial=-1)) + 1)
            self.n_rows += 1
            pointers = np.array([0, len(ids)], np.int64)
            scores = self._sums(self._values(row), n_known)
            labels, amounts = row_changes(self.settings, scores, Batch(row, Targets(pointers, ids, n_known)))
            if len(labels):
                self._keep_row(row, labels, amounts * (1.0 if batch.weights is None else batch.weights[i]))

    def _keep_row(self, row: Rows, labels: Array, amounts: Array) -> None:
        number = self.n_support
        self.row_of_entry.extend(np.full(len(row.indices), number))
        self.indices.extend(row.indices)
        self.data.extend(row.data)
        self.norms.extend(np.array([row.data @ row.data]))
        self.owners.extend(np.full(len(labels), number))
        self.labels.extend(labels)
        self.amounts.extend(amounts)
        self.born.extend(np.array([self.n_rows]))

    def _values(self, row: Rows) -> Array:
        """Return the kernel of a row with each kept row."""
        known = row.indices < self.n_features
        dense = np.zeros(self.n_features)
        dense[row.indices[known]] = row.data[known]
        products = dense[self.indices.rows] * self.data.rows
        sums = np.bincount(self.row_of_entry.rows, products, minlength=self.n_support)
        return self.kernel.values(sums, self.norms.rows, float(row.data @ row.data))

    def _sums(self, values: Array, n_labels: int) -> Array:
        """Return the score of each label, given a value for each kept row."""
        votes = self.amounts.rows * values[self.owners.rows]
        return np.bincount(self.labels.rows, votes, minlength=n_labels).astype(np.float64, copy=False)

    def _shares(self) -> Array:
        """Return the share of the averaged prototypes that each kept row is part of."""
        n = max(1, self.n_rows - self.start)
        return np.asarray((self.n_rows - np.maximum(self.born.rows, self.start + 1) + 1) / n)

    def _voted(self, values: Array, n_labels: int) -> Array:
        """Return the mean place of each label over the rankings after each row: 1 is above all others, 0 below."""
        from scipy.stats import rankdata

        steps = np.zeros((self.n_support + 1, n_labels))
        np.add.at(steps, (self.owners.rows + 1, self.labels.rows), self.amounts.rows * values[self.owners.rows])
        begins = np.maximum(np.concatenate([[0], self.born.rows]), self.start + 1)
        lasted = np.diff(np.append(begins, self.n_rows + 1)).clip(min=0)
        places = (rankdata(np.cumsum(steps, axis=0), axis=1) - 1) / max(1, n_labels - 1)
        return np.asarray(lasted @ places / max(1, lasted.sum()))

    def _scored(self, row: Rows, n_labels: int) -> Array:
        values = self._values(row)
        if self.prediction == "voted":
            return self._voted(values, n_labels)
        return self._sums(values * self._shares() if self.prediction == "averaged" else values, n_labels)

    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores."""
        for i in range(rows.n_rows):
            found = self._scored(rows.row(i), n_labels)
            best = np.argsort(-found, kind="stable")[: labels.shape[1]]
            labels[i, : len(best)], scores[i, : len(best)] = best, found[best]

    def explain(self, row: Rows, label: int) -> Reasons:
        """Return the votes of the features for the linear kernel, and otherwise only the score, as bias."""
        n_labels = max(label, int(self.labels.rows.max(initial=-1))) + 1
        if self.kernel.name != "linear" or self.prediction == "voted":
            score = float(self._scored(row, n_labels)[label])
            return Reasons(np.zeros(0, np.int64), np.zeros(0), score)
        shares = self._shares() if self.prediction == "averaged" else np.ones(self.n_support)
        chosen, of_rows = self.labels.rows == label, np.zeros(self.n_support)
        np.add.at(of_rows, self.owners.rows[chosen], self.amounts.rows[chosen])
        entries = (of_rows * shares)[self.row_of_entry.rows] * self.data.rows
        weights = np.bincount(self.indices.rows, entries, minlength=self.n_features)
        positions = np.flatnonzero(row.indices < self.n_features)
        votes = weights[row.indices[positions]] * row.data[positions]
        return Reasons(positions[votes != 0], votes[votes != 0])

    # -- shards, merging and memory ----------------------------------------------------------------

    def merge(self, parts: Sequence[Self], n_labels: int, *, base: bool = True, n_jobs: int = 1) -> None:
        """Raise: rows that changed one model would not have changed another."""
        raise NotImplementedError

    def _entries(self, kept: Array, numbers: Array) -> Rows:
        """Return the kept rows with some of their entries, under other feature numbers; they ascend in each row."""
        owners, indices, data = self.row_of_entry.rows[kept], numbers[self.indices.rows[kept]], self.data.rows
        order = np.lexsort((indices, owners))
        pointers = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=self.n_support))])
        return Rows(pointers.astype(np.int64), indices[order].astype(np.int32), data[kept][order])

    def _with(self, rows: Rows, labels: Array) -> Self:
        other = type(self)(self.settings, self.kernel, self.prediction)
        other.n_rows, other.start = self.n_rows, self.start
        own = self.labels.rows
        other.replace(rows, self.born.rows, self.owners.rows, labels[own] if len(own) else own, self.amounts.rows)
        return other

    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:  # noqa: ARG002
        """Return the same state with other numbers; see `Component.renumbered`."""
        numbers = np.arange(self.n_features) if features is None else features
        return self._with(self._entries(np.ones(len(self.indices.rows), bool), numbers), labels)

    @property
    def n_features(self) -> int:
        """The number of features of the kept rows."""
        return int(self.indices.rows.max(initial=-1)) + 1

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        parts = (self.indices, self.data, self.row_of_entry, self.norms, self.born, self.owners, self.labels)
        return sum(part.rows.nbytes for part in (*parts, self.amounts))

    @property
    def n_pairs(self) -> int:
        """Pairs of a kept row and a label."""
        return len(self.labels.rows)

    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature takes."""
        return np.bincount(self.indices.rows, minlength=self.n_features).astype(np.int64) * 20

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features except the wanted ones."""
        wanted = wanted[: self.n_features]
        rows = self._entries(wanted[self.indices.rows], np.cumsum(wanted) - 1)
        self.replace(rows, self.born.rows, self.owners.rows, self.labels.rows, self.amounts.rows)

    # -- the model directory -----------------------------------------------------------------------

    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form."""
        pointers = [
            np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=self.n_support))]).astype(np.int64)
            for owners in (self.row_of_entry.rows, self.owners.rows)
        ]
        return {
            "support_indptr": pointers[0],
            "support_indices": self.indices.rows.astype(np.int32),
            "support_data": self.data.rows,
            "support_born": self.born.rows.astype(np.int64),
            "support_label_indptr": pointers[1],
            "support_labels": self.labels.rows.astype(np.int32),
            "support_amounts": self.amounts.rows,
            "support_counts": np.array([self.n_rows, self.start], np.int64),
        }

    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""
        born = model.take("support_born", np.int64, None)
        lists = []
        for pointers, ids, values in (
            ("support_indptr", "support_indices", "support_data"),
            ("support_label_indptr", "support_labels", "support_amounts"),
        ):
            indptr, numbers = model.take(pointers, np.int64, len(born) + 1), model.take(ids, np.int32, None)
            data = model.take(values, np.float64, len(numbers))
            if indptr[0] != 0 or indptr[-1] != len(numbers) or not is_sorted(indptr) or numbers.min(initial=0) < 0:
                raise ValueError(f"{pointers} and {ids} do not match")
            lists.append((indptr, numbers, data))
        (indptr, indices, data), (label_indptr, labels, amounts) = lists
        self.n_rows, self.start = model.take_counts("support_counts", 2)
        if (
            self.start > self.n_rows
            or not is_sorted(born)
            or (len(born) and not 1 <= born[0] <= born[-1] <= self.n_rows)
        ):
            raise ValueError("the numbers of the kept rows do not match the number of rows")
        if labels.max(initial=-1) >= n_labels:
            raise ValueError("a kept row has a label outside the label set")
        owners = np.repeat(np.arange(len(born)), np.diff(label_indptr))
        self.replace(Rows(indptr, indices, data), born, owners, labels, amounts)
