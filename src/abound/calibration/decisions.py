"""Which labels of a ranking to apply, by their probabilities."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from abound.calibration.calibration import ENOUGH, LEVELS, Calibration
from abound.errors import NotCalibrated

NO_PROBABILITIES = "the model has no probabilities yet: fit it on at least 40 texts, or learn 20 texts or more"
ONE_SIDED = 1.645  # standard errors below which a precision lies in 5% of the cases
CONSIDERED = 20  # labels of a ranking among which the assigned ones are chosen


class PrecisionTarget(NamedTuple):
    """Whether a precision can be reached: the threshold for it, the precision there, and the share of labels above."""

    is_reachable: bool
    threshold: float
    precision: float
    share: float

    @classmethod
    def of(cls, calibration: Calibration, target: float) -> "PrecisionTarget":
        """Find the lowest probability above which judged labels are right as often as `target`, with 95% confidence."""
        total, measured = calibration.precision_above()
        precision = _lower_bound(measured, np.maximum(total, 1.0))
        enough = np.flatnonzero(total >= ENOUGH)
        if not len(enough):
            return cls(False, 1.0, float("nan"), 0.0)
        good = enough[precision[enough] >= target]
        level = int(good[0]) if len(good) else int(enough[precision[enough].argmax()])
        threshold = 1.0 / (1.0 + float(np.exp(-LEVELS[level])))
        return cls(bool(len(good)), threshold, float(measured[level]), float(total[level] / total[0]))

    def sentence(self, target: float) -> str:
        """Say how the target can be met."""
        wanted = f"a precision of {100 * target:g}%"
        if np.isnan(self.precision):
            return f"{wanted} cannot be promised yet: at least {ENOUGH:.0f} judged labels are needed"
        if self.is_reachable:
            return f"{wanted} is reached with labels of probability {self.threshold:.3f} and above"
        best = f"the {self.share:.1%} of labels with the highest probabilities are right in {self.precision:.0%} of the"
        if self.precision >= target:
            return f"{wanted} cannot be promised: {best} cases, but they are too few to be sure; choose a lower target"
        return f"{wanted} cannot be reached: {best} cases; choose a lower target"


def _lower_bound(share: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower end of Wilson's interval for a share of n."""
    z2 = ONE_SIDED**2
    spread = ONE_SIDED * np.sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n))
    return (share + z2 / (2.0 * n) - spread) / (1.0 + z2 / n)


@dataclass(frozen=True)
class Decision:
    """How labels are assigned; give one of the two, or none for the best expected F1 of each row.

    Attributes
    ----------
    threshold : float, optional
        Assign labels with at least this probability.
    precision : float, optional
        Assign as many labels as possible so that this share of them is right. If that cannot be reached, no label is
        assigned.
    """

    threshold: float | None = None
    precision: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and self.precision is not None:
            raise ValueError("give either a threshold or a precision, not both")
        for name in ("threshold", "precision"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0.0 < value <= 1.0):
                raise ValueError(f"{name} must be a number above 0 and at most 1, got {value!r}")

    def warning(self, calibration: Calibration) -> str | None:
        """Return a sentence if the precision cannot be reached."""
        if self.precision is None:
            return None
        target = PrecisionTarget.of(calibration, self.precision)
        return None if target.is_reachable else target.sentence(self.precision)

    def assigned(self, probabilities: NDArray[np.float64], calibration: Calibration) -> NDArray[np.bool_]:
        """Return which ranked labels to apply; `probabilities` has shape (n_rows, k), 0 for padding."""
        if not calibration.is_ready:
            raise NotCalibrated(NO_PROBABILITIES)
        if self.threshold is not None:
            return probabilities >= self.threshold
        if self.precision is not None:
            target = PrecisionTarget.of(calibration, self.precision)
            if not target.is_reachable:
                return np.zeros(probabilities.shape, bool)
            return probabilities >= target.threshold
        return expected_f1(probabilities)


def expected_f1(probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the labels of each row that have the best expected F1 together.

    Labels are sorted by probability. With m of them, the expected F1 is about twice the sum of their probabilities,
    divided by m plus the number of right labels that is expected in all.

    Examples
    --------
    >>> expected_f1(np.array([[0.9, 0.6, 0.1], [0.2, 0.0, 0.0]]))
    array([[ True,  True, False],
           [ True, False, False]])
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=1)
    total = ordered.sum(axis=1, keepdims=True)
    sizes = np.arange(1, probabilities.shape[1] + 1)
    expected = 2.0 * ordered.cumsum(axis=1) / (sizes + total)
    best = np.where(ordered > 0.0, expected, -1.0).argmax(axis=1)
    chosen = (np.arange(probabilities.shape[1]) <= best[:, None]) & (ordered > 0.0)
    out = np.zeros(probabilities.shape, bool)
    np.put_along_axis(out, order, chosen, axis=1)
    return out
