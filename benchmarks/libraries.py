"""Compare small parts that we wrote ourselves with the libraries that do the same.

python -m benchmarks.libraries         measure, and write benchmarks/results/libraries.json; needs filelock
python -m benchmarks.libraries show    print the table of decision 81

The parts: locks of files (filelock), bootstrap intervals (scipy), and counters of the server's workers
(prometheus_client in its mode for several processes).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine_line

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "libraries.json"
LINES = {
    "locks": ("src/abound/store/locks.py",),
    "bootstrap": ("src/abound/metrics/bootstrap.py",),
    "counters": ("src/abound/server/http/metrics.py", "src/abound/server/durations.py"),
    "licences": (".ci/licences.py",),
    "notebooks": ("docs_build/notebooks.py",),
    "code blocks": ("tests/docs/blocks.py",),
}
ROWS, RESAMPLES, LOCKS, REQUESTS, ROUNDS = 5_000, 1_000, 300, 20_000, 3

# Started in a process of its own: prometheus_client looks at the variable when it is imported.
COUNTER = f"""
import time
from prometheus_client import Counter, Histogram
answers = Counter("answers", "answers", ["endpoint", "status"])
seconds = Histogram("seconds", "seconds", ["endpoint"])
began = time.process_time()
for _ in range({REQUESTS}):
    answers.labels("POST /v1/rank", "200").inc()
    seconds.labels("POST /v1/rank").observe(0.001)
print((time.process_time() - began) / {REQUESTS} * 1e6)
"""


def fastest(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of the fastest of several rounds; other processes hardly change them."""
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def bootstrap() -> dict[str, Any]:
    """Return times and bounds of an interval by our function and by scipy's."""
    from scipy import stats

    from abound.metrics.bootstrap import resampled

    rows = (np.random.default_rng(0).random(ROWS) < 0.6).astype(np.float64)
    found: dict[str, Any] = {}

    def mean(values: np.ndarray) -> float:
        return float(values.mean())

    def ours() -> None:
        found["ours"] = list(resampled(rows, mean, n_resamples=RESAMPLES, random_state=0)[1:])

    def scipys() -> None:
        seed = np.random.default_rng(0)
        given = {"n_resamples": RESAMPLES, "method": "percentile", "vectorized": False}
        found["scipy"] = list(stats.bootstrap((rows,), mean, rng=seed, **given).confidence_interval)

    return {"seconds": fastest(ours), "scipy_seconds": fastest(scipys), **found}


def locks() -> dict[str, Any]:
    """Return the microseconds of taking and releasing a lock."""
    from filelock import FileLock as Other

    from abound.store.locks import FileLock

    with tempfile.TemporaryDirectory() as folder:
        own, other = Path(folder) / "own", Path(folder) / "other"

        def ours() -> None:
            for _ in range(LOCKS):
                FileLock(own).release()

        def others() -> None:
            for _ in range(LOCKS):
                Other(other, timeout=0).acquire().lock.release()

        return {"microseconds": fastest(ours) / LOCKS * 1e6, "filelock_microseconds": fastest(others) / LOCKS * 1e6}


def counters() -> dict[str, Any]:
    """Return the microseconds of counting a request, and the bytes of prometheus_client's files per process."""
    from abound.server.http.metrics import Counts

    counts = Counts()

    def ours() -> None:
        for _ in range(REQUESTS):
            counts.add("POST /v1/rank", 200, 0.001)

    seconds = fastest(ours)
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for _ in range(ROUNDS):
            done = subprocess.run(
                [sys.executable, "-c", COUNTER],
                env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder},
                check=True,
                capture_output=True,
                text=True,
            )
            times.append(float(done.stdout))
        left = sum(path.stat().st_size for path in Path(folder).iterdir())
    return {
        "microseconds": seconds / REQUESTS * 1e6,
        "prometheus_microseconds": min(times),
        "left_bytes_per_process": left // ROUNDS,
    }


def lines() -> dict[str, int]:
    """Return the lines of our own parts."""
    return {name: sum(len((ROOT / path).read_text().splitlines()) for path in paths) for name, paths in LINES.items()}


def show(result: dict[str, Any]) -> list[str]:
    """Return the table of the decision record."""
    own, lock, boot, count = (result[name] for name in ("lines", "locks", "bootstrap", "counters"))
    bounds = {name: f"{boot[name][0]:.4f} to {boot[name][1]:.4f}" for name in ("ours", "scipy")}
    figures = {
        "locks": f"take and release: {lock['microseconds']:.0f} µs, filelock {lock['filelock_microseconds']:.0f} µs",
        "bootstrap": f"{ROWS:,} rows, {RESAMPLES:,} resamples: {boot['seconds']:.2f} s, scipy "
        f"{boot['scipy_seconds']:.2f} s; interval {bounds['ours']}, scipy {bounds['scipy']}",
        "counters": f"count a request: {count['microseconds']:.1f} µs, prometheus_client "
        f"{count['prometheus_microseconds']:.1f} µs and {count['left_bytes_per_process'] / 1e6:.1f} MB of files "
        "for each process that ever ran",
    }
    return [
        "| part | our lines | measured |",
        "|---|---:|---|",
        *(f"| {name} | {n} | {figures.get(name, '')} |" for name, n in own.items()),
        "",
        f"`python -m benchmarks.libraries`, CPU time, fastest of {ROUNDS} rounds, {result['machine']}.",
    ]


def main() -> None:
    if sys.argv[1:] != ["show"]:
        parts = {"lines": lines(), "locks": locks(), "bootstrap": bootstrap(), "counters": counters()}
        RESULT.write_text(json.dumps({"machine": machine_line(), **parts}, indent=1) + "\n")
    print("\n".join(show(json.loads(RESULT.read_text()))))


if __name__ == "__main__":
    main()
