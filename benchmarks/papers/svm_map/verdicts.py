"""How a claim is judged: by paired tests over queries that can confirm it, refute it, or leave it undecided."""

from typing import Any

import numpy as np
from scipy.stats import t as student
from scipy.stats import wilcoxon

SIGNIFICANT = 0.05
MARGIN = 0.01  # of MAP: systems are alike if they differ by less
HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "does not hold", "undecided", "cannot be tested here"


def against(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, Any]:
    """Compare average precisions query by query: means, wins and losses, and the two-tailed Wilcoxon test."""
    a, b = (np.array([side[query] for query in ours]) for side in (ours, theirs))
    difference = a - b
    p = float(wilcoxon(a, b).pvalue) if np.any(difference != 0) else 1.0
    low, high = interval(difference)
    return {
        "MAP": float(b.mean()),
        "difference": float(difference.mean()),
        "low": low,
        "high": high,
        "wins": int((difference > 0).sum()),
        "losses": int((difference < 0).sum()),
        "p": p,
    }


def interval(difference: Any) -> tuple[float, float]:
    """Return the interval of the mean with 90% confidence, as two one-sided tests at 5% need it."""
    n = len(difference)
    half = float(student.ppf(1 - SIGNIFICANT, n - 1) * difference.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    return float(difference.mean()) - half, float(difference.mean()) + half


def better(row: dict[str, Any]) -> str:
    """Judge "ours is better": the test must be significant, in the direction of the mean and of the wins."""
    if row["p"] >= SIGNIFICANT:
        return UNDECIDED
    if row["difference"] > 0 and row["wins"] > row["losses"]:
        return HOLDS
    return FAILS if row["difference"] < 0 and row["wins"] < row["losses"] else UNDECIDED


def alike(row: dict[str, Any], margin: float = MARGIN) -> str:
    """Judge "both are alike": the 90% interval of the mean difference lies inside the margins, or outside them."""
    if -margin < row["low"] and row["high"] < margin:
        return HOLDS
    return FAILS if row["high"] < -margin or row["low"] > margin else UNDECIDED


def not_worse(row: dict[str, Any], margin: float = MARGIN) -> str:
    """Judge "ours is not worse by more than the margin", by the same interval."""
    if row["low"] > -margin:
        return HOLDS
    return FAILS if row["high"] < -margin else UNDECIDED
