"""Calibrated probabilities of ranked labels, learned from rankings whose right labels are known."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from abound.kernels import calibration as kernel
from abound.store import Model

RIDGE = 1.0  # penalty of the standardised weights
BEND_RIDGE = 0.1
NEWTON_STEPS = 30
MEMORY = 50_000.0  # rows after which an old one counts about a third as much as a new one
RECORD_WEIGHT = 0.5  # of the record of a label, before any was seen
LONGEST_RECORD = 400.0  # judgements of a label after which its record is halved, so that it follows a drift
BIAS = 0  # column of the features
UNIT_ROWS = 5_000.0  # rows that origin and unit of the scores are the means of
STRAIGHT = np.array([0.0, 1.0, 0.0])  # a bend that changes nothing
LEVEL_WIDTH = 0.1
LEVELS = np.arange(-8.0, 8.01, LEVEL_WIDTH)  # of log-odds, at which precision is measured
ENOUGH = 100.0  # judgements that a level needs for its precision to be used
FEW_ROWS = 20  # that must have been judged before there are probabilities


class Calibration:
    """The probability that a ranked label is right, by logistic regression.

    The features are the score, its distance to the best score, its rank, its softmax share of the ten best labels, the
    tenth score, and how often people judged the label right compared with what was expected. `fit` learns from many
    rankings, `update` from one more. Scores may have any origin and unit. Results are the same on every machine.

    Attributes
    ----------
    n_rows : int
        Rows that were judged.
    records : ndarray of shape (n_labels or fewer, 2)
        How often each label was right, and how often that was expected.
    outcomes : ndarray of shape (2, n_levels)
        Wrong and right labels by level of log-odds; older ones fade.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.units = np.zeros(3)  # rows, and means over them of the best score and of its distance to the last one
        self.mean = np.zeros(kernel.N_FEATURES)
        self.scale = np.ones(kernel.N_FEATURES)  # in a stream, features are used as they are
        self.weights = np.zeros(kernel.N_FEATURES)
        self.weights[kernel.RECORD_FEATURE] = RECORD_WEIGHT
        self.bend = STRAIGHT.copy()
        self.precision = np.eye(kernel.N_FEATURES) * RIDGE
        self.records = np.zeros((0, 2))
        self.outcomes = np.zeros((2, len(LEVELS)))
        self._prepared: kernel.Probabilities | None = None  # until something is learned

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_prepared": None}  # a compiled object, which cannot be copied

    @property
    def is_ready(self) -> bool:
        """Whether enough rows were judged for probabilities."""
        return self.n_rows >= FEW_ROWS

    # -- using -------------------------------------------------------------------------------------

    def probabilities(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each ranked label, 0 for padding.

        Parameters
        ----------
        labels : ndarray of shape (n_rows, k), int32
            Label numbers, best first, padded with -1. At least ten, or all there are, so that probabilities do not
            depend on k.
        scores : ndarray of the same shape
        """
        if self._prepared is None:
            raw = np.divide(self.weights, self.scale, out=np.zeros_like(self.weights), where=self.scale > 0)
            raw[BIAS] = self.weights[BIAS] - float((raw[1:] * self.mean[1:]).sum())
            self._prepared = kernel.Probabilities(*self._origin_and_unit(), self.records, raw, self.bend)
        return self._prepared.of(labels, scores)

    # -- learning ----------------------------------------------------------------------------------

    def fit(
        self,
        labels: NDArray[np.int32],
        scores: NDArray[np.float64],
        right: NDArray[np.bool_],
    ) -> None:
        """Learn from rankings of rows that the ranker has not learned yet; what was learned before is reset."""
        self.reset()
        ranked = labels >= 0
        if not ranked.any():
            return
        for row in np.flatnonzero(ranked.any(axis=1)).tolist():
            kernel.note_units(scores[row, ranked[row]], UNIT_ROWS, self.units)
        x, y = self._features(labels, scores)[ranked], right[ranked].astype(np.uint8)
        kernel.moments(x, self.mean, self.scale)
        self.mean[kernel.RECORD_FEATURE], self.scale[kernel.RECORD_FEATURE] = 0.0, 1.0  # no label has a record yet
        kernel.standardise(x, self.mean, self.scale)
        kernel.fit(x, y, RIDGE, NEWTON_STEPS, self.bend, self.weights, self.precision)
        self.weights[kernel.RECORD_FEATURE] = RECORD_WEIGHT
        self._fit_bend(x, y)
        kernel.fit(x, y, RIDGE, 0, self.bend, self.weights, self.precision)
        log_odds = np.zeros(len(x))
        kernel.log_odds(x, self.weights, self.bend, log_odds)
        kernel.note_outcomes(log_odds, right[ranked].astype(np.uint8), LEVELS, self.outcomes)
        self.n_rows = int(ranked.any(axis=1).sum())
        self._prepared = None

    def _fit_bend(self, x: NDArray[np.float64], y: NDArray[np.uint8]) -> None:
        """Fit the bend of the log-odds; a larger weighted sum must stay more likely."""
        sums, bend = np.zeros((len(x), kernel.N_BENDS)), STRAIGHT.copy()
        kernel.bend_features(x, self.weights, sums)
        solved = kernel.fit(sums, y, BEND_RIDGE, NEWTON_STEPS, STRAIGHT, bend, np.zeros((kernel.N_BENDS,) * 2))
        if solved and min(bend[1], bend[1] + bend[2]) > 0.0:
            self.bend = bend

    def update(
        self,
        labels: NDArray[np.int32],
        scores: NDArray[np.float64],
        right: NDArray[np.bool_],
        judged: NDArray[np.bool_],
    ) -> None:
        """Learn from one more row: which of its ranked labels were judged, and which of these are right.

        All arguments have shape (1, k), with at most ten labels.
        """
        if labels.shape[1] > kernel.N_COMPARED:
            raise ValueError(f"at most {kernel.N_COMPARED} labels of a row can be judged, got {labels.shape[1]}")
        judged = judged & (labels >= 0)
        if not judged.any():
            return
        self._ensure_labels(int(labels.max()) + 1)
        parts = (self.units, self.weights, self.precision, self.records, self.outcomes)
        learner = kernel.Learner(self.mean, self.scale, self.bend, LEVELS, *parts)
        fading = 1.0 - 1.0 / MEMORY
        outcomes_fading = fading if self.n_rows else 1.0
        marks = right[0].view(np.uint8), judged[0].view(np.uint8)
        learner.learn(labels[0], scores[0], *marks, UNIT_ROWS, fading, outcomes_fading, LONGEST_RECORD)
        self.n_rows += 1
        self._prepared = None

    def reset(self) -> None:
        """Forget what was learned."""
        self.__dict__.update(Calibration().__dict__)

    def _features(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros((*labels.shape, kernel.N_FEATURES))
        kernel.features(labels, scores, *self._origin_and_unit(), self.records, out)
        return out

    def _origin_and_unit(self) -> tuple[float, float]:
        return float(self.units[1]), float(self.units[2]) if self.units[2] > 0 else 1.0

    def _ensure_labels(self, n: int) -> None:
        if n > len(self.records):
            grown = np.zeros((max(n, 2 * len(self.records)), 2))
            grown[: len(self.records)] = self.records
            self.records = grown

    # -- precision ---------------------------------------------------------------------------------

    def precision_above(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how many judged labels are above each level of log-odds, and the share of them that was right."""
        wrong, right = self.outcomes
        n_right = right[::-1].cumsum()[::-1]
        total = n_right + wrong[::-1].cumsum()[::-1]
        return total, n_right / np.maximum(total, 1e-9)

    # -- merging and saving ------------------------------------------------------------------------

    def merge(self, others: Sequence["Calibration"], numbers: Sequence[NDArray[np.int32]]) -> None:
        """Become the one with the most evidence of several, with the label records of all.

        Parameters
        ----------
        others : sequence of Calibration
        numbers : sequence of arrays
            For each of them, the new number of each of its labels.
        """
        if not others:
            return
        best = max(others, key=lambda one: one.n_rows)
        state = best.state()
        self.reset()
        self.restore({name: np.array(array) for name, array in state.items()})
        records = np.zeros((1 + max((int(new.max(initial=-1)) for new in numbers), default=-1), 2))
        for other, new in zip(others, numbers, strict=True):
            known = min(len(other.records), len(new))
            np.add.at(records, new[:known], other.records[:known])
        self.records = records
        self.n_rows = sum(other.n_rows for other in others)

    ARRAYS = ("units", "mean", "scale", "weights", "bend", "precision", "records", "outcomes")

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what was learned, as plain arrays."""
        used = int(np.max(np.flatnonzero(self.records.any(axis=1)), initial=-1)) + 1  # spare room is not state
        arrays = {name: getattr(self, name) for name in self.ARRAYS}
        return {**arrays, "records": self.records[:used], "rows": np.array([self.n_rows], np.int64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take up a state, after checking it; ValueError or KeyError if it cannot be used."""
        model, fresh = Model({}, dict(arrays)), Calibration()
        for name in self.ARRAYS:
            shape = (None, 2) if name == "records" else getattr(fresh, name).shape
            array = model.take(name, np.float64, *shape)
            if not np.all(np.isfinite(array)):
                raise ValueError(f"{name} of the calibration has values that are not finite")
            setattr(self, name, np.array(array))
        (self.n_rows,) = model.take_counts("rows", 1)
        if any(np.any(array < 0) for array in (self.records, self.outcomes, self.scale, self.units[[0, 2]])):
            raise ValueError("the calibration has counts or scales below 0")
        self._prepared = None

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Build a calibration from what `state` returned."""
        calibration = cls()
        calibration.restore(arrays)
        return calibration
