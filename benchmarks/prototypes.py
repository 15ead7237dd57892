"""Measure prototypes for very many labels: memory and time depend on the pairs that were touched, not on all labels.

python -m benchmarks.prototypes               500,000 rows with 100,000 labels, measured at each doubling
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import MMP
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"
N_LABELS, N_ROWS = 100_000, 500_000
OWN, NOISE, N_NOISE_WORDS = 3, 5, 100_000  # words of the row's label, other words, size of the other vocabulary


def rows(n_rows: int, n_labels: int, seed: int = 0) -> tuple["sp.csr_array[Any]", "sp.csr_array[Any]"]:
    """Return rows of a few words of their label and a few words of no label, with a skewed distribution."""
    random = np.random.default_rng(seed)
    labels = (n_labels * random.random(n_rows) ** 2).astype(np.int64)
    own = labels[:, None] * OWN + np.arange(OWN)
    noise = n_labels * OWN + (N_NOISE_WORDS * random.random((n_rows, NOISE)) ** 2).astype(np.int64)
    words = np.sort(np.concatenate([own, noise], axis=1), axis=1)
    X = sp.csr_array(
        (
            np.full(words.size, (OWN + NOISE) ** -0.5),
            words.ravel().astype(np.int32),
            np.arange(0, words.size + 1, OWN + NOISE),
        ),
        shape=(n_rows, n_labels * OWN + N_NOISE_WORDS),
    )
    X.sum_duplicates()
    Y = sp.csr_array((np.ones(n_rows, np.int8), labels, np.arange(n_rows + 1)), shape=(n_rows, n_labels))
    return X, Y


def series(n_rows: int = N_ROWS, n_labels: int = N_LABELS, steps: int = 4) -> dict[str, Any]:
    """Learn a stream, and measure at each doubling of the rows."""
    X, Y = rows(n_rows, n_labels)
    ranker, done, points = MMP(candidates="touched", averaged=False), 0, []
    for step in range(steps - 1, -1, -1):
        until = n_rows >> step
        start = time.perf_counter()
        ranker.partial_fit(X[done:until], Y[done:until])
        seconds = time.perf_counter() - start
        indptr = ranker.head.store.arrays()[0]
        touched = np.diff(indptr)[X[done:until].indices].sum() / (until - done)
        points.append(
            {
                "rows": until,
                "microseconds_a_row": 1e6 * seconds / (until - done),
                "touched_pairs_a_row": float(touched),
                "nanoseconds_a_touched_pair": 1e9 * seconds / (until - done) / float(touched),
                "pairs": ranker.n_pairs_,
                "bytes_a_pair": ranker.nbytes_ / ranker.n_pairs_,
                "megabytes": ranker.nbytes_ / 1e6,
            }
        )
        done = until
    start = time.perf_counter()
    hits = ranker.score(X[:10_000], Y[:10_000])
    rate = min(n_rows, 10_000) / (time.perf_counter() - start)
    return {"labels": n_labels, "points": points, "rows_ranked_a_second": rate, "P@1_on_learnt_rows": hits}


def main() -> None:
    result = {"machine": machine_line(), **series()}
    (RESULTS / "prototypes.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
