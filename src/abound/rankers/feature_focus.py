"""The feature-focus index: each feature votes for the few labels that it was seen with."""

from collections.abc import Iterator
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.kernels.index import IndexSettings, index_explain, index_learn, index_rank
from abound.kernels.pool import EDGE_DTYPE, EdgePool, check_arrays
from abound.kernels.votes import Votes
from abound.rankers.base import LARGEST_VALUE, Ranker, Rows, check_number
from abound.rankers.labels import Targets
from abound.store import Blocks, Model
from abound.store.directory import Source

UNLIMITED = np.iinfo(np.int64).max
# Above this total, single precision would begin to lose small increments of an edge's weight.
LONGEST_HORIZON = 65536.0
SAVE_FEATURES = 1 << 17  # features in a block of edges while saving


class IndexRanker(Ranker):
    """What the rankers with an index share: an edge pool, ranked and saved by the same kernels."""

    def _settings(self) -> IndexSettings:
        raise NotImplementedError

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
    def n_edges_(self) -> int:
        """The number of feature-to-label edges."""
        return self._pool.n_edges

    @property
    def nbytes_(self) -> int:
        """Bytes of memory that the index holds."""
        return self._pool.nbytes

    def compact(self) -> None:
        """Give spare room back; what is ranked and learnt stays the same."""
        self._use(self._pool.compacted())

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:
        """Forget all features but the wanted ones, which are numbered anew in their order."""
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

    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        votes = self._borrow_scratch()
        index_rank(self._pool, votes, self._settings(), *rows, len(self.labels_), out_labels, out_scores)
        self._scratch.append(votes)

    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        positions, votes = index_explain(self._pool, self._settings(), rows.indices, rows.data, label)
        return rows.indices[positions].astype(np.int64), votes, 0.0

    def _edge_blocks(self) -> Iterator[NDArray[Any]]:
        for start in range(0, self._pool.n_features, SAVE_FEATURES):
            yield self._pool.edges(start, min(start + SAVE_FEATURES, self._pool.n_features))

    def _state(self) -> dict[str, Source]:
        indptr, totals, seen = self._pool.headers()
        edges = Blocks(EDGE_DTYPE, self._pool.n_edges, self._edge_blocks)
        return {"edges": edges, "edge_indptr": indptr, "feature_totals": totals, "feature_seen": seen}

    def _restore(self, model: Model) -> None:
        names = ("edge_indptr", "edges", "feature_totals", "feature_seen")
        indptr, edges, totals, seen = (model.arrays[name] for name in names)
        wrong = check_arrays(indptr, edges, totals, seen, len(self.labels_))
        if wrong:
            raise DamagedModel(f"the index is damaged: {wrong}")
        self._use(EdgePool.from_arrays(indptr, edges, totals, seen))

    def __getstate__(self) -> dict[str, Any]:
        return {**cast("dict[str, Any]", super().__getstate__()), "_scratch": []}


class FeatureFocusRanker(IndexRanker):
    """Rank labels by the votes of features, learnt by the feature streaming update.

    Every feature keeps the few labels that it was seen with, weighted by how often; a row's labels are ranked by
    the sum of its features' votes. A row is learnt only where a true label does not win by `margin`.

    Parameters
    ----------
    margin : float or None
        A true label that beats every other by more than this is not learnt again; None learns always.
    w_min : float
        An edge whose share of its feature falls below this is dropped.
    d_max : int or None
        The heaviest edges of a feature that vote; None lets all of them.
    passes : int
        How often `fit` goes through the rows.
    rating : {"seen", "none"}
        "seen" lets a feature vote at full strength only from its tenth sighting on.
    leak : bool
        Whether the weight of dropped edges stays in a feature's total, which damps words that fit everything.
    boolean : bool
        Take every positive value as 1.
    candidates : int or None
        A true label that is not among so many best ones is taken to score 0.
    horizon : float or None
        The total at which a feature's weights are halved, so that it can follow a drifting stream; None is the
        longest history that single precision can keep.

    Attributes
    ----------
    n_edges_ : int
        Edges in the index.
    classes_ : ndarray
        The labels known so far, sorted.

    References
    ----------
    O. Madani, M. Connor, W. Greiner, "Learning when concepts abound", JMLR 10 (2009), sections 3.2 and 4.

    Examples
    --------
    >>> from abound import FeatureFocus
    >>> ranker = FeatureFocus().fit([[1, 0], [0, 1]], [["cat", "pet"], ["dog", "pet"]])
    >>> [label for label, score in ranker.rank([[0, 1]])[0]]
    ['pet', 'dog']
    """

    kind = "feature-focus"

    def __init__(
        self,
        *,
        margin: float | None = 0.5,
        w_min: float = 0.01,
        d_max: int | None = 25,
        passes: int = 1,
        rating: Literal["seen", "none"] = "seen",
        leak: bool = True,
        boolean: bool = False,
        candidates: int | None = None,
        horizon: float | None = None,
    ) -> None:
        self.margin = margin
        self.w_min = w_min
        self.d_max = d_max
        self.passes = passes
        self.rating = rating
        self.leak = leak
        self.boolean = boolean
        self.candidates = candidates
        self.horizon = horizon

    def _check_params(self) -> None:
        if self.margin is not None:
            check_number("margin", self.margin, 0.0, LARGEST_VALUE)
        check_number("w_min", self.w_min, 0.0, 0.99)
        check_number("passes", self.passes, 1)
        for name in ("d_max", "candidates"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 1)
        if self.horizon is not None:
            check_number("horizon", self.horizon, 1.0, LONGEST_HORIZON)
        if self.rating not in ("seen", "none"):
            raise ValueError(f"rating must be 'seen' or 'none', got {self.rating!r}")

    def _settings(self) -> IndexSettings:
        return IndexSettings(
            w_min=self.w_min,
            d_max=UNLIMITED if self.d_max is None else self.d_max,
            margin=float("inf") if self.margin is None else self.margin,
            horizon=LONGEST_HORIZON if self.horizon is None else self.horizon,
            leak=self.leak,
            rating=self.rating == "seen",
            boolean=self.boolean,
            candidates=UNLIMITED if self.candidates is None else self.candidates,
        )

    def _learn(self, rows: Rows, targets: Targets, *, count: bool = True) -> None:
        votes = self._borrow_scratch()
        index_learn(self._pool, votes, self._settings(), *rows, targets.indptr, targets.ids, len(self.labels_), count)
        self._scratch.append(votes)

    def _learn_all(self, rows: Rows, targets: Targets) -> None:
        self._learn(rows, targets)
        for _ in range(self.passes - 1):
            self._learn(rows, targets, count=False)

    def _restore(self, model: Model) -> None:
        super()._restore(model)
        stored = model.content["params"].get("d_max")
        if self.d_max is not None and (stored is None or self.d_max < stored):
            self._use(self._pool.compacted(self.d_max))  # a copy: the map is let go, the rest never read again
