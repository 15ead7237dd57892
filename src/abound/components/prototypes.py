"""Prototypes: one weight vector per label, stored by feature; a rule decides how a row changes them."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from abound.components.base import FIRST_BATCH, BatchPosition, Component, Reasons, Scratch
from abound.components.rows import Rows
from abound.errors import DamagedModel
from abound.kernels.batch import Batch
from abound.kernels.category import (
    PrototypeSettings,
    RowScores,
    prototypes_explain,
    prototypes_learn,
    prototypes_rank,
)
from abound.kernels.prototypes import Prototypes, check_prototypes
from abound.store import Model
from abound.store.directory import Source

BYTES_PER_PAIR = 8  # a label and a weight


def renumber_pairs(
    arrays: Sequence[NDArray[Any]], offset: int, features: NDArray[np.int32] | None, labels: NDArray[np.int32]
) -> tuple[NDArray[Any], ...]:
    """Return pairs of features and labels with other numbers: indptr, labels, and their other columns."""
    indptr, ids, *columns = arrays
    n_features = len(indptr) - 1
    owners = np.repeat(np.arange(n_features), np.diff(indptr))
    if features is not None:
        own = np.arange(offset)
        numbers = np.concatenate([own, features[: n_features - offset].astype(np.int64) + offset])
        owners, n_features = numbers[owners], int(numbers[:n_features].max(initial=-1)) + 1
    ids = labels[ids] if len(ids) else ids
    order = np.lexsort((ids, owners))
    pointers = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n_features))]).astype(np.int64)
    return pointers, ids[order], *(column[order] for column in columns)


class PrototypeWeights(Component):
    """The prototypes of all labels, learned by one rule."""

    kind = "prototypes"
    store: Prototypes
    can_merge = False

    def __init__(self, settings: PrototypeSettings, store: Prototypes | None = None) -> None:
        self.settings = settings
        self.store = Prototypes(may_be_dense=settings.all_labels) if store is None else store
        self.scratch = Scratch(RowScores)

    @property
    def ranking_store(self) -> Prototypes:
        """The prototypes that rank."""
        return self.store

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:  # noqa: ARG002
        """Learn rows in order, in place."""
        scratch = self.scratch.take()
        prototypes_learn(self.store, scratch, self.settings, batch, position.n_before)
        self.scratch.give_back(scratch)

    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores."""
        scratch = self.scratch.take()
        prototypes_rank(self.ranking_store, scratch, self.settings, Batch(rows), n_labels, labels, scores)
        self.scratch.give_back(scratch)

    def explain(self, row: Rows, label: int) -> Reasons:
        """Return the weights of a label on the features of a row, times their values."""
        bias_value = self.settings.bias_value
        return Reasons(*prototypes_explain(self.ranking_store, row.indices, row.data, label, bias_value))

    def merge(self, parts: Sequence[Self], n_labels: int, *, base: bool = True, n_jobs: int = 1) -> None:
        """Raise: the mean of prototypes that learned independently does not rank like either."""
        raise NotImplementedError

    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:
        """Return the same state with other numbers; see `Component.renumbered`."""
        indptr, ids, weights, *aux = renumber_pairs(self.store.arrays(), self.offset, features, labels)
        other, dense = self.fork(share=True), self.store.may_be_dense
        other.store = Prototypes.from_arrays(indptr, ids, weights, n_labels, *aux, may_be_dense=dense)
        return other

    @property
    def n_pairs(self) -> int:
        """Pairs with a weight."""
        return self.store.n_pairs

    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature takes."""
        return np.asarray(np.diff(self.store.arrays()[0]) * BYTES_PER_PAIR, np.int64)

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features except the wanted ones."""
        self.store = self.store.kept(np.concatenate([[True] * self.offset, wanted]).astype(bool))

    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form."""
        indptr, labels, weights = self.store.arrays()
        return {"prototype_indptr": indptr, "prototype_labels": labels, "prototype_weights": weights}

    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""
        indptr = model.take("prototype_indptr", np.int64, None)
        labels, weights = model.take("prototype_labels", np.int32, None), model.arrays["prototype_weights"]
        wrong = check_prototypes(indptr, labels, weights, n_labels)
        if wrong:
            raise DamagedModel(f"the prototypes are damaged: {wrong}")
        dense = self.settings.all_labels
        self.store = Prototypes.from_arrays(indptr, labels, weights, n_labels, may_be_dense=dense)
