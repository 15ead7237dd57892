"""Bands: which labels of a ranking are applied, suggested or hidden."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from abound.calibration import Calibration
from abound.matrices import check_sparse
from abound.rankers.validation import check_number, check_whole
from abound.store import Model

HIDE, SUGGEST, APPLY = 0, 1, 2
BAND_NAMES = ("hide", "suggest", "apply")
STEP = 0.05  # step size of the thresholds, in log-odds
LEVELS = np.arange(-8.0, 8.01, 0.25)  # log-odds at which precision is monitored
WINDOW = 20_000.0  # number of feedback labels over which precision is averaged
APPLIED_WINDOW = 50_000.0  # the same for the applied labels
MIN_FEEDBACK = 50.0  # feedback that a group needs for separate thresholds, and a level for a reliable precision
TOLERANCE = 0.02  # a precision that misses the target by more is treated as certain to miss it
MAX_LABELS = 1 << 26  # each takes memory
IDLE_ROWS = 50  # rows without an applied label after which the threshold is lowered to where the target is met


class Reach(NamedTuple):
    """Whether a target can be reached: the best precision, and the share of shown labels that has it."""

    is_reachable: bool
    precision: float
    share: float


class Bands:
    """Divide rankings into labels to apply, to suggest and to hide, by thresholds learned from feedback.

    Each label of a ranking gets the log-odds that it would be accepted (`Calibration`), whatever the scale of the
    ranker's scores. Two ordered thresholds divide them, as in PRank. Feedback moves the thresholds in unequal steps: a
    rejected label of a band raises the band's threshold by `target` steps, an accepted one lowers it by
    ``1 - target``. The steps cancel exactly when the band has the target precision. So over n applied labels, on any
    stream, the precision is off by at most (distance that the threshold moved) / (step n). Nothing is applied before
    the feedback shows that the target is reachable, or after it shows that it no longer is.

    Parameters
    ----------
    apply : float
        The target share of applied labels that are right.
    suggest : float
        The target share of suggested labels that are right.
    groups : mapping from label number to group number, optional
        Groups, numbered from 0, that get separate thresholds once there is enough feedback on them, so that the targets
        hold in each group. Labels without a group use the common thresholds.
    calibration : Calibration, optional
        The probabilities of labels, which feedback updates; by default one of its own. The bands of a `Tagger` use the
        calibration of its ranker.

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

    def __init__(
        self,
        apply: float = 0.95,
        suggest: float = 0.3,
        *,
        groups: Mapping[int, int] | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        check_number("suggest", suggest, 0.0, 0.999)
        check_number("apply", apply, 0.001, 0.999)
        if suggest > apply:
            raise ValueError(f"suggest must not be above apply={apply:g}, got {suggest:g}")
        self.apply, self.suggest = float(apply), float(suggest)
        self.calibration = Calibration() if calibration is None else calibration
        self.group_of = np.zeros(0, np.int64)  # by label; 0 is common to all labels, and the user's group g is g + 1
        self._start_groups(1)
        if groups:
            self.set_groups(groups)

    def _start_groups(self, n: int) -> None:
        start = [np.log(max(self.suggest, 1e-3) / (1 - self.suggest)), np.log(self.apply / (1 - self.apply))]
        self.thresholds = np.tile(start, (n, 1))
        self.feedback = np.zeros(n)  # number of labels with feedback
        self.idle = np.zeros(n)  # rows since a label was applied
        self.watched = np.zeros((n, 2 * len(LEVELS)))  # rejected and accepted labels by level, with decay
        self.applied = np.zeros((n, 2))  # rejected and accepted labels among the applied, with decay
        self.is_open = np.zeros(n)  # 1 if the target is reachable, so that labels are applied

    def set_groups(self, groups: Mapping[int, int]) -> None:
        """Assign labels to groups, numbered from 0; existing groups keep what they learned."""
        if not isinstance(groups, Mapping):
            raise TypeError(f"groups must be a mapping from label number to group number, got {type(groups).__name__}")
        for label, group in groups.items():
            check_whole("a label's number", label, 0, MAX_LABELS)
            check_whole("a group's number", group, 0, MAX_LABELS)
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

    # -- dividing rankings ---------------------------------------------------------------------------

    def cut(self, labels: ArrayLike, scores: ArrayLike) -> NDArray[np.int8]:
        """Return the band of each label: APPLY, SUGGEST or HIDE.

        Parameters
        ----------
        labels : array-like of int, shape (k,) or (n_rows, k)
            Label numbers, best first, padded with -1; such as ``Ranking.indices``.
        scores : array-like of the same shape
            Their scores. Use rankings of the same length as in `learn`: a score is compared with those of its row.
        """
        ids, values, ranked = _validate_rankings(labels, scores)
        bands = self._cut(self._log_odds(ids, values), self._groups(ids), ranked)
        return bands.reshape(np.shape(labels))

    def probabilities(self, labels: ArrayLike, scores: ArrayLike) -> NDArray[np.float64]:
        """Return the probability that each label is accepted; 0 for padding."""
        ids, values, _ = _validate_rankings(labels, scores)
        return self.calibration.probabilities(ids, values).reshape(np.shape(labels))

    def _log_odds(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        likely = np.clip(self.calibration.probabilities(labels, scores), 1e-12, 1 - 1e-12)
        return np.log(likely / (1 - likely))

    def _groups(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        if len(self.group_of) == 0:
            return np.zeros(labels.shape, np.int64)
        inside = (labels >= 0) & (labels < len(self.group_of))
        return np.where(inside, self.group_of[np.where(inside, labels, 0)], 0)

    def _cut(
        self, log_odds: NDArray[np.float64], groups: NDArray[np.int64], ranked: NDArray[np.bool_]
    ) -> NDArray[np.int8]:
        own = np.where(self.feedback[groups] >= MIN_FEEDBACK, groups, 0)
        # Before there is enough feedback everything is shown: hidden labels get no feedback.
        low = np.where(self.feedback[own] >= MIN_FEEDBACK, self.thresholds[own, 0], -np.inf)
        high = np.where(self.is_open[own] > 0, self.thresholds[own, 1], np.inf)
        return np.where(ranked, (log_odds >= low).astype(np.int8) + (log_odds >= high), HIDE).astype(np.int8)

    # -- learning ------------------------------------------------------------------------------------

    def learn(
        self, labels: ArrayLike, scores: ArrayLike, accepted: ArrayLike, shown: ArrayLike | None = None
    ) -> NDArray[np.int8]:
        """Learn from feedback, row by row; return the band of each label before its row was learned.

        Parameters
        ----------
        labels, scores : array-like of shape (k,) or (n_rows, k)
            Rankings, as for `cut`.
        accepted : array-like of bool, same shape
            Which labels were accepted; used only for labels that were shown.
        shown : array-like of bool, same shape, optional
            Which labels were judged; by default those that are not hidden.
        """
        ids, values, ranked = _validate_rankings(labels, scores)
        check_sparse(accepted, "accepted")
        check_sparse(shown, "shown")
        yes = np.atleast_2d(np.asarray(accepted, bool))
        judged = ranked if shown is None else ranked & np.atleast_2d(np.asarray(shown, bool))
        if yes.shape != ids.shape or judged.shape != ids.shape:
            raise ValueError(f"accepted and shown must have the shape of labels, {np.shape(labels)}")
        groups, bands = self._groups(ids), np.zeros(ids.shape, np.int8)
        for row in np.flatnonzero(ranked.any(axis=1)).tolist():
            one = slice(row, row + 1)
            log_odds = self._log_odds(ids[one], values[one])[0]
            bands[row] = self._cut(log_odds, groups[row], ranked[row])
            mine = judged[row] & (bands[row] > HIDE) if shown is None else judged[row]
            self.calibration.update(ids[one], values[one], yes[one], mine[None])
            self.move(ids[row], log_odds, mine, yes[row])
        return bands.reshape(np.shape(labels))

    def move(
        self,
        labels: NDArray[np.int32],
        log_odds: NDArray[np.float64],
        judged: NDArray[np.bool_],
        accepted: NDArray[np.bool_],
    ) -> None:
        """Move the thresholds by the judgements of one row; the calibration learns elsewhere."""
        groups = self._groups(labels)
        self._move(0, log_odds[judged], accepted[judged])
        for group in set(groups[judged].tolist()) - {0}:
            of_group = judged & (groups == group)
            self._move(group, log_odds[of_group], accepted[of_group])

    def _move(self, group: int, log_odds: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Move a group's thresholds by the feedback on its shown labels of one row."""
        before = self.feedback[group]
        if group and before < MIN_FEEDBACK:
            self.thresholds[group] = self.thresholds[0]  # until it has enough feedback
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
            # Only a band that meets its target may grow without feedback; otherwise its precision would suffer.
            meets_target = self.idle[group] > IDLE_ROWS and right >= self.apply * (right + wrong)
            if meets_target and level is not None and high > level:
                high = max(level, high - STEP * 0.2)
        if in_suggest.any():
            low += STEP * (self.suggest * int(in_suggest.sum()) - int(accepted[in_suggest].sum()))
        else:
            low -= STEP * (0.05 if n_applied else 0.2)  # labels that are never shown get no feedback
        high = float(np.clip(high, LEVELS[0], LEVELS[-1]))
        self.thresholds[group] = min(max(low, float(LEVELS[0])), high), high

    def _watch(self, group: int, log_odds: NDArray[np.float64], accepted: NDArray[np.bool_]) -> None:
        """Count outcomes by level, to know the precision above each level, including levels above the applied ones."""
        self.feedback[group] += len(log_odds)
        self.watched[group] *= (1 - 1 / WINDOW) ** len(log_odds)
        self.applied[group] *= (1 - 1 / APPLIED_WINDOW) ** len(log_odds)
        level = np.clip(np.searchsorted(LEVELS, log_odds, side="right") - 1, 0, len(LEVELS) - 1)
        np.add.at(self.watched[group], level + len(LEVELS) * accepted, 1.0)
        high = log_odds >= self.thresholds[group, 1]
        self.applied[group] += [int((high & ~accepted).sum()), int((high & accepted).sum())]

    def _above(self, group: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the number of labels above each level, and the share of them that was accepted."""
        rejected, accepted = np.split(self.watched[group], 2)
        right = accepted[::-1].cumsum()[::-1]
        total = right + rejected[::-1].cumsum()[::-1]
        return total, right / np.maximum(total, 1e-9)

    def _open_or_close(self, group: int) -> float | None:
        """Apply labels once the target is reachable, and stop when it clearly is not.

        Meanwhile, labels that would be applied are suggested, so that their feedback still moves the threshold.
        """
        total, precision = self._above(group)
        enough = total >= MIN_FEEDBACK
        if not enough.any():
            return None
        good = np.flatnonzero(enough & (precision >= self.apply))
        if len(good):
            self.is_open[group] = 1.0
            return float(LEVELS[good[0]])
        if precision[enough].max() < self.apply - TOLERANCE:
            self.is_open[group] = 0.0
        return None

    # -- inspection and state ------------------------------------------------------------------------

    def reach(self, group: int | None = None) -> Reach:
        """Return whether the target for applied labels can be reached, by the recent feedback.

        Parameters
        ----------
        group : int, optional
            A group; by default all labels.
        """
        number = 0 if group is None else group + 1
        if not 0 <= number < len(self.thresholds):
            raise ValueError(f"group must be between 0 and {len(self.thresholds) - 2}, got {group}")
        total, precision = self._above(number)
        enough = np.flatnonzero(total >= MIN_FEEDBACK)
        if len(enough) == 0:
            return Reach(False, float("nan"), 0.0)
        good = enough[precision[enough] >= self.apply]
        best = int(good[0]) if len(good) else int(enough[precision[enough].argmax()])
        return Reach(len(good) > 0, float(precision[best]), float(total[best] / total[0]))

    def report(self, group: int | None = None) -> str:
        """Return one sentence on whether the target is reached."""
        number, reach = 0 if group is None else group + 1, self.reach(group)
        if np.isnan(reach.precision):
            return f"too little feedback: {self.feedback[number]:.0f} labels, at least {MIN_FEEDBACK:.0f} are needed"
        if not reach.is_reachable:
            return (
                f"the target of {self.apply:.0%} is not reachable: the most confident {reach.share:.1%} of the shown "
                f"labels have a precision of {reach.precision:.0%}; a lower target would apply some"
            )
        wrong, right = self.applied[number].tolist()
        n = right + wrong
        achieved = f"recently {right / n:.1%} were right" if n > 0 else "none has been applied yet"
        return f"the target of {self.apply:.0%} is reachable for {reach.share:.1%} of the shown labels; {achieved}"

    # -- saving --------------------------------------------------------------------------------------

    _BY_GROUP = ("thresholds", "feedback", "idle", "watched", "applied", "is_open")
    _ARRAYS = (*_BY_GROUP, "group_of")

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays."""
        own = {name: getattr(self, name) for name in self._ARRAYS}
        return {"targets": np.array([self.suggest, self.apply]), **own}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], calibration: Calibration) -> Self:
        """Restore the result of `state`; inconsistent arrays raise ValueError or KeyError.

        Models of format version 2 have more arrays, of a calibration that only the bands used. They are not read.
        """
        suggest, apply = _take(arrays, "targets", (2,)).tolist()
        bands = cls(apply, suggest, calibration=calibration)
        n_groups = max(1, len(_take(arrays, "thresholds", (None, 2))))
        for name in cls._BY_GROUP:
            setattr(bands, name, np.array(_take(arrays, name, (n_groups, *getattr(bands, name).shape[1:]))))
        bands.group_of = np.array(_take(arrays, "group_of", (None,), np.int64))
        if np.any(np.diff(bands.thresholds, axis=1) < 0):
            raise ValueError("the thresholds of the bands are not in order")
        if any(np.any(getattr(bands, name) < 0) for name in cls._BY_GROUP[1:]):
            raise ValueError("the bands have counts below 0")
        if np.any(bands.group_of < 0) or np.any(bands.group_of >= n_groups):
            raise ValueError("a label of the bands has an unknown group")
        return bands


def _take(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int | None, ...], dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    try:
        return Model({}, dict(arrays)).take(name, dtype, *shape)
    except ValueError as error:
        raise ValueError(f"{name} of the bands has a wrong type or shape: {error}") from None


def _validate_rankings(
    labels: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.bool_]]:
    """Return labels and scores as matrices, and a mask of the entries that are not padding."""
    ids, values = np.asarray(labels), np.asarray(scores, np.float64)
    if ids.shape != values.shape or ids.ndim not in (1, 2):
        raise ValueError(f"labels and scores must have one shape, (k,) or (n_rows, k); got {ids.shape}, {values.shape}")
    if ids.size and (ids.dtype.kind not in "iu" or ids.min() < -1 or ids.max() >= MAX_LABELS):
        raise ValueError(f"labels must be label numbers below {MAX_LABELS}, best first, padded with -1")
    ids, values = np.atleast_2d(ids).astype(np.int32, order="C"), np.atleast_2d(values)
    ranked = ids >= 0
    if np.any(ranked[:, 1:] > ranked[:, :-1]):
        raise ValueError("labels must be ranked without gaps: padding of -1 comes after all labels of a row")
    if not np.all(np.isfinite(values[ranked])):
        raise ValueError("scores must be finite numbers")
    return ids, np.ascontiguousarray(np.where(ranked, values, 0.0)), ranked
