"""The feature-focus index: each feature votes for the few labels that it was seen with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from abound.components.votes import (
    LONGEST_HORIZON,
    SHARD_HORIZON,
    LearningParams,
    PlainVotes,
    RatedVotes,
    VoteIndex,
    limits,
)
from abound.kernels.batch import Batch
from abound.kernels.index import IndexSettings
from abound.kernels.rated import RatedSettings
from abound.rankers.base import Ranker
from abound.rankers.validation import LARGEST_VALUE, UNLIMITED, check_number, check_whole
from abound.store import Model
from abound.training.schedule import Plan

RATINGS = ("seen", "none", "learned")


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureFocusRanker(Ranker):
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
    shard_params: ClassVar[Mapping[str, Any]] = {"horizon": SHARD_HORIZON}

    margin: float | None = 0.5
    w_min: float = 0.01
    d_max: int | None = 25
    passes: int = 1
    rating: Literal["seen", "none", "learned"] = "seen"
    leak: bool = True
    boolean: bool = False
    candidates: int | None = None
    horizon: float | None = None
    n_jobs: int = 1
    shards: int | None = None

    def check_params(self) -> None:
        """Raise on a parameter that cannot be used."""
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

    def build(self) -> list[PlainVotes | RatedVotes]:
        """Return its index; the form of the edges stays when the parameter is set anew after learning."""
        return [RatedVotes() if self.rating == "learned" else PlainVotes()]

    @property
    def _votes(self) -> VoteIndex:
        votes = self.component(RatedVotes) or self.component(PlainVotes)
        assert votes is not None
        return votes

    def configure(self) -> None:
        """Give the index what the parameters say now."""
        shared = {"w_min": self.w_min, "leak": self.leak, "boolean": self.boolean, **limits(self.d_max, self.horizon)}
        if self._votes.rated:
            self._votes.settings = RatedSettings(step=0.0, learning=LearningParams(), **shared)
        else:
            margin = float("inf") if self.margin is None else self.margin
            max_rank = UNLIMITED if self.candidates is None else self.candidates
            rating = self.rating == "seen"
            self._votes.settings = IndexSettings(margin=margin, max_rank=max_rank, rating=rating, **shared)

    def plan(self, n_rows: int) -> Plan:
        """Return how `fit` goes through the rows."""
        return super().plan(n_rows)._replace(passes=self.passes)

    def check_rating(self) -> None:
        """Raise if the parameter was set to another form of edges than was learnt."""
        rated = self._votes.rated
        if rated != (self.rating == "learned"):
            learnt = "'learned'" if rated else "another"
            raise ValueError(f"rating is {self.rating!r}, but what was learnt has {learnt} rating; fit from scratch")

    def learn(self, batch: Batch) -> None:
        """Learn rows in order, as one online pass."""
        self.check_rating()
        super().learn(batch)

    def take_form_of(self, rankers: Sequence[Self]) -> None:
        """Check that all rankers have the form of edges that their parameters say."""
        for ranker in rankers:
            ranker.check_rating()

    def restore(self, model: Model) -> None:
        """Take up the index of a model directory, after checking it."""
        self.set_components([RatedVotes() if RatedVotes.feature_stat[0] in model.arrays else PlainVotes()])
        self.check_rating()
        super().restore(model)
        self._votes.cut_to(self.d_max, model.content["params"].get("d_max"))
