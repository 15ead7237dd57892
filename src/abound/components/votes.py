"""Votes: an index of each feature's heaviest labels, weighted by counts and optionally by learned ratings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abound.components.base import FIRST_BATCH, BatchPosition, Reasons, Scratch
from abound.components.blocks import BlockComponent, BlockMerge, Delta, Span, StoredArray, block_indptr
from abound.components.rows import Rows
from abound.components.second_stage import SecondStage
from abound.components.threads import bounds, in_threads
from abound.errors import DamagedModel
from abound.kernels.batch import Batch
from abound.kernels.index import (
    SIGHTINGS_FOR_FULL_VOTE,
    IndexSettings,
    index_explain,
    index_learn,
    index_rank,
    index_scores,
)
from abound.kernels.merge import Pruning, merge_features, renumber
from abound.kernels.pool import EDGE_DTYPE, EdgePool, check_arrays
from abound.kernels.rated import (
    RATED_DTYPE,
    RATING_DTYPE,
    SECOND_STAGE_WEIGHT,
    RatedSettings,
    check_rated,
    rated_explain,
    rated_learn,
    rated_lift,
    rated_rank,
    rated_scores,
)
from abound.kernels.votes import Votes
from abound.store import Blocks, Model
from abound.store.directory import Source

# Above this total, single precision begins to lose small increments of an edge's weight.
LONGEST_HORIZON = 65536.0
# A shard does not halve weights, or its delta would be unknown; the merge does. This limit only keeps sums finite.
SHARD_HORIZON = 2.0**60
FEATURES_PER_BLOCK = 1 << 17  # copied or saved in one step
RANGES_PER_JOB = 16  # ranges of features per thread in a merge; the first ranges have most of the edges


def limits(d_max: int | None, horizon: float | None) -> dict[str, Any]:
    """Return how many edges of a feature vote, and the total at which its weights are halved; None is the maximum."""
    unlimited = np.iinfo(np.int64).max
    return {"d_max": unlimited if d_max is None else d_max, "horizon": LONGEST_HORIZON if horizon is None else horizon}


class LearningParams(NamedTuple):
    """Parameters for learning ratings and corrections; nearby values do as well.

    A stream, which learns each row once, would prefer a kappa of 80, and two passes one of 50.
    """

    kappa: float = 65.0
    shrink: float = 8.0
    rate: float = 0.3
    rate_start: float = 0.1
    step_start: float = 0.01


class VoteMerge(BlockMerge):
    """Merge the deltas of an index, one block at a time."""

    def open(self, base: Mapping[str, NDArray[Any]]) -> None:
        """Take the arrays of the base."""
        rated = self.component.rated
        self.pruning = Pruning(rated=rated) if self.form.alone else Pruning(rated=rated, **self.form.params)
        self.indptr, self.edges = base["edge_indptr"], base["edges"].view(EDGE_DTYPE)
        self.totals, self.seen = base["feature_totals"], base[self.component.feature_stat[0]].view(np.int64)
        self.width = len(self.totals)

    def base(self, start: int, stop: int) -> EdgePool | None:
        """Return features start .. stop-1 of the base."""
        stop = min(stop, self.width)
        if self.form.alone or start >= stop:
            return None
        slots = self.component.slots_per_edge
        indptr = (self.indptr[start : stop + 1] - self.indptr[start]) * slots
        edges = self.edges[self.indptr[start] * slots : self.indptr[stop] * slots]
        return EdgePool.from_arrays(indptr, edges, self.totals[start:stop], self.seen[start:stop])

    def merge(self, block: int, start: int, stop: int, deltas: dict[int, Delta]) -> Delta:
        """Merge the deltas of a block; a shard without one has not changed it."""
        n = stop - start
        present = np.zeros((self.form.n_shards, n), np.uint8)
        pools = [EdgePool()] * self.form.n_shards
        for shard, delta in deltas.items():
            present[shard, delta.features] = 1
            totals, seen = np.zeros(n), np.zeros(n, np.int64)
            totals[delta.features], seen[delta.features] = delta.totals, delta.seen
            pools[shard] = EdgePool.from_arrays(block_indptr(delta, n), delta.entries, totals, seen)
        merged = merge_features(self.base(start, stop), pools, 0, n, self.form.n_labels, self.pruning, present)
        lengths, totals, seen, edges = merged
        return Delta(block, np.arange(n, dtype=np.int32), lengths.astype(np.int32), totals, seen, edges)


class VoteIndex(BlockComponent):
    """What both indexes share: a pool of edges."""

    store: EdgePool
    settings: Any  # set by the ranker
    settings_key: Any = None  # the parameters that `settings` was made from, if the ranker keeps them
    rated: ClassVar[bool]
    slots_per_edge: ClassVar[int]  # slots of the pool per edge
    edge: ClassVar[np.dtype[Any]]
    feature_stat: ClassVar[tuple[str, np.dtype[Any]]]  # name and type of the array of values per feature
    rank_kernel: ClassVar[Callable[..., None]]
    scores_kernel: ClassVar[Callable[..., None]]
    entry = EDGE_DTYPE
    block_merge = VoteMerge

    def __init__(self) -> None:
        self.store = EdgePool()
        self.scratch = Scratch(Votes)

    # -- what it holds -----------------------------------------------------------------------------

    @property
    def n_edges(self) -> int:
        """The number of feature-to-label edges."""
        return self.store.n_edges // self.slots_per_edge

    def compact(self) -> None:
        """Release unused memory; ranking and learning do not change."""
        self.store = self.store.compacted()

    def cut_to(self, d_max: int | None, stored: int | None) -> None:
        """Drop the edges beyond a `d_max` that is smaller than the stored one."""
        if d_max is not None and (stored is None or d_max < stored):
            self.store = self.store.compacted(
                d_max * self.slots_per_edge
            )  # a copy: the file is unmapped, and the rest is never read

    def feature_bytes(self) -> NDArray[np.int64]:
        """Return the bytes that each feature takes."""
        return np.asarray(np.diff(self.store.headers()[0]) * EDGE_DTYPE.itemsize, np.int64)

    def keep(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features except the wanted ones, which are renumbered in their order."""
        indptr, totals, seen = self.store.headers()
        wanted, lengths = wanted[: len(totals)], np.diff(indptr)
        edges, at = np.empty(int(lengths[wanted].sum()), EDGE_DTYPE), 0
        for part in self._blocks(len(wanted)):  # in parts: a second full copy might not fit into memory
            kept = self.store.edges(part.start, part.stop)
            kept = kept[np.repeat(wanted[part], lengths[part])]
            edges[at : at + len(kept)] = kept
            at += len(kept)
        kept_indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        self.store = EdgePool.from_arrays(kept_indptr, edges, totals[wanted], seen[wanted])

    @staticmethod
    def _blocks(n_features: int) -> Iterator[slice]:
        for start in range(0, n_features, FEATURES_PER_BLOCK):
            yield slice(start, min(start + FEATURES_PER_BLOCK, n_features))

    def _edges(self, start: int, stop: int) -> NDArray[Any]:
        return self.store.edges(start, stop).view(self.edge)

    def count_edges(self, labels: NDArray[np.int32], start: int, stop: int) -> int | None:
        """Return the number of edges from features start .. stop-1 to some labels; None after the last feature."""
        if start >= self.store.n_features:
            return None
        edges = self._edges(start, min(stop, self.store.n_features))
        return int(np.isin(edges["label"], labels).sum())

    def weights(
        self, start: int, stop: int, d_max: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return list lengths of features start .. stop-1, labels, and the vote per unit of a feature."""
        limit = np.iinfo(np.int32).max if d_max is None else d_max * self.slots_per_edge
        indptr, totals, seen = self.store.headers(limit)
        lengths = np.diff(indptr[start : stop + 1]) // self.slots_per_edge
        edges = self.store.edges(start, stop, limit).view(self.edge)
        with np.errstate(divide="ignore"):  # a feature without a total has no edges
            scale = self._scale(totals[start:stop], seen[start:stop])
        return lengths, edges["label"], self._edge_votes(np.repeat(scale, lengths), edges)

    def _scale(self, totals: NDArray[np.float64], seen: NDArray[np.int64]) -> NDArray[np.float64]:
        raise NotImplementedError

    def _edge_votes(self, scale: NDArray[np.float64], edges: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(scale * edges["weight"])

    # -- ranking -----------------------------------------------------------------------------------

    @property
    def _second_stage(self) -> tuple[Any, ...]:
        return ()

    def rank(self, rows: Rows, n_labels: int, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        """Write the best labels of each row and their scores."""
        votes, out = self.scratch.take(), (labels, scores, *self._second_stage)
        self.rank_kernel(self.store, votes, self.settings, Batch(rows), n_labels, *out)
        self.scratch.give_back(votes)

    def scores(self, rows: Rows, n_labels: int, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some labels for each row, NaN for a label without a vote."""
        votes, out = self.scratch.take(), np.empty((rows.n_rows, len(labels)))
        self.scores_kernel(self.store, votes, self.settings, Batch(rows), n_labels, labels, out)
        self.scratch.give_back(votes)
        return out

    # -- shards and merging ------------------------------------------------------------------------

    def pruning(self) -> Pruning:
        """Return how the index is pruned after a merge."""
        s = self.settings
        return Pruning(rated=self.rated, w_min=s.w_min, horizon=s.horizon, leak=s.leak)

    def fork(self, *, share: bool = False) -> Self:
        """Return a copy that learns independently; see `Component.fork`."""
        forked = type(self)()
        forked.settings, forked.store = self.settings, self.store
        if not share:  # merging a single pool without a base copies its lists, while other threads continue
            no_pruning = Pruning(rated=False)
            forked.store = merge_pools(None, [self.store], 0, no_pruning) if self.store.n_features else EdgePool()
        return forked

    def merge(self, parts: Sequence[Self], n_labels: int, *, base: bool = True, n_jobs: int = 1) -> None:
        """Replace the state by the merge of `parts`; see `Component.merge`."""
        pools = [part.store for part in parts]
        self.store = merge_pools(self.store if base else None, pools, n_labels, self.pruning(), n_jobs)

    def renumbered(self, features: NDArray[np.int32] | None, labels: NDArray[np.int32], n_labels: int) -> Self:  # noqa: ARG002
        """Return the same state with other numbers; see `Component.renumbered`."""
        n = self.store.n_features
        features = np.arange(n, dtype=np.int32) if features is None else features
        if np.array_equal(features[:n], np.arange(n)) and np.array_equal(labels, np.arange(len(labels))):
            return self
        other = self.fork(share=True)
        other.store = renumber(self.store, features, labels, rated=self.rated)
        return other

    @property
    def merge_params(self) -> dict[str, Any]:
        """The ranker's parameters that a merge needs, as JSON."""
        return {"w_min": self.settings.w_min, "horizon": self.settings.horizon, "leak": bool(self.settings.leak)}

    def deltas(self, met: NDArray[np.bool_], spans: Sequence[Span]) -> Iterator[Delta]:
        """Yield the lists of the features in `met`, for each block that has any."""
        indptr, totals, seen = self.store.headers()
        for block, (start, last) in enumerate(spans):
            stop = min(last, self.store.n_features)
            chosen = np.flatnonzero(met[start:stop])
            if len(chosen):
                lengths = np.diff(indptr[start : stop + 1])
                entries = self.store.edges(start, stop)
                if len(chosen) < stop - start:
                    entries = entries[np.repeat(met[start:stop], lengths)]
                at, counts = chosen + start, lengths[chosen].astype(np.int32)
                yield Delta(block, chosen.astype(np.int32), counts, totals[at], seen[at], entries)

    # -- the model directory -----------------------------------------------------------------------

    @classmethod
    def stored_arrays(cls) -> dict[str, StoredArray]:
        """Return how each of its arrays in the model directory is assembled from the parts."""
        name, feature_stat = cls.feature_stat
        whole, real = np.dtype("<i8"), np.dtype("<f8")
        return {
            "edge_indptr": StoredArray("lengths", np.dtype("<i4"), whole, slots=cls.slots_per_edge),
            "edges": StoredArray("entries", cls.edge, cls.edge),
            "feature_totals": StoredArray("totals", real, real),
            name: StoredArray("seen", feature_stat, feature_stat),
        }

    def state(self) -> dict[str, Source]:
        """Return what was learned in canonical form."""
        n, (name, feature_stat) = self.store.n_features, self.feature_stat
        return {
            "edges": Blocks(
                self.edge, self.n_edges, lambda: (self._edges(block.start, block.stop) for block in self._blocks(n))
            ),
            "edge_indptr": Blocks(np.dtype(np.int64), n + 1, self._indptr_blocks),
            "feature_totals": Blocks(np.dtype(np.float64), n, lambda: (totals for _, totals, _ in self._headers())),
            name: Blocks(feature_stat, n, lambda: (seen.view(feature_stat) for _, _, seen in self._headers())),
        }

    def _headers(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]]:
        for block in self._blocks(self.store.n_features):
            yield self.store.headers(start=block.start, stop=block.stop)

    def _indptr_blocks(self) -> Iterator[NDArray[np.int64]]:
        before = np.zeros(1, np.int64)
        yield before
        for indptr, _, _ in self._headers():
            after = before[-1] + indptr[1:] // self.slots_per_edge
            yield after
            before = after

    def restore(self, model: Model, n_labels: int) -> None:
        """Restore the result of `state` after validating it."""
        names = ("edge_indptr", "edges", "feature_totals", self.feature_stat[0])
        indptr, edges, totals, seen = (model.arrays[name] for name in names)
        wrong = (check_rated if self.rated else check_arrays)(indptr, edges, totals, seen, n_labels)
        if wrong:
            raise DamagedModel(f"the index is damaged: {wrong}")
        self.store = EdgePool.from_arrays(
            indptr * self.slots_per_edge, edges.view(EDGE_DTYPE), totals, seen.view(np.int64)
        )


class PlainVotes(VoteIndex):
    """The index of the paper: a label's weight is how often a feature occurred with it."""

    kind = "votes"
    rated, slots_per_edge, edge, feature_stat = False, 1, EDGE_DTYPE, ("feature_seen", np.dtype("<i8"))
    rank_kernel, scores_kernel = staticmethod(index_rank), staticmethod(index_scores)
    settings: IndexSettings

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Learn rows in order, in place."""
        votes = self.scratch.take()
        index_learn(self.store, votes, self.settings, batch, n_labels, not position.again)
        self.scratch.give_back(votes)

    def explain(self, row: Rows, label: int) -> Reasons:
        """Return the votes for a label."""
        return Reasons(*index_explain(self.store, self.settings, row.indices, row.data, label))

    def _scale(self, totals: NDArray[np.float64], seen: NDArray[np.int64]) -> NDArray[np.float64]:
        return (np.minimum(1.0, seen / SIGHTINGS_FOR_FULL_VOTE) if self.settings.rating else 1.0) / totals


class RatedVotes(VoteIndex):
    """The index with a learned rating per feature and a correction per edge, and optionally a second stage."""

    kind = "rated_votes"
    rated, slots_per_edge, edge, feature_stat = True, 2, RATED_DTYPE, ("feature_ratings", RATING_DTYPE)
    rank_kernel, scores_kernel = staticmethod(rated_rank), staticmethod(rated_scores)
    settings: RatedSettings
    prunes = True  # whether second-stage pairs with a negligible weight are dropped during learning

    def __init__(self) -> None:
        super().__init__()
        self.second_stage: SecondStage | None = None

    @property
    def _second_stage(self) -> tuple[Any, ...]:
        return (None if self.second_stage is None else self.second_stage.store,)

    def fork(self, *, share: bool = False) -> Self:
        """Return a copy that learns independently and does not prune; see `Component.fork`."""
        forked = super().fork(share=share)
        forked.prunes = False
        return forked

    def learn(self, batch: Batch, n_labels: int, position: BatchPosition = FIRST_BATCH) -> None:
        """Learn rows in order, in place; the second stage learns from the candidates of each row."""
        votes, how = self.scratch.take(), (position.again, *self._second_stage, position.n_before, self.prunes)
        rated_learn(self.store, votes, self.settings, batch, n_labels, *how)
        self.scratch.give_back(votes)

    def lift(self, row: Rows, label: int) -> None:
        """Push a label up on every feature of a row that votes for it."""
        rated_lift(self.store, self.settings, row.indices, row.data, label)

    def explain(self, row: Rows, label: int) -> Reasons:
        """Return the votes for a label, including the second stage."""
        positions, votes, _ = rated_explain(self.store, self.settings, row.indices, row.data, label)
        if self.second_stage is None or not len(positions):  # a label without votes is not a candidate
            return Reasons(positions, votes)
        weights, prior = self.second_stage.weights(row, label)
        both = SECOND_STAGE_WEIGHT * weights
        both[positions] += votes
        positions = np.union1d(positions, np.flatnonzero(weights))
        return Reasons(positions, both[positions], SECOND_STAGE_WEIGHT * prior)

    def _scale(self, totals: NDArray[np.float64], seen: NDArray[np.int64]) -> NDArray[np.float64]:
        logs = seen.view(RATING_DTYPE)["log"].astype(np.float64)
        return np.asarray(self.settings.kappa * np.exp(logs) / (totals + self.settings.shrink))

    def _edge_votes(self, scale: NDArray[np.float64], edges: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(super()._edge_votes(scale, edges) + edges["correction"])


def merge_pools(
    base: EdgePool | None, shards: Sequence[EdgePool], n_labels: int, pruning: Pruning, n_jobs: int = 1
) -> EdgePool:
    """Return the merge of indexes that all began with `base`; see `kernels/merge.pyx`."""
    n_features = max((pool.n_features for pool in (*shards, *([] if base is None else [base]))), default=0)

    def merge_range(part: Span) -> Any:
        return merge_features(base, list(shards), *part, n_labels, pruning)

    parts = in_threads(merge_range, bounds(n_features, RANGES_PER_JOB * n_jobs), n_jobs)
    lengths, totals, seen = (np.concatenate([part[i] for part in parts]) for i in range(3))
    indptr = np.zeros(n_features + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    offsets = np.concatenate([[0], np.cumsum([len(part[3]) for part in parts])])
    edges = np.empty(offsets[-1], EDGE_DTYPE)

    def put(number: int) -> None:
        target = edges[offsets[number] : offsets[number + 1]]
        target.view(np.int64)[:] = parts[number][3].view(np.int64)  # integers are copied without the GIL

    in_threads(put, range(len(parts)), n_jobs)
    return EdgePool.from_arrays(indptr, edges, totals, seen)
