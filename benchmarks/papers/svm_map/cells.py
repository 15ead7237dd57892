"""One learner on one trial: measured once, and kept in `.cache` so that a run can be continued."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

from benchmarks import sets
from benchmarks.papers.rankers import LEARNERS, N_THRESHOLDS, average_precisions, run_learner
from benchmarks.papers.svm_map.splits import Split

FOLDER = sets.CACHE.parent / "svm-map"


def key_of(name: str, system: str) -> str:
    """Return the name of a cell's file: what it is, and a hash of the learner's settings."""
    settings = hashlib.sha256(repr((astuple(LEARNERS[system]), N_THRESHOLDS)).encode()).hexdigest()[:12]
    return f"{name}, {system}, {settings}".replace(" ", "_")


def cell(name: str, system: str, split: Callable[[], Split], folder: Path | None = None, threads: int = 1) -> Any:
    """Return the outcome of a learner on a trial, from its file if there is one."""
    path = (folder or FOLDER) / f"{key_of(name, system)}.json"
    if path.exists():
        return json.loads(path.read_text())
    train, valid, test = split()
    outcome = run_learner(LEARNERS[system], train, valid, test, threads=threads)
    found = {
        "C": outcome.C,
        "tried": outcome.tried,
        "largest_relative_gap": max(outcome.gaps),
        "rounds": max(outcome.rounds),
        "fit_seconds": outcome.seconds,
        "by_query": average_precisions(test, outcome.scores),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))
    return found
