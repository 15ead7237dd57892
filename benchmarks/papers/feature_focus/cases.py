"""Section 4.3.1: when updates after errors only are better than constant updates, and when they are worse."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import FeatureFocus

ROWS, HELD_OUT = 2000, 0.2
FREQUENT = 0.7  # the share of the first label in case 1; the paper says only that it is the more frequent one
MARGINS = {"always": None, "after errors": 0.0}


def case_1(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two labels: the first has both features, the second only the second feature."""
    y = (random.random(ROWS) >= FREQUENT).astype(int)
    return np.column_stack([y == 0, np.ones(ROWS)]).astype(float), y


def case_2(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three labels with probabilities 1/2, 1/4 and 1/4; all have the same single feature."""
    return np.ones((ROWS, 1)), random.choice(3, ROWS, p=[0.5, 0.25, 0.25])


def accuracy(X: np.ndarray, y: np.ndarray, margin: float | None) -> float:
    """Learn four fifths of the rows, and return the share of the others whose label is ranked first."""
    cut = round((1 - HELD_OUT) * len(y))
    ranker = FeatureFocus(margin=margin, rating="none").fit(sp.csr_array(X[:cut]), y[:cut])
    return float(np.mean(ranker.predict(sp.csr_array(X[cut:])) == y[cut:]))


def both(trials: int) -> dict[str, Any]:
    """Return R1 of each trial in both cases, with constant updates and with updates after errors."""
    result: dict[str, Any] = {"trials": trials}
    for name, make in (("case 1", case_1), ("case 2", case_2)):
        found: dict[str, list[float]] = {way: [] for way in MARGINS}
        for number in range(trials):
            X, y = make(np.random.default_rng(number))  # a new sample each time, so that trials are independent
            for way, margin in MARGINS.items():
                found[way].append(accuracy(X, y, margin))
        result[name] = found
    return result
