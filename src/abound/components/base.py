"""The interface of a component: what one kernel has learned about features, and all its operations."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.components.rows import Rows, empty_ranking
from abound.kernels.batch import Batch
from abound.store import Model
from abound.store.directory import Source


class BatchPosition(NamedTuple):
    """The position of a batch in a training."""

    again: bool = False  # a later pass: its rows were learned before
    n_before: int = 0  # rows of the pass before it


FIRST_BATCH = BatchPosition()


class Reasons(NamedTuple):
    """Why a label has its score for a row: the bias (`prior`), and the votes in the order of summation."""

    positions: NDArray[np.int64]  # in the row
    votes: NDArray[np.float64]
    prior: float = 0.0


class Component(ABC):
    """What was learned about features, and how it ranks.

    A ranker is an ordered list of components; the last one that ranks gives the scores. Sharding, merging, pruning and
    saving loop over the list and do not depend on particular components.
    """

    kind: ClassVar[str]  # its name; a ranker has at most one of each kind
    store: Any  # the kernel's state
    offset: ClassVar[int] = 0  # features of the component that come before those of the rows, such as the bias
    ranks: ClassVar[bool] = True  # False if it only serves the component before it
    can_merge: ClassVar[bool] = True  # whether models that learned different rows can be merged

    # -- learning and ranking ----------------------------------------------------------------------

    @abstractmethod
    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Learn rows in order, in place; `n_labels` labels are known after them."""

    def begin_pass(self, n_rows: int, *, again: bool, last: bool) -> None:  # noqa: B027  optional
        """Prepare for a pass over `n_rows` rows; `again` marks a later pass, `last` the last of several."""

    def end_pass(self, n_rows: int) -> None:  # noqa: B027  optional
        """Finish a pass in which `n_rows` rows were learned."""

    @abstractmethod
    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores into arrays of `empty_ranking`."""

    def scores(self, rows: Rows, n_labels: int, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some labels for each row, NaN for a label that would not be ranked.

        The scores are those before the second stage.
        """
        selected, every = np.full((rows.n_rows, len(labels)), np.nan), np.empty(max(1, n_labels))
        for row in range(rows.n_rows):
            ids, scores = empty_ranking(1, len(every))
            self.rank(rows.row(row), n_labels, ids, scores)
            ranked = ids[0] >= 0
            every[:] = np.nan
            every[ids[0][ranked]] = scores[0][ranked]
            selected[row] = every[labels]
        return selected

    @abstractmethod
    def explain(self, row: Rows, label: int) -> Reasons:
        """Return why a label has its score for a single row."""

    # -- shards and merging ------------------------------------------------------------------------

    def fork(self, *, share: bool = False) -> Self:
        """Return a copy that learns independently; with `share`, the copy takes over the memory of the original."""
        return copy.copy(self) if share else copy.deepcopy(self)

    @abstractmethod
    def merge(self, parts: Sequence[Self], n_labels: int, *, base: bool = True, n_jobs: int = 1) -> None:
        """Replace the state by the merge of `parts`, which all began here or, without `base`, from an empty state."""

    @abstractmethod
    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:
        """Return the same state with other numbers; `features=None` keeps theirs. May return the original."""

    # -- memory ------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of features, including those of the component."""
        return int(self.store.n_features)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return int(self.store.nbytes)

    @property
    def n_pairs(self) -> int:
        """The number of (feature, label) pairs with a weight."""
        return 0

    @property
    def n_edges(self) -> int:
        """The number of edges of an index."""
        return 0

    @abstractmethod
    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature of the rows takes."""

    @abstractmethod
    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features of the rows except the wanted ones, which are renumbered in their order."""

    def compact(self) -> None:  # noqa: B027  optional
        """Release unused memory; ranking and learning do not change."""

    def count_edges(self, labels: NDArray[np.int32], start: int, stop: int) -> int | None:  # noqa: ARG002
        """Return the number of edges from features start .. stop-1 to some labels; None after the last feature."""
        return None

    # -- the model directory -----------------------------------------------------------------------

    @abstractmethod
    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form; equal states give equal arrays."""

    @abstractmethod
    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""


class Scratch:
    """A pool of buffers; each serves one thread at a time.

    Popping is atomic. A buffer that a failed call left in use is not returned. Copies of the pool start empty.
    """

    def __init__(self, make: type[Any]) -> None:
        self._make = make
        self._waiting: list[Any] = []

    def take(self) -> Any:
        """Return a buffer."""
        return self._waiting.pop() if self._waiting else self._make()

    def give_back(self, buffer: Any) -> None:
        """Return a buffer to the pool."""
        self._waiting.append(buffer)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, (self._make,)
