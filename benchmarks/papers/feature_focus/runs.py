"""Run trials of the feature-focus index, pass by pass, of its options, and of the paper's other classifiers."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from abound import FeatureFocus, Frequency, Independent
from abound.metrics import judge
from benchmarks.papers.feature_focus import connections, peers, unweighted
from benchmarks.papers.feature_focus.cells import Cells
from benchmarks.papers.feature_focus.corpora import Corpus, Part
from benchmarks.papers.feature_focus.peers import Outcome

DEEPEST = 50  # a true label that is not among this many counts as missed, here and in training
PAPERS_OWN = {"w_min": 0.01, "d_max": 25, "rating": "seen", "leak": True, "candidates": DEEPEST}
CHOICES = (0.0, 0.1, 0.5)  # the margins that the paper chooses from
MARGINS = (0.0, 0.1, 0.2, 0.5, 1.0)  # with the additional margins of figures 14 and 19
BOOLEAN_MARGINS = (1.0, 7.0, None)
DEGREES = (1, 2, 3, 5, 10, 25)
ABLATION_PASSES = 5  # as in the paper's figures 11 and 13
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "no constraints": {"w_min": 0.0, "d_max": 1000},
    "w_min 0.001": {"w_min": 0.001},
    "w_min 0.1": {"w_min": 0.1},
    "no leak": {"leak": False},
    "no rating": {"rating": "none"},
}
SVMS = tuple(f"SVM C={C}" for C in peers.C_GRID)
MEASURES = ("R1", "R5", "HR", "d", "W", "seconds")
Figures = dict[str, float]


@dataclass(frozen=True)
class Plan:
    """The plan of a data set.

    Attributes
    ----------
    flat : tuple of str
        One-vs-rest learners.
    tree : tuple of (learner, sigmoid trials)
        Top-down learners, and how many splits fit their sigmoids.
    choose : bool
        Whether C of the SVMs is also chosen on development rows, as the settings of the index always are.
    cost_labels : int
        If there are too many labels for classifiers: on how many of them the time of all is estimated.
    one_pass_unbounded : bool
        Whether "no constraints" has only one pass, as in the paper where it takes too long.
    """

    make: Callable[[], Corpus]
    trials: int | None = None
    passes: int = 10
    margins: tuple[float, ...] = CHOICES
    flat: tuple[str, ...] = ()
    tree: tuple[tuple[str, int], ...] = ()
    choose: bool = False
    options: tuple[str, ...] = tuple(OPTIONS)
    one_pass_unbounded: bool = False
    boolean: bool = False
    degrees: tuple[int, ...] = ()
    watch_training: bool = False
    class_f1: bool = False
    cost_labels: int = 0
    tolerances: tuple[int, ...] = ()

    def without(self, **params: Any) -> "Plan":
        """Return a smaller plan."""
        return replace(self, **params)


# -- one trial ---------------------------------------------------------------------------------------


class PassByPass(FeatureFocus):
    """A feature-focus index that calls a function after each pass of `fit`."""

    def learn_parts(self, parts: Any, n_rows: int, *, again: bool, last: bool) -> None:
        super().learn_parts(parts, n_rows, again=again, last=last)
        self.watch(self)


def ranks_of(ranker: Any, X: sp.csr_matrix, Y: sp.csr_matrix) -> np.ndarray:
    """Return the rank of the best true label of each row, infinite if it is not among the first 50."""
    hits = judge(sp.csr_array(Y), ranker.rank(X, min(DEEPEST, Y.shape[1]))).hits
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, np.inf)


def figures_of(ranks: np.ndarray, touched: float, weights: int, seconds: float) -> Figures:
    """Return the paper's columns; HR is the harmonic mean of the ranks."""
    mean = float(np.mean(1 / ranks))
    return {
        "R1": float(np.mean(ranks <= 1)),
        "R5": float(np.mean(ranks <= 5)),
        "HR": 1 / mean if mean else float(len(ranks)),
        "d": touched,
        "W": float(weights),
        "seconds": seconds,
    }


def edges_touched(ranker: FeatureFocus, X: sp.csr_matrix) -> float:
    """Return the number of edges visited per feature of a row."""
    lengths = np.diff(ranker.head.store.headers()[0])
    known = X.indices[X.indices < len(lengths)]
    most = lengths.max(initial=0) if ranker.d_max is None else ranker.d_max
    return float(np.minimum(lengths[known], most).sum() / max(1, X.nnz))


def index_passes(part: Part, passes: int, *, watch_training: bool = False, **params: Any) -> list[Figures]:
    """Train, and return the figures after each pass; the time of the evaluations does not count."""
    found: list[Figures] = []
    clock = {"spent": 0.0, "since": time.process_time()}

    def watch(ranker: FeatureFocus) -> None:
        clock["spent"] += time.process_time() - clock["since"]
        ranks = ranks_of(ranker, part.X_test, part.Y_test)
        found.append(figures_of(ranks, edges_touched(ranker, part.X_test), ranker.n_edges_, clock["spent"]))
        if watch_training:
            found[-1]["training"] = float(np.mean(ranks_of(ranker, part.X_train, part.Y_train) <= 1))
        clock["since"] = time.process_time()

    ranker = PassByPass(passes=passes, **{**PAPERS_OWN, **params})
    ranker.watch = watch
    ranker.fit(part.X_train, part.Y_train)
    return found


def peer(outcome: Outcome) -> Figures:
    figures = figures_of(outcome.ranks, outcome.touched, outcome.weights, outcome.seconds)
    return figures if outcome.class_f1 is None else {**figures, "class F1": outcome.class_f1}


def peers_of(outcomes: dict[str, Outcome]) -> dict[str, Figures]:
    return {way: peer(outcome) for way, outcome in outcomes.items()}


def frequency(part: Part) -> Figures:
    start = time.process_time()
    ranker = Frequency().fit(part.X_train, part.Y_train)
    seconds = time.process_time() - start
    return figures_of(ranks_of(ranker, part.X_test, part.Y_test), 0.0, 0, seconds)


def independent(part: Part) -> Figures:
    """Return the figures of the index that counts each feature independently, and the threshold that it chose."""
    start = time.process_time()
    ranker = Independent().fit(part.X_train, part.Y_train)
    seconds = time.process_time() - start
    figures = figures_of(ranks_of(ranker, part.X_test, part.Y_test), 0.0, ranker.n_edges_, seconds)
    uncut = Independent(p_ind=0.0).fit(part.X_train, part.Y_train)
    kept = float(np.mean(ranks_of(uncut, part.X_test, part.Y_test) <= 1))
    return {**figures, "p_ind": ranker.p_ind_, "R1 without threshold": kept}


def hours_of_svms(part: Part, n_labels: int) -> float:
    """Return the estimated training time of one SVM per label, in hours, from some labels of typical frequencies."""
    counts = np.asarray(part.Y_train.sum(axis=0)).ravel()
    by_count = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    some = by_count[np.linspace(0, len(by_count) - 1, n_labels).astype(int)]
    start = time.process_time()
    for label in some:
        peers.Svms(1).fit(part.X_train, np.asarray(part.Y_train[:, [label]].todense()) > 0)
    return (time.process_time() - start) / n_labels * len(by_count) / 3600


def class_prototypes(part: Part, margin: float, passes: int) -> float:
    """Return the mean best F1 of labels when rows are ranked by the index's scores for a label (section 6.4.3)."""
    ranker = FeatureFocus(margin=margin, passes=passes, **PAPERS_OWN).fit(part.X_train, part.Y_train)
    ranking = ranker.rank(part.X_test, part.Y_test.shape[1])
    names, scores = np.asarray(ranking.names, int), np.zeros(part.Y_test.shape)
    for row, (labels, values) in enumerate(zip(ranking.indices, ranking.scores, strict=True)):
        scores[row, names[labels[labels >= 0]]] = values[labels >= 0]
    return peers.class_f1(scores, part.Y_test)


# -- all trials --------------------------------------------------------------------------------------


def summary(rows: list[Figures]) -> dict[str, Any]:
    """Return means over trials, the deviation of R1 and the R1 and R5 of each trial."""
    result: dict[str, Any] = {name: float(np.mean([row[name] for row in rows])) for name in MEASURES}
    deviation = float(np.std([row["R1"] for row in rows], ddof=1)) if len(rows) > 1 else 0.0
    by_trial = {f"{name} of trials": [round(row[name], 6) for row in rows] for name in ("R1", "R5")}
    if all("class F1" in row for row in rows):
        by_trial["class F1 of trials"] = [round(row["class F1"], 6) for row in rows]
    return {**result, "deviation": deviation, "trials": len(rows), **by_trial}


def best_pass(trials: list[list[Figures]], most: int | None = None) -> tuple[int, dict[str, Any]]:
    """Return the number of passes with the highest mean R1, and the figures after them."""
    by_pass = [summary(list(rows)) for rows in zip(*trials, strict=True)][:most]
    best = max(range(len(by_pass)), key=lambda done: by_pass[done]["R1"])
    return best + 1, {**by_pass[best], "passes": best + 1}


def one_pass(trials: list[list[Figures]]) -> dict[str, Any]:
    """Return the figures after the first pass."""
    return summary([trial[0] for trial in trials])


def grid(cells: Cells, plan: Plan, n_trials: int) -> dict[str, Any]:
    """Train with each margin; return the curves over passes, the paper's rows, and the index with its own choice."""
    by_margin, curves = {}, {}
    for margin in plan.margins:
        key = f"FF margin {margin:g}, {plan.passes} passes"
        watched = plan.watch_training
        found = cells.trials(
            key + (", watched" if watched else ""),
            n_trials,
            lambda part, m=margin, w=watched: index_passes(part, plan.passes, margin=m, watch_training=w),
        )
        by_margin[margin] = found
        values = np.array([[row["R1"] for row in trial] for trial in found])
        spread = values.std(axis=0, ddof=1) if n_trials > 1 else np.zeros(values.shape[1])
        first = one_pass(found)
        curves[str(margin)] = {"R1": values.mean(axis=0).tolist(), "deviation": spread.tolist()}
        curves[str(margin)] |= {name: first[name] for name in ("W", "d")}
        if watched:
            training = np.array([[row["training"] for row in trial] for trial in found])
            curves[str(margin)]["training"] = training.mean(axis=0).tolist()
            curves[str(margin)]["gap of trials"] = (training[:, -1] - values[:, -1]).tolist()
    found_best = {margin: best_pass(by_margin[margin])[1] for margin in plan.margins if margin in CHOICES}
    chosen = max(found_best, key=lambda margin: found_best[margin]["R1"])
    peaks = {str(margin): best_pass(found)[1]["R1 of trials"] for margin, found in by_margin.items()}
    return {
        "curves": curves,
        "peaks": peaks,
        "first": {**one_pass(by_margin[0.0]), "margin": 0.0, "passes": 1},
        "best": {**found_best[chosen], "margin": chosen},
        "own": own_choice(cells, plan, n_trials, by_margin),
        "default": {**best_pass(by_margin[chosen], ABLATION_PASSES)[1], "one_pass": one_pass(by_margin[chosen])},
    }


def own_choice(cells: Cells, plan: Plan, n_trials: int, by_margin: dict[float, list[list[Figures]]]) -> dict[str, Any]:
    """Return the figures with the margin and passes that are best on development rows of each trial."""

    def tried(part: Part) -> dict[str, list[float]]:
        inner = part.development()
        found = {m: index_passes(inner, plan.passes, margin=m) for m in plan.margins if m in CHOICES}
        return {str(margin): [row["R1"] for row in rows] for margin, rows in found.items()}

    chosen, settings = [], []
    for number, by in enumerate(cells.trials(f"FF development, {plan.passes} passes", n_trials, tried)):
        margin = max(by, key=lambda m, by=by: max(by[m]))
        passes = int(np.argmax(by[margin])) + 1
        chosen.append(by_margin[float(margin)][number][passes - 1])
        settings.append([float(margin), passes])
    return {**summary(chosen), "settings": settings}


def tree_name(learner: str, fits: int, *, flat: bool) -> str:
    return f"{learner}{'' if flat else ', tree'}" + (f", {fits} sigmoid trials" if fits else "")


def compared(cells: Cells, plan: Plan, n_trials: int) -> dict[str, Any]:
    """Return the figures of the frequency baseline and of each learner, flat and in the tree."""
    result: dict[str, Any] = {}
    for learner in (name for name in plan.flat if cells.has(name, n_trials)):
        rows = cells.trials(learner, n_trials, lambda part, n=learner: peers_of(peers.one_versus_rest(part, n)))
        for way in rows[0]:
            result[learner if way == "scores" else f"{learner}, votes"] = summary([row[way] for row in rows])
    if plan.choose and all(cells.has(f"{name}, development", n_trials) for name in SVMS):
        result["SVM chosen"] = chosen_svm(cells, n_trials, result)
    above = cells.corpus.parents  # without a tree, every label is a child of the root
    parents = np.full(cells.corpus.rows[0][1].shape[1], -1) if above is None else above
    for learner, fits in plan.tree:
        name = tree_name(learner, fits, flat=above is None)

        def run_tree(part: Part, n: str = learner, f: int = fits) -> dict[str, Figures]:
            return peers_of(peers.top_down(part, parents, n, f))

        if not cells.has(name, n_trials):
            continue
        rows = cells.trials(name, n_trials, run_tree)
        by = {least: summary([row[least] for row in rows]) for least in rows[0]}
        least = max(by, key=lambda name, by=by: by[name]["R1"])
        result[name] = {**by[least], "least probability": float(least)}
    result["frequency"] = summary(cells.trials("frequency", n_trials, frequency))
    return result


def chosen_svm(cells: Cells, n_trials: int, by_name: dict[str, Any]) -> dict[str, Any]:
    """Return R1 and R5 of the flat SVM with the C that is best on development rows of each trial."""
    tried = {
        name: cells.trials(
            f"{name}, development",
            n_trials,
            lambda part, n=name: peer(peers.one_versus_rest(part.development(), n)["scores"])["R1"],
        )
        for name in SVMS
    }
    best = [max(SVMS, key=lambda name, t=trial: tried[name][t]) for trial in range(n_trials)]
    found = {f"{m} of trials": [by_name[n][f"{m} of trials"][t] for t, n in enumerate(best)] for m in ("R1", "R5")}
    means = {name: float(np.mean([by_name[n][name] for n in best])) for name in ("HR", "d", "W", "seconds")}
    means |= {name: float(np.mean(found[f"{name} of trials"])) for name in ("R1", "R5")}
    deviation = float(np.std(found["R1 of trials"], ddof=1)) if n_trials > 1 else 0.0
    return {**means, "deviation": deviation, "trials": n_trials, **found, "settings": best}


def ablations(cells: Cells, plan: Plan, n_trials: int, margin: float) -> dict[str, Any]:
    """Return, for each option, the best R1 within five passes at the chosen margin; the default is in the grid."""
    result: dict[str, Any] = {}
    for name in plan.options:
        if name == "default":
            continue
        whole = not plan.one_pass_unbounded or name != "no constraints"
        passes, params = (min(plan.passes, ABLATION_PASSES) if whole else 1), {"margin": margin, **OPTIONS[name]}
        key = f"FF {name}, margin {margin:g}, {passes} passes"
        if not cells.has(key, n_trials):
            continue
        trials = cells.trials(key, n_trials, lambda part, p=passes, q=params: index_passes(part, p, **q))
        result[name] = {**best_pass(trials)[1], "one_pass": one_pass(trials), "tried passes": passes}
    return result


def boolean_forms(cells: Cells, plan: Plan, n_trials: int) -> dict[str, Any]:
    """Return IND, and the index on values of 1 with margins that suit such scores."""
    passes = min(plan.passes, ABLATION_PASSES)

    def one(part: Part) -> list[list[Figures]]:
        return [index_passes(part, passes, margin=margin, boolean=True) for margin in BOOLEAN_MARGINS]

    trials = cells.trials(f"FF boolean, {passes} passes", n_trials, one)
    by_margin = {str(m): [trial[i] for trial in trials] for i, m in enumerate(BOOLEAN_MARGINS)}
    found = {
        kind: {margin: best_pass(rows, most)[1] for margin, rows in by_margin.items()}
        for kind, most in (("one pass", 1), ("best", None))
    }
    chosen = {kind: max(rows, key=lambda margin, r=rows: r[margin]["R1"]) for kind, rows in found.items()}
    counted = cells.trials("IND", n_trials, independent)
    p_ind = float(np.median([row["p_ind"] for row in counted]))
    uncut = [row["R1 without threshold"] for row in counted]
    return {
        "IND": {**summary(counted), "p_ind": p_ind, "R1 without threshold": uncut},
        **{kind: {**found[kind][margin], "margin": margin} for kind, margin in chosen.items()},
        "margins": {margin: row["R1"] for margin, row in found["best"].items()},
    }


def degrees(cells: Cells, plan: Plan, n_trials: int, margin: float) -> dict[str, Any]:
    """Return the figures after one pass for each limit of edges per feature."""
    result = {}
    for most in plan.degrees:
        key = f"FF d_max {most}, margin {margin:g}"
        if not cells.has(key, n_trials):
            continue
        rows = cells.trials(key, n_trials, lambda p, d=most: index_passes(p, 1, margin=margin, d_max=d)[0])
        result[str(most)] = summary(rows)
    return result


def run(cells: Cells, plan: Plan, n_trials: int) -> dict[str, Any]:
    """Run a plan on its data set."""
    n_trials, corpus = plan.trials or n_trials, cells.corpus
    found = grid(cells, plan, n_trials)
    best = found["best"]
    others = compared(cells, plan, n_trials)
    result = {
        "about": corpus.about,
        "data": corpus.figures(),
        "trials": n_trials,
        "held_out": corpus.held_out,
        "curves": found["curves"],
        "peaks": found["peaks"],
        "systems": {"FF first": found["first"], "FF best": best, "FF own choice": found["own"], **others},
        "options": {"default": found["default"], **ablations(cells, plan, n_trials, best["margin"])},
        "inside": connections.summary(cells, n_trials, best["margin"]),
    }
    planned = [*plan.flat, *(tree_name(*one, flat=corpus.parents is None) for one in plan.tree)]
    result["not run"] = [name for name in planned if name not in others]
    if plan.boolean and cells.has("IND", n_trials):
        result["boolean"] = boolean_forms(cells, plan, n_trials)
    if plan.degrees:
        result["degrees"] = degrees(cells, plan, n_trials, best["margin"])
    key = f"FF class F1, margin {best['margin']:g}, {best['passes']} passes"
    if plan.class_f1 and cells.has(key, n_trials):
        ours = cells.trials(key, n_trials, lambda part: class_prototypes(part, best["margin"], best["passes"]))
        result["class F1"] = {
            "FF": ours,
            **{name: row["class F1 of trials"] for name, row in others.items() if "class F1 of trials" in row},
        }
    if plan.cost_labels and cells.has("hours of SVMs", 1):
        hours = cells.trials("hours of SVMs", 1, lambda part: hours_of_svms(part, plan.cost_labels))
        result["hours of SVMs"] = {"hours": hours[0], "labels": plan.cost_labels}
    tolerances = tuple(t for t in plan.tolerances if cells.has(unweighted.system(t), n_trials))
    if tolerances:
        result["unweighted"] = unweighted.summary(cells, n_trials, tolerances)
    return result
