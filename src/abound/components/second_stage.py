"""The second stage: weights for pairs of a feature and a candidate, which re-rank the best labels of the votes."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from abound.components.base import FIRST_BATCH, BatchPosition, Reasons, Scratch
from abound.components.pairs import PairArrays, PairStore, drop_small
from abound.components.rows import Rows
from abound.components.table_parts import TableParts
from abound.kernels.batch import Batch
from abound.kernels.pairs import PairTables, pairs_explain, pairs_teach
from abound.kernels.votes import Votes
from abound.store.directory import Source


class SecondStage(PairStore):
    """Pairs of candidates. They learn and rank together with the votes: one kernel scores a row."""

    kind = "second_stage"
    store: PairTables
    ranks = False
    prefix = "table"
    may_be_dense = False

    def __init__(self) -> None:
        self.store = PairTables()
        self.scratch = Scratch(Votes)
        self.prunes = True  # whether pairs with a negligible weight are dropped at the end of a training
        self._is_last = False

    @property
    def n_pairs(self) -> int:
        """Pairs with a weight."""
        return self.store.n_pairs

    def arrays(self) -> PairArrays:
        """Return indptr, labels, weights and sums of squared gradients."""
        return self.store.arrays()

    def use(self, arrays: PairArrays, n_labels: int) -> None:  # noqa: ARG002
        """Replace the state by the pairs of some arrays."""
        self.store = PairTables.from_arrays(*arrays)

    @classmethod
    def pruned(cls, arrays: PairArrays) -> PairArrays:
        """Drop the pairs with a negligible weight."""
        kept: PairArrays = drop_small(*arrays)
        return kept

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Do nothing: the second stage learns with the votes."""

    def begin_pass(self, n_rows: int, *, again: bool, last: bool) -> None:  # noqa: ARG002
        """Start averaging in the last of several passes, so that its last rows do not dominate."""
        self._is_last = last
        if last:
            self.store.reset_averages()

    def end_pass(self, n_rows: int) -> None:
        """Keep the average of the last pass."""
        if self._is_last and n_rows:
            self.store.average_weights(n_rows)
            if self.prunes:
                self.store.prune()
        self._is_last = False

    def teach(self, row: Rows, up: NDArray[np.int32], down: NDArray[np.int32]) -> None:
        """Push labels of a single row up, and others down."""
        votes = self.scratch.take()
        pairs_teach(self.store, votes, row.indices, row.data, down, up)
        self.scratch.give_back(votes)

    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Raise: the second stage only re-ranks what the votes rank."""
        raise NotImplementedError

    def weights(self, row: Rows, label: int) -> tuple[NDArray[np.float64], float]:
        """Return what each position of a row adds to a label's score, and the label's bias."""
        return pairs_explain(self.store, row.indices, row.data, label)

    def explain(self, row: Rows, label: int) -> Reasons:
        """Return the reasons of a candidate's second-stage score."""
        weights, prior = self.weights(row, label)
        positions = np.flatnonzero(weights)
        return Reasons(positions, weights[positions], prior)

    def fork(self, *, share: bool = False) -> Self:
        """Return a copy that learns independently and does not prune; see `Component.fork`."""
        forked = type(self)()
        forked.store, forked.prunes = self.store if share else self.store.copy(), False
        return forked

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features of the rows except the wanted ones."""
        self.store = self.store.kept(np.concatenate([[True] * self.offset, wanted]))

    def compact(self) -> None:
        """Release unused memory."""
        self.store = self.store.copy()

    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form, in parts: sorting all pairs in one step would take long."""
        return dict(zip(self.array_names(), TableParts(self.store).arrays(), strict=True))
