"""The paper's learners and baselines: each trains on training and validation queries and scores test documents."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from abound import QueryScaler, SVMMap, ThermometerFeatures
from abound.metrics import judge_queries, query_figures
from benchmarks.papers.collections import Collection

N_THRESHOLDS = 50
THREADS = 2


@dataclass(frozen=True)
class Learner:
    """A loss, the transformation of the scores, and the values of C to choose from."""

    loss: str
    grid: tuple[float, ...]
    patience: int | None = None  # go up the grid until so many values in a row are worse on the validation queries
    per_query: str | None = None
    class_weight: str | None = None
    pooled: bool = False  # one classification problem over all documents, as in a conventional SVM
    tol: float = 1e-3


# From a weight so small that a smaller one ranks the same, up to where the rounds take too long.
RANKING_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
RANKING_PATIENCE = 2
ACCURACY_GRID = tuple(10.0**power for power in range(-2, 6))  # divided by the number of documents, this is the usual C
ACCURACY_PATIENCE, ACCURACY_TOL = 2, 0.01  # a smaller gap takes up to 20 times as long, and ranks no better
MOST_ROUNDS = 10_000
LEARNERS = {
    "SVM-map": Learner("map", RANKING_GRID, RANKING_PATIENCE),
    "SVM-roc": Learner("roc", RANKING_GRID, RANKING_PATIENCE),
    "SVM-acc": Learner("accuracy", ACCURACY_GRID, ACCURACY_PATIENCE, tol=ACCURACY_TOL, pooled=True),
    "SVM-acc2": Learner(
        "accuracy", ACCURACY_GRID, ACCURACY_PATIENCE, tol=ACCURACY_TOL, pooled=True, class_weight="balanced"
    ),
    "SVM-acc3": Learner(
        "accuracy", ACCURACY_GRID, ACCURACY_PATIENCE, tol=ACCURACY_TOL, pooled=True, per_query="percentile"
    ),
    "SVM-acc4": Learner(
        "accuracy", ACCURACY_GRID, ACCURACY_PATIENCE, tol=ACCURACY_TOL, pooled=True, per_query="minmax"
    ),
}


@dataclass
class Outcome:
    """The result of a learner: the scores of the test documents, the chosen C, and its certificates."""

    scores: Any
    C: float
    validation: float
    tried: list[float]
    gaps: list[float]
    rounds: list[int]
    seconds: list[float]
    model: SVMMap
    n_bytes: int


def average_precisions(part: Collection, scores: Any) -> dict[str, float]:
    """Return the average precision of each query that has a relevant document."""
    return figures("MAP", part, scores)


def figures(measure: str, part: Collection, scores: Any) -> dict[str, float]:
    judgement = judge_queries(part.y, scores, part.qid, documents=part.documents)
    kept = judgement.n_relevant > 0
    return dict(zip(judgement.names[kept].tolist(), query_figures(measure, judgement)[kept].tolist(), strict=True))


def mean(by_query: dict[str, float]) -> float:
    return float(np.mean(list(by_query.values())))


def run_learner(
    learner: Learner, train: Collection, valid: Collection, test: Collection, threads: int = THREADS
) -> Outcome:
    """Fit a learner for each C, keep the one with the best MAP on the validation queries, and score the test ones."""
    strategy = "quantile" if learner.per_query is None else "uniform"
    scale: Callable[[Collection], Any] = lambda part: part.X  # noqa: E731
    if learner.per_query is not None:
        scaler = QueryScaler(learner.per_query).fit(train.X)
        scale = lambda part: scaler.transform(part.X, qid=part.qid)  # noqa: E731
    known = train.part(train.retrieved)
    bits = ThermometerFeatures(N_THRESHOLDS, strategy, output="table").fit(scale(known))
    X, X_valid, X_test = (bits.transform(scale(part)) for part in (known, valid, test))
    models = []
    for C in learner.grid:
        model = SVMMap(
            C, learner.tol, learner.loss, class_weight=learner.class_weight, max_rounds=MOST_ROUNDS, n_jobs=threads
        )
        model.fit(X, known.y, None if learner.pooled else known.qid)
        scores = np.where(valid.retrieved, model.decision_function(X_valid), np.nan)
        models.append((mean(average_precisions(valid, scores)), model))
        maps = [found for found, _ in models]
        if learner.patience is not None and maps[::-1].index(max(maps)) >= learner.patience:
            break
    best, model = max(models, key=lambda pair: pair[0])
    certificates = [fitted.certificate_ for _, fitted in models]
    return Outcome(
        np.where(test.retrieved, model.decision_function(X_test), np.nan),
        float(model.C),
        best,
        [float(fitted.C) for _, fitted in models],
        [c.relative_gap for c in certificates],
        [c.rounds for c in certificates],
        [c.seconds for c in certificates],
        model,
        model.coef_.nbytes + sum(t.nbytes for t in bits.thresholds_),
    )


def fuse_reciprocal_ranks(ranks: Any, constant: float = 60.0) -> Any:
    """Return the sum over columns of 1 / (60 + rank); NaN means that a column lacks the document."""
    return np.nansum(1.0 / (constant + ranks), axis=1)


def ranks_within(part: Collection) -> Any:
    """Return the rank of each document in each column, by score within its query."""
    ranks = np.full(part.X.shape, np.nan)
    for qid in np.unique(part.qid):
        rows = np.flatnonzero(part.qid == qid)
        for column in range(part.X.shape[1]):
            found = rows[~np.isnan(part.X[rows, column])]
            ranks[found[np.argsort(-part.X[found, column], kind="stable")], column] = np.arange(1, len(found) + 1)
    return ranks
