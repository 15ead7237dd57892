"""Reproduce the paper "Learning when concepts abound" (Madani, Connor, Greiner, JMLR 2009).

python -m benchmarks.papers.feature_focus                    short run: four data sets, six trials, about 15 minutes
python -m benchmarks.papers.feature_focus --full             all data sets and systems, ten trials, about two hours
python -m benchmarks.papers.feature_focus --full --stored    the result file of an unfinished full run
python -m benchmarks.papers.feature_focus --quick            a small part in seconds, to check that it runs
python -m benchmarks.papers.feature_focus --only 20news      run one data set (or an extra part), keep the rest
python -m benchmarks.papers.feature_focus --draw             only the tables and the pictures, from the result file

Every result of a system on a trial is stored in .cache and not computed again; times are for two cores. As in the
paper, rows have norm 1, and a random tenth is held out in each trial (a fifth of 20 Newsgroups). The margin and passes
of the index, C of the SVMs and the minimum probability of the trees are those with the highest mean R1; the index is
also shown with settings chosen on development rows. A true label is searched among the first 50. Times in the tables
are CPU seconds of one thread.
"""

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from benchmarks.machine import machine_line
from benchmarks.papers.feature_focus import cases, corpora, streams, tables, vectors
from benchmarks.papers.feature_focus.cells import Cells
from benchmarks.papers.feature_focus.runs import CHOICES, DEGREES, MARGINS, SVMS, Plan, run

ROOT = Path(__file__).resolve().parents[3]
RESULT = ROOT / "benchmarks" / "results" / "feature-focus-paper.json"
CELLS = ROOT / ".cache" / "feature-focus-paper"
SHORT_TRIALS, FULL_TRIALS = 6, 10
SIGMOIDS = (("SVM C=1", 1), ("SVM C=1", 3), ("SVM C=1", 4))
TREES = (("perceptron", 0), *((name, 0) for name in SVMS), *SIGMOIDS)
PLANS = {
    "reuters-10": Plan(
        corpora.reuters_10,
        flat=("perceptron", "committee", *SVMS),
        tree=(("SVM C=1", 1),),
        choose=True,
        boolean=True,
        class_f1=True,
    ),
    "20news": Plan(
        corpora.newsgroups,
        margins=(*CHOICES, 1.0),
        flat=("perceptron", "committee", *SVMS),
        boolean=True,
        watch_training=True,
        class_f1=True,
        tolerances=(2, 5, 20),
    ),
    "reuters-90": Plan(corpora.reuters_90, flat=("perceptron", *SVMS)),
    "rcv1-subsets": Plan(
        corpora.rcv1,
        margins=MARGINS,
        flat=("perceptron", "committee", *SVMS),
        choose=True,
        boolean=True,
        degrees=DEGREES,
    ),
    "debian-tags": Plan(corpora.debian, flat=("perceptron", *SVMS), tree=TREES, degrees=DEGREES, watch_training=True),
    "gutenberg-lcsh": Plan(corpora.headings, flat=SVMS, tree=TREES, degrees=DEGREES),
    "wordnet": Plan(corpora.wordnet, flat=("perceptron", *SVMS), tree=TREES, choose=True, tolerances=(5, 20)),
    "finna-2k": Plan(lambda: corpora.finna(corpora.FINNA_CAPPED), options=(), flat=SVMS),
    "yso-finna-en": Plan(corpora.finna, degrees=DEGREES, one_pass_unbounded=True, cost_labels=20),
    "austen-words": Plan(
        corpora.austen,
        trials=SHORT_TRIALS,
        passes=4,
        options=("no constraints",),
        one_pass_unbounded=True,
        cost_labels=4,
    ),
}
SHORT = {
    "reuters-10": PLANS["reuters-10"],
    "20news": PLANS["20news"].without(flat=SVMS, tolerances=()),
    "rcv1-subsets": PLANS["rcv1-subsets"],
    "wordnet": PLANS["wordnet"].without(choose=False, tolerances=()),
}
QUICK = {
    "reuters-10": Plan(
        lambda: corpora.reuters_10(900),
        passes=2,
        flat=("perceptron", "committee", "SVM C=1"),
        boolean=True,
        class_f1=True,
        tolerances=(5,),
    ),
    "debian-tags": Plan(
        lambda: corpora.debian(900),
        passes=2,
        flat=("SVM C=1",),
        tree=(("SVM C=1", 0), ("SVM C=1", 1)),
        options=("no constraints", "no leak"),
        one_pass_unbounded=True,
        degrees=(1, 25),
        watch_training=True,
        cost_labels=2,
    ),
}
EXTRA = ("appendix", "cases", "vectors")


def measure(
    name: str, plan: Plan, n_trials: int, folder: Path | None, jobs: int, *, stored_only: bool = False
) -> dict[str, Any]:
    """Run the plan of a data set; stored cells are not computed again."""
    cells = Cells(plan.make(), folder, jobs, stored_only=stored_only)
    found = run(cells, plan, n_trials)
    found["processor_seconds"] = cells.seconds
    print(f"{name}: {n_trials} trials, CPU time {cells.seconds:.0f} s", flush=True)
    return found


def extra(name: str, n_trials: int, folder: Path | None, jobs: int, *, quick: bool) -> dict[str, Any]:
    """Return what needs no data set, and the comparison of interpretations."""
    many = 3 if quick else 200
    if name == "vectors":
        return vectors.readings(folder, n_trials, jobs, quick=quick)
    if name == "cases":
        return cases.both(many // 2)
    kinds = {"deviations": streams.deviations, "distances": streams.distances, "losses": streams.losses}
    return {kind: function(many) for kind, function in kinds.items()}


def versions() -> dict[str, str]:
    return {
        "abound": version("abound"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all data sets and systems, ten trials")
    parser.add_argument(
        "--quick", action="store_true", help="use a small part of two data sets; write only to given paths"
    )
    parser.add_argument("--only", action="append", choices=[*PLANS, *EXTRA], help="what to run; keep the rest")
    parser.add_argument("--trials", type=int, help="the number of trials")
    parser.add_argument("--jobs", type=int, default=2, help="trials that run at the same time")
    parser.add_argument("--stored", action="store_true", help="show the stored cells of an unfinished run")
    parser.add_argument("--draw", action="store_true", help="run nothing, print and draw the result file")
    parser.add_argument("--json", type=Path, help="result file")
    parser.add_argument("--images", type=Path, help="the folder for the pictures")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run everything, print the results, and write the result file and the pictures."""
    options = options_of(arguments)
    quick = options.quick
    json_path = options.json or (None if quick else RESULT)
    images = options.images or (None if quick else ROOT / "docs" / "images")
    plans = QUICK if quick else PLANS if options.full else SHORT
    n_trials = options.trials or (2 if quick else FULL_TRIALS if options.full else SHORT_TRIALS)
    folder = None if quick else CELLS
    result: dict[str, Any] = {"corpora": {}}
    if (options.only or options.draw) and json_path is not None and json_path.exists():
        result = json.loads(json_path.read_text())
    wanted = [] if options.draw else options.only or [*plans, *EXTRA]
    for name in wanted:
        if name in EXTRA:
            result[name] = extra(name, n_trials, folder, options.jobs, quick=quick)
        else:
            how = {"stored_only": options.stored}
            try:
                result["corpora"][name] = measure(name, plans[name], n_trials, folder, options.jobs, **how)
            except LookupError as error:
                print(error)
        result |= {"machine": machine_line(), "versions": versions()}
        result["not run"] = [name for name in PLANS if name not in result["corpora"]]
        result["corpora"] = {name: result["corpora"][name] for name in PLANS if name in result["corpora"]}
        if json_path is not None:
            json_path.write_text(json.dumps(rounded(result), indent=1) + "\n")
    if quick:
        print("a small part of two data sets, to check that it runs; the figures are not the paper's experiment")
    print("\n".join(tables.report(result)))
    if images is not None:
        from benchmarks.papers.feature_focus import pictures

        images.mkdir(parents=True, exist_ok=True)
        pictures.draw(result, images)
    print(f"\n{result['machine']}")
    return result


def rounded(value: Any) -> Any:
    """Return the result with six significant digits, which keeps the file small."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
