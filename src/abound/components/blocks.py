"""What a component sends to a merge on other machines: the lists of features, block by block, as flat arrays.

A feature that does not occur in a shard's rows cannot have changed and is not sent; the merge takes it from the base.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.base import Component

Span = tuple[int, int]  # the first feature of a block, and the last plus one


class Delta(NamedTuple):
    """The lists of some features of one block, as one shard learned them, or of all features, merged."""

    block: int
    features: NDArray[np.int32]  # positions in the block
    lengths: NDArray[np.int32]  # entries of each
    totals: NDArray[np.float64]  # empty for pairs
    seen: NDArray[np.int64]  # counts, or ratings
    entries: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self[1:])


class MergeForm(NamedTuple):
    """The parameters of a merge of blocks, besides the arrays."""

    n_labels: int
    n_shards: int
    params: Mapping[str, Any]  # the component's `merge_params`
    alone: bool  # a single shard learns as without shards: it sends every feature, and nothing is merged


class StoredArray(NamedTuple):
    """How an array of the model directory is assembled from the parts of blocks."""

    file: str  # the field of a Delta in the parts
    stored: np.dtype[Any]
    dtype: np.dtype[Any]
    field: str | None = None  # field of the stored entries
    slots: int = 1  # slots of a list per entry


class BlockMerge:
    """Merge the deltas of a component, one block at a time.

    Parameters
    ----------
    component : class of BlockComponent
    base : mapping from name to array
        The model that all shards began with; only its part for the current block is read.
    form : MergeForm
    """

    width: int  # number of features of the base

    def __init__(self, component: Any, base: Mapping[str, NDArray[Any]], form: MergeForm) -> None:
        self.component, self.form = component, form
        self.open(base)

    @abstractmethod
    def open(self, base: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays of the base."""

    @abstractmethod
    def merge(self, block: int, start: int, stop: int, deltas: dict[int, Delta]) -> Delta:
        """Merge the deltas of a block; a shard without one has not changed it."""


class BlockComponent(Component):
    """A component that can be trained on several machines."""

    entry: ClassVar[np.dtype[Any]]  # of the entries of a Delta
    block_merge: ClassVar[type[BlockMerge]]

    @property
    @abstractmethod
    def merge_params(self) -> dict[str, Any]:
        """The ranker's parameters that a merge needs, as JSON."""

    @abstractmethod
    def deltas(self, met: NDArray[np.bool_], spans: Sequence[Span]) -> Iterator[Delta]:
        """Yield the lists of the features in `met`, for each block that has any."""

    @classmethod
    @abstractmethod
    def stored_arrays(cls) -> dict[str, StoredArray]:
        """Return how each of its arrays in the model directory is assembled from the parts."""


def block_indptr(delta: Delta, n: int) -> NDArray[np.int64]:
    """Return the index pointers of all n lists of a block, of which a delta has some."""
    pointers = np.zeros(n + 1, np.int64)
    pointers[delta.features + 1] = delta.lengths
    return np.cumsum(pointers)
