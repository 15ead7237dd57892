"""The shared part of all scripts: read the rows, time training and ranking, write the ranking.

    python SCRIPT.py ROWS OUTPUT OPTIONS [--accuracy]

A script runs in the environment of its system, where abound is not installed; it needs only numpy and scipy. What a
system needs as input is prepared before the clock starts, and its answers are converted after the clock has stopped:
only its own training and ranking are timed. A system ranks one row before the clock starts, so that what it does at
the first call, such as opening its model, is not timed either.
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
CALLS, LONG_SECONDS = 3, 30.0  # of ranking all rows; one call suffices if it is long
ATTEMPTS = 10  # to train, if a system fails at random


class System:
    """A system that trains and ranks; a script implements the steps and calls `run`."""

    threads = 2
    takes_texts = False  # otherwise a row contains tf-idf weights

    def __init__(self, options):
        self.options = options

    def version(self):
        raise NotImplementedError

    def prepare(self, X, Y, folder):
        """Prepare what is not timed, such as the files that a system reads."""

    def train(self, X, Y, folder):
        """Return a model."""
        raise NotImplementedError

    def may_retry(self, error):
        """Return whether the same call may succeed after an error."""
        return False

    def opened(self, model, folder):
        """Return the model in the form in which the system recommends to rank; not timed."""
        return model

    def save(self, model, folder):
        """Write the model, so that its size can be measured."""
        raise NotImplementedError

    def inputs(self, X):
        """Return rows in the form that the system ranks in a batch; not timed."""
        return X

    def rank(self, model, inputs):
        """Return the system's own answer with the K best labels of each row."""
        raise NotImplementedError

    def labels(self, model, answer):
        """Convert an answer to label numbers, padded with -1; not timed."""
        return padded(answer)

    def singles(self, X):
        """Return the inputs of `rank_one`, one for each row; not timed."""
        inputs = self.inputs(X)
        return [inputs[i] for i in range(len(inputs) if isinstance(inputs, list) else inputs.shape[0])]

    def rank_one(self, model, row):
        raise NotImplementedError

    def sources(self):
        """Return the source files that the results depend on, if the system is ours."""
        return []


def padded(lists):
    """Convert lists of labels, or of (label, score), to one array."""
    found = np.full((len(lists), K), -1, np.int32)
    for row, labels in zip(found, lists, strict=True):
        for place, label in enumerate(labels[:K]):
            row[place] = label[0] if isinstance(label, tuple) else label
    return found


def best_of_dense(scores):
    """Return the K best columns of each row of dense scores."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :K].astype(np.int32)


def seconds_of(function, *arguments):
    """Return a result, its wall-clock seconds and its core-seconds."""
    start, cpu = time.perf_counter(), processes.cpu_seconds()
    result = function(*arguments)
    return result, time.perf_counter() - start, processes.cpu_seconds() - cpu


def best_seconds_of(function, *arguments):
    """Return a result and the lowest seconds and core-seconds of a few calls; one call suffices if it is long."""
    result, seconds, cpu = seconds_of(function, *arguments)
    for _ in range(CALLS - 1 if seconds < LONG_SECONDS else 0):
        _, *more = seconds_of(function, *arguments)
        seconds, cpu = min(seconds, more[0]), min(cpu, more[1])
    return result, seconds, cpu


def trained(system, X, Y, work):
    """Return a model, its seconds and core-seconds, and the core-seconds of attempts that failed at random before."""
    start = processes.cpu_seconds()
    for attempt in range(1, ATTEMPTS + 1):
        before = processes.cpu_seconds()
        try:
            return *seconds_of(system.train, X, Y, work), before - start
        except Exception as error:
            if attempt == ATTEMPTS or not system.may_retry(error):
                raise
    raise AssertionError


def rows_a_second_single(system, model, X):
    rows = system.singles(X[:SINGLE_ROWS])
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
    parser.add_argument("options", type=json.loads)
    parser.add_argument("--accuracy", action="store_true", help="train and rank once, to try a setting")
    given = parser.parse_args()
    system = kind(given.options)
    X, Y, X_test = (sp.csr_matrix(sp.load_npz(given.input / f"{m}.npz")) for m in ("X_train", "Y_train", "X_test"))
    n_test = X_test.shape[0]
    if system.takes_texts:
        texts = json.loads((given.input / "texts.json").read_text())
        X, X_test = (words or matrix for words, matrix in zip(texts, (X, X_test), strict=True))
    given.output.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=given.output))  # it is removed with the output, also if this process is killed
    try:
        system.prepare(X, Y, work)
        model, train_seconds, train_cpu, wasted = trained(system, X, Y, work)
        (work / "opened").mkdir()
        ranker = system.opened(model, work / "opened")
        inputs = system.inputs(X_test)
        figures = {"version": system.version(), "threads": system.threads, "train_cpu_seconds": train_cpu}
        figures["wasted_core_seconds"] = wasted
        if given.accuracy:
            answer = system.rank(ranker, inputs)
        else:
            system.rank(ranker, system.inputs(X_test[:1]))
            answer, rank_seconds, rank_cpu = best_seconds_of(system.rank, ranker, inputs)
            (work / "model").mkdir()
            system.save(model, work / "model")
            figures |= {
                "train_seconds": train_seconds,
                "rank_cpu_microseconds_a_row": 1e6 * rank_cpu / n_test,
                "rows_a_second_batch": n_test / rank_seconds,
                "rows_a_second_single": rows_a_second_single(system, ranker, X_test),
                "peak_megabytes": processes.peak_megabytes(),
                "model_bytes": sum(p.stat().st_size for p in (work / "model").rglob("*") if p.is_file()),
            }
        labels = system.labels(ranker, answer)
    finally:
        shutil.rmtree(work)
    np.save(given.output / "ranking.npy", labels)
    figures["sources"] = system.sources()
    (given.output / "figures.json").write_text(json.dumps(figures))
