"""The batch experiment: PRank beside support vector machines on a few synthetic rows, after Herbrich and others."""

from typing import Any

import numpy as np

from abound import PRank
from benchmarks.papers.prank.experiments import DEVELOPMENT, RANKS, explicit, synthetic_stream
from benchmarks.papers.prank.learners import MEAN, PRANK, VOTE, losses

SIZES = (15, 45, 500)
TESTED = 1_000
PENALTIES = (1.0, 10.0, 100.0, 1_000.0)
CLASSIFIER, REGRESSION, PAIRS = "SVM classifier", "SVM regression", "SVM on pairs"
MACHINES = (CLASSIFIER, REGRESSION, PAIRS)
MOST_PAIRS = 20_000
PASSES = 50
REPEATED, REPEATED_MEAN = f"{PRANK}, {PASSES} passes", f"{MEAN}, {PASSES} passes"
OPTIONS: dict[str, dict[str, Any]] = {
    PRANK: {"average": False},
    MEAN: {},
    VOTE: {"voting": True},
    REPEATED: {"average": False, "passes": PASSES},
    REPEATED_MEAN: {"passes": PASSES},
}


class PairMachine:
    """Learn a direction from pairs of rows with different ranks, and cut it where the training loss is least."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: np.ndarray, y: np.ndarray) -> "PairMachine":
        from sklearn.svm import LinearSVC

        features, rng = explicit(X), np.random.default_rng(0)
        upper, lower = np.nonzero(y[:, None] > y[None, :])
        if len(upper) > MOST_PAIRS:
            kept = rng.choice(len(upper), MOST_PAIRS, replace=False)
            upper, lower = upper[kept], lower[kept]
        signs = np.where(rng.random(len(upper)) < 0.5, 1, -1)
        signs[:2] = (1, -1)  # both must occur
        pairs = (features[upper] - features[lower]) * signs[:, None]
        machine = LinearSVC(C=self.C, fit_intercept=False, dual=False, max_iter=5_000).fit(pairs, signs)
        self.direction = machine.coef_[0]
        scores = np.sort(features @ self.direction)
        middles = np.concatenate([[scores[0] - 1], (scores[1:] + scores[:-1]) / 2, [scores[-1] + 1]])
        above = features @ self.direction >= middles[:, None]
        self.cuts = np.sort([middles[(above != (y > r)).sum(axis=1).argmin()] for r in RANKS[:-1]])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.cuts, explicit(X) @ self.direction, side="right") + 1


class Regression:
    """Round the prediction of support vector regression to a rank."""

    def __init__(self, C: float) -> None:
        from sklearn.svm import SVR

        self.machine = SVR(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=C)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Regression":
        self.machine.fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(self.machine.predict(X)), 1, len(RANKS))


def machine(name: str, C: float) -> Any:
    """Create one of the machines of Herbrich and others."""
    from sklearn.svm import SVC

    if name == CLASSIFIER:
        return SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=C)
    return Regression(C) if name == REGRESSION else PairMachine(C)


def drawn(seed: int, size: int) -> tuple[np.ndarray, ...]:
    """Return training rows with at least two ranks, their ranks, test rows and their ranks."""
    rng = np.random.default_rng((seed, size))
    X, y = synthetic_stream(rng, size)
    while len(np.unique(y)) < 2:
        X, y = synthetic_stream(rng, size)
    return (X, y, *synthetic_stream(rng, TESTED))


def chosen_penalties(draws: int) -> dict[str, dict[str, float]]:
    """Return the penalty with the least loss on development draws, for each machine and size."""
    found: dict[str, dict[str, float]] = {name: {} for name in MACHINES}
    for size in SIZES:
        data = [drawn(DEVELOPMENT + i, size) for i in range(draws)]
        for name in MACHINES:
            means = {
                C: np.mean([losses(machine(name, C).fit(X, y).predict(Z), z).mean() for X, y, Z, z in data])
                for C in PENALTIES
            }
            found[name][str(size)] = float(min(means, key=means.__getitem__))
    return found


def batch(seed: int, draws: int, penalties: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the mean rank loss on test rows of every learner, by the number of training rows."""
    found = {}
    for size in SIZES:
        runs: dict[str, list[float]] = {name: [] for name in (*OPTIONS, *MACHINES)}
        for i in range(draws):
            X, y, Z, z = drawn(1_000 * seed + i, size)
            for name, options in OPTIONS.items():
                prank = PRank(ranks=RANKS, **options).fit(explicit(X), y)
                runs[name].append(float(losses(prank.predict(explicit(Z)), z).mean()))
            for name in MACHINES:
                learner = machine(name, penalties[name][str(size)]).fit(X, y)
                runs[name].append(float(losses(learner.predict(Z), z).mean()))
        found[str(size)] = {name: float(np.mean(done)) for name, done in runs.items()}
    return found
