"""The cascade: an index recalls by rated votes, and a second stage re-ranks the best; few labels are all scored."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from abound.components import BatchPosition, Component
from abound.components.linear import Linear
from abound.components.rows import Rows, Targets, cut
from abound.components.second_stage import SecondStage
from abound.components.votes import LONGEST_HORIZON, SHARD_HORIZON, LearningParams, RatedVotes, limits
from abound.components.weighting import repeated
from abound.errors import DamagedModel
from abound.kernels.batch import Batch
from abound.kernels.rated import RatedSettings
from abound.rankers.auto import FEW_LABELS, few_or_many, has_enough_examples, rows_until_decided
from abound.rankers.base import Ranker
from abound.rankers.trials import CHOICES, DEFAULT, LEAST_ROWS, Choice, Trials, best
from abound.rankers.validation import check_number, check_whole
from abound.rankers.weighting import check_class_weight
from abound.store import Model
from abound.store.directory import Source
from abound.training.local import learn_shard, train
from abound.training.schedule import Plan, calibration_rows, default_rounds, schedule
from abound.training.source import MatrixRows, RowSource, training_order

CANDIDATES = 20
ENOUGH_ROWS = 1_000_000  # rows from which on many labels are learned in one pass instead of two
MAX_ROUNDS = 50  # of repeated learning for a person's correction
LIFTING_ROUNDS = 10  # in which only the right labels are pushed up
# Terms times labels that all rounds together may visit: a correction of usual length gets all its rounds, and one with
# many words and labels cannot take seconds.
MAX_VISITS = 600_000
TERMS_OVERHEAD, LABELS_OVERHEAD = 40, 3  # fixed cost of a round, in terms and in labels


@dataclass(eq=False, repr=False, kw_only=True)
class CascadeRanker(Ranker):
    """Rank labels by rated votes and learned weights, one example at a time.

    Many labels: each feature keeps the few labels that it occurred with, as in the feature-focus index. A rating per
    feature and a correction per edge are learned beside the counts, so that the true labels of a row win over the
    others that it recalls. A second stage re-ranks the best labels: every pair of a feature and a candidate may have a
    weight, even if they never occurred together, so that a word can count against a label. Few labels: a linear model
    scores every label for every row.

    Parameters
    ----------
    w_min : float
        An edge whose share of its feature falls below this is dropped.
    d_max : int or None
        The number of heaviest edges per feature that vote; None lets all of them vote.
    passes : int or None
        The number of passes of `fit` over the rows, in random order; with few labels, each pass has a different order.
        None is 2 for many labels, or 1 for a million rows or more. For few labels and at least 1,000 rows, `fit` tries
        a linear model with 2, 3 and 5 passes, and votes with a second stage, on up to 10,000 rows, and takes what ranks
        a fifth of them best; otherwise it is 3.
    candidates : int or None
        The number of labels from the index that the second stage re-ranks; they rank before the others. 0 ranks by the
        index alone. None is 20 if `fit` makes several passes, and 0 in a stream: in one pass, the gain in accuracy is
        not worth twice the time and several times the memory.
    few_labels : int or None
        The largest number of labels that counts as few. None is 1,000, but for `fit`, more than 100 labels with fewer
        than ten examples each, on average, count as many. A stream decides by its first 5,000 rows.
    horizon : float or None
        The total at which a feature's weights are halved, so that the index follows a drifting stream; None is the
        longest history that single precision allows.
    random_state : int
        The seed of the order of rows in `fit`.
    n_jobs : int
        The number of threads of `fit`. The result does not depend on it, unless `shards` is None.
    shards : int or None
        The number of row ranges that `fit` learns independently, each from a copy of the same model, and merges; None
        is the number of threads.
    rounds : int or None
        The number of merges of the shards per pass. None is 1 for two shards and 4 for more, which keeps most of the
        accuracy of one shard; 1 is faster.
    calibrate : bool
        Whether to learn probabilities. `fit` holds out a few rows (at most 5,000) for it, and learns them at the end.
    class_weight : None or "balanced"
        "balanced" weights the rows of `fit` so that every label counts the same; each row must have one label. The
        labels of `partial_fit` are not known in advance, so it refuses this; give it `sample_weight`.

    Attributes
    ----------
    n_edges_ : int
        Edges of the index.
    n_pairs_ : int
        Pairs of a feature and a label with a weight.

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
    takes_fractions = True
    shard_params: ClassVar[Mapping[str, Any]] = {"horizon": SHARD_HORIZON}

    w_min: float = 0.002
    d_max: int | None = 50
    passes: int | None = None
    candidates: int | None = None
    few_labels: int | None = None
    horizon: float | None = None
    random_state: int = 0
    n_jobs: int = 1
    shards: int | None = None
    rounds: int | None = None
    calibrate: bool = True
    class_weight: Literal["balanced"] | None = None

    def check_params(self) -> None:
        """Raise on an invalid parameter."""
        check_number("w_min", self.w_min, 0.0, 0.99)
        check_class_weight(self.class_weight)
        if self.few_labels is not None:
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

    # A stream begins with votes and a linear model, and drops the one that it does not need as soon as that is decided.
    # The second stage, if any, belongs to the votes.

    _n_learned = 0
    _choice = cast("Choice | None", None)  # how `fit` learns few labels; a field of the dataclass would be a parameter

    def build(self) -> list[Component]:
        """Return its components: those for few labels and those for many, since it is not decided yet."""
        self._n_learned = 0
        self._choice = None
        return [RatedVotes(), *([SecondStage()] if self.candidates else []), Linear()]

    def configure(self) -> None:
        """Set the votes and their second stage by the current parameters."""
        votes = self.component(RatedVotes)
        if votes is None:
            return
        votes.second_stage = self.component(SecondStage)
        params = (self.w_min, self.d_max, self.horizon, self.candidates)
        if votes.settings_key != params:  # called before every ranking, and new settings take as long as a short one
            n_candidates = CANDIDATES if self.candidates is None else self.candidates
            how: dict[str, Any] = {"step": 1.0, "learning": LearningParams(), "n_candidates": n_candidates}
            how |= limits(self.d_max, self.horizon)
            votes.settings = RatedSettings(w_min=self.w_min, leak=True, boolean=False, **how)
            votes.settings_key = params

    def _keep(self, *kinds: type[Component]) -> None:
        """Keep only components of some kinds; create those that are missing."""
        self.set_components([self.component(kind) or kind() for kind in kinds])

    def _decide(self, n_labels: int, n_rows: int) -> None:
        """Drop the components that are not needed, once labels are known to be few or many."""
        verdict = few_or_many(n_labels, n_rows, self._most_few)
        if verdict == "many":
            self._keep_votes()
        elif verdict == "few":
            self._keep(Linear)

    def _keep_votes(self) -> None:
        reranks = bool(self.candidates) or self.component(SecondStage) is not None
        self._keep(RatedVotes, *([SecondStage] if reranks else []))

    @property
    def _most_few(self) -> int:
        return FEW_LABELS if self.few_labels is None else self.few_labels

    @property
    def _is_open(self) -> bool:
        return self.component(Linear) is not None and self.component(RatedVotes) is not None

    def choose_form(self, n_rows: int) -> None:
        """Choose the form in which `n_rows` rows are learned from scratch; all their labels are known."""
        if self._has_few(n_rows):
            self._decide(len(self.labels_), n_rows)
        else:
            self._keep_votes()
        if self.plan(n_rows).passes == 1:
            return
        if self._is_open:  # not a stream: the linear model ranks; candidates can be learned if labels become many
            self._keep(RatedVotes, Linear)
        elif self.component(RatedVotes) is not None and self.candidates is None:
            self._keep(RatedVotes, SecondStage)

    def _has_few(self, n_rows: int) -> bool:
        """Tell whether rows to be learned from scratch have few labels; all their labels are known and counted."""
        n_labels, n_examples = len(self.labels_), int(self.label_counts.sum())
        is_enough = self.few_labels is not None or n_examples == 0 or has_enough_examples(n_labels, n_examples)
        is_linear = self._choice is None or self._choice.is_linear
        return is_enough and is_linear and few_or_many(n_labels, n_rows, self._most_few) != "many"

    def plan(self, n_rows: int) -> Plan:
        """Return how `fit` visits `n_rows` rows, whose labels are all known."""
        few_passes = (self._choice or DEFAULT).passes
        usual = few_passes if self._has_few(n_rows) else 1 if n_rows >= ENOUGH_ROWS else 2
        return Plan(
            passes=usual if self.passes is None else self.passes,
            shards=self.n_shards,
            rounds=default_rounds(self.n_shards) if self.rounds is None else self.rounds,
            shuffles=self.component(Linear) is not None,  # for many labels, the order of the first pass does as well
            seed=self.random_state,
            n_jobs=self.n_jobs,
            held_out=calibration_rows(n_rows) if self.calibrate else 0,
        )

    @property
    def calibrates(self) -> bool:
        """Whether learning teaches the calibration, too."""
        return self.calibrate

    # -- learning ----------------------------------------------------------------------------------

    def learn_all(self, source: RowSource, names: Batch | None = None) -> None:
        """Learn all rows from scratch, after the names of the labels; see `passes` for what is tried before."""
        free = self.passes is None and self.few_labels is None and self.candidates is None and self.n_shards == 1
        if free and source.n_rows >= LEAST_ROWS and self._has_few(source.n_rows) and self.label_counts.any():
            self._choice = self._best_choice(source, names)
        super().learn_all(source, names)

    def _best_choice(self, source: RowSource, names: Batch | None) -> Choice:
        """Return the way of learning that ranks held-out rows best."""
        trials = Trials(source, len(self.labels_))
        scores: dict[Choice, float] = {}
        for number, is_linear in enumerate((True, False), 1):
            source.watch_trial(number, 2)
            passes = {choice.passes for choice in CHOICES if choice.is_linear == is_linear}
            found = trials.scores(self._trial(Choice(is_linear, max(passes))), names, passes)
            scores |= {Choice(is_linear, n): score for n, score in found.items()}
        source.watch_trial(0, 2)
        return best(scores)

    def _trial(self, choice: Choice) -> Self:
        """Return a ranker that learns in one way."""
        trial = self.new_like_this()
        trial.calibrate, trial.passes = False, choice.passes
        trial.few_labels = len(self.labels_) if choice.is_linear else 0
        return trial

    def learn_in_passes(
        self, source: RowSource, names: Batch | None, wanted: Collection[int]
    ) -> Iterator[tuple[int, Self]]:
        """Learn all rows from scratch; after some numbers of passes, yield the number and the ranker at this point.

        It ranks as if the pass had been the last one, whose states are averaged, and then continues from the last
        state. Votes are yielded only after all passes: their second stage cannot continue after averaging.
        """
        self.choose_form(source.n_rows)
        if names is not None:
            self.learn(names)
        linear, plan = self.component(Linear), self.plan(source.n_rows)
        if linear is None:
            train(self, source, plan)
            yield plan.passes, self
            return
        linear.may_resume = True
        for number, round_ in enumerate(schedule(source.n_rows, plan), 1):
            learn_shard(self, source, round_._replace(last=number in wanted), 0)
            if number in wanted:
                yield number, self
                linear.resume()

    def source(self, batch: Batch) -> RowSource:
        """Return the rows of a matrix in a random order."""
        known = Batch(batch.rows, batch.targets._replace(n_known=len(self.labels_)), weights=batch.weights)
        return MatrixRows(known, training_order(batch.n_rows, self.random_state))

    def learners(self, *, again: bool) -> Sequence[Component]:
        """Return the components that learn; while a linear model ranks, votes learn only once."""
        linear, components = self.component(Linear), self.components
        return components if linear is None or not again else [linear]

    def learn(self, batch: Batch) -> None:
        """Learn rows online, split where a stream is decided to have few or many labels."""
        for rows in repeated(batch):
            self._learn(rows)

    def _learn(self, batch: Batch) -> None:
        start, n_known = 0, batch.n_known
        while start < batch.n_rows:
            stop = self._next_decision(start, batch, n_known)
            part = cut(batch, start, stop, n_known)
            n_known = max(n_known, int(part.targets.ids.max(initial=-1)) + 1)
            for component in self.components:
                component.learn(part, len(self.labels_), BatchPosition(n_before=self._n_learned))
            self._n_learned += stop - start
            start = stop
            if self._is_open:
                self._decide(n_known, self._n_learned)

    def learn_held_out(self, source: RowSource, n_held_out: int) -> None:
        """Learn the last rows of a source, and calibrate on them.

        A linear model becomes the mean of those before and after. Its weights were averaged over a pass, and a single
        state has more extreme scores; the mean has those that the calibration saw on average.
        """
        linear = self.component(Linear)
        before = None if linear is None else linear.snapshot()
        super().learn_held_out(source, n_held_out)
        linear = self.component(Linear)
        if linear is not None and before is not None:
            linear.average_with(before)

    def _next_decision(self, start: int, batch: Batch, n_known: int) -> int:
        """Return the row before which a stream is decided, or the end."""
        stop = batch.n_rows
        if not self._is_open:
            return stop
        stop = min(stop, start + rows_until_decided(self._n_learned))  # a loaded model may be past the trial
        indptr, ids, _ = batch.targets
        if n_known > self._most_few:
            return start + 1
        beyond = np.flatnonzero(ids[indptr[start] : indptr[stop]] >= self._most_few)
        if len(beyond):  # the first row beyond few_labels is the last that both components learn
            at = indptr[start] + int(beyond[0])
            stop = int(np.searchsorted(indptr, at, side="right"))
        return stop

    # -- corrections -------------------------------------------------------------------------------

    def insist(self, batch: Batch) -> None:
        """Repeat rows that were just learned until their labels rank first and wrong ones do not."""
        for number in range(batch.n_rows):
            one = cut(batch, number, number + 1, len(self.labels_))
            if len(one.targets.ids):
                self._lift(one)
            if one.wrong is not None:
                self._lower(one.rows, one.wrong[1])

    def _lift(self, one: Batch) -> None:
        """Learn a row repeatedly until its labels rank first."""
        row, labels = one.rows, one.targets.ids
        learning = Batch(row, one.targets)
        for done in range(_rounds(row, len(labels))):
            best = self._first_labels(row, len(labels))
            behind, others = _difference(labels, best), _difference(best, labels)
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
            if votes is not None and done >= LIFTING_ROUNDS:  # now also push down the labels that rank in their place
                votes.learn(self._rejection(row, others), len(self.labels_))

    def _lower(self, row: Rows, rejected: NDArray[np.int32]) -> None:
        """Reject labels of a row repeatedly until none of them ranks first, unless there is no other label."""
        for _ in range(_rounds(row, len(rejected)) if len(rejected) else 0):
            best = self._first_labels(row, len(rejected) + 1)
            if not len(best) or best[0] not in rejected or not len(_difference(best, rejected)):
                break
            for component in self.components:
                component.learn(self._rejection(row, rejected), len(self.labels_))

    def _first_labels(self, row: Rows, k: int) -> NDArray[np.int32]:
        best = self._ranked(row, k, len(self.labels_))[0][0]  # without probabilities
        return np.asarray(best[best >= 0], np.int32)

    def _rejection(self, row: Rows, labels: NDArray[np.int32]) -> Batch:
        """Return a batch of a row without labels, for which some labels are wrong."""
        none = Targets(np.zeros(2, np.int64), np.zeros(0, np.int32), len(self.labels_))
        return Batch(row, none, (np.array([0, len(labels)], np.int64), labels.astype(np.int32)))

    # -- merging and saving ------------------------------------------------------------------------

    def take_form_of(self, rankers: Sequence[Self]) -> None:
        """Keep what all rankers have: a young model has votes and a linear model, an older one only one of them."""
        indexed, linear = (
            all(ranker.component(kind) is not None for ranker in rankers) for kind in (RatedVotes, Linear)
        )
        if not indexed and not linear:
            raise ValueError(
                "one model keeps votes and another a linear model, because of fewer labels or because fit chose it; "
                "to merge them, train both with few_labels=0, or both with few_labels above the number of labels"
            )
        self.count_learned(sum(ranker.n_learned for ranker in rankers))
        reranks = any(ranker.component(SecondStage) is not None for ranker in rankers)
        self._keep(
            *([RatedVotes] if indexed else []),
            *([SecondStage] if indexed and (reranks or (self.candidates and not linear)) else []),
            *([Linear] if linear else []),
        )
        if indexed and linear:
            self._decide(len(self.labels_), self._n_learned)

    @property
    def n_learned(self) -> int:
        """The number of rows and names learned, by which a stream decides whether labels are few."""
        return self._n_learned

    def count_learned(self, n_rows: int) -> None:
        """Count rows that were learned elsewhere."""
        self._n_learned += n_rows

    def own_state(self) -> dict[str, Source]:
        """Return what was learned besides labels and components."""
        indexed = self.component(RatedVotes) is not None
        return {"rows_learnt": np.array([self._n_learned, indexed, Linear.offset], np.int64)}

    def restore(self, model: Model) -> None:
        """Restore the components of a model directory after validating them."""
        n_learned, indexed, offset = model.take_counts("rows_learnt", 3)
        if indexed not in (0, 1) or offset != Linear.offset:
            raise DamagedModel(
                f"rows_learnt must hold a count, 0 or 1, and {Linear.offset}, got {n_learned}, {indexed} and {offset}"
            )
        linear, reranked = (kind.array_names()[0] in model.arrays for kind in (Linear, SecondStage))
        if not indexed and not linear:
            raise DamagedModel("the model holds neither an index nor pairs")
        kinds: list[type[Component]] = [RatedVotes] if indexed else []
        kinds += [SecondStage] if indexed and reranked and self.candidates != 0 else []
        kinds += [Linear] if linear else []
        self.set_components([kind() for kind in kinds])
        for component in self.components:
            component.restore(model, len(self.labels_))
        if indexed and self.candidates and not linear and not reranked:
            self._keep(RatedVotes, SecondStage)
        votes = self.component(RatedVotes)
        if votes is not None:
            votes.cut_to(self.d_max, model.content["params"].get("d_max"))
        self._n_learned = n_learned


def _difference(some: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the sorted labels of one array that another one does not have; numpy's own takes longer for few."""
    return np.array(sorted({*some.tolist()} - {*others.tolist()}), np.int32)


def _rounds(row: Rows, n_labels: int) -> int:
    """Return the number of rounds in which a correction is learned."""
    visits = (len(row.indices) + TERMS_OVERHEAD) * (n_labels + LABELS_OVERHEAD)
    return min(MAX_ROUNDS, max(1, MAX_VISITS // visits))
