"""Repeat the experiments of the SVM-map paper (Yue, Finley, Radlinski and Joachims, SIGIR 2007).

python -m benchmarks.papers.svm_map --short    six trials of trec-web-2012, and two of each group of letor-agg
python -m benchmarks.papers.svm_map            fifty trials as in the paper, and five folds of letor-agg
python -m benchmarks.papers.svm_map growth     the time from 100 to 1,692 queries, with a breakdown
python -m benchmarks.papers.svm_map solvers    the quadratic programs of a fit, with two solvers
python -m benchmarks.papers.svm_map trees      compared with LightGBM and XGBoost on three collections

Every learner of every trial is kept in `.cache/svm-map`. An interrupted run continues there, and a full run uses the
trials of a short one. The first two write `benchmarks/results/svm-map-paper.json`.
"""

import argparse
import json
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine_line
from benchmarks.papers.collections import Collection, join, letor_agg
from benchmarks.papers.rankers import LEARNERS, average_precisions, fuse_reciprocal_ranks
from benchmarks.papers.svm_map import others, tables, theory
from benchmarks.papers.svm_map.cells import cell
from benchmarks.papers.svm_map.splits import FOLDS, Group, group_of, letor_groups, rotated, trec_groups, trials

RESULTS = Path(__file__).resolve().parents[2] / "results"
# Trials of each group of queries.
SHORT, FULL = {"letor-agg": 2, "trec-web-2012": 6}, {"letor-agg": 50, "trec-web-2012": 50}
DIGITS = 6


def protocol(groups: list[Group], n_trials: int, without_best: bool, folder: Path | None = None) -> dict[str, Any]:
    """Run the paper's trials on each group; average each query over the trials that test it."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in LEARNERS}
    done: dict[str, list[dict[str, Any]]] = {name: [] for name in LEARNERS}
    for group in groups:
        narrowed = group.narrowed(without_best)
        for number, chosen in enumerate(trials(group.queries, n_trials), 1):
            name = f"{group.name}{', without the best' if without_best else ''}, trial {number}"
            for system in LEARNERS:
                outcome = cell(name, system, lambda chosen=chosen, part=narrowed: split_of(part, chosen), folder)
                done[system].append(outcome)
                for query, figure in outcome["by_query"].items():
                    found[system].setdefault(query, []).append(figure)
            print(f"{name} done", file=sys.stderr, flush=True)
    by_query = {name: {q: float(np.mean(values)) for q, values in each.items()} for name, each in found.items()}
    for group in groups:
        for name, figures in group.baselines().items():
            by_query.setdefault(name, {}).update({q: figures[q] for q in group.queries if q in by_query["SVM-map"]})
    return {
        "trials": n_trials,
        "groups": len(groups),
        "systems": systems_of(by_query),
        "learners": {name: summary(outcomes) for name, outcomes in done.items()},
    }


def split_of(part: Collection, chosen: tuple[Any, Any, Any]) -> tuple[Collection, Collection, Collection]:
    train, valid, test = (part.of_queries(queries) for queries in chosen)
    return train, valid, test


def systems_of(by_query: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return the average precisions of each system, in the order of the queries of SVM-map."""
    queries = sorted(by_query["SVM-map"])
    return {name: [round(figures[query], DIGITS) for query in queries] for name, figures in by_query.items()}


def summary(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Summarise a learner: the MAP of each trial, the chosen values of C, and the certificates."""
    return {
        "MAP_of_trials": [round(float(np.mean(list(one["by_query"].values()))), DIGITS) for one in outcomes],
        "C": [one["C"] for one in outcomes],
        "at_the_end_of_the_grid": sum(one["C"] == max(one["tried"]) for one in outcomes),
        "fits": sum(len(one["tried"]) for one in outcomes),
        "largest_relative_gap": max(one["largest_relative_gap"] for one in outcomes),
        "most_rounds": max(one["rounds"] for one in outcomes),
        "fit_seconds": sum(sum(one["fit_seconds"]) for one in outcomes),
        "longest_fit_seconds": max(max(one["fit_seconds"]) for one in outcomes),
    }


def folds(parts: list[Collection], folder: Path | None = None) -> dict[str, Any]:
    """Run five folds of letor-agg with all its queries: far more training queries than in the paper."""
    by_query: dict[str, dict[str, float]] = {name: {} for name in LEARNERS}
    done: dict[str, list[dict[str, Any]]] = {name: [] for name in LEARNERS}
    for fold in range(FOLDS):
        for system in LEARNERS:
            outcome = cell(f"letor-agg, fold {fold + 1}", system, lambda fold=fold: rotated(parts, fold), folder)
            done[system].append(outcome)
            by_query[system] |= outcome["by_query"]
        print(f"fold {fold + 1} done", file=sys.stderr, flush=True)
    whole = join(parts)
    by_query["reciprocal rank fusion"] = average_precisions(whole, fuse_reciprocal_ranks(-whole.X))
    group = group_of("letor-agg", Collection(np.nan_to_num(whole.X, nan=-1e9), *rest(whole)), -whole.X)
    by_query |= {name: figures for name, figures in group.baselines().items() if name not in by_query}
    return {"systems": systems_of(by_query), "learners": {name: summary(each) for name, each in done.items()}}


def rest(whole: Collection) -> tuple[Any, ...]:
    return whole.y, whole.qid, whole.documents, whole.retrieved


def paper(short: bool, folder: Path | None = None) -> dict[str, Any]:
    """Run all experiments."""
    n_trials = SHORT if short else FULL
    parts = letor_agg()
    letor, trec = letor_groups(parts), trec_groups()
    result: dict[str, Any] = {
        "short": short,
        "collections": [described(letor, "letor-agg"), described(trec, "trec-web-2012")],
        "toys": {name: theory.toy(*one) for name, one in theory.TOYS.items()},
        "upper_bound": theory.upper_bound(letor),
        "algorithm_1": theory.algorithm_1(letor),
        "algorithm_2": theory.oracle_times(),
        "sets": {},
    }
    for label, groups, without_best in (
        ("letor-agg", letor, False),
        ("letor-agg, without the best", letor, True),
        ("trec-web-2012", trec, False),
    ):
        result["sets"][label] = protocol(groups, n_trials[label.split(",")[0]], without_best, folder)
    if not short:
        result["folds"] = folds(parts, folder)
    return result


def described(groups: list[Group], name: str) -> dict[str, Any]:
    """Count what the paper counts of its collections."""
    whole = join([group.whole for group in groups])
    return {
        "name": name,
        "groups": len(groups),
        "functions": whole.X.shape[1],
        "bits": whole.X.shape[1] * 50,
        "queries": len(np.unique(whole.qid)),
        "documents": int(whole.retrieved.sum()),
        "relevant": int((whole.y >= 1).sum()),
    }


def written(result: dict[str, Any]) -> str:
    """Return a result as JSON, with each list of numbers on one line."""
    text = json.dumps(result, indent=1)
    return re.sub(r"\[[\s\d.,eE+-]+\]", lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Run one command, print its tables, and write its result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = {"growth": others.growth, "solvers": others.solvers, "trees": others.trees}
    parser.add_argument("command", nargs="?", choices=commands)
    parser.add_argument("--short", action="store_true", help="a few trials of each group instead of fifty")
    options = parser.parse_args(arguments)
    warnings.simplefilter("error")  # a fit that does not reach its gap must be visible
    start = time.perf_counter()
    result = commands[options.command]() if options.command else paper(options.short)
    whole = {"machine": machine_line(), "seconds": time.perf_counter() - start, **result}
    (RESULTS / f"svm-map-{options.command or 'paper'}.json").write_text(written(whole))
    if not options.command:
        print("\n".join(line for part in tables.PARTS.values() for line in [*part(whole), ""]))


if __name__ == "__main__":
    main()
