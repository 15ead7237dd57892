"""What every system's script shares: read the rows, time the steps, write what was ranked.

A script runs in the environment of its peer, where abound is not installed; it needs numpy and scipy only.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

K = 5
SINGLE_ROWS = 1000  # rows ranked one at a time
SINGLE_SECONDS = 10.0  # and no longer than this


class System:
    """One way to train and rank; a script gives the steps and calls `run`."""

    name = ""
    setting = "defaults"
    threads = 2

    def version(self):
        raise NotImplementedError

    def prepare(self, X, Y, folder):
        """Do what is not to be timed, such as writing the files that a peer reads."""

    def train(self, X, Y, folder):
        """Return a model."""
        raise NotImplementedError

    def save(self, model, folder):
        """Write the model, so that its bytes can be counted."""
        raise NotImplementedError

    def rank(self, model, X):
        """Return label numbers and scores of the K best labels of all rows, padded with -1 and 0."""
        raise NotImplementedError

    def rows(self, X):
        """Return what `rank_one` takes, a row each."""
        raise NotImplementedError

    def rank_one(self, model, row):
        raise NotImplementedError


def padded(lists):
    """Turn lists of (label, score) into two arrays."""
    labels, scores = np.full((len(lists), K), -1, np.int32), np.zeros((len(lists), K))
    for i, pairs in enumerate(lists):
        for j, (label, score) in enumerate(pairs[:K]):
            labels[i, j], scores[i, j] = label, score
    return labels, scores


def seconds_of(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def peak_megabytes():
    """Return the most memory that this process has had; what getrusage says may be our parent's."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024


def run(system):
    """Train and rank as the command line says, and write the outcome."""
    parser = argparse.ArgumentParser()
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    X, Y, X_test = (sp.csr_matrix(sp.load_npz(arguments.input / f"{m}.npz")) for m in ("X_train", "Y_train", "X_test"))
    work = Path(tempfile.mkdtemp(prefix="abound-peer-"))
    try:
        system.prepare(X, Y, work)
        model, train_seconds = seconds_of(system.train, X, Y, work)
        (work / "model").mkdir()
        system.save(model, work / "model")
        n_bytes = sum(p.stat().st_size for p in (work / "model").rglob("*") if p.is_file())
        (labels, scores), rank_seconds = seconds_of(system.rank, model, X_test)
        rows = system.rows(X_test[:SINGLE_ROWS])
        done, start = 0, time.perf_counter()
        for row in rows:
            system.rank_one(model, row)
            done += 1
            if time.perf_counter() - start > SINGLE_SECONDS:
                break
        single_seconds = time.perf_counter() - start
    finally:
        shutil.rmtree(work)
    arguments.output.mkdir(parents=True, exist_ok=True)
    np.savez(arguments.output / "ranking.npz", indices=labels, scores=scores)
    figures = {
        "name": system.name,
        "setting": system.setting,
        "version": system.version(),
        "threads": system.threads,
        "train_seconds": train_seconds,
        "rows_a_second_batch": X_test.shape[0] / rank_seconds,
        "rows_a_second_single": done / single_seconds,
        "peak_megabytes": peak_megabytes(),
        "model_bytes": n_bytes,
    }
    (arguments.output / "figures.json").write_text(json.dumps(figures))
