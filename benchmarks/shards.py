"""Measure learning in shards: speed-up with threads, and accuracy.

python -m benchmarks.shards finna-100k          shards 1, 2, 4 and 8, with threads and without
python -m benchmarks.shards yso-finna-en        the whole data set, every 20th row held out, shards 1 and 2

Wall-clock times are the best of several rounds, in turn. The CPU time of the critical path is reported too, which other
work on the machine does not affect: serial work, plus the longest thread of each parallel part. The speed-up that the
machine gives two threads at all is measured in the same rounds, by hashing, which needs neither a lock nor memory.
"""

import argparse
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import Cascade, metrics
from abound.components import threads as threading_of
from abound.components import votes
from abound.metrics import interval, judge
from abound.text import TextEncoder
from abound.training import local
from benchmarks import sets
from benchmarks.machine import machine_line

RESULTS = Path(__file__).parent / "results"
ROUNDS = 3
# (threads, shards, merges per pass)
SETTINGS = {
    "finna-100k": ((1, 1, 1), (1, 2, 1), (2, 2, 1), (1, 4, 1), (1, 4, 4), (1, 8, 1), (1, 8, 4)),
    "yso-finna-en": ((1, 1, 1), (1, 2, 1), (2, 2, 1), (1, 4, 1)),
}


def whole(language: str = "en", limit: int | None = None) -> sets.LabelSet:
    """Return all titles as rows of our text encoder, with every 20th held out."""
    folder = sets.CACHE / f"yso-finna-{language}-{limit}"
    matrices = ("X_train", "Y_train", "X_test", "Y_test")
    if not (folder / "Y_test.npz").exists():
        rows = [row for number, row in enumerate(sets.finna_rows(language)) if limit is None or number < limit]
        parts = [[row for number, row in enumerate(rows) if (number % 20 == 19) == held] for held in (False, True)]
        encoder = TextEncoder(min_count=2)
        encoder.begin_counting()
        encoder.count([text for text, _ in parts[0]])
        built = []
        for part in parts:
            indptr, indices, values = encoder.rows([text for text, _ in part])
            built.append(sp.csr_matrix((values, indices, indptr), shape=(len(part), encoder.n_terms)))
        labels = sets.label_matrices(*([names for _, names in part] for part in parts))
        folder.mkdir(parents=True, exist_ok=True)
        found = (built[0], labels[0], built[1], labels[1])
        for name, matrix in zip(matrices, found, strict=True):
            sp.save_npz(folder / f"{name}.npz", matrix, compressed=False)
    loaded = (sp.csr_matrix(sp.load_npz(folder / f"{name}.npz")) for name in matrices)
    return sets.LabelSet(f"yso-finna-{language}", *loaded)


@contextmanager
def watched() -> Iterator[list[list[float]]]:
    """Record the CPU seconds of every item that is passed to threads, in one list per call."""
    calls: list[list[float]] = []
    real, inside = threading_of.in_threads, threading.local()

    def timed(work: Callable[[Any], Any], items: Sequence[Any], n_jobs: int) -> list[Any]:
        def one(item: Any) -> Any:
            inside.item, begin = True, time.thread_time()
            result = work(item)
            spent.append(time.thread_time() - begin)
            inside.item = False
            return result

        if getattr(inside, "item", False):  # a part of an item that is being timed
            return real(work, items, n_jobs)
        spent: list[float] = []
        result = real(one, items, n_jobs)
        calls.append(spent)
        return result

    local.in_threads = votes.in_threads = timed
    try:
        yield calls
    finally:
        local.in_threads = votes.in_threads = real


def hashing_seconds(threads: int) -> float:
    """Return the wall-clock seconds that the given number of threads need to hash the same bytes together."""
    data, start = bytes(1 << 20), time.perf_counter()

    def work(times: int) -> None:
        for _ in range(times):
            hashlib.sha256(data).digest()  # releases the GIL

    threading_of.in_threads(work, [1024 // threads] * threads, threads)
    return time.perf_counter() - start


def longest_way(total: float, calls: list[list[float]], threads: int) -> float:
    """Return the CPU seconds of the critical path if the given number of threads share the items of each call."""
    alone = total - sum(map(sum, calls))
    return alone + sum(max(max(items), sum(items) / threads) for items in calls if items)


def run(label_set: sets.LabelSet, n_jobs: int, n_shards: int, rounds: int) -> dict[str, Any]:
    """Fit once; return the times and the ranker."""
    ranker = Cascade(n_jobs=n_jobs, shards=n_shards, rounds=rounds, calibrate=False)
    ranker.check_params()
    ranker.reset()
    start = time.perf_counter()
    encoded = ranker.encode(label_set.X_train, label_set.Y_train)
    with watched() as calls:
        begin, processor = time.perf_counter(), time.process_time()
        ranker.learn_all(ranker.source(encoded))
        end, spent = time.perf_counter(), time.process_time() - processor
    return {
        "fit_seconds": end - start,
        "learn_seconds": end - begin,
        "processor_seconds": spent,
        "longest_way_seconds": longest_way(spent, calls, n_shards),
        "ranker": ranker,
    }


def compare(name: str, rounds: int = ROUNDS, label_set: sets.LabelSet | None = None) -> dict[str, Any]:
    """Fit with every setting in turn; keep the best times and compare the rankings with those of one shard."""
    label_set = label_set or (sets.load(name) if name in sets.RECIPES else whole())
    settings = SETTINGS[name]
    best: dict[tuple[int, ...], dict[str, float]] = {}
    judgements, hashes, edges = {}, {}, {}
    hashing = {threads: float("inf") for threads in (1, 2)}
    for _ in range(rounds):
        hashing = {threads: min(best_yet, hashing_seconds(threads)) for threads, best_yet in hashing.items()}
        for setting in settings:
            figures = run(label_set, *setting)
            ranker = figures.pop("ranker")
            if setting not in judgements:
                judgements[setting] = judge(label_set.Y_test, ranker.rank(label_set.X_test, 5))
                hashes[setting], edges[setting] = ranker.state_hash(), ranker.n_edges_
            assert hashes[setting] == ranker.state_hash(), "two runs of one setting differ"
            before = best.get(setting, figures)
            best[setting] = {key: min(value, before[key]) for key, value in figures.items()}
    one = settings[0]
    given = round(hashing[1] / hashing[2], 3)
    result: dict[str, Any] = {
        "set": label_set.describe(),
        "rounds": rounds,
        "two_threads_hash_times_as_fast": given,
        "runs": [],
    }
    for setting in settings:
        threads, n_shards, merges = setting
        difference = metrics.compare("P@1", judgements[setting], judgements[one])
        measures = {m: interval(m, judgements[setting]).value for m in ("P@1", "P@3", "P@5")}
        result["runs"].append(
            {
                "threads": threads,
                "shards": n_shards,
                "rounds_a_pass": merges,
                **{key: round(value, 3) for key, value in best[setting].items()},
                "times_as_fast": round(best[one]["learn_seconds"] / best[setting]["learn_seconds"], 3),
                "times_as_fast_by_processor": round(
                    best[one]["processor_seconds"] / best[setting]["longest_way_seconds"], 3
                ),
                **{key: round(float(value), 4) for key, value in measures.items()},
                "P@1_difference": [round(float(value), 4) for value in difference],
                "edges": edges[setting],
                "state_hash": hashes[setting],
            }
        )
    same = {key[1:]: hashes[key] for key in settings}
    result["hash_independent_of_threads"] = all(hashes[key] == same[key[1:]] for key in settings)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.shards", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=tuple(SETTINGS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    versions = {"numpy": np.__version__}
    result = {"machine": machine_line(), "versions": versions, **compare(arguments.set, arguments.rounds)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"shards-{arguments.set}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
