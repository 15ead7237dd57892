"""Reproduce PRank's paper: Crammer and Singer, "Pranking with ranking", NIPS 2001.

python -m benchmarks.papers.prank synthetic              100 sequences of 7,000 points, kernel (x.x'+1)^2
python -m benchmarks.papers.prank jester                 predict people's ratings of a joke from their other ratings
python -m benchmarks.papers.prank movielens ratings.csv  the experiment of the paper on your own file
python -m benchmarks.papers.prank speed                  a million sparse rows, compared with dot products only
"""

import argparse
import ctypes
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import MulticlassPerceptron, PRank, WidrowHoff
from benchmarks.index import bare_library, seconds_in_turn
from benchmarks.machine import machine_line
from benchmarks.papers import plots
from benchmarks.papers.ratings import Ratings, jester, movielens

RESULTS = Path(__file__).parents[1] / "results"
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
CHUNK = 10  # rows that the mean hypothesis predicts before it learns them
PRANK, MEAN, WH, MCP = "PRank", "PRank, mean", "Widrow-Hoff", "multiclass perceptron"
Stream = tuple[Any, np.ndarray]  # rows and their ranks


def progressive_mean(learner: PRank, X: Any, y: np.ndarray) -> np.ndarray:
    """Predict with the mean of all hypotheses so far, a few rows at a time, then learn the rows."""
    predicted = []
    for start in range(0, len(y), CHUNK):
        rows = slice(start, start + CHUNK)
        if start:
            predicted.append(learner.predict(X[rows]))
            learner.partial_fit(X[rows], y[rows])
        else:
            predicted.append(learner.predict_learn(X[rows], y[rows]))
    return np.concatenate(predicted)


def losses(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.abs(predicted - y).astype(float)


def choose_rate(streams: Iterable[Stream], ranks: list[int], intercept: bool) -> tuple[float, dict[str, float]]:
    """Return Widrow-Hoff's learning rate with the lowest loss on held-out streams, and the loss of every rate."""
    streams = list(streams)
    figures = {}
    for rate in RATES:
        learners = [(WidrowHoff(rate=rate, intercept=intercept, ranks=ranks), X, y) for X, y in streams]
        figures[rate] = float(np.mean([losses(wh.predict_learn(X, y), y).mean() for wh, X, y in learners]))
    best = min(figures, key=figures.__getitem__)
    return best, {str(rate): figure for rate, figure in figures.items()}


def band(runs: list[float]) -> dict[str, float]:
    """Return a mean over repeats with its 95% band."""
    return {"mean": float(np.mean(runs)), "band": float(1.96 * np.std(runs, ddof=1) / np.sqrt(len(runs)))}


def curve(runs: list[np.ndarray], at: np.ndarray) -> dict[str, list[float]]:
    """Return the time-averaged loss after some rounds: its mean over repeats, and its 95% band."""
    averaged = np.array([(np.cumsum(run) / np.arange(1, len(run) + 1))[at - 1] for run in runs])
    width = 1.96 * averaged.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return {"rounds": at.tolist(), "mean": averaged.mean(axis=0).tolist(), "band": width.tolist()}


def paired(runs: dict[str, list[np.ndarray]], first: str, second: str) -> dict[str, float]:
    """Return first minus second in time-averaged loss, with its 95% band over repeats."""
    return band([float(a.mean() - b.mean()) for a, b in zip(runs[first], runs[second], strict=True)])


def rounds_shown(n: int) -> np.ndarray:
    return np.unique(np.geomspace(10, n, 40).astype(int))


# -- synthetic ---------------------------------------------------------------------------------------


def synthetic_stream(rng: np.random.Generator, n: int) -> Stream:
    """Return points of the unit square with ranks cut from a noisy saddle (after Herbrich and others)."""
    X = rng.random((n, 2))
    height = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + rng.normal(0, 0.125, n)
    return X, np.digitize(height, [-1, -0.1, 0.25, 1]) + 1


def explicit(X: np.ndarray) -> np.ndarray:
    """Return the features of the kernel (x.x' + 1)^2."""
    a, b, root = X[:, 0], X[:, 1], np.sqrt(2)
    return np.stack([np.ones(len(X)), root * a, root * b, a * a, b * b, root * a * b], axis=1)


def synthetic(repeats: int = 100, n: int = 7_000) -> dict[str, Any]:
    """Run the learners on the sequences: PRank with the kernel, the others on its explicit features."""
    held_out = np.random.default_rng(1)
    ranks = [1, 2, 3, 4, 5]
    streams = [(explicit(X), y) for X, y in (synthetic_stream(held_out, n) for _ in range(3))]
    rate, tried = choose_rate(streams, ranks, intercept=False)
    rng, runs, support = np.random.default_rng(0), {name: [] for name in (PRANK, MEAN, WH, MCP)}, []
    for repeat in range(repeats):
        X, y = synthetic_stream(rng, n)
        features, prank = explicit(X), PRank(kernel="poly", ranks=ranks)
        runs[PRANK].append(losses(prank.predict_learn(X, y), y))
        support.append(prank.n_support_)
        runs[MEAN].append(losses(progressive_mean(PRank(ranks=ranks), features, y), y))
        runs[WH].append(losses(WidrowHoff(rate=rate, intercept=False, ranks=ranks).predict_learn(features, y), y))
        runs[MCP].append(losses(MulticlassPerceptron(ranks=ranks).predict_learn(features, y), y))
        print(f"\rsequence {repeat + 1} of {repeats}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {
        "sequences": repeats,
        "rounds": n,
        "widrow_hoff": {"rate": rate, "tried": tried},
        "rank_loss": {name: band([float(run.mean()) for run in done]) for name, done in runs.items()},
        "differences": {
            f"{a} less {b}": paired(runs, a, b)
            for a, b in ((PRANK, WH), (MEAN, WH), (MEAN, PRANK), (WH, MCP), (PRANK, MCP))
        },
        "supporting_rows": float(np.mean(support)),
        "curves": {name: curve(done, rounds_shown(n)) for name, done in runs.items()},
    }


# -- collaborative filtering -------------------------------------------------------------------------


def collaborative(ratings: Ratings, targets: np.ndarray, rounds: int, seed: int = 0) -> dict[str, Any]:
    """Predict each target online for a number of rounds, and in batch mode from four fifths of its rows."""
    rng, ranks, features = np.random.default_rng(seed), ratings.ranks, ratings.features()
    held_out, targets = targets[:3], targets[3:]
    rate, tried = choose_rate((ratings.stream(int(t), rng, features) for t in held_out), ranks, intercept=True)
    learners: dict[str, Callable[[], Any]] = {
        PRANK: lambda: PRank(average=False, ranks=ranks),
        MEAN: lambda: PRank(ranks=ranks),
        WH: lambda: WidrowHoff(rate=rate, ranks=ranks),
        MCP: lambda: MulticlassPerceptron(ranks=ranks),
    }
    runs: dict[str, list[np.ndarray]] = {name: [] for name in learners}
    batch: dict[str, list[float]] = {name: [] for name in learners}
    for target in targets:
        X, y = ratings.stream(int(target), rng, features)
        part = len(y) * 4 // 5
        for name, make in learners.items():
            run = progressive_mean if name == MEAN else lambda learner, X, y: learner.predict_learn(X, y)
            runs[name].append(losses(run(make(), X[:rounds], y[:rounds]), y[:rounds]))
            batch[name].append(float(losses(make().fit(X[:part], y[:part]).predict(X[part:]), y[part:]).mean()))
    return {
        "set": ratings.name,
        "rows": int(ratings.shape[0]),
        "targets": len(targets),
        "rounds": rounds,
        "widrow_hoff": {"rate": rate, "tried": tried},
        "online": {name: band([float(run.mean()) for run in done]) for name, done in runs.items()},
        "online_differences": {f"{MEAN} less {name}": paired(runs, MEAN, name) for name in (PRANK, WH, MCP)},
        "batch": {name: band(done) for name, done in batch.items()},
        "batch_differences": {
            f"{MEAN} less {name}": band(list(np.array(batch[MEAN]) - np.array(batch[name])))
            for name in (PRANK, WH, MCP)
        },
        "curves": {name: curve(done, rounds_shown(rounds)) for name, done in runs.items()},
    }


def jester_runs(n_targets: int = 60) -> dict[str, Any]:
    """Predict random jokes for all people who rated them, and for people who rated every joke."""
    ratings = jester()
    targets = np.random.default_rng(5).choice(ratings.shape[1], n_targets + 3, replace=False)
    whole = ratings.whole_rows()
    _, whole.rows = np.unique(whole.rows, return_inverse=True)
    return {
        "all": collaborative(ratings, targets, int(ratings.column_counts().min())),
        "whole": collaborative(whole, targets, whole.shape[0]),
    }


def movielens_runs(path: Path, n_targets: int = 100, least: int = 100) -> dict[str, Any]:
    """Predict random viewers' ratings from those of the others, as the paper does."""
    ratings = movielens(path)
    often = np.flatnonzero(ratings.column_counts() >= least)
    if len(often) < 4:
        raise ValueError(f"{path} has {len(often)} viewers with {least} ratings; at least 4 are needed")
    targets = np.random.default_rng(5).permutation(often)[: n_targets + 3]
    return {"all": collaborative(ratings, targets, least)}


# -- speed -------------------------------------------------------------------------------------------


def speed(n_rows: int = 1_000_000, active: int = 50, n_features: int = 100_000, rounds: int = 20) -> dict[str, Any]:
    """Measure learning of sparse rows, and computing only the dot products of the same rows."""
    rng = np.random.default_rng(0)
    stride = n_features // active  # one column per interval: sorted, distinct, spread over all columns
    indices = (np.arange(active, dtype=np.int32) * stride + rng.integers(stride, size=(n_rows, active))).astype(
        np.int32
    )
    data = rng.normal(size=n_rows * active)
    indptr = np.arange(n_rows + 1, dtype=np.int32) * active
    X = sp.csr_array((data, indices.ravel(), indptr), shape=(n_rows, n_features))
    truth = rng.normal(size=n_features)
    scores = X @ truth
    y = np.digitize(scores + rng.normal(scale=2.0, size=n_rows), np.quantile(scores, [0.2, 0.4, 0.6, 0.8])) + 1
    library, out = bare_library(), np.empty(n_rows)
    weights = rng.normal(size=n_features)
    indptr, columns = (
        X.indptr.astype(np.int64),
        X.indices.astype(np.int32),
    )  # assigned to names, so that their memory stays allocated
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (indptr, columns, X.data, weights, out)]
    trained: list[PRank] = []

    def bare() -> None:
        library.bare_dot(ctypes.c_int64(n_rows), *arrays)

    def learn() -> None:
        trained[:] = [PRank().fit(X, y)]

    def kernel() -> None:
        fresh = PRank(ranks=[1, 2, 3, 4, 5]).partial_fit(X[:1], y[:1])
        fresh._ensure_features(n_features)
        rows = fresh._rows(X, learn=True)
        numbers = (y - 1).astype(np.int32)
        kernel_seconds.append(seconds_in_turn({"kernel": lambda: fresh._learn(rows, numbers)}, 1)["kernel"])

    kernel_seconds: list[float] = []
    best = seconds_in_turn({"bare": bare, "learn": learn, "kernel": kernel}, rounds)
    assert np.allclose(out, X @ weights)
    best["kernel"] = min(kernel_seconds)
    right = float(np.mean(trained[0].predict(X[-100_000:]) == y[-100_000:]))
    return {
        "rows": n_rows,
        "active": active,
        "features": n_features,
        "seconds": best,
        "updates_a_row": trained[0].n_updates_ / n_rows,
        "accuracy_on_the_last_rows": right,
        "ratio": best["learn"] / best["bare"],
        "ratio_kernel_alone": best["kernel"] / best["bare"],
    }


def show(result: dict[str, Any], indent: str = "") -> None:
    for key, value in result.items():
        if key == "curves":
            continue
        if isinstance(value, dict) and set(value) == {"mean", "band"}:
            print(f"{indent}{key}: {value['mean']:.4f} +- {value['band']:.4f}")
        elif isinstance(value, dict):
            print(f"{indent}{key}:")
            show(value, indent + "  ")
        else:
            print(f"{indent}{key}: {value}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.prank",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["synthetic", "jester", "movielens", "speed"])
    parser.add_argument("path", type=Path, nargs="?", help="a MovieLens file")
    parser.add_argument("--show", action="store_true", help="print and draw a stored result")
    arguments = parser.parse_args()
    output = RESULTS / f"prank-{arguments.command}.json"
    if arguments.command == "movielens" and arguments.path is None:
        parser.error("give the path of a MovieLens file")
    if arguments.show:
        result = json.loads(output.read_text())
    else:
        commands = {"synthetic": synthetic, "jester": jester_runs, "speed": speed}
        figures = movielens_runs(arguments.path) if arguments.command == "movielens" else commands[arguments.command]()
        result = {"machine": machine_line(), **figures}
        RESULTS.mkdir(exist_ok=True)
        output.write_text(json.dumps(result, indent=1) + "\n")
    show(result)
    plots.draw(arguments.command, result)


if __name__ == "__main__":
    main()
