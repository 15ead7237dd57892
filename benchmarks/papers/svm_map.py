"""Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision" (SIGIR 2007).

python -m benchmarks.papers.svm_map letor      letor-agg, five folds: like tables 6 and 9, with times
python -m benchmarks.papers.svm_map trec       trec-web-2012, 50 trials: like tables 7, 8, 10 and 11
python -m benchmarks.papers.svm_map growth     from 100 to 1,692 queries, with a breakdown of the time
python -m benchmarks.papers.svm_map solvers    the quadratic programs of a fit, with two solvers
python -m benchmarks.papers.svm_map trees      compared with LightGBM and XGBoost on three collections
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from abound import SVMMap, ThermometerFeatures
from abound.retrieval import cutting_plane, tangents
from benchmarks.machine import machine_line
from benchmarks.papers.collections import Collection, join, letor_agg, ltr_lightgbm, mslr_5k, trec_web_2012
from benchmarks.papers.rankers import (
    LEARNERS,
    N_THRESHOLDS,
    RANKING_GRID,
    THREADS,
    Learner,
    Outcome,
    average_precisions,
    figures,
    fuse_reciprocal_ranks,
    mean,
    ranks_within,
    run_learner,
)
from benchmarks.peers.environments import HERE as PEERS
from benchmarks.peers.environments import interpreter

RESULTS = Path(__file__).resolve().parents[1] / "results"
FOLDS = 5
SIGNIFICANT = 0.05


def against(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, Any]:
    """Compare average precisions query by query: means, wins and losses, and the two-tailed Wilcoxon test."""
    a, b = (np.array([side[query] for query in ours]) for side in (ours, theirs))
    p = float(wilcoxon(a, b).pvalue) if np.any(a != b) else 1.0
    return {"MAP": float(b.mean()), "wins": int((a > b).sum()), "losses": int((a < b).sum()), "p": p}


def table(name: str, result: dict[str, dict[str, float]], first: str = "SVM-map") -> dict[str, Any]:
    """Compare every system with the first, best first, and print the comparison."""
    ours = result[first]
    rows = {system: against(ours, theirs) for system, theirs in result.items() if system != first}
    print(f"\n{name}: {first} {mean(ours):.4f} on {len(ours)} queries")
    for system, row in sorted(rows.items(), key=lambda pair: -pair[1]["MAP"]):
        stars = "**" if row["p"] < SIGNIFICANT else "not significant"
        print(f"  {system:20} {row['MAP']:.4f}   {row['wins']:5} / {row['losses']:<5} p = {row['p']:.2g} {stars}")
    return {"queries": len(ours), first: mean(ours), "against": rows}


def summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """Summarise learners: the largest gap, rounds, seconds, and the chosen values of C."""
    return {
        "largest_relative_gap": max(max(outcome.gaps) for outcome in outcomes),
        "most_rounds": max(max(outcome.rounds) for outcome in outcomes),
        "fit_seconds": sum(sum(outcome.seconds) for outcome in outcomes),
        "fits": sum(len(outcome.gaps) for outcome in outcomes),
        "C": [outcome.C for outcome in outcomes],
    }


def rotated(parts: list[Collection], fold: int) -> tuple[Collection, Collection, Collection]:
    """Return training, validation and test documents of a fold, as LETOR rotates them."""
    turned = [parts[(fold + step) % len(parts)] for step in range(len(parts))]
    return join(turned[:-2]), turned[-2], turned[-1]


def letor(n_queries: int | None = None) -> dict[str, Any]:
    """Run five folds of letor-agg: learners, every single ranker, and reciprocal rank fusion."""
    parts = letor_agg()
    if n_queries is not None:
        parts = [part.of_queries(np.unique(part.qid)[:n_queries]) for part in parts]
    found: dict[str, dict[str, float]] = {name: {} for name in LEARNERS}
    outcomes: dict[str, list[Outcome]] = {name: [] for name in LEARNERS}
    seconds = dict.fromkeys(LEARNERS, 0.0)
    for fold in range(FOLDS):
        train, valid, test = rotated(parts, fold)
        for name, learner in LEARNERS.items():
            start = time.perf_counter()
            outcome = run_learner(learner, train, valid, test)
            seconds[name] += time.perf_counter() - start
            outcomes[name].append(outcome)
            found[name] |= average_precisions(test, outcome.scores)
        print(f"fold {fold + 1} done", file=sys.stderr)
    whole = join(parts)
    for column in range(whole.X.shape[1]):
        found[f"ranker {column + 1}"] = average_precisions(whole, np.nan_to_num(whole.X[:, column], nan=-1e9))
    found["reciprocal rank fusion"] = average_precisions(whole, fuse_reciprocal_ranks(-whole.X))
    result = table("letor-agg, five folds", found)
    print(f"\nseconds of five folds and five values of C: {seconds['SVM-map']:.1f} (SVM-map)")
    return {
        **result,
        "learners": {name: {"seconds": seconds[name], **summary(outcomes[name])} for name in LEARNERS},
        "bits": outcomes["SVM-map"][0].model.n_features_in_,
        "threads": THREADS,
    }


def trials(queries: Any, n_trials: int, seed: int = 0) -> list[tuple[Any, Any, Any]]:
    """Return training, validation and test queries of each trial; each query is in each part equally often.

    A random circular order of the queries gives ten trials; the training queries start five queries later each time.
    """
    rng, chosen = np.random.default_rng(seed), []
    while len(chosen) < n_trials:
        circle = rng.permutation(queries)
        for start in range(0, len(circle), 5):
            turned = np.roll(circle, -start)
            chosen.append((turned[:10], turned[10:15], turned[15:]))
    return chosen[:n_trials]


def trec(n_trials: int = 50) -> dict[str, Any]:
    """Run trials on trec-web-2012, with all eight runs and without the best; average each query over its tests."""
    whole, names = trec_web_2012()
    runs = {name: average_precisions(whole, whole.X[:, i]) for i, name in enumerate(names)}
    best = max(runs, key=lambda name: mean(runs[name]))
    fused = np.where(whole.retrieved, fuse_reciprocal_ranks(ranks_within(whole)), np.nan)
    baselines = runs | {"reciprocal rank fusion": average_precisions(whole, fused)}
    usable = np.array(sorted(runs[best]))
    # Thousands of fits: the largest C of the conventional SVMs, which takes most of their time, is left out.
    learners = {
        name: replace(learner, grid=learner.grid[:-1]) if learner.loss == "accuracy" else learner
        for name, learner in LEARNERS.items()
    }
    result: dict[str, Any] = {"best_run": best, "trials": n_trials}
    for label, columns in (
        ("all runs", list(range(len(names)))),
        ("without the best", [i for i, name in enumerate(names) if name != best]),
    ):
        narrowed = Collection(whole.X[:, columns], whole.y, whole.qid, whole.documents, whole.retrieved)
        found: dict[str, dict[str, list[float]]] = {name: {query: [] for query in usable} for name in LEARNERS}
        outcomes: dict[str, list[Outcome]] = {name: [] for name in LEARNERS}
        for number, chosen in enumerate(trials(usable, n_trials), 1):
            train, valid, test = (narrowed.of_queries(queries) for queries in chosen)
            for name, learner in learners.items():
                outcome = run_learner(learner, train, valid, test, threads=1)
                outcome.scores, scores = None, outcome.scores
                outcomes[name].append(outcome)
                for query, figure in average_precisions(test, scores).items():
                    found[name][query].append(figure)
            if number % 10 == 0:
                print(f"{label}: {number} trials done", file=sys.stderr)
        tested = [query for query in usable if found["SVM-map"][query]]
        means = {name: {q: float(np.mean(by_query[q])) for q in tested} for name, by_query in found.items()}
        kept = {name: {q: by_query[q] for q in tested} for name, by_query in baselines.items()}
        result[label] = table(f"trec-web-2012, {label}", means | kept)
        result[label]["learners"] = {name: summary(done) for name, done in outcomes.items()}
        for done in result[label]["learners"].values():
            del done["C"]
    return result


class Timed:
    """Measure the seconds that a function takes, by wrapping it."""

    def __init__(self, module: Any, name: str) -> None:
        self._module, self._name, self._function, self.seconds = module, name, getattr(module, name), 0.0

    def __enter__(self) -> "Timed":
        setattr(self._module, self._name, self)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self._module, self._name, self._function)

    def __call__(self, *arguments: Any) -> Any:
        start = time.perf_counter()
        result = self._function(*arguments)
        self.seconds += time.perf_counter() - start
        return result


def growth(sizes: tuple[int, ...] = (100, 200, 400, 800, 1692), C: float = 1.0) -> dict[str, Any]:
    """Fit increasing numbers of queries of letor-agg on one thread and on two; break down the time of one thread."""
    whole = join(letor_agg())
    names = np.random.default_rng(0).permutation(np.unique(whole.qid))
    rows = []
    for size in sizes:
        part = whole.of_queries(names[:size])
        X = ThermometerFeatures(N_THRESHOLDS, output="table").fit_transform(part.X)
        best: dict[str, Any] = {"seconds": np.inf}
        two = np.inf
        for _ in range(3):
            with Timed(tangents, "violated_rankings") as kernel, Timed(cutting_plane, "solve_simplex_qp") as program:
                certificate = SVMMap(C=C, n_jobs=1).fit(X, part.y, part.qid).certificate_
            if certificate.seconds < best["seconds"]:
                best = {
                    "queries": size,
                    "documents": len(part.y),
                    "rounds": certificate.rounds,
                    "seconds": certificate.seconds,
                    "kernel_share": kernel.seconds / certificate.seconds,
                    "program_share": program.seconds / certificate.seconds,
                }
            two = min(two, SVMMap(C=C, n_jobs=2).fit(X, part.y, part.qid).certificate_.seconds)
        rows.append({**best, "seconds_two_threads": two})
        print(
            f"{size:5} queries: {best['rounds']:3} rounds, {best['seconds']:.2f} s, two threads {two:.2f} s; "
            f"kernel {best['kernel_share']:.0%}, quadratic programs {best['program_share']:.0%}"
        )
    return {"C": C, "sizes": rows}


def solvers() -> dict[str, Any]:
    """Store the quadratic programs of three fits, and pass them to each solver in a separate environment."""
    train, *_ = rotated(letor_agg(), 0)
    X = ThermometerFeatures(N_THRESHOLDS, output="table").fit_transform(train.X)
    kept: list[tuple[Any, Any]] = []
    solve = cutting_plane.solve_simplex_qp
    for C in (0.1, 1.0, 10.0):
        cutting_plane.solve_simplex_qp = lambda P, gain: kept.append((P.copy(), gain.copy())) or solve(P, gain)
        try:
            SVMMap(C=C, n_jobs=THREADS).fit(X, train.y, train.qid)
        finally:
            cutting_plane.solve_simplex_qp = solve
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "programs.npz"
        np.savez(path, *(array for pair in kept for array in pair))
        command = [interpreter("quadratic"), PEERS / "systems" / "quadratic_programs.py", path]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    result = {"programs": len(kept), "largest": max(len(gain) for _, gain in kept), **json.loads(done.stdout)}
    for name, row in result["solvers"].items():
        print(
            f"{name}: {row['seconds']:.3f} s, largest relative error {row['largest_error']:.2g}, {row['failed']} failed"
        )
    return result


# -- beside trees ------------------------------------------------------------------------------------


def every_fifth(train: Collection) -> tuple[Collection, Collection]:
    """Hold out every fifth training query for validation."""
    names = np.unique(train.qid)
    return train.of_queries(np.delete(names, np.s_[::5])), train.of_queries(names[::5])


def tree_sets() -> dict[str, list[tuple[Collection, Collection, Collection]]]:
    parts = letor_agg()
    (mslr, mslr_test), (example, example_test) = mslr_5k(), ltr_lightgbm()
    return {
        "letor-agg": [rotated(parts, fold) for fold in range(FOLDS)],
        "mslr-5k": [(*every_fifth(mslr), mslr_test)],
        "ltr-lightgbm": [(*every_fifth(example), example_test)],
    }


# The transformation of the columns is chosen together with C, on the validation queries.
REPRESENTATIONS = (Learner("map", RANKING_GRID), Learner("map", RANKING_GRID, per_query="percentile"))


def ours_beside_trees(splits: list[tuple[Collection, Collection, Collection]]) -> dict[str, Any]:
    measured: dict[str, dict[str, float]] = {"MAP": {}, "nDCG@10": {}}
    seconds, n_bytes, one_fit, gap = 0.0, 0, 0.0, 0.0
    for train, valid, test in splits:
        start = time.perf_counter()
        outcomes = [run_learner(learner, train, valid, test, threads=1) for learner in REPRESENTATIONS]
        seconds += time.perf_counter() - start
        outcome = max(outcomes, key=lambda done: done.validation)
        n_bytes, one_fit = max(n_bytes, outcome.n_bytes), one_fit + outcome.model.certificate_.seconds
        gap = max(gap, *(g for done in outcomes for g in done.gaps))
        for measure, by_query in measured.items():
            by_query |= figures(measure, test, outcome.scores)
    return {
        "seconds": seconds,
        "seconds_chosen_fit": one_fit,
        "model_bytes": n_bytes,
        "largest_relative_gap": gap,
        "by_query": measured,
    }


def trees_of(splits: list[tuple[Collection, Collection, Collection]], system: str) -> dict[str, Any]:
    measured: dict[str, dict[str, float]] = {"MAP": {}, "nDCG@10": {}}
    seconds, n_bytes, version = 0.0, 0, ""
    for split in splits:
        with tempfile.TemporaryDirectory() as folder:
            arrays = {}
            for name, part in zip(("train", "valid", "test"), split, strict=True):
                order = np.argsort(part.qid, kind="stable")
                sizes = np.unique(part.qid[order], return_counts=True)[1]
                arrays |= {f"X_{name}": part.X[order], f"y_{name}": part.y[order], f"sizes_{name}": sizes}
            np.savez(Path(folder) / "rows.npz", **arrays)
            command = [interpreter("trees"), PEERS / "systems" / "ranking_trees.py", system, folder]
            subprocess.run(command, check=True, capture_output=True, text=True)
            outcome = json.loads((Path(folder) / "outcome.json").read_text())
            scores = np.load(Path(folder) / "scores.npy")
        test = split[2].part(np.argsort(split[2].qid, kind="stable"))
        seconds, n_bytes = seconds + outcome["seconds"], max(n_bytes, outcome["model_bytes"])
        version = outcome["version"]
        for measure, by_query in measured.items():
            by_query |= figures(measure, test, scores)
    return {"seconds": seconds, "model_bytes": n_bytes, "version": version, "by_query": measured}


def trees() -> dict[str, Any]:
    """Rank three collections with SVM-map and with boosted trees, on the same folds, all on one thread."""
    result: dict[str, Any] = {"threads": 1}
    for name, splits in tree_sets().items():
        systems = {"SVM-map": ours_beside_trees(splits)}
        systems |= {system: trees_of(splits, system) for system in ("LightGBM lambdarank", "XGBoost rank:map")}
        first = systems["SVM-map"]["by_query"]
        print(f"\n{name}")
        for system, row in systems.items():
            by_query = row.pop("by_query")
            row |= {measure: mean(values) for measure, values in by_query.items()}
            row["p"] = against(first["MAP"], by_query["MAP"])["p"] if system != "SVM-map" else None
            p = "" if row["p"] is None else f"  p = {row['p']:.2g}"
            print(
                f"  {system:20} MAP {row['MAP']:.4f}  nDCG@10 {row['nDCG@10']:.4f}  {row['seconds']:6.1f} s  "
                f"{row['model_bytes'] / 1024:8.1f} KiB{p}"
            )
        result[name] = systems
    return result


COMMANDS = {"letor": letor, "trec": trec, "growth": growth, "solvers": solvers, "trees": trees}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    arguments = parser.parse_args()
    warnings.simplefilter("error")  # a fit that does not reach its gap must be visible
    start = time.perf_counter()
    result = COMMANDS[arguments.command]()
    whole = {"machine": machine_line(), "seconds": time.perf_counter() - start, **result}
    (RESULTS / f"svm-map-{arguments.command}.json").write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
