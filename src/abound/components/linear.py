"""The linear model for few labels: every label is scored for every row, learned by a squared hinge."""

from typing import Self

import numpy as np

from abound.components.base import FIRST_BATCH, BatchPosition
from abound.components.pairs import PairArrays, PairStore
from abound.components.prototypes import PrototypeWeights
from abound.components.rows import cut
from abound.kernels.batch import Batch
from abound.kernels.category import PrototypeSettings
from abound.kernels.pairs import BIAS_VALUE, INITIAL_GRAD_SQ, LEARNING_RATE
from abound.kernels.prototypes import Prototypes

AVERAGED_STATES = 10  # states of the last pass that are averaged, so that its last rows do not dominate
RIVALS = 10  # the minimum of wrong labels that learn from a row


class Linear(PairStore, PrototypeWeights):
    """Weights of all pairs of a feature and a label."""

    kind = "linear"
    can_merge = True
    prefix = "pair"
    may_be_dense = True

    def __init__(self) -> None:
        settings = PrototypeSettings(
            rule="hinge",
            all_labels=True,
            margin=1.0,
            rivals=RIVALS,
            step=LEARNING_RATE,
            step_start=INITIAL_GRAD_SQ,
            bias_value=BIAS_VALUE,
            known_only=True,
        )
        super().__init__(settings, Prototypes(has_aux=True, may_be_dense=True))
        self.n_labels = 0  # a feature with a weight for most labels is stored as a dense array
        self.may_resume = False  # whether weights are kept when their mean replaces them, for `resume`
        self._stops: list[int] = []  # rows of the pass after which the weights are added to the mean
        self._mean: Prototypes | None = None
        self._latest: Prototypes | None = None

    def begin_pass(self, n_rows: int, *, again: bool, last: bool) -> None:
        """Prepare to average several states of the last pass."""
        self._stops, self._mean = [], None
        if again and last:
            # np.array_split gives the first parts one row more; a part may be several batches
            sizes = [len(part) for part in np.array_split(np.arange(n_rows), min(AVERAGED_STATES, max(1, n_rows)))]
            self._stops = np.cumsum([size for size in sizes if size]).tolist()
            self._n_averaged = 0

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Learn rows in order, in place."""
        start, self.n_labels = 0, n_labels
        while self._stops and position.n_before + batch.n_rows >= self._stops[0]:
            stop = self._stops.pop(0) - position.n_before
            super().learn(cut(batch, start, stop), n_labels, position)
            start = stop
            if self._mean is None:
                self._mean = self.store.copy()
            else:
                self._mean.update_mean(self.store, self._n_averaged / (self._n_averaged + 1))
            self._n_averaged += 1
        if start < batch.n_rows:
            super().learn(cut(batch, start, batch.n_rows), n_labels, position)

    def end_pass(self, n_rows: int) -> None:  # noqa: ARG002
        """Replace the weights by their mean, if the pass was averaged."""
        if self._mean is not None:
            self._latest = self.store if self.may_resume else None
            self.store, self._mean = self._mean, None

    def resume(self) -> None:
        """Continue with the weights that a mean has replaced, as if the pass was not the last; needs `may_resume`."""
        if self._latest is not None:
            self.store, self._latest = self._latest, None

    def snapshot(self) -> Prototypes:
        """Return a copy of the weights."""
        return self.store.copy()

    def average_with(self, earlier: Prototypes) -> None:
        """Replace the weights by their mean with earlier ones, which are no longer needed."""
        earlier.update_mean(self.store, 0.5)
        self.store = earlier

    def fork(self, *, share: bool = False) -> Self:
        """Return a copy that learns independently; see `Component.fork`."""
        forked = type(self)()
        if share:
            forked.store = self.store
        else:
            forked.use(self.arrays(), self.n_labels)
        return forked

    def arrays(self) -> PairArrays:
        """Return indptr, labels, weights and sums of squared gradients."""
        indptr, labels, weights, grad_sq = self.store.arrays()
        return indptr, labels, weights, grad_sq

    def use(self, arrays: PairArrays, n_labels: int) -> None:
        """Replace the state by the pairs of some arrays."""
        self.store, self.n_labels = self.as_prototypes(arrays, n_labels), n_labels
