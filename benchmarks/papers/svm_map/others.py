"""The time of SVM-map, its solvers, and boosted trees beside it: not in the paper."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from abound import SVMMap, ThermometerFeatures
from abound.retrieval import cutting_plane, tangents
from benchmarks.papers.collections import Collection, join, letor_agg, ltr_lightgbm, mslr_5k
from benchmarks.papers.rankers import N_THRESHOLDS, THREADS, Learner, figures, mean, run_learner
from benchmarks.papers.svm_map.splits import FOLDS, rotated
from benchmarks.papers.svm_map.verdicts import against
from benchmarks.peers.environments import HERE as PEERS
from benchmarks.peers.environments import interpreter

TREE_GRID = (0.03, 0.1, 0.3, 1.0, 3.0)


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
REPRESENTATIONS = (Learner("map", TREE_GRID), Learner("map", TREE_GRID, per_query="percentile"))


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
