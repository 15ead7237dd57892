"""Measure the limits of the feature-focus index, each with one command.

python -m benchmarks.index bare      the ranking kernel compared with a minimal loop that only gathers and adds
python -m benchmarks.index labels    time per row from 1,000 to 1,000,000 labels, with the same edges per feature
python -m benchmarks.index size      memory of 50 million edges; saved, verified, mapped and ranked
python -m benchmarks.index drift     a stream whose second half has new labels, with and without a horizon
python -m benchmarks.index year      a billion updates of one feature
python -m benchmarks.index austen    word prediction on Jane Austen, as in the paper
"""

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import abound
from abound.components.rows import Targets
from abound.kernels.batch import Batch
from abound.kernels.pool import EDGE_BYTES, EDGE_DTYPE, FEATURE_BYTES, EdgePool
from abound.metrics import evaluate
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"


def seconds_in_turn(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the lowest time of each function over rounds in which all of them run in turn."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def megabytes_now() -> float:
    """Return the resident memory of this process."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


# -- the kernel compared with a minimal loop ---------------------------------------------------------


def bare_library() -> ctypes.CDLL:
    source, built = Path(__file__).with_name("bare.c"), Path(tempfile.mkdtemp()) / "bare.so"
    subprocess.run(["cc", "-O3", "-ffp-contract=off", "-shared", "-fPIC", "-o", built, source], check=True)
    return ctypes.CDLL(str(built))


def bare(set_name: str = "finna-100k", k: int = 5, rounds: int = 40) -> dict[str, Any]:
    """Rank the test rows with the kernel, and gather the same edges with the minimal loop."""
    data = sets.load(set_name)
    ranker = abound.FeatureFocus().fit(data.X_train, data.Y_train)
    ranker.compact()
    indptr, totals, seen = ranker.head.store.headers()
    edges = ranker.head.store.edges(0, ranker.head.store.n_features)
    rows = ranker.rows_of(data.X_test)
    n_rows, scores = rows.n_rows, np.zeros(len(ranker.labels_))
    library = bare_library()
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (*rows, indptr, edges, totals, seen)]
    out_labels, out_scores = np.full((n_rows, k), -1, np.int32), np.zeros((n_rows, k))
    n_edges = int(np.minimum(np.diff(indptr)[rows.indices], ranker.d_max).sum())

    def gather() -> None:
        out = scores.ctypes.data_as(ctypes.c_void_p)
        library.bare_gather(ctypes.c_int64(n_rows), *arrays, ctypes.c_int64(ranker.d_max), out)

    def rank() -> None:
        ranker.head.rank(rows, len(ranker.labels_), out_labels, out_scores)

    best = seconds_in_turn({"bare": gather, "kernel": rank}, rounds)
    gathered = {"nanoseconds_a_row": {name: 1e9 * s / n_rows for name, s in best.items()}}
    return {**gathered, "edges_a_row": n_edges / n_rows, "k": k, "ratio": best["kernel"] / best["bare"]}


# -- cost does not grow with the label set -----------------------------------------------------------


def synthetic_index(n_labels: int, n_features: int, d: int, seed: int = 0) -> EdgePool:
    """Return an index whose features have d edges each, to labels drawn from all labels."""
    rng = np.random.default_rng(seed)
    edges = np.empty((n_features, d), EDGE_DTYPE)
    stride = n_labels // d  # an arithmetic progression from a random start: distinct, and spread over all labels
    starts = rng.integers(n_labels, size=(n_features, 1))
    edges["label"] = (starts + stride * np.arange(d)) % n_labels
    edges["weight"] = np.sort(rng.random((n_features, d)), axis=1)[:, ::-1]
    indptr = np.arange(n_features + 1, dtype=np.int64) * d
    return EdgePool.from_arrays(indptr, edges.ravel(), np.full(n_features, d / 2), np.full(n_features, 100))


def labels(
    counts: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000), n_rows: int = 20_000, rounds: int = 15
) -> dict[str, Any]:
    """Rank the same number of rows with indexes that differ only in their number of labels."""
    n_features, d, active = 100_000, 25, 20
    rng = np.random.default_rng(1)
    data = (np.full(n_rows * active, 0.2), rng.integers(n_features, size=n_rows * active).astype(np.int32))
    X = sp.csr_matrix((*data, np.arange(n_rows + 1) * active), shape=(n_rows, n_features))
    X.sum_duplicates()
    functions = {}
    for count in counts:
        ranker = abound.FeatureFocus().partial_fit(X[:1], [[0]], classes=range(count))
        ranker.head.store = synthetic_index(count, n_features, d)
        rows = ranker.rows_of(X)
        out = np.empty((n_rows, 5), np.int32), np.empty((n_rows, 5))
        functions[str(count)] = lambda ranker=ranker, rows=rows, out=out: ranker.head.rank(
            rows, len(ranker.labels_), *out
        )
    best = seconds_in_turn(functions, rounds)
    return {
        "microseconds_a_row": {count: 1e6 * s / n_rows for count, s in best.items()},
        "edges_a_row": active * d,
        "ratio": best[str(counts[-1])] / best[str(counts[0])],
    }


# -- fifty million edges -----------------------------------------------------------------------------


def learn_edges(n_edges: int, edges_a_feature: int = 20, seed: int = 0) -> abound.FeatureFocus:
    """Learn a stream of random rows until the index has n_edges."""
    rng = np.random.default_rng(seed)
    n_features, active, chunk, n_labels = n_edges // edges_a_feature, 20, 20_000, 100_000
    ranker = abound.FeatureFocus(margin=None).partial_fit(
        sp.csr_matrix((1, n_features)), [[]], classes=[f"label {i}" for i in range(n_labels)]
    )
    names = np.array(ranker.labels_.names, object)
    while ranker.n_edges_ < n_edges:
        indices = rng.integers(n_features, size=chunk * active).astype(np.int32)
        data = np.full(chunk * active, 0.2)
        X = sp.csr_matrix((data, indices, np.arange(chunk + 1) * active), shape=(chunk, n_features))
        ranker.partial_fit(X, names[rng.integers(n_labels, size=(chunk,))].tolist())
        print(f"\r{ranker.n_edges_:,} edges", end="", file=sys.stderr)
    print(file=sys.stderr)
    return ranker


def size(n_edges: int = 50_000_000) -> dict[str, Any]:
    """Learn an index of n_edges, save it, and use it from its files in another process."""
    before = megabytes_now()
    start = time.perf_counter()
    ranker = learn_edges(n_edges)
    learn_seconds = time.perf_counter() - start
    n_bytes, n_features = ranker.nbytes_, ranker.head.store.n_features
    resident = megabytes_now()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        start = time.perf_counter()
        ranker.save(path)
        save_seconds = time.perf_counter() - start
        peak = sum(p.stat().st_size for p in path.iterdir())
        code = f"import json; from benchmarks.index import use_saved; print(json.dumps(use_saved({str(path)!r})))"
        used = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    edges = ranker.n_edges_
    bytes_an_edge = n_bytes / edges
    return {
        "edges": edges,
        "features": n_features,
        "learn_seconds": learn_seconds,
        "megabytes_before": before,
        "megabytes_resident": resident,
        "index_megabytes": n_bytes / 1e6,
        "bytes_an_edge": bytes_an_edge,
        "bytes_an_edge_compact": EDGE_BYTES + FEATURE_BYTES * n_features / edges,
        "megabytes_at_100_million": (before * 2**20 + bytes_an_edge * 1e8) / 2**20,
        "save_seconds": save_seconds,
        "disk_megabytes": peak / 1e6,
        **used,
    }


def use_saved(path: str) -> dict[str, Any]:
    """Load a model with and without verification, and rank with it."""
    start = time.perf_counter()
    abound.load(path)
    verified = time.perf_counter() - start
    start = time.perf_counter()
    ranker = abound.load(path, verify=False)
    mapped = time.perf_counter() - start
    rng = np.random.default_rng(5)
    indices = rng.integers(ranker.n_features_in_, size=10_000 * 20).astype(np.int32)
    X = sp.csr_matrix((np.full(len(indices), 0.2), indices, np.arange(10_001) * 20))
    X.sum_duplicates()
    ranker.rank(X, 5)
    start = time.perf_counter()
    ranking = ranker.rank(X, 5)
    seconds = time.perf_counter() - start
    assert (ranking.indices[:, 0] >= 0).all()
    return {"load_verified_seconds": verified, "load_seconds": mapped, "rows_ranked_a_second": 10_000 / seconds}


# -- streams that drift, and endless streams ---------------------------------------------------------


def drift(window: int = 2_000, horizon: float = 8.0) -> dict[str, Any]:
    """Learn finna titles whose labels are all renamed halfway; measure the accuracy before each window."""
    data = sets.load("finna-100k")
    half = data.X_train.shape[0] // 2
    curves = {
        "no horizon (the paper)": drift_curve(data.X_train, data.Y_train, window, None),
        f"horizon {horizon:g}": drift_curve(data.X_train, data.Y_train, window, horizon),
    }
    draw_drift(curves, window, half)
    last = len(next(iter(curves.values()))) // 10
    tail = {name: float(np.mean(curve[-last:])) for name, curve in curves.items()}
    return {"window": window, "drift_at": half, "curves": curves, "last_tenth": tail}


def drift_curve(X: sp.csr_matrix, Y: sp.csr_matrix, window: int, horizon: float | None) -> list[float]:
    """Return P@1 of each window of rows before it is learned; from halfway on, every label is new."""
    half = X.shape[0] // 2
    empty = sp.csr_matrix((half, Y.shape[1])), sp.csr_matrix((X.shape[0] - half, Y.shape[1]))
    Y = sp.csr_matrix(sp.vstack([sp.hstack([Y[:half], empty[0]]), sp.hstack([empty[1], Y[half:]])]))
    ranker, curve = abound.FeatureFocus(horizon=horizon).partial_fit(X[:1], Y[:1]), []
    for start in range(1, X.shape[0], window):
        rows = slice(start, min(start + window, X.shape[0]))
        curve.append(evaluate(sp.csr_array(Y[rows]), ranker.rank(X[rows], 1), ["P@1"])["P@1"])
        ranker.partial_fit(X[rows], Y[rows])
    return curve


def draw_drift(curves: dict[str, list[float]], window: int, drift_at: int) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, curve), color, style in zip(curves.items(), ("#D55E00", "#0072B2"), ("--", "-"), strict=True):
        axes.plot([window * (i + 1) for i in range(len(curve))], curve, style, color=color, label=name)
    axes.axvline(drift_at, color="#777777", linewidth=1)
    axes.text(drift_at, 0.6, "  every label is renamed", transform=axes.get_xaxis_transform(), color="#555555")
    axes.set(xlabel="rows learned", ylabel="P@1 before learning", title="A stream whose labels change halfway", ylim=0)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(RESULTS / "drift.png", dpi=150)


def year(n_updates: int = 1_000_000_000) -> dict[str, Any]:
    """Update one feature n_updates times, and check whether it still learns at the end.

    For nine tenths of the stream, three rows in ten are "new" and the others "old"; then all are "new". A second
    run has a short horizon and ends with an unseen label, which the paper's index would drop.
    """
    known = _year(n_updates, None, {0: 0.7, 1: 0.3}, 1)
    unseen = _year(n_updates // 10, 4.0, {0: 0.7, 1: 0.3}, 2)
    return {"longest_horizon": known, "horizon_4": unseen}


def _year(n_updates: int, horizon: float | None, shares: dict[int, float], last: int) -> dict[str, Any]:
    chunk = min(n_updates // 10, 1_000_000)
    X = sp.csr_matrix((np.full(chunk, 0.05), np.zeros(chunk, np.int32), np.arange(chunk + 1)), shape=(chunk, 1))
    ranker = abound.FeatureFocus(margin=None, horizon=horizon)
    ranker.partial_fit(sp.csr_matrix((1, 1)), [[]], classes=["old", "new", "unseen"])
    rows, every = ranker.rows_of(X, learn=True), np.arange(chunk + 1, dtype=np.int64)
    mixed = np.random.default_rng(0).choice(list(shares), size=chunk, p=list(shares.values())).astype(np.int32)
    done, start, before = 0, time.perf_counter(), 0.0
    while done < n_updates:
        ending = done >= n_updates * 9 // 10
        ids = np.full(chunk, last, np.int32) if ending else mixed
        ranker.learn(Batch(rows, Targets(every, ids, len(ranker.labels_))))
        done += chunk
        _, totals, seen = ranker.head.store.headers()
        edges = ranker.head.store.edges(0, 1)
        weights = dict(zip(edges["label"].tolist(), edges["weight"].tolist(), strict=True))
        share = weights.get(last, 0.0) / float(totals[0])
        before = before if ending else share
        print(f"\r{done:,} updates", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {
        "updates": done,
        "seen": int(seen[0]),
        "total": float(totals[0]),
        "share_before": before,
        "share_after": share,
        "nanoseconds_an_update": 1e9 * (time.perf_counter() - start) / done,
    }


def austen() -> dict[str, Any]:
    """Predict words in one pass with margin 0, and return the paper's figures too."""
    data = sets.load("austen-words")
    start = time.perf_counter()
    ranker = abound.FeatureFocus(margin=0.0).fit(data.X_train, data.Y_train)
    seconds = time.perf_counter() - start
    figures = evaluate(sp.csr_array(data.Y_test), ranker.rank(data.X_test, 5), ["R_1", "R_5"])
    paper = {"R_1": 0.272, "R_5": 0.480, "classes": 17_400, "features": 299_000}
    return {"description": data.describe(), "train_seconds": seconds, **figures, "paper": paper}


COMMANDS: dict[str, Callable[[], dict[str, Any]]] = {
    "bare": bare,
    "labels": labels,
    "size": size,
    "drift": drift,
    "year": year,
    "austen": austen,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.index", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    command = parser.parse_args().command
    result = {"machine": machine_line(), **COMMANDS[command]()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"index-{command}.json").write_text(json.dumps(result, indent=1) + "\n")
    for key, value in result.items():
        if key != "curves":
            print(f"{key}: {value}")


if __name__ == "__main__":
    main()
