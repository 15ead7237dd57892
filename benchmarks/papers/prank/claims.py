"""The claims of the paper, each judged by differences between seeds: they hold, do not hold, or are undecided.

A claim is that one learner's loss is lower than another's. The 99% interval of the mean difference over seeds
(Student's t) decides: the claim holds if the interval is below 0, does not hold if it is above 0, and is undecided
otherwise. A claim about a whole run is judged after several rounds: it holds if it holds after each of them, does not
hold if it does not hold after one of them, and is undecided otherwise.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.papers.prank.batch import MACHINES, REPEATED
from benchmarks.papers.prank.learners import LINEAR, MCP, MEAN, PRANK, VOTE, WH, WH_INTERCEPT

HOLDS, FAILS, UNDECIDED, UNTESTED = "holds", "does not hold", "undecided", "cannot be tested here"
CONFIDENCE = 0.99
POINTS = 8  # of a curve, from its tenth round to its end
Result = dict[str, Any]
Check = dict[str, Any]


def interval(differences: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of the differences and both ends of its interval."""
    values = np.asarray(differences, float)
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error
    return mean, mean - half, mean + half


def verdict(differences: Sequence[float]) -> str:
    """Judge that the differences are below 0."""
    _, low, high = interval(differences)
    return HOLDS if high < 0 else FAILS if low > 0 else UNDECIDED


def joint(verdicts: Sequence[str]) -> str:
    """Judge a claim that consists of several."""
    if FAILS in verdicts:
        return FAILS
    return HOLDS if all(one == HOLDS for one in verdicts) else UNDECIDED


def evidence(differences: Sequence[float]) -> str:
    mean, low, high = interval(differences)
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def after_all(run: Result, first: str, second: str) -> tuple[str, str]:
    """Judge that a learner's loss after the last round is lower than another's."""
    found = _difference(run, first, second)[:, -1]
    return verdict(found), f"{first} less {second}: {evidence(found)}"


def throughout(run: Result, first: str, second: str, last: int | None = None) -> tuple[str, str]:
    """Judge that a learner's loss is lower than another's after several rounds, up to `last` of them."""
    found = _difference(run, first, second)
    rounds = [n for n in run["shown"] if last is None or n <= last]
    at = np.unique(np.linspace(0, len(rounds) - 1, POINTS).astype(int))
    verdicts = [verdict(found[:, i]) for i in at]
    count = sum(one == HOLDS for one in verdicts)
    return (
        joint(verdicts),
        f"{first} less {second}: lower after {count} of {len(at)} rounds, from {rounds[0]} ({evidence(found[:, 0])}) "
        f"to {rounds[at[-1]]} ({evidence(found[:, at[-1]])})",
    )


def _difference(run: Result, first: str, second: str) -> np.ndarray:
    return np.array(run["curves"][first]) - np.array(run["curves"][second])


def check(claim: str, where: str, *parts: tuple[str, str], ours: bool = False) -> Check:
    """Join the parts of a claim; `ours` marks one that the paper does not make."""
    return {
        "claim": claim,
        "where": where,
        "verdict": joint([found for found, _ in parts]),
        "evidence": [words for _, words in parts],
        "ours": ours,
    }


def of_theory(result: Result) -> list[Check]:
    """Check what the paper proves; a failure would be an error of the code."""
    found = result["bounds"].values()
    ordered, share = sum(row["out_of_order"] for row in found), max(row["largest_share"] for row in found)
    rows = int(sum(sum(row["rows"]["seeds"]) for row in found))
    right, moved = result["parameters"], result["moves"]
    closer = {name: row["right"]["mean"] + row["nearer"]["mean"] for name, row in moved.items()}
    text = ", ".join(f"{100 * share:.0f}% on {name}" for name, share in closer.items())
    return [
        check(
            "Lemma 1: the thresholds stay in order",
            "separable rows",
            (FAILS if ordered else HOLDS, f"out of order after {ordered} of {rows:,} rows"),
        ),
        check(
            "Theorem 2: the rank loss is at most (k - 1)(R² + 1) / γ²",
            "separable rows",
            (HOLDS if share <= 1 else FAILS, f"the loss is at most {100 * share:.2f}% of the bound"),
        ),
        check(
            "PRank has n + k - 1 parameters, Widrow-Hoff n, and the multiclass perceptron kn",
            "7 columns, 5 ranks",
            (
                HOLDS if right == {PRANK: 7 + 4, WH: 7, MCP: 5 * 7} else FAILS,
                ", ".join(f"{name} {n}" for name, n in right.items()),
            ),
        ),
        check(
            "Figure 1, if it is meant for every update: the rank of its row comes closer to the true rank",
            "all sets",
            (HOLDS if min(closer.values()) == 1 else FAILS, f"it is closer after these shares of updates: {text}"),
        ),
    ]


def of_synthetic(result: Result) -> list[Check]:
    """Check the left plot of figure 3."""
    run = result["online"]["synthetic"]
    return [
        check(
            "The multiclass perceptron is constantly worse than Widrow-Hoff and PRank",
            "synthetic",
            throughout(run, WH, MCP),
            throughout(run, PRANK, MCP),
        ),
        check(
            "At first, Widrow-Hoff has the lowest loss",
            "synthetic, up to 100 rounds",
            throughout(run, WH, PRANK, 100),
            throughout(run, WH, MCP, 100),
        ),
        check(
            "In the end, PRank has a lower loss than Widrow-Hoff and the multiclass perceptron",
            "synthetic",
            after_all(run, PRANK, WH),
            after_all(run, PRANK, MCP),
        ),
        check("PRank can be combined with kernels, which help", "synthetic", after_all(run, PRANK, LINEAR)),
        check("PRank can be combined with voting, which helps", "synthetic", after_all(run, VOTE, PRANK)),
        check("The mean in the place of the vote helps, too", "synthetic", after_all(run, MEAN, PRANK), ours=True),
        check("The mean beats Widrow-Hoff", "synthetic", after_all(run, MEAN, WH), ours=True),
        check("The vote beats the mean", "synthetic", after_all(run, VOTE, MEAN), ours=True),
    ]


def of_ratings(result: Result) -> list[Check]:
    """Check the middle and the right plot of figure 3 on our own tables."""
    checks = []
    for name, run in result["online"].items():
        if name == "synthetic":
            continue
        lower = "PRank is significantly better than Widrow-Hoff in the entire run"
        checks += [
            check(f"{lower}: Widrow-Hoff with n weights, as in the paper", name, throughout(run, PRANK, WH)),
            check(f"{lower}: Widrow-Hoff with an intercept", name, throughout(run, PRANK, WH_INTERCEPT)),
            check("PRank is consistently better than the multiclass perceptron", name, throughout(run, PRANK, MCP)),
            check(
                "After the last round, PRank beats Widrow-Hoff with n weights",
                name,
                after_all(run, PRANK, WH),
                ours=True,
            ),
            check("The mean beats PRank's last hypothesis", name, after_all(run, MEAN, PRANK), ours=True),
            check("The vote beats PRank's last hypothesis", name, after_all(run, VOTE, PRANK), ours=True),
            check("The vote beats the mean", name, after_all(run, VOTE, MEAN), ours=True),
            check("The mean beats Widrow-Hoff with an intercept", name, after_all(run, MEAN, WH_INTERCEPT), ours=True),
        ]
    return checks


def of_batch(result: Result) -> list[Check]:
    """Check that PRank's last hypothesis is best on test rows, after one pass and after several."""
    checks = []
    for title, prank in (("after one pass", PRANK), ("after 50 passes", REPEATED)):
        for rows, found in result["batch"]["sizes"].items():
            parts = []
            for other in MACHINES:
                differences = np.array(found[prank]["seeds"]) - np.array(found[other]["seeds"])
                parts.append((verdict(differences), f"PRank less {other}: {evidence(differences)}"))
            checks.append(check(f"In batch mode, PRank comes first {title}", f"{rows} training rows", *parts))
    return checks


def checks(result: Result) -> list[Check]:
    """Return all claims with their verdicts."""
    return [
        *(of_theory(result) if "bounds" in result else []),
        *(of_synthetic(result) if "synthetic" in result["online"] else []),
        *of_ratings(result),
        *(of_batch(result) if "batch" in result else []),
    ]
