"""The cascade: an index recalls by rated votes, pairs weigh the best again; of few labels every one is weighed."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from abound.errors import DamagedModel
from abound.kernels.category import RULES, RowScores, prototypes_explain, prototypes_learn, prototypes_rank
from abound.kernels.pairs import PairTables, pairs_explain, pairs_teach
from abound.kernels.pool import EdgePool
from abound.kernels.prototypes import Prototypes, check_prototypes
from abound.kernels.rated import SHARE_OF_PAIRS, RatedSettings, rated_explain, rated_lift
from abound.rankers.base import UNLIMITED, Ranker, check_number, check_whole
from abound.rankers.index import LEARNING, LONGEST_HORIZON, IndexRanker
from abound.rankers.labels import Targets
from abound.rankers.rows import NOTHING, Lists, Part, Rows, cut_lists, cut_rows
from abound.rankers.shards import copy_pairs, merge_pairs, merge_tables, usual_rounds
from abound.rankers.source import MatrixRows, RowSource, cut_at, training_order
from abound.rankers.table_parts import TableParts
from abound.store import Model
from abound.store.directory import Source

TRIAL_ROWS = 5000  # a stream with few labels for so long is taken to have few for good
FEW_PASSES = 3
CANDIDATES = 20
ENOUGH_ROWS = 1_000_000  # to learn many labels from in one pass; fewer are gone through twice
BYTES_A_PAIR = 12  # a label, a weight and its slope
MOST_ROUNDS = 50  # in which a person's correction must show
LIFTING_ROUNDS = 10  # in which only the right labels move
# Terms times labels that all rounds together may look at: a correction of usual length gets all its rounds, and one of
# many words and labels cannot take seconds.
MOST_LOOKS = 1_000_000
LOOKS_A_LABEL, LOOKS_A_TERM = 40, 3  # terms, or labels, that a round takes as long for, however few there are
PAIR_ARRAYS = ("pair_indptr", "pair_labels", "pair_weights", "pair_slopes")
TABLE_ARRAYS = ("table_indptr", "table_labels", "table_weights", "table_slopes")  # the pairs of candidates
# The squared hinge of few labels: its margin, the least wrong labels that learn from a row, AdaGrad's step and start.
HINGE = (1.0, 10, 1.4, 30.0)
# The value of a feature that every row has, number 0 of the pairs: labels that are frequent everywhere need no word.
COMMON, N_COMMON = 0.1, 1
MOMENTS = 10  # of the last pass, whose mean is kept: the last rows weigh no more than the others


class CascadeRanker(IndexRanker):
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

    def __init__(
        self,
        *,
        w_min: float = 0.002,
        d_max: int | None = 50,
        passes: int | None = None,
        candidates: int | None = None,
        few_labels: int = 1000,
        horizon: float | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
        shards: int | None = None,
        rounds: int | None = None,
    ) -> None:
        self.w_min = w_min
        self.d_max = d_max
        self.passes = passes
        self.candidates = candidates
        self.few_labels = few_labels
        self.horizon = horizon
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.shards = shards
        self.rounds = rounds

    def _check_params(self) -> None:
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

    def _is_rated(self) -> bool:
        return True

    def _rated_settings(self) -> RatedSettings:
        return RatedSettings(
            w_min=self.w_min,
            d_max=UNLIMITED if self.d_max is None else self.d_max,
            horizon=LONGEST_HORIZON if self.horizon is None else self.horizon,
            leak=True,
            boolean=False,
            step=1.0,
            n_candidates=CANDIDATES if self.candidates is None else self.candidates,
            **LEARNING,
        )

    # -- few or many -------------------------------------------------------------------------------

    # A stream begins with both; one is let go when it turns out not to be needed: `_pairs` is None then, or `_indexed`
    # False. `_tables` are the pairs of candidates, which go with the index, where it has them.

    def _reset(self) -> None:
        self._n_learnt = 0
        self._n_passed = 0  # rows of the pass at hand
        self._indexed = True
        self._tables = PairTables() if self.candidates else None
        self._pairs: Prototypes | None = Prototypes(traced=True, may_be_dense=True)
        self._pair_scratch: list[RowScores] = []
        super()._reset()

    def _let_go_of_pairs(self) -> None:
        self._pairs, self._pair_scratch = None, []
        if self._tables is None and self.candidates:
            self._tables = PairTables()

    def _let_go_of_index(self) -> None:
        self._indexed = False
        self._tables = None
        self._use(EdgePool())

    @property
    def has_second_stage(self) -> bool:
        """Whether the best labels of the index are re-ranked."""
        return self._tables is not None

    def drop_second_stage(self) -> bool:
        """Rank by votes alone from now on, to save memory; return whether there were weights of candidates."""
        dropped = self._tables is not None
        self._tables = None
        return dropped

    @property
    def n_pairs_(self) -> int:
        """The number of (feature, label) pairs with a weight of their own."""
        return sum(pairs.n_pairs for pairs in self._all_pairs)

    @property
    def nbytes_(self) -> int:
        """Bytes of memory that index and pairs hold."""
        return super().nbytes_ + sum(pairs.nbytes for pairs in self._all_pairs)

    @property
    def _all_pairs(self) -> list[Prototypes | PairTables]:
        return [pairs for pairs in (self._pairs, self._tables) if pairs is not None]

    def compact(self) -> None:
        """Give spare room back; what is ranked and learnt stays the same."""
        super().compact()
        if self._tables is not None:
            self._tables = self._tables.copy()

    def _n_stored(self) -> int:
        return max(super()._n_stored(), *(pairs.n_features - N_COMMON for pairs in self._all_pairs), 0)

    def _feature_bytes(self) -> NDArray[np.int64]:
        held = super()._feature_bytes()
        for pairs in self._all_pairs:
            lengths = np.diff(pairs.arrays()[0])[N_COMMON:] * BYTES_A_PAIR
            both = np.zeros(max(len(held), len(lengths)), np.int64)
            both[: len(held)] += held
            both[: len(lengths)] += lengths
            held = both
        return held

    def _keep_features(self, wanted: NDArray[np.bool_]) -> None:
        super()._keep_features(wanted)
        kept = np.concatenate([[True] * N_COMMON, wanted])
        if self._pairs is not None:
            self._pairs = self._pairs.kept(kept)
        if self._tables is not None:
            self._tables = self._tables.kept(kept)

    # -- learning ----------------------------------------------------------------------------------

    def _learn(self, rows: Rows, targets: Targets) -> None:
        self._learn_with_wrong(rows, targets, NOTHING)

    def _learn_with_wrong(self, rows: Rows, targets: Targets, wrong: Lists) -> None:
        """Learn rows online, cut where a stream turns out to have few labels or many."""
        start, n_known = 0, targets.n_known
        while start < rows.n_rows:
            stop = self._next_turn(start, rows.n_rows, targets, n_known)
            part, labels = cut_rows(rows, targets, start, stop, n_known)
            n_known = max(n_known, int(labels.ids.max(initial=-1)) + 1)
            rejected = wrong if not len(wrong[0]) else cut_lists(wrong, start, stop)
            if self._pairs is not None:
                self._learn_pairs(part, labels, rejected)
            if self._indexed:
                self._learn_rated(part, labels, rejected, before=self._n_learnt)
            self._n_learnt += stop - start
            start = stop
            if self._indexed and self._pairs is not None:
                if n_known > self.few_labels:
                    self._let_go_of_pairs()
                elif self._n_learnt >= TRIAL_ROWS:
                    self._let_go_of_index()

    def _next_turn(self, start: int, stop: int, targets: Targets, n_known: int) -> int:
        """Return the row before which a stream has decided, or `stop`."""
        if self._pairs is None or not self._indexed:
            return stop
        stop = min(stop, start + max(1, TRIAL_ROWS - self._n_learnt))  # a model may come from a longer trial
        ids = targets.ids[targets.indptr[start] : targets.indptr[stop]]
        if n_known > self.few_labels:
            return start + 1
        beyond = np.flatnonzero(ids >= self.few_labels)
        if len(beyond):  # the first row with a label too many is the last that both learn
            at = targets.indptr[start] + int(beyond[0])
            stop = int(np.searchsorted(targets.indptr, at, side="right"))
        return stop

    def _learn_pairs(self, rows: Rows, targets: Targets, wrong: Lists = NOTHING) -> None:
        assert self._pairs is not None
        margin, rivals, step, start = HINGE
        scratch = self._pair_scratch.pop() if self._pair_scratch else RowScores()
        how = (RULES["hinge"], True, margin, rivals, step, start)
        prototypes_learn(self._pairs, scratch, *how, *rows, *targets, *wrong, common=COMMON)
        self._pair_scratch.append(scratch)

    def _learn_moments(self, parts: Iterable[Part], n_rows: int) -> None:
        """Learn the rows of the last pass, and keep the mean of the weights at some moments of it."""
        assert self._pairs is not None
        mean, done = self._pairs, 0
        sizes = [len(group) for group in np.array_split(np.arange(n_rows), min(MOMENTS, max(1, n_rows)))]
        for part, is_moment in cut_at(parts, sizes):
            self._learn_pairs(*part)
            if is_moment:
                mean, done = self._pairs.mean_with(mean, done / (done + 1)), done + 1
        self._pairs = mean

    def _insist(self, rows: Rows, targets: Targets, wrong: Lists = NOTHING) -> None:
        for row in range(rows.n_rows):
            part, labels = cut_rows(rows, targets, row, row + 1, len(self.labels_))
            if len(labels.ids):
                self._lift(part, labels)
            if len(wrong[0]):
                self._lower(part, cut_lists(wrong, row, row + 1)[1])

    def _lift(self, row: Rows, labels: Targets) -> None:
        """Learn a row again until its labels stand first for it."""
        for done in range(_rounds(row, len(labels.ids))):
            best = self._first_labels(row, len(labels.ids))
            behind = np.setdiff1d(labels.ids, best)
            if not len(behind):
                break
            if self._pairs is not None:
                self._learn_pairs(row, labels)
            for label in behind if self._indexed else ():
                rated_lift(self._pool, self._rated_settings(), row.indices, row.data, int(label))
            if self._tables is not None:
                votes = self._borrow_scratch()
                others = np.setdiff1d(best, labels.ids)
                pairs_teach(self._tables, votes, row.indices, row.data, others, np.unique(labels.ids))
                self._scratch.append(votes)
            if self._indexed and done >= LIFTING_ROUNDS:  # what stands in their place must give way
                self._reject(row, np.setdiff1d(best, labels.ids), pairs=False)

    def _lower(self, row: Rows, rejected: NDArray[np.int32]) -> None:
        """Reject labels of a row again until none of them stands first, as long as there is another."""
        for _ in range(_rounds(row, len(rejected)) if len(rejected) else 0):
            best = self._first_labels(row, len(rejected) + 1)
            if not len(best) or best[0] not in rejected or not len(np.setdiff1d(best, rejected)):
                break
            self._reject(row, rejected)

    def _first_labels(self, row: Rows, k: int) -> NDArray[np.int32]:
        best = np.full((1, k), -1, np.int32)
        self._rank(row, best, np.zeros(best.shape))
        return best[0, : int((best >= 0).sum())]  # what is left of a row keeps its -1

    def _reject(self, row: Rows, labels: NDArray[np.int32], *, pairs: bool = True) -> None:
        none = Targets(np.zeros(2, np.int64), np.zeros(0, np.int32), len(self.labels_))
        wrong = (np.array([0, len(labels)], np.int64), labels.astype(np.int32))
        if self._indexed:
            self._learn_rated(row, none, wrong)
        if pairs and self._pairs is not None:
            self._learn_pairs(row, none, wrong)

    def _settle(self, n_rows: int) -> None:
        if not self._is_few():
            self._let_go_of_pairs()
            if self.candidates is None and self._n_passes(n_rows) > 1:
                self._tables = PairTables()
        elif n_rows >= TRIAL_ROWS:  # what a stream would have let go by then
            self._let_go_of_index()
        elif self._n_passes(n_rows) > 1:  # no stream; pairs rank, and candidates can be learnt when labels grow many
            self._tables = None

    def _is_few(self) -> bool:
        return len(self.labels_) <= self.few_labels

    @property
    def _n_rounds(self) -> int:
        return usual_rounds(self._n_shards) if self.rounds is None else self.rounds

    def _n_passes(self, n_rows: int) -> int:
        usual = FEW_PASSES if self._is_few() else 1 if n_rows >= ENOUGH_ROWS else 2
        return usual if self.passes is None else self.passes

    def _source(self, rows: Rows, targets: Targets) -> RowSource:
        known = targets._replace(n_known=len(self.labels_))
        return MatrixRows(rows, known, training_order(rows.n_rows, self.random_state))

    def _learn_all(self, source: RowSource, names: Part | None = None) -> None:
        self._settle(source.n_rows)
        if names is not None:
            self._learn(*names)
        self._train(source)
        self._n_learnt += source.n_rows

    def _begin_pass(self) -> None:
        self._n_passed = 0

    def _shuffles(self) -> bool:
        return self._pairs is not None  # a few labels; many do as well in the order of the first pass

    def _as_shard(self) -> Self:
        shard = super()._as_shard()
        shard._pair_scratch, shard._n_passed = [], 0
        return shard

    def _leave_base(self) -> None:
        if self._indexed:
            super()._leave_base()
        if self._tables is not None:
            self._tables = self._tables.copy()
        if self._pairs is not None:
            self._pairs = copy_pairs(self._pairs, len(self.labels_))

    def _learn_parts(self, parts: Iterable[Part], n_rows: int, *, again: bool, last: bool) -> None:
        if again and last and self._pairs is not None:
            self._learn_moments(parts, n_rows)
            return
        if last:
            self._begin_mean()
        for rows, targets in parts:
            if self._indexed and (self._pairs is None or not again):  # as long as pairs rank, the index learns once
                self._learn_rated(rows, targets, again=again, before=self._n_passed)
                self._n_passed += rows.n_rows
            if self._pairs is not None:
                self._learn_pairs(rows, targets)
        if last:
            self._take_mean()

    def _begin_mean(self) -> None:
        """Begin the last of several passes, over which the weights of candidates are averaged."""
        self._n_passed = 0
        if self._tables is not None:
            self._tables.forget_traces()

    def _take_mean(self) -> None:
        """Keep the mean of the pass, so that its last rows weigh no more than the others."""
        if self._tables is not None and self._n_passed:
            self._tables.take_mean(self._n_passed)
            if self._tidies:
                self._tables.tidied()

    def _take(self, shards: list[Self]) -> None:
        if self._indexed:
            super()._take(shards)
        if self._tables is not None:
            tables = [shard._tables for shard in shards if shard._tables is not None]
            self._tables = merge_tables(self._tables, tables, len(self.labels_))
        if self._pairs is not None:
            pairs = [shard._pairs for shard in shards if shard._pairs is not None]
            self._pairs = merge_pairs(self._pairs, pairs, len(self.labels_))

    # -- ranking -----------------------------------------------------------------------------------

    def _rank(self, rows: Rows, out_labels: NDArray[np.int32], out_scores: NDArray[np.float64]) -> None:
        if self._pairs is None:
            super()._rank(rows, out_labels, out_scores)
            return
        scratch = self._pair_scratch.pop() if self._pair_scratch else RowScores()
        prototypes_rank(self._pairs, scratch, True, *rows, len(self.labels_), out_labels, out_scores, True, COMMON)
        self._pair_scratch.append(scratch)

    def _scores(self, rows: Rows, labels: NDArray[np.int32]) -> NDArray[np.float64]:
        return super()._scores(rows, labels) if self._pairs is None else Ranker._scores(self, rows, labels)

    def _explain(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        if self._pairs is None:
            positions, votes, prior = self._explain_candidate(rows, label)
            return rows.indices[positions].astype(np.int64), votes, prior
        positions, votes, prior = prototypes_explain(self._pairs, rows.indices, rows.data, label, COMMON)
        return rows.indices[positions].astype(np.int64), votes, prior

    def _explain_candidate(self, rows: Rows, label: int) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
        """Return the places of a row that speak for or against a label, what they say, and what all rows have."""
        positions, votes, _ = rated_explain(self._pool, self._rated_settings(), rows.indices, rows.data, label)
        if self._tables is None or not len(positions):  # what gets no vote is not weighed
            return positions, votes, 0.0
        weights, prior = pairs_explain(self._tables, rows.indices, rows.data, label)
        both = SHARE_OF_PAIRS * weights
        both[positions] += votes
        places = np.union1d(positions, np.flatnonzero(weights))
        return places, both[places], SHARE_OF_PAIRS * prior

    # -- saving ------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Source]:
        state: dict[str, Source] = {"rows_learnt": np.array([self._n_learnt, self._indexed, N_COMMON], np.int64)}
        if self._indexed:
            state |= super()._state()
        if self._pairs is not None:
            state |= dict(zip(PAIR_ARRAYS, self._pairs.arrays(), strict=True))
        if self._tables is not None:
            state |= dict(zip(TABLE_ARRAYS, TableParts(self._tables).arrays(), strict=True))
        return state

    def _restore(self, model: Model) -> None:
        self._reset()
        self._n_learnt, indexed, common = model.take_counts("rows_learnt", 3)
        if indexed not in (0, 1) or common != N_COMMON:
            raise DamagedModel(
                f"rows_learnt must hold a count, 0 or 1, and {N_COMMON}, got {self._n_learnt}, {indexed} and {common}"
            )
        if indexed:
            super()._restore(model)
            self._cut_to(self.d_max, model.content["params"].get("d_max"))
        else:
            self._let_go_of_index()
        if PAIR_ARRAYS[0] in model.arrays:
            indptr, labels, weights, slopes = self._checked_pairs(model, PAIR_ARRAYS)
            n_labels = len(self.labels_)
            self._pairs = Prototypes.from_arrays(indptr, labels, weights, n_labels, slopes, may_be_dense=True)
        elif not indexed:
            raise DamagedModel("the model holds neither an index nor pairs")
        self._tables = None
        if indexed and self.candidates != 0 and TABLE_ARRAYS[0] in model.arrays:
            self._tables = PairTables.from_arrays(*self._checked_pairs(model, TABLE_ARRAYS))
        if PAIR_ARRAYS[0] not in model.arrays:
            self._let_go_of_pairs()

    def _checked_pairs(
        self, model: Model, names: tuple[str, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]:
        indptr, labels, weights, slopes = (model.arrays[name] for name in names)
        wrong = check_prototypes(indptr, labels, weights, len(self.labels_), slopes)
        if wrong:
            raise DamagedModel(f"the pairs are damaged: {wrong}")
        return indptr, labels, weights, slopes

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_pair_scratch": []}


def _rounds(row: Rows, n_labels: int) -> int:
    """Return in how many rounds a correction must show."""
    looks = (len(row.indices) + LOOKS_A_LABEL) * (n_labels + LOOKS_A_TERM)
    return min(MOST_ROUNDS, max(1, MOST_LOOKS // looks))
