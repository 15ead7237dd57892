"""Choose the setting of a system on development rows. This module can open no test row.

Every system gets the same rows and the same processor time. Its defaults are tried first, then the settings of the
registry in their order, until all are tried or the time is used up; one setting gets at most a third of the time. The
setting with the highest mean of the six measures is chosen.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound.metrics import judge, metric
from abound.metrics.label_ranking import figures
from benchmarks import sets
from benchmarks.comparison import runs
from benchmarks.comparison.measures import MEASURES, RANKS, Ranked
from benchmarks.comparison.registry import HELD_ROWS, TUNING_CORE_SECONDS, TUNING_ROWS, System

MOST_OF_BUDGET = 1 / 3  # for one setting
BUDGET = (TUNING_ROWS, HELD_ROWS, TUNING_CORE_SECONDS, MOST_OF_BUDGET)  # part of the key of the trials


def rows_for(name: str) -> sets.LabelSet:
    """Return the development rows of a data set: at most `TUNING_ROWS` to train on, and `HELD_ROWS` that judge."""
    return sets.stored(f"{name}-tuning-{TUNING_ROWS}-{HELD_ROWS}", lambda: _shortened(sets.development(name)))


def _shortened(data: sets.LabelSet) -> sets.LabelSet:
    train, held = (_some(m.shape[0], n) for m, n in ((data.X_train, TUNING_ROWS), (data.X_test, HELD_ROWS)))
    texts = [
        [part[i] for i in rows] if part else [] for part, rows in ((data.texts_train, train), (data.texts_test, held))
    ]
    return sets.LabelSet(
        data.name, data.X_train[train], data.Y_train[train], data.X_test[held], data.Y_test[held], texts[0], texts[1]
    )


def _some(n_rows: int, most: int) -> np.ndarray:
    """Return the numbers of randomly chosen rows, in their order."""
    return np.sort(np.random.default_rng(0).permutation(n_rows)[:most])


def folder_of(name: str) -> Path:
    """Return the folder of the rows that a trial reads."""
    return sets.CACHE / f"{name}-tuning-{TUNING_ROWS}-{HELD_ROWS}"


def tune(name: str, system: System, budget: float = TUNING_CORE_SECONDS) -> dict[str, Any]:
    """Return all trials of a system on a data set, and the chosen options."""
    data = rows_for(name)
    trials: list[dict[str, Any]] = []
    sources: set[str] = set()
    left = budget
    for options in system.settings:
        if left <= 0:
            break
        runs.interpreter(system.environment)  # installing it is not charged
        before = runs.processes.ended_seconds()
        found = runs.once(system, options, folder_of(name), min(left, budget * MOST_OF_BUDGET), accuracy=True)
        used = runs.processes.ended_seconds() - before - found.get("wasted_core_seconds", 0.0)
        left -= used
        trial: dict[str, Any] = {"options": dict(options), "core_seconds": round(used, 2)}
        if "failed" in found:
            trial["failed"] = found["failed"]
        else:
            sources.update(found["sources"])
            trial["measures"] = measures(data, found["ranking"])
            trial["score"] = round(float(np.mean(list(trial["measures"].values()))), 5)
        trials.append(trial)
        print(f"  {system.name} {trial}", file=sys.stderr, flush=True)
    not_tried = [dict(options) for options in system.settings[len(trials) :]]
    return {"chosen": chosen(trials), "trials": trials, "not_tried": not_tried, "sources": sorted(sources)}


def chosen(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options with the highest score; of equal ones the first, and the defaults if no trial finished."""
    finished = [trial for trial in trials if "score" in trial]
    best = max(finished, key=lambda trial: trial["score"], default={"options": {}})
    return dict(best["options"])


def measures(data: sets.LabelSet, labels: np.ndarray) -> dict[str, float]:
    """Return the six measures of a ranking of the held-out rows."""
    counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
    ranked = Ranked(labels[:, :RANKS], np.where(labels[:, :RANKS] >= 0, np.arange(RANKS, 0, -1.0), 0.0))
    judgement = judge(sp.csr_array(data.Y_test), ranked, label_counts=counts, n_train_rows=int(data.X_train.shape[0]))
    return {name: round(float(metric(name)[0].reduce(figures(name, judgement))), 5) for name in MEASURES}
