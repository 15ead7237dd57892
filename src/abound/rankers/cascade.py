"""The cascade: an index recalls by rated votes, pairs weigh the best again; of few labels every one is weighed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from abound.components import BatchPosition, Component
from abound.components.linear import Linear
from abound.components.rows import Rows, Targets, cut
from abound.components.second_stage import SecondStage
from abound.components.votes import LONGEST_HORIZON, SHARD_HORIZON, LearningParams, RatedVotes, limits
from abound.errors import DamagedModel
from abound.kernels.batch import Batch
from abound.kernels.rated import RatedSettings
from abound.rankers.auto import few_or_many, rows_until_decided
from abound.rankers.base import Ranker
from abound.rankers.validation import check_number, check_whole
from abound.store import Model
from abound.store.directory import Source
from abound.training.schedule import Plan, default_rounds
from abound.training.source import MatrixRows, RowSource, training_order

FEW_PASSES = 3
CANDIDATES = 20
ENOUGH_ROWS = 1_000_000  # to learn many labels from in one pass; fewer are gone through twice
MOST_ROUNDS = 50  # in which a person's correction must show
LIFTING_ROUNDS = 10  # in which only the right labels move
# Terms times labels that all rounds together may look at: a correction of usual length gets all its rounds, and one of
# many words and labels cannot take seconds.
MOST_LOOKS = 600_000
LOOKS_A_LABEL, LOOKS_A_TERM = 40, 3  # terms, or labels, that a round takes as long for, however few there are


@dataclass(eq=False, repr=False, kw_only=True)
class CascadeRanker(Ranker):
    """Rank labels by rated votes and learned weights, one example at a time.

    Many labels: each feature keeps the few labels that it was seen with, as in the feature-focus index; a rating for
    each feature and a correction for each edge are learnt beside the counts, so that the true labels of a row win
    over the others that it recalls. The best of them are weighed again: every pair of a feature and a candidate may
    have a weight of its own, also where they never met, so that a word can speak against a label. Few labels: every
    label is weighed for every row in this way.

    Parameters
    ----------
    w_min : float
        An edge whose share of its feature falls below this is dropped.
    d_max : int or None
        The heaviest edges of a feature that vote; None lets all of them.
    passes : int or None
        How often `fit` goes through the rows, in a random order; with few labels, in another one each pass. None takes
        3 where labels are few; where they are many, 2, or 1 if there are a million rows or more.
    candidates : int or None
        So many of the labels that the index recalls are weighed again, and rank before the others; 0 ranks by the index
        alone. None takes 20 where `fit` goes through the rows more than once, and 0 in a stream: what weighing wins in
        one pass is not worth twice the time and several times the memory.
    few_labels : int
        Up to so many labels are few. A stream decides by its first 5,000 rows.
    horizon : float or None
        The total at which a feature's weights are halved, so that it can follow a drifting stream; None is the
        longest history that single precision can keep.
    random_state : int
        Orders the rows of `fit`.
    n_jobs : int
        Threads that `fit` uses. What is learnt does not depend on it, unless `shards` is None.
    shards : int or None
        Ranges of the rows that `fit` learns apart, each from a copy of the same starting model, and merges; None
        takes as many as threads.
    rounds : int or None
        How often shards are merged in a pass. None takes 1 for two shards and 4 for more, which keeps most of
        the accuracy of one; 1 is faster.

    Attributes
    ----------
    n_edges_ : int
        Edges of the index.
    n_pairs_ : int
        Pairs of a feature and a label with a weight of their own.

    References
    ----------
    O. Madani, M. Connor, W. Greiner, "Learning when concepts abound", JMLR 10 (2009), for the index;
    K. Crammer, Y. Singer, "A new family of online algorithms for category ranking", SIGIR 2002, for the corrections.

    Examples
    --------
    >>> from abound import Cascade
    >>> ranker = Cascade().fit([[1, 0], [0, 1]], [["cat", "pet"], ["dog", "pet"]])
    >>> sorted(label for label, score in ranker.rank([[0, 1]], 2)[0])
    ['dog', 'pet']
    """

    kind = "cascade"
    learns_wrong = True
    shard_params: ClassVar[Mapping[str, Any]] = {"horizon": SHARD_HORIZON}

    w_min: float = 0.002
    d_max: int | None = 50
    passes: int | None = None
    candidates: int | None = None
    few_labels: int = 1000
    horizon: float | None = None
    random_state: int = 0
    n_jobs: int = 1
    shards: int | None = None
    rounds: int | None = None

    def check_params(self) -> None:
        """Raise on a parameter that cannot be used."""
        check_number("w_min", self.w_min, 0.0, 0.99)
        check_whole("few_labels", self.few_labels, 0)
        check_whole("random_state", self.random_state, 0)
        check_whole("n_jobs", self.n_jobs, 1)
        for name in ("d_max", "passes", "shards", "rounds"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.candidates is not None:
            check_whole("candidates", self.candidates, 0)
        if self.horizon is not None:
            check_number("horizon", self.horizon, 1.0, LONGEST_HORIZON)

    # -- few or many -------------------------------------------------------------------------------

    # A stream begins with votes and a linear model; one is let go when it turns out not to be needed. The second stage
    # goes with the votes, where they have one.

    _n_learned = 0

    def build(self) -> list[Component]:
        """Return its components: both of few labels and of many, as long as nothing is known of them."""
        self._n_learned = 0
        return [RatedVotes(), *([SecondStage()] if self.candidates else []), Linear()]

    def configure(self) -> None:
        """Give the votes what the parameters say now, and their second stage."""
        votes = self.component(RatedVotes)
        if votes is None:
            return
        votes.second_stage = self.component(SecondStage)
        params = (self.w_min, self.d_max, self.horizon, self.candidates)
        if votes.settings_key != params:  # asked before every ranking: settings take as long to make as a short one
            n_candidates = CANDIDATES if self.candidates is None else self.candidates
            how: dict[str, Any] = {"step": 1.0, "learning": LearningParams(), "n_candidates": n_candidates}
            how |= limits(self.d_max, self.horizon)
            votes.settings = RatedSettings(w_min=self.w_min, leak=True, boolean=False, **how)
            votes.settings_key = params

    def _keep(self, *kinds: type[Component]) -> None:
        """Let go of all components but some kinds; begin those that are not there."""
        self.set_components([self.component(kind) or kind() for kind in kinds])

    def _decide(self, n_labels: int, n_rows: int) -> None:
        """Let go of what is not needed, once labels are known to be few or many."""
        verdict = few_or_many(n_labels, n_rows, self.few_labels)
        if verdict == "many":
            weighs = bool(self.candidates) or self.component(SecondStage) is not None
            self._keep(RatedVotes, *([SecondStage] if weighs else []))
        elif verdict == "few":
            self._keep(Linear)

    @property
    def _is_open(self) -> bool:
        return self.component(Linear) is not None and self.component(RatedVotes) is not None

    def choose_form(self, n_rows: int) -> None:
        """Take the form in which so many rows are learnt from scratch; all their labels are known."""
        self._decide(len(self.labels_), n_rows)
        if self.plan(n_rows).passes == 1:
            return
        if self._is_open:  # no stream: the linear model ranks, and candidates can be learnt when labels grow many
            self._keep(RatedVotes, Linear)
        elif self.component(RatedVotes) is not None and self.candidates is None:
            self._keep(RatedVotes, SecondStage)

    def plan(self, n_rows: int) -> Plan:
        """Return how `fit` goes through so many rows, all of whose labels are known."""
        few = few_or_many(len(self.labels_), n_rows, self.few_labels) != "many"
        usual = FEW_PASSES if few else 1 if n_rows >= ENOUGH_ROWS else 2
        return Plan(
            passes=usual if self.passes is None else self.passes,
            shards=self.n_shards,
            rounds=default_rounds(self.n_shards) if self.rounds is None else self.rounds,
            shuffles=self.component(Linear) is not None,  # many labels do as well in the order of the first pass
            seed=self.random_state,
            n_jobs=self.n_jobs,
        )

    # -- learning ----------------------------------------------------------------------------------

    def source(self, batch: Batch) -> RowSource:
        """Return the rows of a matrix in a random order."""
        known = Batch(batch.rows, batch.targets._replace(n_known=len(self.labels_)))
        return MatrixRows(known, training_order(batch.n_rows, self.random_state))

    def learners(self, *, again: bool) -> Sequence[Component]:
        """Return the components that learn; as long as a linear model ranks, votes learn once."""
        linear, found = self.component(Linear), self.components
        return found if linear is None or not again else [linear]

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the names of labels."""
        super().learn_all(source, names)
        self._n_learned += source.n_rows

    def learn(self, batch: Batch) -> None:
        """Learn rows online, cut where a stream turns out to have few labels or many."""
        start, n_known = 0, batch.n_known
        while start < batch.n_rows:
            stop = self._next_turn(start, batch, n_known)
            part = cut(batch, start, stop, n_known)
            n_known = max(n_known, int(part.targets.ids.max(initial=-1)) + 1)
            for component in self.components:
                component.learn(part, len(self.labels_), BatchPosition(n_before=self._n_learned))
            self._n_learned += stop - start
            start = stop
            if self._is_open:
                self._decide(n_known, self._n_learned)

    def _next_turn(self, start: int, batch: Batch, n_known: int) -> int:
        """Return the row before which a stream has decided, or the end."""
        stop = batch.n_rows
        if not self._is_open:
            return stop
        stop = min(stop, start + rows_until_decided(self._n_learned))  # a model may come from a longer trial
        indptr, ids, _ = batch.targets
        if n_known > self.few_labels:
            return start + 1
        beyond = np.flatnonzero(ids[indptr[start] : indptr[stop]] >= self.few_labels)
        if len(beyond):  # the first row with a label too many is the last that both learn
            at = indptr[start] + int(beyond[0])
            stop = int(np.searchsorted(indptr, at, side="right"))
        return stop

    # -- corrections -------------------------------------------------------------------------------

    def insist(self, batch: Batch) -> None:
        """Learn rows that were just learnt on, until their labels stand first and wrong ones do not."""
        for number in range(batch.n_rows):
            one = cut(batch, number, number + 1, len(self.labels_))
            if len(one.targets.ids):
                self._lift(one)
            if one.wrong is not None:
                self._lower(one.rows, one.wrong[1])

    def _lift(self, one: Batch) -> None:
        """Learn a row again until its labels stand first for it."""
        row, labels = one.rows, one.targets.ids
        learning = Batch(row, one.targets)
        for done in range(_rounds(row, len(labels))):
            best = self._first_labels(row, len(labels))
            behind, others = np.setdiff1d(labels, best), np.setdiff1d(best, labels)
            if not len(behind):
                break
            self.configure()
            linear, votes, second_stage = (
                self.component(Linear),
                self.component(RatedVotes),
                self.component(SecondStage),
            )
            if linear is not None:
                linear.learn(learning, len(self.labels_))
            if votes is not None:
                for label in behind:
                    votes.lift(row, int(label))
            if second_stage is not None:
                second_stage.teach(row, np.unique(labels), others)
            if votes is not None and done >= LIFTING_ROUNDS:  # what stands in their place must give way
                votes.learn(self._rejection(row, others), len(self.labels_))

    def _lower(self, row: Rows, rejected: NDArray[np.int32]) -> None:
        """Reject labels of a row again until none of them stands first, as long as there is another."""
        for _ in range(_rounds(row, len(rejected)) if len(rejected) else 0):
            best = self._first_labels(row, len(rejected) + 1)
            if not len(best) or best[0] not in rejected or not len(np.setdiff1d(best, rejected)):
                break
            for component in self.components:
                component.learn(self._rejection(row, rejected), len(self.labels_))

    def _first_labels(self, row: Rows, k: int) -> NDArray[np.int32]:
        best = self.rank_rows(row, k).indices[0]
        return np.asarray(best[best >= 0], np.int32)

    def _rejection(self, row: Rows, labels: NDArray[np.int32]) -> Batch:
        """Return a row without labels, for which some are wrong."""
        none = Targets(np.zeros(2, np.int64), np.zeros(0, np.int32), len(self.labels_))
        return Batch(row, none, (np.array([0, len(labels)], np.int64), labels.astype(np.int32)))

    # -- merging and saving ------------------------------------------------------------------------

    def take_form_of(self, rankers: Sequence[Self]) -> None:
        """Keep what all rankers have: a young model has votes and a linear one, an older one has let go of one."""
        indexed, linear = (
            all(ranker.component(kind) is not None for ranker in rankers) for kind in (RatedVotes, Linear)
        )
        if not indexed and not linear:
            raise ValueError(
                f"one model has more than few_labels={self.few_labels} labels and keeps an index, another has fewer "
                "and keeps pairs; train both with the same few_labels, 0 or more than there are labels, to merge them"
            )
        self.count_learned(sum(ranker.n_learned for ranker in rankers))
        weighs = any(ranker.component(SecondStage) is not None for ranker in rankers)
        self._keep(
            *([RatedVotes] if indexed else []),
            *([SecondStage] if indexed and (weighs or (self.candidates and not linear)) else []),
            *([Linear] if linear else []),
        )
        if indexed and linear:
            self._decide(len(self.labels_), self._n_learned)

    @property
    def n_learned(self) -> int:
        """Rows and names that were learnt, by which a stream decides whether labels are few."""
        return self._n_learned

    def count_learned(self, n_rows: int) -> None:
        """Count rows that were learnt elsewhere."""
        self._n_learned += n_rows

    def own_state(self) -> dict[str, Source]:
        """Return what was learnt beside labels and components."""
        indexed = self.component(RatedVotes) is not None
        return {"rows_learnt": np.array([self._n_learned, indexed, Linear.offset], np.int64)}

    def restore(self, model: Model) -> None:
        """Take up the components of a model directory, after checking them."""
        n_learned, indexed, common = model.take_counts("rows_learnt", 3)
        if indexed not in (0, 1) or common != Linear.offset:
            raise DamagedModel(
                f"rows_learnt must hold a count, 0 or 1, and {Linear.offset}, got {n_learned}, {indexed} and {common}"
            )
        linear, weighed = (kind.array_names()[0] in model.arrays for kind in (Linear, SecondStage))
        if not indexed and not linear:
            raise DamagedModel("the model holds neither an index nor pairs")
        kinds: list[type[Component]] = [RatedVotes] if indexed else []
        kinds += [SecondStage] if indexed and weighed and self.candidates != 0 else []
        kinds += [Linear] if linear else []
        self.set_components([kind() for kind in kinds])
        for component in self.components:
            component.restore(model, len(self.labels_))
        if indexed and self.candidates and not linear and not weighed:
            self._keep(RatedVotes, SecondStage)
        votes = self.component(RatedVotes)
        if votes is not None:
            votes.cut_to(self.d_max, model.content["params"].get("d_max"))
        self._n_learned = n_learned


def _rounds(row: Rows, n_labels: int) -> int:
    """Return in how many rounds a correction must show."""
    looks = (len(row.indices) + LOOKS_A_LABEL) * (n_labels + LOOKS_A_TERM)
    return min(MOST_ROUNDS, max(1, MOST_LOOKS // looks))
