"""The learners of the paper and ours beside them, run online: each row is predicted before it is learned."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from abound import MulticlassPerceptron, PRank, WidrowHoff

PRANK, MEAN, VOTE, LINEAR = "PRank", "PRank, mean", "PRank, vote", "PRank without kernel"
WH, WH_INTERCEPT, MCP = "Widrow-Hoff", "Widrow-Hoff with intercept", "multiclass perceptron"
RATES = (0.0003, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
AGE = 50  # the mean and the vote that predict a row have learned all rows before it but one in so many

Stream = tuple[np.ndarray, np.ndarray]  # rows and their ranks
Maker = Callable[[], Any]


def progressive(learner: PRank, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Predict by the mean or the vote of all hypotheses so far, a few rows at a time, then learn the rows."""
    predicted, start = [learner.predict_learn(X[:1], y[:1])], 1
    while start < len(y):
        rows = slice(start, start + max(1, start // AGE))
        predicted.append(learner.predict(X[rows]))
        learner.partial_fit(X[rows], y[rows])
        start = rows.stop
    return np.concatenate(predicted)


def online_losses(name: str, learner: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the rank loss of each round."""
    predicted = progressive(learner, X, y) if name in (MEAN, VOTE) else learner.predict_learn(X, y)
    return losses(predicted, y)


def losses(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(predicted - y).astype(float)


def makers(ranks: list[int], rates: dict[str, float], only: Iterable[str]) -> dict[str, Maker]:
    """Return functions that create the named learners."""
    known: dict[str, Maker] = {
        PRANK: lambda: PRank(average=False, ranks=ranks),
        MEAN: lambda: PRank(ranks=ranks),
        VOTE: lambda: PRank(voting=True, ranks=ranks),
        WH: lambda: WidrowHoff(rate=rates[WH], intercept=False, ranks=ranks),
        WH_INTERCEPT: lambda: WidrowHoff(rate=rates[WH_INTERCEPT], ranks=ranks),
        MCP: lambda: MulticlassPerceptron(ranks=ranks),
    }
    return {name: known[name] for name in only}


def tried_rates(streams: Iterable[Stream], ranks: list[int], *, intercept: bool) -> dict[str, float]:
    """Return Widrow-Hoff's mean rank loss on development streams for each learning rate."""
    streams = list(streams)
    found = {}
    for rate in RATES:
        runs = [WidrowHoff(rate=rate, intercept=intercept, ranks=ranks).predict_learn(X, y) for X, y in streams]
        found[str(rate)] = float(np.mean([losses(run, y).mean() for run, (_, y) in zip(runs, streams, strict=True)]))
    return found


def best_rate(tried: dict[str, float]) -> float:
    return float(min(tried, key=tried.__getitem__))
