"""What a shard sends to the merge: the lists of the features that it has met, block by block, as flat bytes.

A feature that does not occur in a shard's rows cannot have changed and is not sent; the merge takes it as in the base.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.kernels.merge import merge_features
from abound.kernels.pairs import PairTables
from abound.kernels.pool import EDGE_DTYPE, EdgePool
from abound.kernels.prototypes import Prototypes
from abound.rankers.cascade import N_COMMON
from abound.rankers.shards import Pruning, merge_pairs, without_light
from abound.spark.layout import Layout

INDEX, PAIRS, TABLES = "index", "pairs", "tables"  # the last are the pairs of candidates
PAIR_DTYPE = np.dtype([("label", "<i4"), ("weight", "<f4"), ("slope", "<f4")])
AS_IT_IS = {"w_min": 0.0, "horizon": float("inf"), "leak": True}  # one shard alone has pruned by itself


class Shape(NamedTuple):
    """What a merge must know of a model beside its arrays."""

    kinds: tuple[str, ...]  # what it keeps of features: an index, pairs, or several
    n_labels: int
    n_shards: int
    pruning: Pruning
    alone: bool  # one shard learns as if there were none; it has sent every feature, and nothing is merged


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


def index_deltas(pool: EdgePool, met: NDArray[np.bool_], layout: Layout) -> Iterator[Delta]:
    """Yield the lists of an index for the features that were met."""
    indptr, totals, seen = pool.headers()
    for block in range(layout.n_blocks):
        start, stop = layout.span(block)
        stop = min(stop, pool.n_features)
        chosen = np.flatnonzero(met[start:stop])
        if len(chosen):
            lengths = np.diff(indptr[start : stop + 1])
            entries = pool.edges(start, stop)
            if len(chosen) < stop - start:
                entries = entries[np.repeat(met[start:stop], lengths)]
            at = chosen + start
            yield Delta(block, chosen.astype(np.int32), lengths[chosen].astype(np.int32), totals[at], seen[at], entries)


def pair_deltas(pairs: Prototypes | PairTables, met: NDArray[np.bool_], layout: Layout) -> Iterator[Delta]:
    """Yield the pairs for the features that were met, and for what all rows have."""
    met = np.concatenate([np.ones(N_COMMON, bool), met])
    indptr, labels, weights, slopes = pairs.arrays()
    none, nobody = np.zeros(0), np.zeros(0, np.int64)
    for block in range(layout.n_blocks):
        start, stop = layout.span(block)
        stop = min(stop, len(indptr) - 1)
        chosen = np.flatnonzero(met[start:stop])
        if len(chosen):
            lengths = np.diff(indptr[start : stop + 1])
            span = slice(indptr[start], indptr[stop])
            entries = np.empty(indptr[stop] - indptr[start], PAIR_DTYPE)
            entries["label"], entries["weight"], entries["slope"] = labels[span], weights[span], slopes[span]
            entries = entries[np.repeat(met[start:stop], lengths)]
            yield Delta(block, chosen.astype(np.int32), lengths[chosen].astype(np.int32), none, nobody, entries)


class IndexMerge:
    """Merge the deltas of an index, a block at a time.

    Parameters
    ----------
    base : mapping from name to array
        The model that all shards began with; only what it says of the block at hand is read.
    shape : Shape
    """

    entry = EDGE_DTYPE

    def __init__(self, base: Mapping[str, NDArray[Any]], shape: "Shape") -> None:
        self.shape = shape
        self.places = 2 if shape.pruning.rated else 1
        self.how = {**shape.pruning._asdict(), **(AS_IT_IS if shape.alone else {})}
        self.indptr, self.edges = base["edge_indptr"], base["edges"].view(EDGE_DTYPE)
        self.totals = base["feature_totals"]
        self.seen = base["feature_ratings" if shape.pruning.rated else "feature_seen"].view(np.int64)

    @property
    def width(self) -> int:
        """Features of the base."""
        return len(self.totals)

    def base(self, start: int, stop: int) -> EdgePool | None:
        """Return what the base says of features start .. stop-1."""
        stop = min(stop, self.width)
        if self.shape.alone or start >= stop:
            return None
        indptr = (self.indptr[start : stop + 1] - self.indptr[start]) * self.places
        edges = self.edges[self.indptr[start] * self.places : self.indptr[stop] * self.places]
        return EdgePool.from_arrays(indptr, edges, self.totals[start:stop], self.seen[start:stop])

    def merge(self, block: int, start: int, stop: int, deltas: dict[int, Delta]) -> Delta:
        """Merge what shards say of a block; shards that say nothing have left it as it was."""
        n = stop - start
        present = np.zeros((self.shape.n_shards, n), np.uint8)
        pools = [EdgePool()] * self.shape.n_shards
        for shard, delta in deltas.items():
            present[shard, delta.features] = 1
            lengths, totals, seen = np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.int64)
            lengths[delta.features], totals[delta.features], seen[delta.features] = delta[2:5]
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            pools[shard] = EdgePool.from_arrays(indptr, delta.entries, totals, seen)
        merged = merge_features(self.base(start, stop), pools, 0, n, self.shape.n_labels, present=present, **self.how)
        lengths, totals, seen, edges = merged
        return Delta(block, np.arange(n, dtype=np.int32), lengths.astype(np.int32), totals, seen, edges)


class PairMerge:
    """Merge the deltas of the pairs of few labels, a block at a time; see `IndexMerge`."""

    entry = PAIR_DTYPE
    prefix = "pair"
    may_be_dense = True

    def __init__(self, base: Mapping[str, NDArray[Any]], shape: "Shape") -> None:
        self.shape = shape
        columns = (base[f"{self.prefix}_{name}"] for name in ("indptr", "labels", "weights", "slopes"))
        self.indptr, *self.columns = columns

    @property
    def width(self) -> int:
        """Features of the base."""
        return len(self.indptr) - 1

    def _store(self, indptr: NDArray[np.int64], columns: Any) -> Prototypes:
        labels, weights, slopes = (np.ascontiguousarray(column) for column in columns)
        how = {"may_be_dense": self.may_be_dense}
        return Prototypes.from_arrays(indptr, labels, weights, self.shape.n_labels, slopes, **how)

    def merge(self, block: int, start: int, stop: int, deltas: dict[int, Delta]) -> Delta:
        """Merge what shards say of a block; a shard that says nothing has learnt nothing."""
        n, last = stop - start, min(stop, self.width)
        base = Prototypes(traced=True, may_be_dense=self.may_be_dense)
        if start < last and not self.shape.alone:
            span = slice(self.indptr[start], self.indptr[last])
            base = self._store(self.indptr[start : last + 1] - self.indptr[start], [c[span] for c in self.columns])
        stores = []
        for shard in sorted(deltas):
            delta, lengths = deltas[shard], np.zeros(n, np.int64)
            lengths[delta.features] = delta.lengths
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            stores.append(self._store(indptr, [delta.entries[name] for name in PAIR_DTYPE.names or ()]))
        merged = stores[0] if self.shape.alone and stores else merge_pairs(base, stores, self.shape.n_labels)
        indptr, *columns = self.kept(merged)
        found = np.zeros(n, np.int32)
        found[: len(indptr) - 1] = np.diff(indptr)
        entries = np.empty(len(columns[0]), PAIR_DTYPE)
        for name, column in zip(PAIR_DTYPE.names or (), columns, strict=True):
            entries[name] = column
        return Delta(block, np.arange(n, dtype=np.int32), found, np.zeros(0), np.zeros(0, np.int64), entries)

    def kept(self, merged: Prototypes) -> tuple[NDArray[Any], ...]:
        """Return what is left of a merged block, as arrays."""
        return tuple(merged.arrays())


class TableMerge(PairMerge):
    """Merge the deltas of the pairs of candidates, and drop those that weigh next to nothing."""

    prefix = "table"
    may_be_dense = False

    def kept(self, merged: Prototypes) -> tuple[NDArray[Any], ...]:
        """Return what is left of a merged block; one shard alone has tidied by itself."""
        return super().kept(merged) if self.shape.alone else without_light(*merged.arrays())
