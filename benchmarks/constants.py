"""Choose the constants of the cascade on development rows: try values of each one on several data sets.

python -m benchmarks.constants run             measure the cells that are missing, short ones first; can be interrupted
python -m benchmarks.constants show            print the tables

A cell is one value of one constant on one data set. It has six measures on the development rows, which are cut from the
training rows; this module reads no others. All other constants have their defaults.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from abound import Cascade
from abound.components import linear
from abound.components.second_stage import SecondStage
from abound.kernels.pairs import BIAS_VALUE
from abound.kernels.rated import SECOND_STAGE_WEIGHT
from abound.metrics import judge, metric
from abound.metrics.label_ranking import figures
from abound.rankers import trials
from benchmarks import sets
from benchmarks.machine import machine_line

RESULT = Path(__file__).parent / "results" / "constants.json"
MEASURES = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
K = 5
TOLERATED = 0.002  # by which a measure may fall on a data set if a value is to replace the default
BLOCK = 256  # rows whose second-stage scores of all labels are in memory together

# In the order of their cost. Sets with few labels are ranked by the linear model, the others by votes.
FEW_SETS = ("rcv1-subset", "ohsumed23", "reuters-90", "bibtex", "20news", "delicious", "debian-tags")
MANY_SETS = ("finna-5k", "finna-20k", "gutenberg-lcsh", "wordnet-hypernym", "finna-100k", "debian-depends")


@dataclass(frozen=True)
class Ranked:
    """The label numbers and scores of some rows, best first."""

    indices: Any
    scores: Any


@dataclass(frozen=True)
class Constant:
    """A constant, the values that are tried, and how a value is measured."""

    default: float
    values: Sequence[float]
    sets: Sequence[str]
    what: str
    params: Callable[[Any], dict[str, Any]] | None = None  # of the cascade; None tries second-stage weights
    patched: str | None = None  # the name of a module's constant that gets the value instead


CONSTANTS = {
    "few-trials": Constant(
        1,
        (0, 1),
        FEW_SETS,
        "how few labels are learned: three passes of the linear model (0), or what trials choose (1)",
        lambda tries: {} if tries else {"passes": 3},
    ),
    "trial-rows": Constant(
        trials.MOST_ROWS,
        (2_500, 5_000, 10_000),
        FEW_SETS,
        "rows of a trial, at most (MOST_ROWS)",
        lambda _: {},
        "abound.rankers.trials.MOST_ROWS",
    ),
    "few-passes": Constant(
        3, (2, 3, 5, 8), FEW_SETS, "passes of the linear model (DEFAULT of rankers/trials.py)", lambda n: {"passes": n}
    ),
    "few-labels": Constant(
        1000, (0, 1000), FEW_SETS, "the linear model (1000) or votes (0); few_labels", lambda n: {"few_labels": n}
    ),
    "few-rivals": Constant(
        linear.RIVALS,
        (5, 10, 20, 30),
        FEW_SETS,
        "wrong labels that the linear model learns from, at least (RIVALS)",
        lambda _: {"passes": 3},
        "abound.components.linear.RIVALS",
    ),
    "passes": Constant(
        2,
        (1, 2, 3),
        MANY_SETS,
        "passes of the votes with their second stage",
        lambda n: {"passes": n, "candidates": 20},
    ),
    "candidates": Constant(
        20, (10, 20, 40), MANY_SETS, "labels that the second stage re-ranks", lambda n: {"candidates": n}
    ),
    "second-stage": Constant(
        SECOND_STAGE_WEIGHT, (2.5, 5.0, 8.0), MANY_SETS, "weight of the second stage's score beside the votes"
    ),
    "w_min": Constant(
        0.002, (0.001, 0.002, 0.005), MANY_SETS, "share below which an edge is dropped", lambda x: {"w_min": x}
    ),
    "d_max": Constant(50, (25, 50, 100), MANY_SETS, "edges of a word that vote", lambda n: {"d_max": n}),
}


# -- one cell ------------------------------------------------------------------------------------------


def judged(data: sets.LabelSet, ranked: Any) -> dict[str, float]:
    """Return the measures of a ranking of the held-out rows."""
    counts = np.asarray(data.Y_train.sum(axis=0)).ravel().astype(np.int64)
    judgement = judge(sp.csr_array(data.Y_test), ranked, label_counts=counts, n_train_rows=int(data.Y_train.shape[0]))
    return {name: round(float(metric(name)[0].reduce(figures(name, judgement))), 4) for name in MEASURES}


def second_stage_scores(ranker: Any, rows: Any, labels: Any) -> Any:
    """Return the second stage's score of some labels of each row."""
    indptr, ids, weights, _ = ranker.component(SecondStage).arrays()
    n = len(indptr) - 1
    table = sp.csr_matrix((weights, ids, indptr), shape=(n, len(ranker.labels_)))
    found = np.zeros(labels.shape)
    for start in range(0, rows.shape[0], BLOCK):
        part = slice(start, start + BLOCK)
        with_bias = sp.hstack([np.full((rows[part].shape[0], 1), BIAS_VALUE), rows[part]]).tocsr()[:, :n]
        scores = (with_bias @ table[: with_bias.shape[1]]).toarray()
        found[part] = np.take_along_axis(scores, np.maximum(labels[part], 0), axis=1)
    return found


def by_weight(data: sets.LabelSet, values: Sequence[float], **params: Any) -> Iterator[dict[str, float]]:
    """Yield the measures with each weight of the second stage; its training does not depend on the weight."""
    ranker = Cascade(calibrate=False, few_labels=0, **params).fit(data.X_train, data.Y_train)
    votes = Cascade(calibrate=False, few_labels=0, **{**params, "candidates": 0}).fit(data.X_train, data.Y_train)
    best = votes.rank(data.X_test, params.get("candidates", 20))
    added = second_stage_scores(ranker, data.X_test, best.indices)
    for value in values:
        scores = np.where(best.indices >= 0, best.scores + value * added, -np.inf)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :K]
        yield judged(data, Ranked(*(np.take_along_axis(part, order, axis=1) for part in (best.indices, scores))))


def measure(data: sets.LabelSet, constant: Constant, value: float) -> dict[str, float]:
    """Return the measures of one cell and the processor time of its training."""
    if constant.params is None:
        return next(by_weight(data, [value]))
    started = time.process_time()
    with mock.patch(constant.patched, int(value)) if constant.patched else contextlib.nullcontext():
        ranker = Cascade(calibrate=False, **constant.params(value)).fit(data.X_train, data.Y_train)
    seconds = time.process_time() - started
    return {**judged(data, ranker.rank(data.X_test, K)), "train_core_seconds": round(seconds, 2)}


# -- all cells -----------------------------------------------------------------------------------------


def key_of(name: str, set_name: str, value: float) -> str:
    return f"{name}/{set_name}/{value:g}"


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"cells": {}}
    return found


def write(cells: dict[str, Any], path: Path) -> None:
    """Replace the result file by these cells, in the order of the tables."""
    order = [key_of(name, s, value) for name, c in CONSTANTS.items() for s in c.sets for value in c.values]
    ordered = {key: cells[key] for key in order if key in cells}
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"machine": machine_line(), "cells": ordered}, indent=1) + "\n")
    os.replace(beside, path)


def missing(set_name: str, names: Sequence[str], cells: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the constants and values of a data set that were not measured yet."""
    return [
        (name, value)
        for name in names
        if set_name in CONSTANTS[name].sets
        for value in CONSTANTS[name].values
        if key_of(name, set_name, value) not in cells
    ]


def run(set_names: Sequence[str], names: Sequence[str], path: Path) -> None:
    """Measure the cells that are missing, and store each as soon as it is known."""
    for set_name in set_names:
        wanted = missing(set_name, names, read(path)["cells"])
        data = sets.development(set_name) if wanted else None
        for name, value in wanted:
            if data is None or key_of(name, set_name, value) in read(path)["cells"]:
                continue
            constant, cells = CONSTANTS[name], read(path)["cells"]
            if constant.params is None:  # all values come from one training
                for one, found in zip(constant.values, by_weight(data, constant.values), strict=True):
                    cells[key_of(name, set_name, one)] = found
            else:
                cells[key_of(name, set_name, value)] = measure(data, constant, value)
            write(cells, path)
            print(key_of(name, set_name, value), cells[key_of(name, set_name, value)], file=sys.stderr, flush=True)


# -- tables --------------------------------------------------------------------------------------------


def measured_sets(name: str, cells: dict[str, Any]) -> list[str]:
    """Return the data sets on which all values of a constant were measured."""
    constant = CONSTANTS[name]
    return [s for s in constant.sets if all(key_of(name, s, value) in cells for value in constant.values)]


def differences(name: str, value: float, cells: dict[str, Any]) -> Any:
    """Return the measures of a value minus those of the default, by data set and measure."""
    constant = CONSTANTS[name]
    rows = [
        [cells[key_of(name, s, value)][m] - cells[key_of(name, s, constant.default)][m] for m in MEASURES]
        for s in measured_sets(name, cells)
    ]
    return np.array(rows).reshape(-1, len(MEASURES))


def summary(result: dict[str, Any]) -> list[str]:
    """Return a table with a line for each value: its mean difference from the default over data sets."""
    lines = [
        f"| constant | value | data sets | {' | '.join(MEASURES)} | lowest difference | highest |",
        f"|---|---|---|{'---|' * (len(MEASURES) + 2)}",
    ]
    for name, constant in CONSTANTS.items():
        for value in constant.values:
            found = differences(name, value, result["cells"])
            if not len(found):
                continue
            label, n = f"| {name} | {value:g}", len(found)
            if value == constant.default:
                lines.append(f"{label} (default) | {n} {'| 0 ' * len(MEASURES)}| | |")
            else:
                means = " | ".join(f"{mean:+.4f}" for mean in found.mean(axis=0))
                lines.append(f"{label} | {n} | {means} | {found.min():+.4f} | {found.max():+.4f} |")
    return lines


def verdict(result: dict[str, Any]) -> list[str]:
    """Return sentences: which values no measure speaks against, and how many cells were measured."""
    cells = result["cells"]
    better = [
        f"{name} {value:g} ({len(found)} data sets)"
        for name, constant in CONSTANTS.items()
        for value in constant.values
        if value != constant.default
        and len(found := differences(name, value, cells))
        and round(found.min(), 4) >= -TOLERATED
    ]
    n_cells = sum(len(constant.sets) * len(constant.values) for constant in CONSTANTS.values())
    return [
        f"Values with which no measure falls by more than {TOLERATED}: {', '.join(better) or 'none'}.",
        f"{len(cells)} of {n_cells} cells are measured; a constant is compared on the data sets with all its values.",
    ]


def overview(result: dict[str, Any]) -> list[str]:
    """Return the table of all values and what follows from it."""
    return [*summary(result), "", " ".join(verdict(result))]


def every_cell(name: str, result: dict[str, Any]) -> list[str]:
    """Return the table of one constant: the measures of each value on each data set."""
    constant, cells = CONSTANTS[name], result["cells"]
    lines = [f"| data set | value | {' | '.join(MEASURES)} |", f"|---|---|{'---|' * len(MEASURES)}"]
    for set_name in measured_sets(name, cells):
        for value in constant.values:
            cell = cells[key_of(name, set_name, value)]
            star = " (default)" if value == constant.default else ""
            lines.append(f"| {set_name} | {value:g}{star} | {' | '.join(f'{cell[m]:.4f}' for m in MEASURES)} |")
    return lines


def tables(result: dict[str, Any]) -> list[str]:
    """Return the tables of all constants, with headings."""
    lines: list[str] = []
    for name, constant in CONSTANTS.items():
        if measured_sets(name, result["cells"]):
            lines += [f"### {name}: {constant.what}", "", *every_cell(name, result), ""]
    return lines[:-1]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.constants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--set", help="comma-separated data sets (default: all)")
    parser.add_argument("--constant", action="append", choices=list(CONSTANTS), help="a constant; may be repeated")
    parser.add_argument("--json", type=Path, default=RESULT, help="the result file")
    given = parser.parse_args(argv)
    if given.command == "run":
        set_names = given.set.split(",") if given.set else [*FEW_SETS, *MANY_SETS]
        run(set_names, given.constant or list(CONSTANTS), given.json)
    result = read(given.json)
    print("\n".join([*overview(result), "", *tables(result)]))


if __name__ == "__main__":
    main()
