"""The paper's toy examples, and what its theorems bound, measured."""

import time
from typing import Any

import numpy as np

from abound import SVMMap, ThermometerFeatures
from abound.kernels.violated import LOSS_MAP, violated_rankings
from abound.metrics import evaluate_queries
from benchmarks.papers.rankers import N_THRESHOLDS, average_precisions, mean
from benchmarks.papers.svm_map.splits import Group, trials

EPSILONS = (0.1, 0.03, 0.01, 0.003)
SEEDS = 6
# The toy rankings of the paper: which documents are relevant. Each has a hypothesis that keeps the order of the
# documents, and one that reverses it.
TOYS = {"tables 1 and 2": (8, (1, 6, 7)), "tables 3 and 4": (11, (1, 6, 7, 8, 9))}


def toy(n: int, relevant: tuple[int, ...]) -> dict[str, dict[str, float]]:
    """Return MAP, ROC area and the best accuracy of both hypotheses of a toy example."""
    y = np.isin(np.arange(1, n + 1), relevant).astype(int)
    found = {}
    for name, scores in (("h1", -np.arange(n)), ("h2", np.arange(n))):
        ranked = y[np.argsort(-scores)]
        above = np.cumsum(1 - ranked)[ranked == 1]
        correct = [ranked[:k].sum() + (1 - ranked[k:]).sum() for k in range(n + 1)]
        found[name] = {
            "MAP": evaluate_queries(y, scores, None, ["MAP"])["MAP"],
            "ROC area": float(1 - above.mean() / (n - y.sum())),
            "best accuracy": float(max(correct) / n),
        }
    return found


def largest_loss(y: Any, qid: Any) -> float:
    """Return the largest 1 - AP of any ranking of any query: all relevant documents last."""
    worst = 0.0
    for query in np.unique(qid):
        relevant = y[qid == query] >= 1
        R, N = int(relevant.sum()), int((~relevant).sum())
        if R and N:
            worst = max(worst, 1 - float(np.mean(np.arange(1, R + 1) / (N + np.arange(1, R + 1)))))
    return worst


def radius(X: Any, y: Any, qid: Any) -> float:
    """Return a bound of |Psi(right) - Psi(any)|: twice the mean distance of the pairs of the query with the largest."""
    most = 0.0
    for query in np.unique(qid):
        inside = qid == query
        rel, non = X[inside & (y >= 1)], X[inside & (y < 1)]
        if len(rel) and len(non):
            squares = (rel**2).sum(1)[:, None] + (non**2).sum(1)[None, :] - 2 * rel @ non.T
            most = max(most, 2 * float(np.sqrt(np.maximum(squares, 0)).mean()))
    return most


def constraint_bound(n: int, C: float, epsilon: float, loss: float, psi: float) -> float:
    """Return the bound of Theorem 1 on the number of constraints."""
    return max(2 * n * loss / epsilon, 8 * C * loss * psi**2 / epsilon**2)


def algorithm_1(groups: list[Group], C: float = 1.0, seeds: int = SEEDS) -> dict[str, Any]:
    """Count the constraints of Algorithm 1 on the training queries of several trials, and compare the solvers."""
    rows: dict[float, list[dict[str, float]]] = {epsilon: [] for epsilon in EPSILONS}
    for group in groups[:seeds]:
        chosen = next(iter(trials(group.queries, 1)))
        train, test = (group.whole.of_queries(chosen[place]) for place in (0, 2))
        bits = ThermometerFeatures(N_THRESHOLDS, output="table").fit(train.X)
        X, X_test = bits.transform(train.X), bits.transform(test.X)
        psi, loss = radius(X.toarray(), train.y, train.qid), largest_loss(train.y, train.qid)
        one = SVMMap(C=C, n_jobs=1).fit(X, train.y, train.qid)
        reference = mean(average_precisions(test, one.decision_function(X_test)))
        for epsilon in EPSILONS:
            model = SVMMap(C=C, tol=epsilon, solver="n-slack").fit(X, train.y, train.qid)
            found = model.certificate_
            assert found.constraints is not None
            rows[epsilon].append(
                {
                    "constraints": found.constraints,
                    "bound": constraint_bound(model.n_queries_, C, epsilon, loss, psi),
                    "rounds": found.rounds,
                    "gap": found.gap,
                    "seconds": found.seconds,
                    "above_one_slack": found.primal - one.certificate_.primal,
                    "MAP": mean(average_precisions(test, model.decision_function(X_test))),
                    "MAP_one_slack": reference,
                    "seconds_one_slack": one.certificate_.seconds,
                    "rounds_one_slack": one.certificate_.rounds,
                }
            )
    return {"C": C, "rows": {str(epsilon): found for epsilon, found in rows.items()}}


def oracle_times(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000), n_relevant: int = 10) -> dict[str, Any]:
    """Time Algorithm 2 and a sort of the same scores, for a constant number of relevant documents."""
    rows = []
    for n in sizes:
        rng = np.random.default_rng(0)
        scores, relevant = rng.normal(size=n), (np.arange(n) < n_relevant).astype(np.uint8)
        weights, losses, indptr = np.empty(n), np.empty(1), np.array([0, n])
        best = {"search": np.inf, "sort": np.inf}
        for _ in range(3):
            start = time.process_time()
            violated_rankings(LOSS_MAP, 1.0, scores, relevant, indptr, 0, 1, weights, losses)
            middle = time.process_time()
            np.argsort(-scores, kind="stable")
            done = time.process_time()
            best = {"search": min(best["search"], middle - start), "sort": min(best["sort"], done - middle)}
        rows.append({"documents": n, **best})
    first, last = rows[0], rows[-1]
    slope = np.log(last["search"] / first["search"]) / np.log(last["documents"] / first["documents"])
    return {"relevant": n_relevant, "rows": rows, "exponent": float(slope)}


def upper_bound(groups: list[Group], C: float = 1.0) -> list[dict[str, float]]:
    """Return the mean slack and 1 - MAP of the training queries, of a fit for each group (Proposition 1)."""
    rows = []
    for group in groups:
        part = group.whole.of_queries(next(iter(trials(group.queries, 1)))[0])
        X = ThermometerFeatures(N_THRESHOLDS, output="table").fit_transform(part.X)
        model = SVMMap(C=C, n_jobs=1).fit(X, part.y, part.qid)
        slack = (model.certificate_.primal - 0.5 * float(model.coef_ @ model.coef_)) / C
        kept = [q for q in np.unique(part.qid) if 0 < (part.y[part.qid == q] >= 1).mean() < 1]
        inside = part.of_queries(kept)
        scores = model.decision_function(X)[np.isin(part.qid, kept)]
        rows.append({"mean_slack": slack, "risk": 1 - mean(average_precisions(inside, scores))})
    return rows
