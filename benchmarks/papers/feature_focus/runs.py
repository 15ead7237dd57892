"""Run trials of the feature-focus index, pass by pass, of its options, and of the paper's other classifiers."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.stats import binomtest

from abound import FeatureFocus, Frequency, Independent
from abound.metrics import judge
from benchmarks.papers.feature_focus import peers
from benchmarks.papers.feature_focus.corpora import Corpus, Part
from benchmarks.papers.feature_focus.peers import Outcome

JOBS = 2
DEEPEST = 50  # a true label that is not among this many counts as missed, here and in training
PAPERS_OWN = {"w_min": 0.01, "d_max": 25, "rating": "seen", "leak": True, "candidates": DEEPEST}
CHOICES = (0.0, 0.1, 0.5)  # the margins that the paper chooses from
MARGINS = (0.0, 0.1, 0.2, 0.5, 1.0)  # with the additional margins of figures 14 and 19
BOOLEAN_MARGINS = (1.0, 7.0, None)
DEGREES = (1, 2, 3, 5, 10, 25)
ABLATION_PASSES = 2
FEW_ROWS = 1000  # up to this size, starting other processes costs more than it saves
FEW_TRIALS = 3  # of slow systems that are not compared trial by trial
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "no constraints": {"w_min": 0.0, "d_max": 1000},
    "w_min 0.001": {"w_min": 0.001},
    "w_min 0.1": {"w_min": 0.1},
    "no leak": {"leak": False},
    "no rating": {"rating": "none"},
}
MEASURES = ("R1", "R5", "HR", "d", "W", "seconds")
ELSEWHERE: list[float] = []  # CPU seconds that other processes spent on trials


@dataclass(frozen=True)
class Plan:
    """The plan of a data set.

    Attributes
    ----------
    flat : tuple of (learner, trials)
        One-vs-rest learners, and the number of trials.
    tree : tuple of (learner, fitted, trials)
        Top-down learners, whether their sigmoids are fitted, and the number of trials.
    bounded_only : bool
        Whether "no constraints" has one trial with one pass, as in the paper where it takes too long.
    """

    make: Callable[[], Corpus]
    trials: int = 10
    passes: int = 5
    margins: tuple[float, ...] = CHOICES
    flat: tuple[tuple[str, int], ...] = ()
    tree: tuple[tuple[str, bool, int], ...] = ()
    options: tuple[str, ...] = tuple(OPTIONS)
    bounded_only: bool = False
    boolean: bool = False
    degrees: tuple[int, ...] = ()
    watch_training: bool = False


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


def figures_of(ranks: np.ndarray, touched: float, weights: int, seconds: float) -> dict[str, float]:
    """Return the paper's columns; HR is the harmonic mean of the ranks."""
    mean = float(np.mean(1 / ranks))
    return {
        "R1": float(np.mean(ranks <= 1)),
        "R5": float(np.mean(ranks <= 5)),
        "HR": 1 / mean if mean else float("inf"),
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


def index_passes(part: Part, passes: int, *, watch_training: bool = False, **params: Any) -> list[dict[str, float]]:
    """Train, and return the figures after each pass; the time of the evaluations does not count."""
    found: list[dict[str, float]] = []
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


def peer(outcome: Outcome) -> dict[str, float]:
    return figures_of(outcome.ranks, outcome.touched, outcome.weights, outcome.seconds)


def frequency(part: Part) -> dict[str, float]:
    start = time.process_time()
    ranker = Frequency().fit(part.X_train, part.Y_train)
    seconds = time.process_time() - start
    return figures_of(ranks_of(ranker, part.X_test, part.Y_test), 0.0, 0, seconds)


def independent(part: Part) -> dict[str, float]:
    """Return the figures of the index that counts each feature independently, and the threshold that it chose."""
    start = time.process_time()
    ranker = Independent().fit(part.X_train, part.Y_train)
    seconds = time.process_time() - start
    figures = figures_of(ranks_of(ranker, part.X_test, part.Y_test), 0.0, ranker.n_edges_, seconds)
    return {**figures, "p_ind": ranker.p_ind_}


# -- all trials --------------------------------------------------------------------------------------


def in_trials(corpus: Corpus, trials: int, function: Callable[[Part], Any]) -> list[Any]:
    """Call a function with the part of each trial; run two trials concurrently if there are many rows."""

    def one(number: int) -> tuple[Any, float]:
        start = time.process_time()
        found = function(corpus.trial(number))
        return found, time.process_time() - start

    jobs = min(JOBS, trials) if corpus.rows[0][0].shape[0] > FEW_ROWS else 1
    found = Parallel(n_jobs=jobs)(delayed(one)(number) for number in range(trials))
    if jobs > 1:
        ELSEWHERE.append(sum(seconds for _, seconds in found))
    return [value for value, _ in found]


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Return means over trials, the deviation of R1 and the R1 and R5 of each trial."""
    result: dict[str, Any] = {name: float(np.mean([row[name] for row in rows])) for name in MEASURES}
    deviation = float(np.std([row["R1"] for row in rows], ddof=1)) if len(rows) > 1 else 0.0
    by_trial = {f"{name} of trials": [round(row[name], 6) for row in rows] for name in ("R1", "R5")}
    return {**result, "deviation": deviation, "trials": len(rows), **by_trial}


def best_pass(trials: list[list[dict[str, float]]], most: int | None = None) -> tuple[int, dict[str, Any]]:
    """Return the number of passes with the highest mean R1, and the figures after them."""
    by_pass = [summary(list(rows)) for rows in zip(*trials, strict=True)][:most]
    best = max(range(len(by_pass)), key=lambda done: by_pass[done]["R1"])
    return best + 1, {**by_pass[best], "passes": best + 1}


def grid(corpus: Corpus, plan: Plan) -> dict[str, Any]:
    """Train with each margin, and return the curves over passes, both of the paper's rows, and the chosen margin."""

    def one(part: Part, **watched: bool) -> dict[float, list[dict[str, float]]]:
        return {margin: index_passes(part, plan.passes, margin=margin, **watched) for margin in plan.margins}

    trials = in_trials(corpus, plan.trials, one)
    by_margin = {margin: [trial[margin] for trial in trials] for margin in plan.margins}
    curves: dict[str, Any] = {}
    for margin, found in by_margin.items():
        values = np.array([[row["R1"] for row in trial] for trial in found])
        curves[str(margin)] = {"R1": values.mean(axis=0).tolist(), "deviation": values.std(axis=0, ddof=1).tolist()}
    if plan.watch_training:
        watched = in_trials(corpus, min(FEW_TRIALS, plan.trials), lambda part: one(part, watch_training=True))
        for margin in plan.margins:
            values = np.array([[row["training"] for row in trial[margin]] for trial in watched])
            curves[str(margin)]["training"] = values.mean(axis=0).tolist()
    found_best = {margin: best_pass(by_margin[margin])[1] for margin in plan.margins if margin in CHOICES}
    chosen = max(found_best, key=lambda margin: found_best[margin]["R1"])
    first = summary([trial[0.0][0] for trial in trials])
    return {
        "curves": curves,
        "first": {**first, "margin": 0.0, "passes": 1},
        "best": {**found_best[chosen], "margin": chosen},
        "default": {**best_pass(by_margin[chosen], ABLATION_PASSES)[1], "one_pass": one_pass(by_margin[chosen])},
    }


def one_pass(trials: list[list[dict[str, float]]]) -> dict[str, float]:
    """Return the figures after the first pass."""
    return {name: float(np.mean([trial[0][name] for trial in trials])) for name in MEASURES}


def compared(corpus: Corpus, plan: Plan) -> dict[str, Any]:
    """Return the figures of the frequency baseline and of each learner, flat and in the tree."""
    result: dict[str, Any] = {}
    for learner, trials in plan.flat:
        rows = in_trials(corpus, trials, lambda part, n=learner: peers.one_versus_rest(part, n))
        result[learner if corpus.parents is None else f"{learner}, flat"] = summary([peer(row) for row in rows])
    for learner, fitted, trials in plan.tree:

        def run_tree(part: Part, n: str = learner, f: bool = fitted) -> Outcome:
            return peers.top_down(part, corpus.parents, n, fitted=f)

        rows = in_trials(corpus, trials, run_tree)
        result[f"{learner}, tree{', fitted' if fitted else ''}"] = summary([peer(row) for row in rows])
    result["frequency"] = summary(in_trials(corpus, plan.trials, frequency))
    return result


def ablations(corpus: Corpus, plan: Plan, margin: float) -> dict[str, Any]:
    """Return, for each option, the best R1 within two passes at the chosen margin; the default is in the grid."""
    result: dict[str, Any] = {}
    passes = min(plan.passes, ABLATION_PASSES)
    for name in plan.options:
        if name == "default":
            continue
        whole = not plan.bounded_only or name != "no constraints"
        params = {"margin": margin, **OPTIONS[name]}
        n, p = (plan.trials, passes) if whole else (1, 1)
        trials = in_trials(corpus, n, lambda part, p=p, q=params: index_passes(part, p, **q))
        result[name] = {**best_pass(trials)[1], "one_pass": one_pass(trials)}
    return result


def boolean_forms(corpus: Corpus, plan: Plan) -> dict[str, Any]:
    """Return IND, and the index on values of 1 with margins that suit such scores."""
    passes = min(plan.passes, ABLATION_PASSES)

    def one(part: Part) -> list[list[dict[str, float]]]:
        return [index_passes(part, passes, margin=margin, boolean=True) for margin in BOOLEAN_MARGINS]

    trials = in_trials(corpus, plan.trials, one)
    by_margin = {str(m): [trial[i] for trial in trials] for i, m in enumerate(BOOLEAN_MARGINS)}
    found = {
        kind: {margin: best_pass(rows, most)[1] for margin, rows in by_margin.items()}
        for kind, most in (("one pass", 1), ("best", None))
    }
    chosen = {kind: max(rows, key=lambda margin, r=rows: r[margin]["R1"]) for kind, rows in found.items()}
    counted = in_trials(corpus, min(FEW_TRIALS, plan.trials), independent)
    p_ind = float(np.median([row["p_ind"] for row in counted]))
    return {
        "IND": {**summary(counted), "p_ind": p_ind},
        **{kind: {**found[kind][margin], "margin": margin} for kind, margin in chosen.items()},
        "margins": {margin: row["R1"] for margin, row in found["best"].items()},
    }


def degrees(corpus: Corpus, plan: Plan, margin: float) -> dict[str, Any]:
    """Return the figures after one pass for each limit of edges per feature."""
    result = {}
    for most in plan.degrees:
        rows = in_trials(corpus, plan.trials, lambda p, d=most: index_passes(p, 1, margin=margin, d_max=d)[0])
        result[str(most)] = summary(rows)
    return result


def sign_test(ours: dict[str, Any], others: dict[str, Any]) -> dict[str, Any] | None:
    """Count the trials in which the index is better than the best other system, with the sign test."""
    rivals = {name: row for name, row in others.items() if name != "frequency"}
    if not rivals:
        return None
    best = max(rivals, key=lambda name: rivals[name]["R1"])
    result: dict[str, Any] = {"against": best}
    for name in ("R1", "R5"):
        pairs = list(zip(ours[f"{name} of trials"], rivals[best][f"{name} of trials"], strict=False))
        wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
        p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
        result[name] = {"wins": wins, "losses": losses, "p": p}
    return result


def processor_seconds() -> float:
    """Return the CPU time of this process and of the processes of its trials."""
    return time.process_time() + sum(ELSEWHERE)


def run(corpus: Corpus, plan: Plan) -> dict[str, Any]:
    """Run a plan on its data set."""
    found = grid(corpus, plan)
    margin = found["best"]["margin"]
    others = compared(corpus, plan)
    result = {
        "about": corpus.about,
        "data": corpus.figures(),
        "trials": plan.trials,
        "held_out": corpus.held_out,
        "curves": found["curves"],
        "systems": {"FF first": found["first"], "FF best": found["best"], **others},
        "sign": sign_test(found["best"], others),
        "options": {"default": found["default"], **ablations(corpus, plan, margin)},
    }
    if plan.boolean:
        result["boolean"] = boolean_forms(corpus, plan)
    if plan.degrees:
        result["degrees"] = degrees(corpus, plan, margin)
    return result
