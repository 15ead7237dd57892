"""The index of independent features: exact shares of labels, cut at a threshold."""

from typing import Any, Self

from abound.components.counts import JointCounts
from abound.components.rows import join
from abound.components.votes import limits
from abound.components.weighting import repeated
from abound.kernels.batch import Batch
from abound.kernels.index import IndexSettings
from abound.rankers.base import Ranker
from abound.rankers.held_out import held_out_score, split
from abound.rankers.validation import UNLIMITED, check_number, check_whole
from abound.training.source import RowSource

# The thresholds of the paper's section 6.3.7.
P_IND_GRID = tuple(round(0.01 * i, 2) for i in range(1, 10)) + tuple(round(0.05 * i, 2) for i in range(2, 13))
HELD_OUT = 0.2


class IndependentRanker(Ranker):
    """Rank by the conditional shares P(label | feature), counted independently per feature (IND).

    Parameters
    ----------
    p_ind : float or None
        Shares below this are dropped. With None, `fit` chooses from a fixed list the value that ranks a held-out fifth
        of the rows best.
    d_max : int or None
        The number of heaviest edges per feature that vote; None lets all of them vote.
    random_state : int, RandomState or None
        The seed for the choice of the held-out rows.

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

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        if self.p_ind is not None:
            check_number("p_ind", self.p_ind, 0.0, 1.0)
        if self.d_max is not None:
            check_whole("d_max", self.d_max, 1)

    def build(self) -> list[JointCounts]:
        """Return its component."""
        counts = JointCounts()
        counts.p_ind = P_IND_GRID[0] if self.p_ind is None else self.p_ind
        return [counts]

    @property
    def _counts(self) -> JointCounts:
        counts = self.component(JointCounts)
        assert counts is not None
        return counts

    def configure(self) -> None:
        """Set the component by the current parameters."""
        self._counts.n_columns = 2 * self.n_features_in_ if self.has_signs_ else self.n_features_in_
        how = {**limits(self.d_max, float("inf")), "margin": float("inf"), "max_rank": UNLIMITED}
        self._counts.settings = IndexSettings(w_min=0.0, leak=True, rating=False, boolean=True, **how)

    @property
    def p_ind_(self) -> float:
        """The threshold in use."""
        return self._counts.p_ind

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count all rows; see `Ranker.fit`. Weights must be whole numbers."""
        super().fit(X, y, sample_weight)
        self._counts.make_index()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, wrong: Any = None, sample_weight: Any = None) -> Self:
        """Count more rows; see `Ranker.partial_fit`. The threshold does not change."""
        super().partial_fit(X, y, classes, wrong, sample_weight)
        self._counts.make_index()
        return self

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Count all rows, and choose the threshold."""
        if names is not None:
            self.learn(names)
        batch = source.whole()
        self.learn(batch)
        if self.p_ind is not None or batch.n_rows < 5 or not len(batch.targets.ids):
            return
        kept, held = split(batch, HELD_OUT, self.random_state)
        joint, seen = self._counts.count(join(list(repeated(kept))), len(self.labels_))
        hits = []
        for p in P_IND_GRID:
            self._counts.use_shares(joint, seen, p)
            hits.append(held_out_score(self, held, "P@1", 1))
        self._counts.use_shares(self._counts.joint, self._counts.seen, P_IND_GRID[hits.index(max(hits))])
