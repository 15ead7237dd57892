"""The contract of a component: what one kernel has learnt of features, and all that can be done with it."""

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
    """Where a batch stands in a training."""

    again: bool = False  # its rows were learnt before, in an earlier pass
    n_before: int = 0  # rows of the pass that came before it


FIRST_BATCH = BatchPosition()


class Reasons(NamedTuple):
    """Why a label has its score for a row: the prior, and the votes in the order of summation."""

    positions: NDArray[np.int64]  # in the row
    votes: NDArray[np.float64]
    prior: float = 0.0


class Component(ABC):
    """What was learnt of features, and how it ranks.

    A ranker is an ordered list of components; the last of those that rank gives the scores. Sharding, merging, pruning
    and saving go through the list, and know no component by name.
    """

    kind: ClassVar[str]  # its name; no ranker has two of a kind
    store: Any  # the kernel's state
    offset: ClassVar[int] = 0  # features of its own that come before those of the rows
    ranks: ClassVar[bool] = True  # False for one that works for the component before it
    can_merge: ClassVar[bool] = True  # whether what was learnt of different rows can be put together

    # -- learning and ranking ----------------------------------------------------------------------

    @abstractmethod
    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Learn rows in order, in place; `n_labels` labels are known after them."""

    def begin_pass(self, n_rows: int, *, again: bool, last: bool) -> None:  # noqa: B027  few need it
        """Prepare for a pass over so many rows: a later one, or the last of several."""

    def end_pass(self, n_rows: int) -> None:  # noqa: B027  few need it
        """Finish a pass in which so many rows were learnt."""

    @abstractmethod
    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores, into arrays of `empty_ranking`."""

    def scores(self, rows: Rows, n_labels: int, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some labels for each row, NaN for one that would not be ranked.

        Of labels that are re-ranked when they are candidates, it is what they have without.
        """
        found, every = np.full((rows.n_rows, len(labels)), np.nan), np.empty(max(1, n_labels))
        for row in range(rows.n_rows):
            ids, scores = empty_ranking(1, len(every))
            self.rank(rows.row(row), n_labels, ids, scores)
            ranked = ids[0] >= 0
            every[:] = np.nan
            every[ids[0][ranked]] = scores[0][ranked]
            found[row] = every[labels]
        return found

    @abstractmethod
    def explain(self, row: Rows, label: int) -> Reasons:
        """Return why a label has its score for a single row."""

    # -- shards and merging ------------------------------------------------------------------------

    def fork(self, *, share: bool = False) -> Self:
        """Return a copy that learns apart; with `share`, the original gives its memory up to the copy."""
        return copy.copy(self) if share else copy.deepcopy(self)

    @abstractmethod
    def merge(self, parts: Sequence[Self], n_labels: int, *, base: bool = True, n_jobs: int = 1) -> None:
        """Become what parts make together that all began here, or, without `base`, from nothing."""

    @abstractmethod
    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:
        """Return the same with other numbers; features None keeps theirs. The original may be returned."""

    # -- memory ------------------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """How many features there is room for, those of its own included."""
        return int(self.store.n_features)

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return int(self.store.nbytes)

    @property
    def n_pairs(self) -> int:
        """(feature, label) pairs with a weight of their own."""
        return 0

    @property
    def n_edges(self) -> int:
        """Edges of an index."""
        return 0

    @abstractmethod
    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature of the rows takes."""

    @abstractmethod
    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features of the rows but the wanted ones, which are numbered anew in their order."""

    def compact(self) -> None:  # noqa: B027  few need it
        """Give spare room back; what is ranked and learnt stays the same."""

    def count_edges(self, labels: NDArray[np.int32], start: int, stop: int) -> int | None:  # noqa: ARG002
        """Return how many edges features start .. stop-1 have to any of some labels; None after the last feature."""
        return None

    # -- the model directory -----------------------------------------------------------------------

    @abstractmethod
    def state(self) -> dict[str, Source]:
        """Return what was learnt in its canonical form; equal states are equal, however they came about."""

    @abstractmethod
    def restore(self, model: Model, n_labels: int) -> None:
        """Take up what `state` gave, after checking it."""


class Scratch:
    """Buffers that wait for the next call; each serves one thread at a time.

    Popping is atomic. A buffer that a failed call left half full is not given back. Copies begin without any.
    """

    def __init__(self, make: type[Any]) -> None:
        self._make = make
        self._waiting: list[Any] = []

    def take(self) -> Any:
        """Return a buffer."""
        return self._waiting.pop() if self._waiting else self._make()

    def give_back(self, buffer: Any) -> None:
        """Keep a buffer for the next call."""
        self._waiting.append(buffer)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, (self._make,)
