"""What a component sends to a merge on other machines: the lists of features, block by block, as flat arrays.

A feature that does not occur in a shard's rows cannot have changed and is not sent; the merge takes it as in the base.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.components.base import Component

Span = tuple[int, int]  # the first feature of a block, and the one after its last


class Delta(NamedTuple):
    """The lists of some features of one block, as one shard has learnt them; or of all of them, merged."""

    block: int
    features: NDArray[np.int32]  # places in the block
    lengths: NDArray[np.int32]  # entries of each
    totals: NDArray[np.float64]  # pairs have none
    seen: NDArray[np.int64]  # sightings, or ratings
    entries: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self[1:])


class MergeForm(NamedTuple):
    """What a merge of blocks must know of a model beside its arrays."""

    n_labels: int
    n_shards: int
    params: Mapping[str, Any]  # of the component: its `merge_params`
    alone: bool  # one shard learns as if there were none; it has sent every feature, and nothing is merged


class StoredArray(NamedTuple):
    """How an array of the model directory comes from the parts of blocks."""

    file: str  # the field of a Delta that the parts hold
    stored: np.dtype[Any]
    dtype: np.dtype[Any]
    field: str | None = None  # of the stored entries
    slots: int = 1  # of a list that an entry takes


class BlockMerge:
    """Merge the deltas of a component, a block at a time.

    Parameters
    ----------
    component : class of BlockComponent
    base : mapping from name to array
        The model that all shards began with; only what it says of the block at hand is read.
    form : MergeForm
    """

    width: int  # features of the base

    def __init__(self, component: Any, base: Mapping[str, NDArray[Any]], form: MergeForm) -> None:
        self.component, self.form = component, form
        self.open(base)

    @abstractmethod
    def open(self, base: Mapping[str, NDArray[Any]]) -> None:
        """Note the arrays of the base."""

    @abstractmethod
    def merge(self, block: int, start: int, stop: int, deltas: dict[int, Delta]) -> Delta:
        """Merge what shards say of a block; a shard that says nothing has left it as it was."""


class BlockComponent(Component):
    """A component that can be trained on several machines."""

    entry: ClassVar[np.dtype[Any]]  # of the entries of a Delta
    block_merge: ClassVar[type[BlockMerge]]

    @property
    @abstractmethod
    def merge_params(self) -> dict[str, Any]:
        """What a merge must know of the ranker's parameters, as JSON."""

    @abstractmethod
    def deltas(self, met: NDArray[np.bool_], spans: Sequence[Span]) -> Iterator[Delta]:
        """Yield the lists of the features that were met, for each block that has any."""

    @classmethod
    @abstractmethod
    def stored_arrays(cls) -> dict[str, StoredArray]:
        """Return how each of its arrays in the model directory is made of the parts."""


def block_indptr(delta: Delta, n: int) -> NDArray[np.int64]:
    """Return the pointers of all lists of a block of n features, of which a delta has some."""
    pointers = np.zeros(n + 1, np.int64)
    pointers[delta.features + 1] = delta.lengths
    return np.cumsum(pointers)
