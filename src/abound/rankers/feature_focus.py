"""The feature-focus index: each feature votes for the few labels that it was seen with."""

from collections.abc import Iterable
from typing import Literal

from abound.kernels.index import IndexSettings, index_learn
from abound.kernels.rated import RatedSettings
from abound.rankers.base import LARGEST_VALUE, UNLIMITED, check_number, check_whole
from abound.rankers.index import LEARNING, LONGEST_HORIZON, IndexRanker
from abound.rankers.labels import Targets
from abound.rankers.rows import Part, Rows
from abound.rankers.source import RowSource
from abound.store import Model

RATINGS = ("seen", "none", "learned")


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
    rating : {"seen", "none", "learned"}
        "seen" lets a feature vote at full strength only from its tenth sighting on. "learned" learns one number for
        each feature, by which its votes are multiplied; every row is learnt then, whatever the margin.
    leak : bool
        Whether the weight of dropped edges stays in a feature's total, which damps words that fit everything.
    boolean : bool
        Take every positive value as 1.
    candidates : int or None
        A true label that is not among so many best ones is taken to score 0.
    horizon : float or None
        The total at which a feature's weights are halved, so that it can follow a drifting stream; None is the
        longest history that single precision can keep.
    n_jobs : int
        Threads that `fit` uses. What is learnt does not depend on it, unless `shards` is None.
    shards : int or None
        Ranges of the rows that `fit` learns apart, each from the same starting model, and merges after every pass;
        None takes as many as threads.

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
        rating: Literal["seen", "none", "learned"] = "seen",
        leak: bool = True,
        boolean: bool = False,
        candidates: int | None = None,
        horizon: float | None = None,
        n_jobs: int = 1,
        shards: int | None = None,
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
        self.n_jobs = n_jobs
        self.shards = shards

    def _check_params(self) -> None:
        if self.margin is not None:
            check_number("margin", self.margin, 0.0, LARGEST_VALUE)
        check_number("w_min", self.w_min, 0.0, 0.99)
        check_whole("passes", self.passes, 1)
        check_whole("n_jobs", self.n_jobs, 1)
        for name in ("d_max", "candidates", "shards"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.horizon is not None:
            check_number("horizon", self.horizon, 1.0, LONGEST_HORIZON)
        if self.rating not in RATINGS:
            raise ValueError(f"rating must be 'seen', 'none' or 'learned', got {self.rating!r}")

    def _is_rated(self) -> bool:
        return self._rated

    def _reset(self) -> None:
        self._rated = self.rating == "learned"  # the form of the edges; the parameter may be set anew after learning
        super()._reset()

    def _rated_settings(self) -> RatedSettings:
        return RatedSettings(
            w_min=self.w_min,
            d_max=UNLIMITED if self.d_max is None else self.d_max,
            horizon=LONGEST_HORIZON if self.horizon is None else self.horizon,
            leak=self.leak,
            boolean=self.boolean,
            step=0.0,
            n_candidates=0,
            **LEARNING,
        )

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

    def _check_rating(self) -> None:
        if self._rated != (self.rating == "learned"):
            learnt = "'learned'" if self._rated else "another"
            raise ValueError(f"rating is {self.rating!r}, but what was learnt has {learnt} rating; fit from scratch")

    def _learn(self, rows: Rows, targets: Targets, *, again: bool = False) -> None:
        self._check_rating()
        if self._is_rated():
            self._learn_rated(rows, targets, again=again)
            return
        votes = self._borrow_scratch()
        labels = (targets.indptr, targets.ids)
        index_learn(self._pool, votes, self._settings(), *rows, *labels, len(self.labels_), not again)
        self._scratch.append(votes)

    def _learn_parts(self, parts: Iterable[Part], n_rows: int, *, again: bool, last: bool) -> None:  # noqa: ARG002
        for rows, targets in parts:
            self._learn(rows, targets, again=again)

    def _learn_all(self, source: RowSource, names: Part | None = None) -> None:
        if names is not None:
            self._learn(*names)
        self._train(source)

    def _restore(self, model: Model) -> None:
        self._rated = "feature_ratings" in model.arrays
        self._check_rating()
        super()._restore(model)
        self._cut_to(self.d_max, model.content["params"].get("d_max"))
