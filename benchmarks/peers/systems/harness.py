"""The shared part of all scripts: read the rows, time the steps, write the ranking.

A script runs in the environment of its peer, where abound is not installed; it needs only numpy and scipy.
"""

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import processes
import scipy.sparse as sp

K = 10
SINGLE_ROWS = 1000  # rows ranked one at a time
SINGLE_SECONDS = 10.0  # and for at most this many seconds
SHORT_SECONDS, SHORT_RUNS = 0.5, 4


class System:
    """A system that trains and ranks; a script implements the steps and calls `run`.

    A setting consists of a description and options.
    """

    name = ""
    settings = {"default": ("defaults", {})}  # noqa: RUF012
    threads = 2
    takes_texts = False  # otherwise a row contains tf-idf weights

    def __init__(self, setting, folder):
        self.setting, self.options = self.settings[setting]
        self.folder = folder  # of the data set

    def version(self):
        raise NotImplementedError

    def prepare(self, X, Y, folder):
        """Prepare what is not timed, such as the files that a peer reads."""

    def train(self, X, Y, folder):
        """Return a model."""
        raise NotImplementedError

    def save(self, model, folder):
        """Write the model, so that its size can be measured."""
        raise NotImplementedError

    def rank(self, model, X):
        """Return label numbers and scores of the K best labels of all rows, padded with -1 and 0."""
        raise NotImplementedError

    def rows(self, X):
        """Return the inputs of `rank_one`, one per row."""
        raise NotImplementedError

    def rank_one(self, model, row):
        raise NotImplementedError

    def more_figures(self, figures, n_test):
        """Return additional figures by name; they override measured ones."""
        return {}


def padded(lists):
    """Convert lists of (label, score) to two arrays."""
    labels, scores = np.full((len(lists), K), -1, np.int32), np.zeros((len(lists), K))
    for i, pairs in enumerate(lists):
        for j, (label, score) in enumerate(pairs[:K]):
            labels[i, j], scores[i, j] = label, score
    return labels, scores


def best_of_dense(scores):
    """Return the K best columns of each row of dense scores, and their scores."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :K]
    return best.astype(np.int32), np.take_along_axis(scores, best, 1)


def seconds_of(function, *arguments):
    """Return a result, its wall-clock seconds and its core-seconds."""
    start, cpu = time.perf_counter(), processes.cpu_seconds()
    result = function(*arguments)
    return result, time.perf_counter() - start, processes.cpu_seconds() - cpu


def best_seconds_of(function, *arguments):
    """Return a result and the lowest seconds and core-seconds of a few runs; one run suffices if it is long."""
    result, seconds, cpu = seconds_of(function, *arguments)
    for _ in range(SHORT_RUNS if seconds < SHORT_SECONDS else 0):
        _, *more = seconds_of(function, *arguments)
        seconds, cpu = min(seconds, more[0]), min(cpu, more[1])
    return result, seconds, cpu


def rows_a_second_single(system, model, X):
    rows = system.rows(X[:SINGLE_ROWS])
    done, start = 0, time.perf_counter()
    for row in rows:
        system.rank_one(model, row)
        done += 1
        if time.perf_counter() - start > SINGLE_SECONDS:
            break
    return done / (time.perf_counter() - start)


def run(kind):
    """Train and rank as specified on the command line, and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("setting", choices=kind.settings)
    arguments = parser.parse_args()
    system = kind(arguments.setting, arguments.input)
    X, Y, X_test = (sp.csr_matrix(sp.load_npz(arguments.input / f"{m}.npz")) for m in ("X_train", "Y_train", "X_test"))
    n_test = X_test.shape[0]
    if system.takes_texts:
        X, X_test = json.loads((arguments.input / "texts.json").read_text())
    work = Path(tempfile.mkdtemp(prefix="abound-peer-"))
    try:
        system.prepare(X, Y, work)
        model, train_seconds, train_cpu = seconds_of(system.train, X, Y, work)
        (work / "model").mkdir()
        system.save(model, work / "model")
        n_bytes = sum(p.stat().st_size for p in (work / "model").rglob("*") if p.is_file())
        (labels, scores), rank_seconds, rank_cpu = best_seconds_of(system.rank, model, X_test)
        single = rows_a_second_single(system, model, X_test)
        peak = processes.peak_megabytes()
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
        "train_cpu_seconds": train_cpu,
        "rank_cpu_microseconds_a_row": 1e6 * rank_cpu / n_test,
        "rows_a_second_batch": n_test / rank_seconds,
        "rows_a_second_single": single,
        "peak_megabytes": peak,
        "model_bytes": n_bytes,
    }
    figures |= system.more_figures(figures, n_test)
    (arguments.output / "figures.json").write_text(json.dumps(figures))
