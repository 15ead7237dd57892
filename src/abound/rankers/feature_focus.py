"""The feature-focus index: each feature votes for the few labels that it occurred with."""

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
from abound.rankers.weighting import check_class_weight
from abound.store import Model
from abound.training.schedule import Plan

RATINGS = ("seen", "none", "learned")


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureFocusRanker(Ranker):
    """Rank labels by the votes of features, learned by the feature streaming update.

    Every feature keeps the few labels that it occurred with, weighted by how often. A row's labels are ranked by the
    sum of its features' votes. A row is learned only for the true labels that do not win by `margin`.

    Parameters
    ----------
    margin : float or None
        A true label that beats every other by more than this is not learned again; None always learns.
    w_min : float
        An edge whose share of its feature falls below this is dropped.
    d_max : int or None
        The number of heaviest edges per feature that vote; None lets all of them vote.
    passes : int
        The number of passes of `fit` over the rows.
    rating : {"seen", "none", "learned"}
        "seen" lets a feature vote at full strength only from its tenth occurrence on. "learned" learns one factor per
        feature that scales its votes; then every row is learned, whatever the margin.
    leak : bool
        Whether the weight of dropped edges stays in a feature's total, which damps words that occur with every label.
        With False, the lightest edge is dropped first, and the next is compared with the lower total. The paper does
        not give this order.
    boolean : bool
        Whether every positive value counts as 1.
    candidates : int or None
        A true label that does not rank among this many best labels counts as scored 0.
    horizon : float or None
        The total at which a feature's weights are halved, so that the index follows a drifting stream; None is the
        longest history that single precision allows.
    n_jobs : int
        The number of threads of `fit`. The result does not depend on it, unless `shards` is None.
    shards : int or None
        The number of row ranges that `fit` learns independently, each from the same model, and merges after every
        pass; None is the number of threads.
    class_weight : None or "balanced"
        "balanced" weights the rows of `fit` so that every label counts the same; each row must have one label.

    Attributes
    ----------
    n_edges_ : int
        Edges in the index.
    classes_ : ndarray
        The known labels, sorted.

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
    takes_fractions = True
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
    class_weight: Literal["balanced"] | None = None

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        if self.margin is not None:
            check_number("margin", self.margin, 0.0, LARGEST_VALUE)
        check_number("w_min", self.w_min, 0.0, 0.99)
        check_whole("passes", self.passes, 1)
        check_class_weight(self.class_weight)
        check_whole("n_jobs", self.n_jobs, 1)
        for name in ("d_max", "candidates", "shards"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.horizon is not None:
            check_number("horizon", self.horizon, 1.0, LONGEST_HORIZON)
        if self.rating not in RATINGS:
            raise ValueError(f"rating must be 'seen', 'none' or 'learned', got {self.rating!r}")

    def build(self) -> list[PlainVotes | RatedVotes]:
        """Return its index; its kind of edges stays if the parameter is changed after learning."""
        return [RatedVotes() if self.rating == "learned" else PlainVotes()]

    @property
    def _votes(self) -> VoteIndex:
        votes = self.component(RatedVotes) or self.component(PlainVotes)
        assert votes is not None
        return votes

    def configure(self) -> None:
        """Set the index by the current parameters."""
        shared = {"w_min": self.w_min, "leak": self.leak, "boolean": self.boolean, **limits(self.d_max, self.horizon)}
        if self._votes.rated:
            self._votes.settings = RatedSettings(step=0.0, learning=LearningParams(), **shared)
        else:
            margin = float("inf") if self.margin is None else self.margin
            max_rank = UNLIMITED if self.candidates is None else self.candidates
            rating = self.rating == "seen"
            self._votes.settings = IndexSettings(margin=margin, max_rank=max_rank, rating=rating, **shared)

    def plan(self, n_rows: int) -> Plan:
        """Return how `fit` visits the rows."""
        return super().plan(n_rows)._replace(passes=self.passes)

    def check_rating(self) -> None:
        """Raise if the parameter does not match the kind of edges that was learned."""
        rated = self._votes.rated
        if rated != (self.rating == "learned"):
            learned = f"{'with' if rated else 'without'} rating='learned'"
            raise ValueError(f"rating is {self.rating!r}, but the model was fitted {learned}; call fit again")

    def learn(self, batch: Batch) -> None:
        """Learn rows in order, as one online pass."""
        self.check_rating()
        super().learn(batch)

    def take_form_of(self, rankers: Sequence[Self]) -> None:
        """Check that the edges of all rankers match their parameters."""
        for ranker in rankers:
            ranker.check_rating()

    def restore(self, model: Model) -> None:
        """Restore the index of a model directory after validating it."""
        self.set_components([RatedVotes() if RatedVotes.feature_stat[0] in model.arrays else PlainVotes()])
        self.check_rating()
        super().restore(model)
        self._votes.cut_to(self.d_max, model.content["params"].get("d_max"))
