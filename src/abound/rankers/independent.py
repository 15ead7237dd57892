"""The index whose features do not look at each other: exact shares of labels, cut at a threshold."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.kernels.index import IndexSettings
from abound.kernels.pool import EDGE_DTYPE, EdgePool
from abound.rankers.base import UNLIMITED, check_number, check_whole
from abound.rankers.held_out import held_out_score, split
from abound.rankers.index import IndexRanker
from abound.rankers.labels import Targets
from abound.rankers.rows import Part, Rows
from abound.rankers.source import RowSource
from abound.store import Model
from abound.store.directory import Source
from abound.store.model import MOST_COUNTED

# The thresholds of the paper's section 6.3.7.
P_IND_GRID = tuple(round(0.01 * i, 2) for i in range(1, 10)) + tuple(round(0.05 * i, 2) for i in range(2, 13))
HELD_OUT = 0.2


class IndependentRanker(IndexRanker):
    """Rank by the conditional shares P(label | feature), each feature counted on its own (IND).

    Parameters
    ----------
    p_ind : float or None
        Shares below this are dropped. None chooses it in `fit`, from a fixed list, as the one that ranks a held-out
        fifth of the rows best.
    d_max : int or None
        The heaviest edges of a feature that vote; None lets all of them.
    random_state : int, RandomState or None
        Draws the held-out rows.

    Attributes
    ----------
    p_ind_ : float
        The threshold in use.

    References
    ----------
    O. Madani, M. Connor, W. Greiner, "Learning when concepts abound", JMLR 10 (2009), section 4.2.

    Examples
    --------
    >>> from abound import Independent
    >>> Independent(p_ind=0.1).fit([[1, 0], [0, 1]], ["cat", "dog"]).predict([[0, 3]]).tolist()
    ['dog']
    """

    kind = "independent"

    def __init__(self, *, p_ind: float | None = None, d_max: int | None = None, random_state: Any = 0) -> None:
        self.p_ind = p_ind
        self.d_max = d_max
        self.random_state = random_state

    def _check_params(self) -> None:
        if self.p_ind is not None:
            check_number("p_ind", self.p_ind, 0.0, 1.0)
        if self.d_max is not None:
            check_whole("d_max", self.d_max, 1)

    def _settings(self) -> IndexSettings:
        return IndexSettings(
            w_min=0.0,
            d_max=UNLIMITED if self.d_max is None else self.d_max,
            margin=float("inf"),
            horizon=float("inf"),
            leak=True,
            rating=False,
            boolean=True,
            candidates=UNLIMITED,
        )

    def _reset(self) -> None:
        super()._reset()
        self.p_ind_ = P_IND_GRID[0] if self.p_ind is None else self.p_ind
        self._is_stale = False  # whether rows were counted since the index was made
        self._joint = sp.csr_array((0, 0), dtype=np.int64)  # rows with (feature, label)
        self._seen = np.zeros(0, np.int64)  # rows with feature

    def fit(self, X: Any, Y: Any) -> Self:
        """Count all rows; see `Ranker.fit`."""
        super().fit(X, Y)
        self._index()
        return self

    def partial_fit(self, X: Any, Y: Any, classes: Any = None, wrong: Any = None) -> Self:
        """Count more rows; see `Ranker.partial_fit`. The threshold stays."""
        super().partial_fit(X, Y, classes, wrong)
        self._index()
        return self

    def _learn(self, rows: Rows, targets: Targets) -> None:
        joint, seen = self._count(rows, targets)
        known = self._joint.tocoo()
        known = sp.coo_array((known.data, (known.row, known.col)), shape=joint.shape)
        self._joint = sp.csr_array(joint + known)
        seen[: len(self._seen)] += self._seen
        self._seen = seen
        self._is_stale = True

    def _count(self, rows: Rows, targets: Targets) -> tuple["sp.csr_array[Any]", NDArray[np.int64]]:
        active = (rows.data > 0).astype(np.int64)
        X = sp.csr_array((active, rows.indices, rows.indptr), shape=(rows.n_rows, self.n_features_in_))
        ones = np.ones(len(targets.ids), np.int64)
        Y = sp.csr_array((ones, targets.ids, targets.indptr), shape=(rows.n_rows, len(self.labels_)))
        shape = (self.n_features_in_, len(self.labels_))
        joint = sp.csr_array(X.T @ Y) if min(shape) else sp.csr_array(shape, dtype=np.int64)  # scipy wants both
        return joint, np.bincount(rows.indices, active, self.n_features_in_).astype(np.int64)

    def _learn_all(self, source: RowSource, names: Part | None = None) -> None:
        if names is not None:
            self._learn(*names)
        rows, targets = source.whole()
        self._learn(rows, targets)
        if self.p_ind is not None or rows.n_rows < 5 or not len(targets.ids):
            return
        kept, held = split(rows, targets, HELD_OUT, self.random_state)
        joint, seen = self._count(*kept)
        hits = []
        for p in P_IND_GRID:
            self._use(_pool_of(joint, seen, p))
            self._is_stale = False
            hits.append(held_out_score(self, held, "P@1", 1))
        self.p_ind_ = P_IND_GRID[int(np.argmax(hits))]

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:
        kept = wanted[: len(self._seen)]
        self._joint, self._seen = sp.csr_array(self._joint[kept]), self._seen[kept]
        self._index()

    def _index(self) -> None:
        self._use(_pool_of(self._joint, self._seen, self.p_ind_))
        self._is_stale = False

    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        if self._is_stale:  # who learns row by row, as a tagger does, need not have it made anew for each
            self._index()
        super()._rank(rows, out_labels, out_scores)

    def _scores(self, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        if self._is_stale:
            self._index()
        return super()._scores(rows, labels)

    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        if self._is_stale:
            self._index()
        return super()._explain(rows, label)

    def _state(self) -> dict[str, Source]:
        joint = self._joint.copy()
        joint.sort_indices()
        return {
            "joint_counts": joint.data,
            "joint_labels": joint.indices.astype(np.int32),
            "joint_indptr": joint.indptr.astype(np.int64),
            "feature_seen": self._seen,
            "p_ind": np.array([self.p_ind_], np.float64),
        }

    def _restore(self, model: Model) -> None:
        counts, self._seen = (np.array(model.take(key, np.int64, None)) for key in ("joint_counts", "feature_seen"))
        labels, indptr = (
            np.array(model.take("joint_labels", np.int32, None)),
            model.take("joint_indptr", np.int64, None),
        )
        (self.p_ind_,) = model.take("p_ind", np.float64, 1).tolist()
        check_number("p_ind", self.p_ind_, 0.0, 1.0)
        if len(self._seen) > self.n_features_in_ or np.any(self._seen < 0) or np.any(self._seen > MOST_COUNTED):
            raise DamagedModel("the features' counts do not fit the columns, or are beyond counting")
        shape = (len(self._seen), len(self.labels_))
        self._joint = sp.csr_array((counts, labels, np.array(indptr)), shape=shape)
        self._joint.check_format(full_check=True)
        if not self._joint.has_canonical_format:
            raise DamagedModel("the labels of a feature are not in order, or one occurs twice")
        if np.any(counts <= 0) or np.any(np.repeat(self._seen, np.diff(indptr)) < counts):
            raise DamagedModel("a feature was seen with a label more often than it was seen")
        self._index()


def _pool_of(joint: "sp.csr_array[Any]", seen: NDArray[np.int64], p_ind: float) -> EdgePool:
    """Index the shares of at least p_ind; a feature's total is its sightings, an edge's weight its count."""
    feature = np.repeat(np.arange(joint.shape[0]), np.diff(joint.indptr))
    kept = joint.data / np.maximum(seen[feature], 1) >= p_ind
    feature, label, count = feature[kept], joint.indices[kept], joint.data[kept]
    order = np.lexsort((label, -count, feature))
    edges = np.empty(len(order), EDGE_DTYPE)
    edges["label"], edges["weight"] = label[order], count[order]
    indptr = np.zeros(joint.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(feature, minlength=joint.shape[0]), out=indptr[1:])
    return EdgePool.from_arrays(indptr, edges, seen.astype(np.float64), seen)
