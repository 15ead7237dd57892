"""Counts: rows per feature and label, and sums of rows; the ranking state is computed from them on demand."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.components.base import FIRST_BATCH, BatchPosition, Component, Reasons
from abound.components.prototypes import PrototypeWeights
from abound.components.rows import Rows
from abound.components.votes import PlainVotes
from abound.errors import DamagedModel
from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.kernels.pool import EDGE_DTYPE, EdgePool
from abound.kernels.prototypes import Prototypes
from abound.store import Model
from abound.store.directory import Source
from abound.store.model import MAX_COUNTED

LEAST_SHARE = 1e-5  # smaller differences are rounding errors of 0, which normalization would enlarge


class JointCounts(PlainVotes):
    """Row counts per feature and label; each feature votes with its shares of at least `p_ind`."""

    kind = "joint_counts"
    can_merge = False
    fork = Component.fork  # copies the counts, too, not only the index computed from them

    def __init__(self) -> None:
        super().__init__()
        self.p_ind = 0.0
        self.n_columns = 0
        self.joint: sp.csr_array[Any] = sp.csr_array((0, 0), dtype=np.int64)
        self.seen = np.zeros(0, np.int64)  # number of rows with each feature
        self._is_stale = False  # whether rows were counted after the index was built

    def use_shares(self, joint: "sp.csr_array[Any]", seen: NDArray[np.int64], p_ind: float) -> None:
        """Build the index from counts; a feature's total is its row count, an edge's weight its joint count."""
        self.p_ind, self._is_stale = p_ind, False
        feature = np.repeat(np.arange(joint.shape[0]), np.diff(joint.indptr))
        kept = joint.data / np.maximum(seen[feature], 1) >= p_ind
        feature, label, count = feature[kept], joint.indices[kept], joint.data[kept]
        order = np.lexsort((label, -count, feature))
        edges = np.empty(len(order), EDGE_DTYPE)
        edges["label"], edges["weight"] = label[order], count[order]
        indptr = np.zeros(joint.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(feature, minlength=joint.shape[0]), out=indptr[1:])
        self.store = EdgePool.from_arrays(indptr, edges, seen.astype(np.float64), seen)

    def make_index(self) -> None:
        """Build the index from the counts, unless it is up to date."""
        if self._is_stale:  # learning row by row, as a tagger does, must not rebuild it for each row
            self.use_shares(self.joint, self.seen, self.p_ind)

    def count(self, batch: Batch, n_labels: int) -> tuple["sp.csr_array[Any]", NDArray[np.int64]]:
        """Return the row counts of a batch per feature and label, and per feature."""
        rows, targets = batch.rows, batch.targets
        active = (rows.data > 0).astype(np.int64)
        X = sp.csr_array((active, rows.indices, rows.indptr), shape=(rows.n_rows, self.n_columns))
        ones = np.ones(len(targets.ids), np.int64)
        Y = sp.csr_array((ones, targets.ids, targets.indptr), shape=(rows.n_rows, n_labels))
        shape = (self.n_columns, n_labels)
        joint = sp.csr_array(X.T @ Y) if min(shape) else sp.csr_array(shape, dtype=np.int64)  # scipy needs both > 0
        return joint, np.bincount(rows.indices, active, self.n_columns).astype(np.int64)

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:  # noqa: ARG002
        """Count rows."""
        joint, seen = self.count(batch, n_labels)
        known = self.joint.tocoo()
        known = sp.coo_array((known.data, (known.row, known.col)), shape=joint.shape)
        self.joint = sp.csr_array(joint + known)
        seen[: len(self.seen)] += self.seen
        self.seen, self._is_stale = seen, True

    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores."""
        self.make_index()
        super().rank(rows, n_labels, labels, scores)

    def scores(self, rows: Rows, n_labels: int, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some labels for each row, NaN for a label without a vote."""
        self.make_index()
        return super().scores(rows, n_labels, labels)

    def explain(self, row: Rows, label: int) -> Reasons:
        """Return the votes for a label."""
        self.make_index()
        return super().explain(row, label)

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features except the wanted ones."""
        kept = wanted[: len(self.seen)]
        self.joint, self.seen = sp.csr_array(self.joint[kept]), self.seen[kept]
        self.use_shares(self.joint, self.seen, self.p_ind)

    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:
        """Return the same counts with other numbers; see `Component.renumbered`."""
        known = self.joint.tocoo()
        rows, columns = known.row if features is None else features[known.row], labels[known.col]
        numbers = np.arange(len(self.seen)) if features is None else features[: len(self.seen)]
        n_features = int(numbers.max(initial=-1)) + 1
        other = self.fork(share=True)
        other.joint = sp.csr_array((known.data, (rows, columns)), shape=(n_features, n_labels))
        other.seen = np.zeros(n_features, np.int64)
        other.seen[numbers] = self.seen
        other.use_shares(other.joint, other.seen, other.p_ind)
        return other

    def state(self) -> dict[str, Source]:
        """Return the counts in canonical form."""
        joint = self.joint.copy()
        joint.sort_indices()
        return {
            "joint_counts": joint.data,
            "joint_labels": joint.indices.astype(np.int32),
            "joint_indptr": joint.indptr.astype(np.int64),
            "feature_seen": self.seen,
            "p_ind": np.array([self.p_ind], np.float64),
        }

    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""
        counts, self.seen = (np.array(model.take(key, np.int64, None)) for key in ("joint_counts", "feature_seen"))
        labels, indptr = (
            np.array(model.take("joint_labels", np.int32, None)),
            model.take("joint_indptr", np.int64, None),
        )
        (self.p_ind,) = model.take("p_ind", np.float64, 1).tolist()
        if not 0.0 <= self.p_ind <= 1.0:
            raise DamagedModel(f"p_ind must be between 0 and 1, got {self.p_ind}")
        if len(self.seen) > self.n_columns or np.any(self.seen < 0) or np.any(self.seen > MAX_COUNTED):
            raise DamagedModel("the feature counts do not match the columns, or are negative or too large")
        self.joint = sp.csr_array((counts, labels, np.array(indptr)), shape=(len(self.seen), n_labels))
        self.joint.check_format(full_check=True)
        if not self.joint.has_canonical_format:
            raise DamagedModel("the labels of a feature are not in order, or a label occurs twice")
        if np.any(counts <= 0) or np.any(np.repeat(self.seen, np.diff(indptr)) < counts):
            raise DamagedModel("a joint count is not positive, or is larger than the feature's own count")
        self.use_shares(self.joint, self.seen, self.p_ind)


class RocchioSums(PrototypeWeights):
    """Sums of each label's rows; the prototypes are computed from them at the first ranking after learning."""

    kind = "rocchio_sums"
    counts: NDArray[np.int64]  # rows of each label; the ranker sets these three attributes
    n_rows_seen: int
    weights: tuple[float, float]  # of a label's own rows, and of the other rows

    def __init__(self) -> None:
        super().__init__(PrototypeSettings(rule="sum", all_labels=False))
        self.totals = np.zeros(0)
        self.made: list[Prototypes] = []  # computed from the sums; empty after learning

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Add rows to the sums of their labels."""
        self.made.clear()
        super().learn(batch, n_labels, position)
        rows = batch.rows
        wider = np.zeros(max(len(self.totals), batch.n_features))
        wider[: len(self.totals)] = self.totals
        np.add.at(wider, rows.indices, rows.data)  # in order, so that learning row by row gives the same bits
        self.totals = wider

    @property
    def ranking_store(self) -> Prototypes:
        """The prototypes that rank."""
        if not self.made:
            self.made.append(self._make())
        return self.made[0]

    def _make(self) -> Prototypes:
        """Return max(0, positive * own mean - negative * others' mean) of each label, normalized to length 1."""
        (positive, negative), (indptr, labels, weights) = self.weights, self.store.arrays()
        sums = weights.astype(np.float64)
        feature = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        own = np.maximum(self.counts, 1.0)  # a label may have been learned from its name only
        others = np.maximum(self.n_rows_seen - own, 1.0)
        mean = positive * sums / own[labels]
        made = mean - negative * (self.totals[feature] - sums) / others[labels]
        kept = made > LEAST_SHARE * mean
        feature, labels, made = feature[kept], labels[kept], made[kept]
        norms = np.sqrt(np.bincount(labels, made**2, len(own)))
        weights = np.asarray(made / norms[labels], np.float32)
        kept_indptr = np.concatenate([[0], np.cumsum(np.bincount(feature, minlength=len(indptr) - 1))])
        return Prototypes.from_arrays(kept_indptr.astype(np.int64), labels, weights, len(own))

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features except the wanted ones."""
        self.made.clear()
        self.totals = self.totals[wanted[: len(self.totals)]]
        super().keep(wanted)

    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:
        """Return the same sums with other numbers; see `Component.renumbered`."""
        other = super().renumbered(features, labels, n_labels)
        other.made = []
        if features is not None:
            other.totals = np.zeros(other.n_features)
            other.totals[features[: len(self.totals)]] = self.totals
        return other

    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form."""
        return {**super().state(), "feature_totals": self.totals}

    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""
        super().restore(model, n_labels)
        self.totals = np.array(model.take("feature_totals", np.float64, self.n_features))
