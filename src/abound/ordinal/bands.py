"""Bands: which labels of a ranking are applied, which are suggested, and which are hidden."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from abound.matrices import check_sparse
from abound.ordinal.confidence import Confidence, RowShape
from abound.rankers.validation import check_number, check_whole
from abound.store import Model

HIDE, SUGGEST, APPLY = 0, 1, 2
BAND_NAMES = ("hide", "suggest", "apply")
STEP = 0.05  # of the thresholds, in log-odds
LEVELS = np.arange(-8.0, 8.01, 0.25)  # of log-odds, at which precision is watched
MEMORY = 20_000.0  # feedback on labels that the watched precision is taken over
APPLIED_MEMORY = 50_000.0  # the same for the precision of what was applied
ENOUGH = 50.0  # feedback that a group needs for thresholds of its own, and a level for its precision to be believed
CLEARLY = 0.02  # a precision that misses the target by more is believed to do so
MOST_LABELS = 1 << 26  # a record is kept of each
IDLE = 50  # rows without an applied label after which the threshold comes down to where the target is met


class Reach(NamedTuple):
    """Whether a target can be reached: the best precision there is, and the share of shown labels that has it."""

    is_reachable: bool
    precision: float
    share: float


class Bands:
    """Cut rankings into labels to apply, to suggest and to hide, and learn where from feedback on those shown.

    Each label of a ranking gets the log-odds that it would be accepted (`Confidence`), whatever the scale of the
    ranker's scores. Two thresholds in order cut them, as in PRank, and are moved by feedback in unequal steps: a
    rejected label of a band pushes the band's threshold up by `target` steps, an accepted one lets it down by
    ``1 - target``. They cancel exactly when the band has the precision that is wanted, so that over n applied labels
    the precision is off by at most (how far the threshold went) / (step n), on any stream. Nothing is applied before
    the feedback shows that the target is reachable, nor when it shows that it is so no longer.

    Parameters
    ----------
    apply : float
        The share of applied labels that are to be right.
    suggest : float
        The share of suggested labels that are to be right.
    groups : mapping from label number to group number, optional
        Groups from 0 on that get thresholds of their own once there is enough feedback on them, so that the
        targets hold in each; what is in no group goes by the thresholds of all.

    Examples
    --------
    >>> import numpy as np
    >>> bands = Bands(apply=0.9, suggest=0.3)
    >>> labels, scores = np.tile([0, 1], (300, 1)), np.tile([5.0, 1.0], (300, 1))
    >>> accepted = np.tile([True, False], (300, 1))  # the first label is always right, the second never
    >>> _ = bands.learn(labels, scores, accepted)
    >>> [BAND_NAMES[band] for band in bands.cut([0, 1], [5.0, 1.0])]
    ['apply', 'hide']
    """

    def __init__(self, apply: float = 0.95, suggest: float = 0.3, *, groups: Mapping[int, int] | None = None) -> None:
        check_number("suggest", suggest, 0.0, 0.999)
        check_number("apply", apply, 0.001, 0.999)
        if suggest > apply:
            raise ValueError(f"suggest must not be above apply={apply:g}, got {suggest:g}")
        self.apply, self.suggest = float(apply), float(suggest)
        self.confidence = Confidence()
        self.group_of = np.zeros(0, np.int64)  # by label; 0 is all, a person's group g is g + 1
        self._start_groups(1)
        if groups:
            self.set_groups(groups)

    def _start_groups(self, n: int) -> None:
        start = [np.log(max(self.suggest, 1e-3) / (1 - self.suggest)), np.log(self.apply / (1 - self.apply))]
        self.thresholds = np.tile(start, (n, 1))
        self.feedback = np.zeros(n)  # labels with feedback
        self.idle = np.zeros(n)  # rows since a label was applied
        self.watched = np.zeros((n, 2 * len(LEVELS)))  # rejected and accepted labels by level, fading
        self.applied = np.zeros((n, 2))  # rejected and accepted among the applied, fading
        self.is_open = np.zeros(n)  # 1 where the target was seen to be reachable, so that labels are applied

    def set_groups(self, groups: Mapping[int, int]) -> None:
        """Put labels into groups, numbered from 0; groups that were there keep what they learnt."""
        if not isinstance(groups, Mapping):
            raise TypeError(f"groups must be a mapping from label number to group number, got {type(groups).__name__}")
        for label, group in groups.items():
            check_whole("a label's number", label, 0, MOST_LABELS)
            check_whole("a group's number", group, 0, MOST_LABELS)
        numbers = [int(group) for group in groups.values()]
        self.group_of = np.zeros(max(groups, default=-1) + 1, np.int64)
        for label, group in groups.items():
            self.group_of[label] = group + 1
        missing = 2 + max(numbers, default=-1) - len(self.thresholds)
        if missing > 0:
            grown = Bands(self.apply, self.suggest)
            grown._start_groups(missing)
            for name in self._BY_GROUP:
                setattr(self, name, np.concatenate([getattr(self, name), getattr(grown, name)]))

    # -- cutting -------------------------------------------------------------------------------------

    def cut(self, labels: ArrayLike, scores: ArrayLike) -> NDArray[np.int8]:
        """Return the band of each label: APPLY, SUGGEST or HIDE.

        Parameters
        ----------
        labels : array-like of int, shape (k,) or (n_rows, k)
            Label numbers, best first, padded with -1; such as ``Ranking.indices``.
        scores : array-like of the same shape
            Their scores. Give rankings of one length, here and in `learn`: a score is seen beside those of its row.
        """
        found, values, ranked = _checked(labels, scores)
        bands = self._cut(self._log_odds(found, values, ranked), self._groups(found), ranked)
        return bands.reshape(np.shape(labels))

    def probabilities(self, labels: ArrayLike, scores: ArrayLike) -> NDArray[np.float64]:
        """Return how likely each label is to be accepted; 0 for padding."""
        found, values, ranked = _checked(labels, scores)
        log_odds = self._log_odds(found, values, ranked)
        likely = np.where(ranked, 1 / (1 + np.exp(-np.clip(log_odds, -30, 30))), 0.0)
        return likely.reshape(np.shape(labels))

    def _log_odds(
        self, labels: NDArray[np.int64], scores: NDArray[np.float64], ranked: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        self.confidence.ensure_labels(int(labels.max(initial=0)) + 1)
        return self.confidence.prepare(np.maximum(labels, 0), RowShape.of(scores, ranked)).log_odds

    def _groups(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(self.group_of) == 0:
            return np.zeros(labels.shape, np.int64)
        inside = (labels >= 0) & (labels < len(self.group_of))
        return np.where(inside, self.group_of[np.where(inside, labels, 0)], 0)

    def _cut(
        self, log_odds: NDArray[np.float64], groups: NDArray[np.int64], ranked: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        own = np.where(self.feedback[groups] >= ENOUGH, groups, 0)
        # Before there is enough feedback all is shown: what is hidden could never be learnt.
        low = np.where(self.feedback[own] >= ENOUGH, self.thresholds[own, 0], -np.inf)
        high = np.where(self.is_open[own] > 0, self.thresholds[own, 1], np.inf)
        return np.where(ranked, (log_odds >= low).astype(np.int8) + (log_odds >= high), HIDE).astype(np.int8)

    # -- learning ------------------------------------------------------------------------------------

    def learn(
        self, labels: ArrayLike, scores: ArrayLike, accepted: ArrayLike, shown: ArrayLike | None = None
    ) -> NDArray[np.int8]:
        """Learn from feedback, a row after the other; return the band that each label had before its row was learnt.

        Parameters
        ----------
        labels, scores : array-like of shape (k,) or (n_rows, k)
            Rankings, as for `cut`.
        accepted : array-like of bool, same shape
            Which labels were accepted; looked at only where a label was shown.
        shown : array-like of bool, same shape, optional
            Which labels were judged; without, those that are not hidden.
        """
        found, values, ranked = _checked(labels, scores)
        check_sparse(accepted, "accepted")
        check_sparse(shown, "shown")
        yes = np.atleast_2d(np.asarray(accepted, bool))
        judged = ranked if shown is None else ranked & np.atleast_2d(np.asarray(shown, bool))
        if yes.shape != found.shape or judged.shape != found.shape:
            raise ValueError(f"accepted and shown must have the shape of labels, {np.shape(labels)}")
        groups, bands = self._groups(found), np.zeros(found.shape, np.int8)
        known, shape = np.maximum(found, 0), RowShape.of(values, ranked)
        self.confidence.ensure_labels(int(known.max(initial=0)) + 1)
        for row in np.flatnonzero(ranked.any(axis=1)).tolist():
            prepared = self.confidence.prepare(known[row], shape.row(row))
            bands[row] = self._cut(prepared.log_odds, groups[row], ranked[row])
            mine = judged[row] & (bands[row] > HIDE) if shown is None else judged[row]
            ends = values[row, ranked[row]][[0, -1]].tolist()
            self.confidence.learn(known[row], prepared, (ends[0], ends[1]), mine, yes[row])
            self._move(0, prepared.log_odds[mine], yes[row, mine])
            for group in set(groups[row, mine].tolist()) - {0}:
                of_group = mine & (groups[row] == group)
                self._move(group, prepared.log_odds[of_group], yes[row, of_group])
        return bands.reshape(np.shape(labels))

    def _move(self, group: int, log_odds: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Move a group's thresholds by the feedback on its shown labels of one row."""
        before = self.feedback[group]
        if group and before < ENOUGH:
            self.thresholds[group] = self.thresholds[0]  # until it has thresholds of its own
        self._watch(group, log_odds, accepted)
        level = self._open_or_close(group)
        low, high = self.thresholds[group].tolist()
        in_apply = log_odds >= high
        in_suggest = (log_odds >= low) & ~in_apply
        n_applied, n_right = int(in_apply.sum()), int(accepted[in_apply].sum())
        if n_applied:
            high += STEP * (self.apply * n_applied - n_right)  # wrong: + apply; right: - (1 - apply)
            self.idle[group] = 0.0
        else:
            self.idle[group] += 1.0
            wrong, right = self.applied[group].tolist()
            # Only a band that owes nothing may grow without feedback of its own: else its precision would suffer.
            owes_nothing = self.idle[group] > IDLE and right >= self.apply * (right + wrong)
            if owes_nothing and level is not None and high > level:
                high = max(level, high - STEP * 0.2)
        if in_suggest.any():
            low += STEP * (self.suggest * int(in_suggest.sum()) - int(accepted[in_suggest].sum()))
        else:
            low -= STEP * (0.05 if n_applied else 0.2)  # what is never shown could never be learnt
        high = float(np.clip(high, LEVELS[0], LEVELS[-1]))
        self.thresholds[group] = min(max(low, float(LEVELS[0])), high), high

    def _watch(self, group: int, log_odds: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Count outcomes by level, so that the precision above each level is known, also above what is applied."""
        self.feedback[group] += len(log_odds)
        self.watched[group] *= (1 - 1 / MEMORY) ** len(log_odds)
        self.applied[group] *= (1 - 1 / APPLIED_MEMORY) ** len(log_odds)
        level = np.clip(np.searchsorted(LEVELS, log_odds, side="right") - 1, 0, len(LEVELS) - 1)
        np.add.at(self.watched[group], level + len(LEVELS) * accepted, 1.0)
        high = log_odds >= self.thresholds[group, 1]
        self.applied[group] += [int((high & ~accepted).sum()), int((high & accepted).sum())]

    def _above(self, group: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how many labels are above each level, and the share of them that was accepted."""
        rejected, accepted = np.split(self.watched[group], 2)
        right = accepted[::-1].cumsum()[::-1]
        total = right + rejected[::-1].cumsum()[::-1]
        return total, right / np.maximum(total, 1e-9)

    def _open_or_close(self, group: int) -> float | None:
        """Let labels be applied once the target is seen to be reachable, and no longer when it clearly is not.

        Labels that would be applied are suggested meanwhile, so their feedback goes on moving the threshold.
        """
        total, precision = self._above(group)
        enough = total >= ENOUGH
        if not enough.any():
            return None
        good = np.flatnonzero(enough & (precision >= self.apply))
        if len(good):
            self.is_open[group] = 1.0
            return float(LEVELS[good[0]])
        if precision[enough].max() < self.apply - CLEARLY:
            self.is_open[group] = 0.0
        return None

    # -- what it knows -------------------------------------------------------------------------------

    def reach(self, group: int | None = None) -> Reach:
        """Say whether the target for applied labels can be reached, from the feedback of late.

        Parameters
        ----------
        group : int, optional
            One of the groups; without, all labels.
        """
        number = 0 if group is None else group + 1
        if not 0 <= number < len(self.thresholds):
            raise ValueError(f"group must be between 0 and {len(self.thresholds) - 2}, got {group}")
        total, precision = self._above(number)
        enough = np.flatnonzero(total >= ENOUGH)
        if len(enough) == 0:
            return Reach(False, float("nan"), 0.0)
        good = enough[precision[enough] >= self.apply]
        best = int(good[0]) if len(good) else int(enough[precision[enough].argmax()])
        return Reach(len(good) > 0, float(precision[best]), float(total[best] / total[0]))

    def report(self, group: int | None = None) -> str:
        """Say in one sentence how the target stands."""
        number, reach = 0 if group is None else group + 1, self.reach(group)
        if np.isnan(reach.precision):
            return f"too little feedback: {self.feedback[number]:.0f} labels, at least {ENOUGH:.0f} are needed"
        if not reach.is_reachable:
            return (
                f"the target of {self.apply:.0%} is not reachable: the surest {reach.share:.1%} of the shown labels "
                f"are right in {reach.precision:.0%}; a lower target would apply some"
            )
        wrong, right = self.applied[number].tolist()
        achieved = f"of late {right / (right + wrong):.1%} were right" if right + wrong > 0 else "none was applied yet"
        return f"the target of {self.apply:.0%} is reachable for {reach.share:.1%} of the shown labels; {achieved}"

    # -- keeping -------------------------------------------------------------------------------------

    _BY_GROUP = ("thresholds", "feedback", "idle", "watched", "applied", "is_open")
    _ARRAYS = (*_BY_GROUP, "group_of")

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that is to be kept, as plain arrays."""
        own = {name: getattr(self, name) for name in self._ARRAYS}
        return {"targets": np.array([self.suggest, self.apply]), **own, **self.confidence.arrays()}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Undo `state`; what does not fit together raises ValueError or KeyError."""
        suggest, apply = _plain(arrays, "targets", (2,)).tolist()
        bands = cls(apply, suggest)
        n_groups = max(1, len(_plain(arrays, "thresholds", (None, 2))))
        for name in cls._BY_GROUP:
            setattr(bands, name, np.array(_plain(arrays, name, (n_groups, *getattr(bands, name).shape[1:]))))
        bands.group_of = np.array(_plain(arrays, "group_of", (None,), np.int64))
        if np.any(np.diff(bands.thresholds, axis=1) < 0):
            raise ValueError("the thresholds of the bands are not in order")
        if any(np.any(getattr(bands, name) < 0) for name in cls._BY_GROUP[1:]):
            raise ValueError("the bands have counts below 0")
        if np.any(bands.group_of < 0) or np.any(bands.group_of >= n_groups):
            raise ValueError("the bands' groups are not all there")
        bands.confidence.restore({name: arrays[name] for name in Confidence.ARRAYS})
        return bands


def _plain(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int | None, ...], dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    try:
        return Model({}, dict(arrays)).take(name, dtype, *shape)
    except ValueError as error:
        raise ValueError(f"{name} of the bands has a wrong type or shape: {error}") from None


def _checked(labels: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return labels and scores as matrices, and where there is a label at all."""
    found, values = np.asarray(labels), np.asarray(scores, np.float64)
    if found.shape != values.shape or found.ndim not in (1, 2):
        raise ValueError(
            f"labels and scores must have one shape, (k,) or (n_rows, k); got {found.shape}, {values.shape}"
        )
    if found.size and (found.dtype.kind not in "iu" or found.min() < -1 or found.max() >= MOST_LABELS):
        raise ValueError(f"labels must be label numbers below {MOST_LABELS}, best first, padded with -1")
    found, values = np.atleast_2d(found).astype(np.int64), np.atleast_2d(values)
    ranked = found >= 0
    if not np.all(np.isfinite(values[ranked])):
        raise ValueError("scores must be finite numbers")
    return found, np.where(ranked, values, 0.0), ranked
