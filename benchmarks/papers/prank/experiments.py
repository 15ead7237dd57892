"""The experiments, one cell for each seed: what a cell returns is all that is stored of it.

A cell is small enough to be computed again alone, and seeds are what the claims are tested on.
"""

from typing import Any

import numpy as np

from abound import MulticlassPerceptron, PRank, WidrowHoff
from benchmarks.papers.prank import learners as of
from benchmarks.papers.prank.learners import LINEAR, MCP, MEAN, PRANK, VOTE, WH, WH_INTERCEPT, Stream
from benchmarks.papers.ratings import Ratings

DEVELOPMENT = 1_000_000  # seeds from here on choose settings, and are never measured
RANKS = [1, 2, 3, 4, 5]
CUTS = [-1, -0.1, 0.25, 1]
NOISE = 0.125
ONLINE = (PRANK, MEAN, VOTE, WH, WH_INTERCEPT, MCP)


def rounds_shown(n: int) -> np.ndarray:
    return np.unique(np.geomspace(10, n, 30).astype(int))


def averaged(runs: list[np.ndarray]) -> list[float]:
    """Return the time-averaged loss after the rounds that are shown, as the mean of several runs."""
    at = rounds_shown(len(runs[0]))
    return np.mean([(np.cumsum(run) / np.arange(1, len(run) + 1))[at - 1] for run in runs], axis=0).tolist()


# -- synthetic: the left plot of figure 3 ------------------------------------------------------------


def synthetic_stream(rng: np.random.Generator, n: int) -> Stream:
    """Return points of the unit square with ranks cut from a noisy saddle."""
    X = rng.random((n, 2))
    height = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + rng.normal(0, NOISE, n)
    return X, np.digitize(height, CUTS) + 1


def explicit(X: np.ndarray) -> np.ndarray:
    """Return the features of the kernel (x.x' + 1)^2; the first is 1, so that it is an intercept."""
    a, b, root = X[:, 0], X[:, 1], np.sqrt(2)
    return np.stack([np.ones(len(X)), root * a, root * b, a * a, b * b, root * a * b], axis=1)


def synthetic_rates(sequences: int, n: int) -> dict[str, dict[str, float]]:
    """Return Widrow-Hoff's losses on development sequences."""
    drawn = (synthetic_stream(np.random.default_rng(DEVELOPMENT + i), n) for i in range(sequences))
    return {WH: of.tried_rates(((explicit(X), y) for X, y in drawn), RANKS, intercept=False)}


def synthetic(seed: int, sequences: int, n: int, rates: dict[str, float]) -> dict[str, Any]:
    """Run all learners: PRank with the kernel, the others on its explicit features."""
    rng = np.random.default_rng(seed)
    made = of.makers(RANKS, rates, (MEAN, VOTE, WH, MCP))
    runs: dict[str, list[np.ndarray]] = {name: [] for name in (PRANK, *made, LINEAR)}
    support = []
    for _ in range(sequences):
        X, y = synthetic_stream(rng, n)
        features, prank = explicit(X), PRank(kernel="poly", ranks=RANKS)
        runs[PRANK].append(of.losses(prank.predict_learn(X, y), y))
        support.append(prank.n_support_)
        runs[LINEAR].append(of.losses(PRank(ranks=RANKS).predict_learn(X, y), y))
        for name, make in made.items():
            runs[name].append(of.online_losses(name, make(), features, y))
    return {"curves": {name: averaged(done) for name, done in runs.items()}, "support": float(np.mean(support))}


# -- collaborative filtering: the middle and the right plot of figure 3 ------------------------------


def targets_of(ratings: Ratings, least: int, development: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns with enough ratings: some for the choice of settings, and the others."""
    often = np.random.default_rng(5).permutation(np.flatnonzero(ratings.column_counts() >= least))
    if len(often) <= development:
        raise ValueError(f"{ratings.name} has {len(often)} columns with {least} ratings; it must have more")
    return often[:development], often[development:]


def ratings_rates(ratings: Ratings, targets: np.ndarray, rounds: int, *, shrink: bool) -> dict[str, dict[str, float]]:
    """Return Widrow-Hoff's losses on development columns, without and with an intercept."""
    rng, features = np.random.default_rng(DEVELOPMENT), ratings.features(shrink=shrink)
    streams = [tuple(part[:rounds] for part in ratings.stream(int(t), rng, features)) for t in targets]
    return {
        name: of.tried_rates(streams, ratings.ranks, intercept=intercept)
        for name, intercept in ((WH, False), (WH_INTERCEPT, True))
    }


def collaborative(
    seed: int, ratings: Ratings, targets: np.ndarray, n: int, rounds: int, rates: dict[str, float], *, shrink: bool
) -> dict[str, Any]:
    """Predict n random columns online for a number of rounds, and in batch mode from four fifths of their rows."""
    rng, features = np.random.default_rng(seed), ratings.features(shrink=shrink)
    made = of.makers(ratings.ranks, rates, ONLINE)
    runs: dict[str, list[np.ndarray]] = {name: [] for name in made}
    batch: dict[str, list[float]] = {name: [] for name in made}
    lengths = []
    for target in rng.choice(targets, min(n, len(targets)), replace=False):
        X, y = ratings.stream(int(target), rng, features)
        part = len(y) * 4 // 5
        lengths.append(float(np.linalg.norm(X, axis=1).mean()))
        for name, make in made.items():
            runs[name].append(of.online_losses(name, make(), X[:rounds], y[:rounds]))
            batch[name].append(float(of.losses(make().fit(X[:part], y[:part]).predict(X[part:]), y[part:]).mean()))
    return {
        "curves": {name: averaged(done) for name, done in runs.items()},
        "batch": {name: float(np.mean(done)) for name, done in batch.items()},
        "length": float(np.mean(lengths)),
    }


# -- the mistake bound -------------------------------------------------------------------------------

RANK_COUNTS = (2, 3, 5, 10)
GAP = 0.05  # rows that are nearer than this to a threshold of the true rule are left out


def separable(rng: np.random.Generator, k: int, n: int, n_features: int = 5) -> tuple[Stream, float]:
    """Return rows that a rule of length 1 ranks without a mistake, their ranks, and the bound of theorem 2."""
    u, c = rng.normal(size=n_features), np.sort(rng.normal(size=k - 1))
    length = np.sqrt(u @ u + c @ c)
    X = rng.normal(size=(4 * n, n_features))
    scores = X @ (u / length)
    margins = np.abs(scores[:, None] - c / length).min(axis=1)
    kept = np.flatnonzero(margins > GAP)[:n]
    X, y = X[kept], np.searchsorted(c / length, scores[kept]) + 1
    radius = float((X * X).sum(axis=1).max())
    return (X, y), (k - 1) * (radius + 1) / float(margins[kept].min()) ** 2


def bounds(seed: int, n: int) -> dict[str, Any]:
    """Compare PRank's rank loss with the bound, and count thresholds that are out of order after a row."""
    found = {}
    for k in RANK_COUNTS:
        (X, y), bound = separable(np.random.default_rng((seed, k)), k, n)
        prank = PRank(average=False, ranks=list(range(1, k + 1)))
        loss, out_of_order = 0.0, 0
        for i in range(len(y)):
            loss += abs(int(prank.predict_learn(X[i : i + 1], y[i : i + 1])[0]) - int(y[i]))
            out_of_order += bool(np.any(np.diff(prank.thresholds_) < 0))
        found[str(k)] = {"rows": len(y), "loss": loss, "bound": bound, "out_of_order": out_of_order}
    return found


# -- figure 1: what one update does to its own row ---------------------------------------------------


def moves(X: np.ndarray, y: np.ndarray, ranks: list[int]) -> dict[str, int]:
    """Count the updates after which their row's rank is right, nearer, as far or farther than before."""
    prank, counts = PRank(average=False, ranks=ranks), {"right": 0, "nearer": 0, "as far": 0, "farther": 0}
    for i in range(len(y)):
        row = X[i : i + 1]
        before = abs(int(prank.predict_learn(row, y[i : i + 1])[0]) - int(y[i]))
        if before:
            after = abs(int(prank.predict(row)[0]) - int(y[i]))
            kind = "nearer" if after < before else "as far" if after == before else "farther"
            counts["right" if after == 0 else kind] += 1
    return counts


def parameters() -> dict[str, int]:
    """Return the number of parameters of each learner on rows of 7 columns with 5 ranks."""
    X, y = np.random.default_rng(0).normal(size=(40, 7)), np.tile(RANKS, 8)
    prank = PRank().fit(X, y)
    return {
        PRANK: prank.coef_.size + prank.thresholds_.size,
        WH: WidrowHoff(intercept=False).fit(X, y).coef_.size,
        MCP: MulticlassPerceptron().fit(X, y).coef_.size,
    }
