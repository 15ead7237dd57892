"""The tables of the page about the SVM-map paper, from its result file."""

from collections.abc import Callable
from typing import Any

import numpy as np

from abound import SVMMap, ThermometerFeatures
from abound.retrieval import cutting_plane, quadratic, svm_map, tangents
from benchmarks.papers.rankers import ACCURACY_GRID, ACCURACY_TOL, LEARNERS, RANKING_GRID
from benchmarks.papers.svm_map import paper
from benchmarks.papers.svm_map.claims import compare, judged
from benchmarks.papers.svm_map.coverage import ITEMS
from benchmarks.papers.svm_map.verdicts import FAILS, HOLDS, SIGNIFICANT, UNDECIDED, UNTESTED

Lines = list[str]
COUNTED = {HOLDS: "hold", FAILS: "not holding", UNDECIDED: "undecided", UNTESTED: "not testable here"}


def grid(header: list[str], rows: list[list[str]]) -> Lines:
    """Return a table in Markdown."""
    return ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]


def setting(result: dict[str, Any]) -> Lines:
    trials = ", ".join(
        f"{one['trials']} trials of {name}" if one["groups"] == 1 else f"{one['groups']} × {one['trials']} of {name}"
        for name, one in result["sets"].items()
    )
    fits = sum(learner["fit_seconds"] for one in result["sets"].values() for learner in one["learners"].values())
    full = sum(
        learner["fit_seconds"] * 50 / one["trials"]
        for one in result["sets"].values()
        for learner in one["learners"].values()
    )
    kind = "short" if result["short"] else "full"
    return [
        f"These figures are of the {kind} run: {trials}. It took {result['seconds'] / 60:.0f} minutes, of which "
        f"{fits / 60:.1f} were spent in fits, on a machine that others used: {result['machine']}. "
        f"Fifty trials of each group would take about {full / 60:.0f} minutes of fits at the same speed; the five "
        "folds of the full run come on top."
    ]


def claims(result: dict[str, Any]) -> Lines:
    rows = [
        [where, text, verdict if verdict == HOLDS else f"**{verdict}**", proof]
        for where, text, verdict, proof in judged(result)
    ]
    found = [row[2].strip("*") for row in rows]
    counts = ", ".join(f"{found.count(verdict)} {counted}" for verdict, counted in COUNTED.items())
    return [*grid(["where", "claim", "verdict", "evidence"], rows), "", f"Of {len(rows)} claims: {counts}."]


def verdict_of(result: dict[str, Any], where: str) -> str:
    """Summarise the verdicts of a table or theorem."""
    found = [verdict for place, _, verdict, _ in judged(result) if where in place.split(", ") or place == where]
    kinds = [verdict for verdict in COUNTED if verdict in found]
    return ", ".join(kind if len(found) == 1 else f"{found.count(kind)} {COUNTED[kind]}" for kind in kinds)


def coverage(result: dict[str, Any]) -> Lines:
    rows = []
    for item in ITEMS:
        verdict = verdict_of(result, item.claims) if item.claims else item.verdict
        files = ", ".join(f"`{name}`" for name in item.files)
        rows.append([item.what, files, f"`{item.test}`" if item.test else "-", verdict])
    return grid(["in the paper", "here", "test", "verdict"], rows)


def toys(result: dict[str, Any]) -> Lines:
    rows = []
    for name, hypotheses in result["toys"].items():
        for hypothesis, figures in hypotheses.items():
            known = paper.TOYS[name][hypothesis]
            cells = []
            for measure in ("MAP", "ROC area", "best accuracy"):
                mark = "" if (name, hypothesis, measure) in paper.IN_TEXT else paper.MARK
                beside = f" ({known[measure]:.2f}{mark})" if measure in known else ""
                cells.append(f"{figures[measure]:.2f}{beside}")
            rows.append([name, hypothesis, *cells])
    return grid(["toy", "ranking", "MAP", "ROC area", "best accuracy"], rows)


def data(result: dict[str, Any]) -> Lines:
    rows = [[f"{name} (paper)", str(n), f"{bits:,}", "50", "-", "-"] for name, n, bits in paper.DATA]
    for one in result["collections"]:
        counts = (one["bits"], one["queries"], one["documents"], one["relevant"])
        rows.append([one["name"], str(one["functions"]), *(f"{count:,}" for count in counts)])
    return grid(["collection", "functions", "bits", "queries", "documents", "relevant"], rows)


def mean_and_spread(result: dict[str, Any], label: str, system: str) -> str:
    """Return the mean average precision over queries, and the deviation of the trials if it is a learner."""
    found = result["sets"][label]
    mean = f"{np.mean(found['systems'][system]):.3f}"
    if system not in found["learners"]:
        return mean
    return f"{mean} ± {np.std(found['learners'][system]['MAP_of_trials'], ddof=1):.3f}"


def compared(result: dict[str, Any], tables: dict[str, Any], systems: tuple[str, ...]) -> Lines:
    """Return a table of systems, with a column of ours and one of the paper for each of its tables."""
    header, rows = ["MAP (wins : losses of SVM-map)"], []
    for table in tables:
        header += [f"{paper.SETS[table]}", f"paper, {table}"]
    for system in systems:
        cells = [system]
        for table in tables:
            label = paper.SETS[table]
            text = mean_and_spread(result, label, system)
            if system != "SVM-map":
                row = compare(result, label, "SVM-map", system)
                stars = " \\*\\*" if row["p"] < SIGNIFICANT else ""
                text += f" ({row['wins']} : {row['losses']}{stars})"
            cells += [text, paper.published(table, system) or "-"]
        rows.append(cells)
    return grid(header, rows)


def functions(result: dict[str, Any]) -> Lines:
    return compared(result, paper.FUNCTIONS, ("SVM-map", "best function", "2nd best", "3rd best"))


def methods(result: dict[str, Any]) -> Lines:
    return compared(result, paper.METHODS, (*LEARNERS, "reciprocal rank fusion"))


def chosen(result: dict[str, Any]) -> Lines:
    """Show which values of C the validation queries chose."""
    rows = []
    for label, found in result["sets"].items():
        for name, learner in found["learners"].items():
            values = np.array(learner["C"])
            rows.append(
                [
                    label,
                    name,
                    f"{values.min():g}, {np.median(values):g}, {values.max():g}",
                    f"{int((values == LEARNERS[name].grid[0]).sum())} of {len(values)}",
                    f"{int((values == LEARNERS[name].grid[-1]).sum())} of {len(values)}",
                    f"{learner['fits']:,}",
                    f"{learner['largest_relative_gap']:.1g}",
                ]
            )
    ranges = (
        f"The grids: {RANKING_GRID[0]:g} to {RANKING_GRID[-1]:g} for SVM-map and SVM-roc, {ACCURACY_GRID[0]:g} to "
        f"{ACCURACY_GRID[-1]:,.0f} for the others, which are fitted to a gap of {ACCURACY_TOL:g}. "
        "The columns of the first and the last C count the trials that chose this end of the grid. A smaller C than "
        "the first ranks nearly the same: all rankings then have their full weight, and only the length of w changes."
    )
    header = ["collection", "learner", "chosen C: least, median, most", "first C", "last C", "fits", "largest gap"]
    return [*grid(header, rows), "", ranges]


def constraints(result: dict[str, Any]) -> Lines:
    found = result["algorithm_1"]
    rows = []
    for epsilon, each in found["rows"].items():
        mean = {name: np.mean([row[name] for row in each]) for name in each[0]}
        spread = np.std([row["constraints"] for row in each], ddof=1)
        rows.append(
            [
                epsilon,
                f"{mean['constraints']:.0f} ± {spread:.0f}",
                f"{min(row['bound'] for row in each):.1e}",
                f"{mean['rounds']:.0f}",
                f"{max(row['gap'] for row in each):.4f} of {found['C'] * float(epsilon):g}",
                f"{mean['MAP']:.3f} ({mean['MAP_one_slack']:.3f})",
                f"{mean['seconds']:.2f} ({mean['seconds_one_slack']:.2f})",
            ]
        )
    header = ["ε", "constraints", "least bound", "rounds", "largest gap of C ε", "MAP (one-slack)", "s (one-slack)"]
    n = len(next(iter(found["rows"].values())))
    note = f"Means of {n} groups of letor-agg, 10 training queries each, C = {found['C']:g}; R is replaced by a bound."
    return [*grid(header, rows), "", note]


def search(result: dict[str, Any]) -> Lines:
    rows = [
        [f"{row['documents']:,}", f"{1000 * row['search']:.1f}", f"{1000 * row['sort']:.1f}"]
        for row in result["algorithm_2"]["rows"]
    ]
    return grid(["documents, 10 of them relevant", "Algorithm 2, CPU ms", "a sort of numpy, CPU ms"], rows)


def bounds(result: dict[str, Any]) -> Lines:
    rows = [
        [str(i), f"{row['mean_slack']:.3f}", f"{row['risk']:.3f}"] for i, row in enumerate(result["upper_bound"], 1)
    ]
    return grid(["group of letor-agg", "mean slack", "1 − MAP of the training queries"], rows)


def constants(_: dict[str, Any]) -> Lines:
    """List the constants from the code."""
    ranker, bits = SVMMap(), ThermometerFeatures()
    rows = [
        ["`C`", f"{ranker.C:g}", "weight of the loss"],
        ["`tol`", f"{ranker.tol:g}", "largest gap as a share of the objective; ε with n-slack"],
        ["`max_rounds`", f"{ranker.max_rounds:,}", "limit of rounds"],
        ["`relevant_from`", f"{ranker.relevant_from:g}", "smallest grade of a relevant document"],
        ["`n_thresholds`", f"{bits.n_thresholds}", "thermometer bits per column"],
        ["`STEP`", f"{cutting_plane.STEP:g}", "how far the next tangent is from the best w to the new minimum"],
        ["`IDLE_ROUNDS`", f"{cutting_plane.IDLE_ROUNDS}", "rounds without weight after which a plane is dropped"],
        ["`IDLE_WEIGHT`", f"{cutting_plane.IDLE_WEIGHT:g}", "weights up to this count as none"],
        ["`ACCURACY`", f"{quadratic.ACCURACY:g}", "tolerance of the quadratic program"],
        ["`ROUNDING`", f"{svm_map.ROUNDING:g}", "share of the objective that rounding may add to the gap of n-slack"],
        ["`BLOCK_ROWS`, `MAX_BLOCKS`", f"{tangents.BLOCK_ROWS:,}, {tangents.MAX_BLOCKS}", "blocks of rows for threads"],
    ]
    return grid(["constant", "value", "meaning"], rows)


def folds(result: dict[str, Any]) -> Lines:
    if "folds" not in result:
        return ["The short run leaves the five folds out."]
    found = result["folds"]
    rows = [
        [name, f"{np.mean(figures):.3f}", f"{np.std(found['learners'][name]['MAP_of_trials'], ddof=1):.3f}"]
        if name in found["learners"]
        else [name, f"{np.mean(figures):.3f}", "-"]
        for name, figures in found["systems"].items()
    ]
    return grid(["five folds of letor-agg", "MAP", "deviation of the folds"], rows)


PARTS: dict[str, Callable[[dict[str, Any]], Lines]] = {
    "setting": setting,
    "coverage": coverage,
    "claims": claims,
    "toys": toys,
    "data": data,
    "functions": functions,
    "methods": methods,
    "chosen": chosen,
    "constraints": constraints,
    "bounds": bounds,
    "search": search,
    "folds": folds,
    "constants": constants,
}
