"""What the two stores of (feature, label) pairs share: four arrays, a bias feature, and their merge."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from abound.components.blocks import BlockComponent, BlockMerge, Delta, Span, StoredArray, block_indptr
from abound.components.prototypes import renumber_pairs
from abound.errors import DamagedModel
from abound.kernels.merge import merge_prototypes
from abound.kernels.pairs import PRUNING_THRESHOLD
from abound.kernels.prototypes import Prototypes, check_prototypes
from abound.store import Model
from abound.store.directory import Source

PairArrays: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]
PAIR_DTYPE = np.dtype([("label", "<i4"), ("weight", "<f4"), ("slope", "<f4")])


def as_entries(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return labels, weights and sums of squared gradients as one structured array."""
    entries = np.empty(len(columns[0]), PAIR_DTYPE)
    for name, column in zip(PAIR_DTYPE.names or (), columns, strict=True):
        entries[name] = column
    return entries


def drop_small(indptr: NDArray[np.int64], *columns: NDArray[Any]) -> Any:
    """Drop pairs with a negligible weight; weights are the second column."""
    kept = np.abs(columns[1].astype(np.float64)) >= PRUNING_THRESHOLD
    offsets = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return offsets[indptr], *(column[kept] for column in columns)


class PairMerge(BlockMerge):
    """Merge the deltas of pairs, one block at a time."""

    def open(self, base: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays of the base."""
        self.indptr, *self.columns = (base[name] for name in self.component.array_names())
        self.width = len(self.indptr) - 1

    def merge(self, block: int, start: int, stop: int, deltas: dict[int, Delta]) -> Delta:
        """Merge the deltas of a block; a shard without one has learned nothing about it."""
        n, last, n_labels = stop - start, min(stop, self.width), self.form.n_labels
        base = Prototypes(has_aux=True, may_be_dense=self.component.may_be_dense)
        if start < last and not self.form.alone:
            span, pointers = slice(self.indptr[start], self.indptr[last]), self.indptr[start : last + 1]
            arrays = (pointers - self.indptr[start], *(column[span] for column in self.columns))
            base = self.component.as_prototypes(arrays, n_labels)
        stores = []
        for shard in sorted(deltas):
            delta = deltas[shard]
            lists = (block_indptr(delta, n), *(delta.entries[name] for name in PAIR_DTYPE.names or ()))
            stores.append(self.component.as_prototypes(lists, n_labels))
        if self.form.alone and stores:  # a single shard has already pruned
            indptr, *columns = stores[0].arrays()
        else:
            indptr, *columns = self.component.pruned(merge_prototypes(base, stores, n_labels))
        lengths = np.zeros(n, np.int32)
        lengths[: len(indptr) - 1] = np.diff(indptr)
        entries = as_entries(columns)
        return Delta(block, np.arange(n, dtype=np.int32), lengths, np.zeros(0), np.zeros(0, np.int64), entries)


class PairStore(BlockComponent):
    """Pairs with one weight each. Feature 0 is the bias, so that frequent labels need no particular word."""

    offset = 1
    entry = PAIR_DTYPE
    block_merge = PairMerge
    prefix: ClassVar[str]  # of the names of its arrays
    may_be_dense: ClassVar[bool]

    @abstractmethod
    def arrays(self) -> PairArrays:
        """Return indptr, labels, weights and sums of squared gradients."""

    @abstractmethod
    def use(self, arrays: PairArrays, n_labels: int) -> None:
        """Replace the state by the pairs of some arrays."""

    @classmethod
    def as_prototypes(cls, arrays: PairArrays, n_labels: int) -> Prototypes:
        """Return pairs as the store that can be merged."""
        indptr, *columns = arrays
        labels, weights, grad_sq = (np.ascontiguousarray(column) for column in columns)  # fields are strided
        return Prototypes.from_arrays(indptr, labels, weights, n_labels, grad_sq, may_be_dense=cls.may_be_dense)

    @classmethod
    def pruned(cls, arrays: PairArrays) -> PairArrays:
        """Return the pairs that remain after a merge."""
        return arrays

    def merge(self, parts: Sequence[Self], n_labels: int, *, base: bool = True, n_jobs: int = 1) -> None:  # noqa: ARG002
        """Replace the state by the merge of `parts`; see `Component.merge`."""
        stores = [self.as_prototypes(part.arrays(), n_labels) for part in parts]
        start = Prototypes(has_aux=True, may_be_dense=self.may_be_dense)
        if base:
            start = self.as_prototypes(self.arrays(), n_labels)
        merged = merge_prototypes(start, stores, n_labels)
        several = base or sum(part.n_pairs > 0 for part in parts) > 1  # a single model stays unchanged
        self.use(self.pruned(merged) if several else merged, n_labels)

    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:
        """Return the same state with other numbers; see `Component.renumbered`."""
        other = self.fork(share=True)
        indptr, ids, weights, grad_sq = renumber_pairs(self.arrays(), self.offset, features, labels)
        other.use((indptr, ids, weights, grad_sq), n_labels)
        return other

    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature of the rows takes."""
        return np.asarray(np.diff(self.arrays()[0])[self.offset :] * PAIR_DTYPE.itemsize, np.int64)

    # -- merging blocks ----------------------------------------------------------------------------

    @property
    def merge_params(self) -> dict[str, Any]:
        """The ranker's parameters that a merge needs: none."""
        return {}

    def deltas(self, met: NDArray[np.bool_], spans: Sequence[Span]) -> Iterator[Delta]:
        """Yield the pairs of the features in `met`, and of the bias."""
        met = np.concatenate([np.ones(self.offset, bool), met])
        indptr, *columns = self.arrays()
        no_totals, no_counts = np.zeros(0), np.zeros(0, np.int64)
        for block, (start, last) in enumerate(spans):
            stop = min(last, len(indptr) - 1)
            chosen = np.flatnonzero(met[start:stop])
            if len(chosen):
                lengths = np.diff(indptr[start : stop + 1])
                entries = as_entries([column[indptr[start] : indptr[stop]] for column in columns])
                entries = entries[np.repeat(met[start:stop], lengths)]
                counts = lengths[chosen].astype(np.int32)
                yield Delta(block, chosen.astype(np.int32), counts, no_totals, no_counts, entries)

    @classmethod
    def stored_arrays(cls) -> dict[str, StoredArray]:
        """Return how each of its arrays in the model directory is assembled from the parts."""
        arrays = {f"{cls.prefix}_indptr": StoredArray("lengths", np.dtype("<i4"), np.dtype("<i8"))}
        for name in PAIR_DTYPE.names or ():
            arrays[f"{cls.prefix}_{name}s"] = StoredArray("entries", PAIR_DTYPE, PAIR_DTYPE[name], name)
        return arrays

    # -- the model directory -----------------------------------------------------------------------

    @classmethod
    def array_names(cls) -> tuple[str, ...]:
        """Return the names of its arrays."""
        return tuple(f"{cls.prefix}_{name}" for name in ("indptr", "labels", "weights", "slopes"))

    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form."""
        return dict(zip(self.array_names(), self.arrays(), strict=True))

    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""
        indptr, labels, weights, grad_sq = (model.arrays[name] for name in self.array_names())
        wrong = check_prototypes(indptr, labels, weights, n_labels, grad_sq)
        if wrong:
            raise DamagedModel(f"the pairs are damaged: {wrong}")
        self.use((indptr, labels, weights, grad_sq), n_labels)
