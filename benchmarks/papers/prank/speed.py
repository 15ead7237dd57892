"""Measure PRank's speed: python -m benchmarks.papers.prank.speed learns a million sparse rows."""

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import PRank
from benchmarks.index import bare_library, seconds_in_turn
from benchmarks.machine import machine_line

OUTPUT = Path(__file__).resolve().parents[2] / "results" / "prank-speed.json"


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


def main() -> None:
    result = {"machine": machine_line(), **speed()}
    OUTPUT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
