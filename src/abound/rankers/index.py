"""What the rankers with an index share: an edge pool, ranked, explained, cut down and saved."""

from collections.abc import Iterable, Iterator
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.kernels.index import IndexSettings, index_explain, index_rank, index_scores
from abound.kernels.pairs import PairTables
from abound.kernels.pool import EDGE_DTYPE, EdgePool, check_arrays
from abound.kernels.rated import (
    RATED_DTYPE,
    RATING_DTYPE,
    RatedSettings,
    check_rated,
    rated_explain,
    rated_learn,
    rated_rank,
    rated_scores,
)
from abound.kernels.votes import Votes
from abound.rankers.base import Ranker
from abound.rankers.labels import Targets
from abound.rankers.rows import NOTHING, Lists, Part, Rows
from abound.rankers.shards import SHARD_HORIZON, Pruning, copy_pool, in_threads, merge_pools, rounds_of
from abound.rankers.source import RowSource, skip_shuffle
from abound.store import Blocks, Model
from abound.store.directory import Source

# Above this total, single precision would begin to lose small increments of an edge's weight.
LONGEST_HORIZON = 65536.0
SAVE_FEATURES = 1 << 17  # features in a block of edges while saving
# How ratings and corrections are learnt; settings nearby do as well. A stream, which learns a row once, would like a
# kappa of 80, two passes one of 50.
LEARNING = {"kappa": 65.0, "shrink": 8.0, "rate": 0.3, "rate_start": 0.1, "step_start": 0.01}


class IndexRanker(Ranker):
    """Rank by an index: of plain edges, or of rated ones, which take two of the pool's places each."""

    _tables: PairTables | None = None  # the pairs that candidates are weighed by
    _tidies = True  # whether pairs are dropped while they learn

    def _is_rated(self) -> bool:
        return False

    def _settings(self) -> IndexSettings:
        raise NotImplementedError

    def _rated_settings(self) -> RatedSettings:
        raise NotImplementedError

    def _pruning(self) -> Pruning:
        """Return how the index is cut down after a merge."""
        horizon = getattr(self, "horizon", None)
        horizon = LONGEST_HORIZON if horizon is None else horizon
        return Pruning(self._is_rated(), getattr(self, "w_min", 0.0), horizon, getattr(self, "leak", True))

    def _reset(self) -> None:
        self._use(EdgePool())

    def _use(self, pool: EdgePool) -> None:
        self._pool = pool
        self._scratch: list[Votes] = []  # vote tables that wait for the next call

    def _borrow_scratch(self) -> Votes:
        # One table serves one thread at a time; popping is atomic. A table that a failed call left half full is
        # simply not given back.
        return self._scratch.pop() if self._scratch else Votes()

    @property
    def _places(self) -> int:
        return 2 if self._is_rated() else 1

    # -- what it holds -----------------------------------------------------------------------------

    @property
    def n_edges_(self) -> int:
        """The number of feature-to-label edges."""
        return self._pool.n_edges // self._places

    @property
    def nbytes_(self) -> int:
        """Bytes of memory that the index holds."""
        return self._pool.nbytes

    def compact(self) -> None:
        """Give spare room back; what is ranked and learnt stays the same."""
        self._use(self._pool.compacted())

    def _n_stored(self) -> int:
        return self._pool.n_features

    def _feature_bytes(self) -> NDArray[np.int64]:
        return np.asarray(np.diff(self._pool.headers()[0]) * EDGE_DTYPE.itemsize, np.int64)

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:
        indptr, totals, seen = self._pool.headers()
        wanted, lengths = wanted[: len(totals)], np.diff(indptr)
        edges, at = np.empty(int(lengths[wanted].sum()), EDGE_DTYPE), 0
        for start in range(0, len(wanted), SAVE_FEATURES):  # in parts: a second whole copy might not fit
            part = slice(start, start + SAVE_FEATURES)
            kept = self._pool.edges(start, min(start + SAVE_FEATURES, len(wanted)))
            kept = kept[np.repeat(wanted[part], lengths[part])]
            edges[at : at + len(kept)] = kept
            at += len(kept)
        kept_indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        self._use(EdgePool.from_arrays(kept_indptr, edges, totals[wanted], seen[wanted]))

    # -- learning in shards ------------------------------------------------------------------------

    n_jobs: int
    shards: int | None

    @property
    def _n_shards(self) -> int:
        return self.n_jobs if self.shards is None else self.shards

    @property
    def in_shards(self) -> bool:
        """Whether `fit` learns ranges of the rows apart and merges them."""
        return self._n_shards > 1

    @property
    def _n_rounds(self) -> int:
        """How often shards are merged in a pass."""
        return 1

    def _n_passes(self, n_rows: int) -> int:  # noqa: ARG002 -- the cascade looks at it
        """Return how often `fit` goes through so many rows."""
        return int(getattr(self, "passes", 1))

    def _settle(self, n_rows: int) -> None:
        """Take the form in which so many rows are learnt from scratch; all their labels are known."""

    def _as_shard(self) -> Self:
        """Return a ranker that stands where this one does, and neither halves nor tidies anything."""
        shard = object.__new__(type(self))
        shard.__dict__.update(self.__dict__, horizon=SHARD_HORIZON, _tidies=False)
        shard._use(self._pool)
        return shard

    def _leave_base(self) -> None:
        """Hold a copy of what is shared with the ranker that this shard comes from."""
        self._use(copy_pool(self._pool))

    def _learn_parts(self, parts: Iterable[Part], n_rows: int, *, again: bool, last: bool) -> None:
        """Learn the rows of one shard in place, piece by piece, so many in all.

        `again` is a later pass, and `last` the last of several.
        """
        raise NotImplementedError

    def _shuffles(self) -> bool:
        """Tell whether later passes visit the rows in another order than the first."""
        return False

    def _begin_mean(self) -> None:
        """Begin the last of several passes, whose mean may be kept."""

    def _take_mean(self) -> None:
        """Keep the mean of the last pass, where there is one."""

    def _take(self, shards: list[Self]) -> None:
        """Become what shards merge to that all began here."""
        pools = [shard._pool for shard in shards]
        self._use(merge_pools(self._pool, pools, len(self.labels_), self._pruning(), self.n_jobs))

    def _train(self, source: RowSource) -> None:
        """Go through the rows in passes; shards learn apart, each from where we are, and are merged."""
        random = np.random.default_rng(getattr(self, "random_state", 0) or 0)
        self.passes_ = n_passes = self._n_passes(source.n_rows)
        rounds = rounds_of(source.n_rows, 1 if self._n_shards == 1 else self._n_rounds, self._n_shards)
        for number in range(n_passes):
            self._begin_pass()
            for spans in rounds:
                self._learn_round(source, spans, random, again=number > 0, last=0 < number == n_passes - 1)

    def _begin_pass(self) -> None:
        """Begin a pass over the rows."""

    def _learn_round(
        self, source: RowSource, spans: list[tuple[int, int]], random: np.random.Generator, *, again: bool, last: bool
    ) -> None:
        """Let each range of rows be learnt from where we are, and become what the shards merge to."""
        drawn = again and self._shuffles()
        streams = [_drawn(random, stop - start) if drawn else None for start, stop in spans]

        def learn_span(ranker: Self, number: int) -> None:
            (start, stop), stream = spans[number], streams[number]
            parts = source.parts(start, stop) if stream is None else source.shuffled(start, stop, stream)
            ranker._learn_parts(parts, stop - start, again=again, last=last)

        if self._n_shards == 1:
            learn_span(self, 0)
            return
        shards = [self._as_shard() for _ in spans]

        def learn_shard(number: int) -> None:
            shards[number]._leave_base()
            learn_span(shards[number], number)

        in_threads(learn_shard, range(len(spans)), self.n_jobs)
        self._take(shards)

    # -- the kernels -------------------------------------------------------------------------------

    def _learn_rated(
        self, rows: Rows, targets: Targets, wrong: Lists = NOTHING, *, again: bool = False, before: int = 0
    ) -> float:
        """Learn rows, before which so many others of the pass came."""
        votes = self._borrow_scratch()
        settings = self._rated_settings()
        lists = (*rows, targets.indptr, targets.ids, *wrong)
        how = (again, self._tables, before, self._tidies)
        loss = rated_learn(self._pool, votes, settings, *lists, len(self.labels_), *how)
        self._scratch.append(votes)
        return loss

    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        votes = self._borrow_scratch()
        if self._is_rated():
            settings, out = self._rated_settings(), (out_labels, out_scores)
            rated_rank(self._pool, votes, settings, *rows, len(self.labels_), *out, self._tables)
        else:
            index_rank(self._pool, votes, self._settings(), *rows, len(self.labels_), out_labels, out_scores)
        self._scratch.append(votes)

    def _scores(self, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        votes, out = self._borrow_scratch(), np.empty((rows.n_rows, len(labels)))
        if self._is_rated():
            rated_scores(self._pool, votes, self._rated_settings(), *rows, len(self.labels_), labels, out)
        else:
            index_scores(self._pool, votes, self._settings(), *rows, len(self.labels_), labels, out)
        self._scratch.append(votes)
        return out

    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        if self._is_rated():
            positions, votes, _ = rated_explain(self._pool, self._rated_settings(), rows.indices, rows.data, label)
        else:
            positions, votes = index_explain(self._pool, self._settings(), rows.indices, rows.data, label)
        return rows.indices[positions].astype(np.int64), votes, 0.0

    def count_edges(self, labels: NDArray[np.int32], start: int, stop: int) -> int | None:
        """Return how many edges features start .. stop-1 have to any of some labels; None after the last feature."""
        if start >= self._pool.n_features:
            return None
        edges = self._pool.edges(start, min(stop, self._pool.n_features))
        found = edges.view(RATED_DTYPE)["label"] if self._is_rated() else edges["label"]
        return int(np.isin(found, labels).sum())

    # -- saving ------------------------------------------------------------------------------------

    def _edge_blocks(self) -> Iterator[NDArray[Any]]:
        for start in range(0, self._pool.n_features, SAVE_FEATURES):
            edges = self._pool.edges(start, min(start + SAVE_FEATURES, self._pool.n_features))
            yield edges.view(RATED_DTYPE) if self._is_rated() else edges

    def _state(self) -> dict[str, Source]:
        indptr, totals, seen = self._pool.headers()
        dtype = RATED_DTYPE if self._is_rated() else EDGE_DTYPE
        edges = Blocks(dtype, self.n_edges_, self._edge_blocks)
        state: dict[str, Source] = {"edges": edges, "edge_indptr": indptr // self._places, "feature_totals": totals}
        if self._is_rated():
            return {**state, "feature_ratings": seen.view(RATING_DTYPE)}
        return {**state, "feature_seen": seen}

    def _restore(self, model: Model) -> None:
        rated = self._is_rated()
        names = ("edge_indptr", "edges", "feature_totals", "feature_ratings" if rated else "feature_seen")
        indptr, edges, totals, seen = (model.arrays[name] for name in names)
        wrong = (check_rated if rated else check_arrays)(indptr, edges, totals, seen, len(self.labels_))
        if wrong:
            raise DamagedModel(f"the index is damaged: {wrong}")
        if rated:
            indptr, edges, seen = indptr * 2, edges.view(EDGE_DTYPE), seen.view(np.int64)
        self._use(EdgePool.from_arrays(indptr, edges, totals, seen))

    def _cut_to(self, d_max: int | None, stored: int | None) -> None:
        """Drop what an index that was stored with a larger d_max never ranks by."""
        if d_max is not None and (stored is None or d_max < stored):
            self._use(self._pool.compacted(d_max * self._places))  # a copy: the map is let go, the rest never read

    def __getstate__(self) -> dict[str, Any]:
        return {**cast("dict[str, Any]", super().__getstate__()), "_scratch": []}


def _drawn(random: np.random.Generator, n_rows: int) -> np.random.Generator:
    """Return a generator that shuffles so many rows, and let the given one go on behind it."""
    stream = np.random.default_rng()
    stream.bit_generator.state = random.bit_generator.state
    skip_shuffle(n_rows, random)
    return stream
