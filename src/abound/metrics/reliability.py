"""Are probabilities right: of the labels with a probability of 30%, are 30% true?"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_BINS = 15


class CalibrationBin(NamedTuple):
    """Predictions of similar probability: their mean probability, the share that is right, their number and range."""

    probability: float
    right: float
    n: int
    low: float
    high: float


def calibration_bins(probabilities: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> list[CalibrationBin]:
    """Sort predictions by probability and divide them into bins of about equal size.

    Equal probabilities are never divided, so the order of the predictions does not matter. If there are many of them,
    bins differ in size, or there are fewer.

    Parameters
    ----------
    probabilities : array of numbers from 0 to 1
    right : array of bool of the same shape
        Whether each prediction is right.
    n_bins : int

    Returns
    -------
    list of CalibrationBin
        The least probable first; empty without predictions.

    Examples
    --------
    >>> for found in calibration_bins([0.1, 0.2, 0.8, 0.9], [False, False, True, True], 2):
    ...     print(f"{found.probability:.2f} {found.right:.2f} {found.n}")
    0.15 0.00 2
    0.85 1.00 2
    """
    p, hits = _checked(probabilities, right)
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be a whole number of at least 1, got {n_bins!r}")
    if not len(p):
        return []
    order = np.argsort(p, kind="stable")
    p, hits = p[order], hits[order]
    planned = np.arange(n_bins) * len(p) // n_bins
    starts = np.unique(np.searchsorted(p, p[planned]))  # the first of equal probabilities
    ends = np.append(starts[1:], len(p))
    return [
        CalibrationBin(float(p[i:j].mean()), float(hits[i:j].mean()), int(j - i), float(p[i]), float(p[j - 1]))
        for i, j in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def expected_calibration_error(probabilities: ArrayLike, right: ArrayLike, n_bins: int = N_BINS) -> float:
    """Return the mean distance between probability and share of right predictions; see `calibration_bins`.

    Bins count by the number of their predictions. Without predictions, the result is NaN.

    Examples
    --------
    >>> expected_calibration_error([0.25] * 4, [True, False, False, False])
    0.0
    >>> expected_calibration_error([0.9, 0.9], [True, False])
    0.4
    """
    return calibration_error(calibration_bins(probabilities, right, n_bins))


def calibration_error(bins: list[CalibrationBin]) -> float:
    """Return the expected calibration error of bins."""
    total = sum(found.n for found in bins)
    return sum(found.n * abs(found.probability - found.right) for found in bins) / total if total else float("nan")


def _checked(probabilities: ArrayLike, right: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    p, hits = np.asarray(probabilities, np.float64).ravel(), np.asarray(right).ravel()
    if len(p) != len(hits):
        raise ValueError(f"there must be as many probabilities as judgements, got {len(p)} and {len(hits)}")
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("probabilities must be numbers from 0 to 1")
    if not np.all((hits == 0) | (hits == 1)):
        raise ValueError("right must be true or false for each prediction")
    return p, hits.astype(bool)
