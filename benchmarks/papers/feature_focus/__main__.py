"""Reproduce the paper "Learning when concepts abound" (Madani, Connor, Greiner, JMLR 2009).

python -m benchmarks.papers.feature_focus                    figures 9 to 17, 19, 21 and 22, in less than half an hour
python -m benchmarks.papers.feature_focus --quick            a small part in seconds, to check that it runs
python -m benchmarks.papers.feature_focus --only 20news      rerun a data set (or `appendix`, `vectors`), keep the rest
python -m benchmarks.papers.feature_focus --draw             only the tables and the pictures, from the result file

As in the paper, rows have norm 1, and a random tenth is held out in each of ten trials (a fifth of 20 Newsgroups). The
margin and passes of the index and the minimum probability of the trees are those with the highest mean R1. A true label
is searched among the first 50. Times are CPU seconds of one thread, with two concurrent trials.
"""

import argparse
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from benchmarks.machine import machine_line
from benchmarks.papers.feature_focus import connections, corpora, streams, tables, vectors
from benchmarks.papers.feature_focus.runs import CHOICES, DEGREES, MARGINS, Plan, processor_seconds, run

ROOT = Path(__file__).resolve().parents[3]
RESULT = ROOT / "benchmarks" / "results" / "feature-focus-paper.json"
PLANS = {
    "reuters-10": Plan(corpora.reuters_10, flat=(("perceptron", 10), ("committee", 3), ("SVM C=1", 10)), boolean=True),
    "20news": Plan(
        corpora.newsgroups,
        margins=(*CHOICES, 1.0),
        flat=(("perceptron", 10), ("committee", 2), ("SVM C=1", 10)),
        boolean=True,
        watch_training=True,
    ),
    "reuters-90": Plan(corpora.reuters_90, passes=3, flat=(("perceptron", 3), ("SVM C=1", 10))),
    "rcv1-subsets": Plan(
        corpora.rcv1,
        passes=10,
        margins=MARGINS,
        flat=(("perceptron", 10), ("committee", 3), ("SVM C=1", 10)),
        boolean=True,
        degrees=DEGREES,
    ),
    "debian-tags": Plan(
        corpora.debian,
        tree=(("perceptron", False, 3), ("SVM C=1", False, 10), ("SVM C=1", True, 1)),
        degrees=DEGREES,
        watch_training=True,
    ),
    "gutenberg-lcsh": Plan(
        corpora.headings, passes=3, tree=(("perceptron", False, 2), ("SVM C=1", False, 10)), degrees=DEGREES
    ),
    "wordnet": Plan(corpora.wordnet, passes=3, tree=(("perceptron", False, 2), ("SVM C=1", False, 10))),
    "finna-2k": Plan(
        lambda: corpora.finna(corpora.FINNA_CAPPED),
        passes=3,
        options=(),
        flat=(("perceptron", 3), ("SVM C=1", 3)),
    ),
    "yso-finna-en": Plan(corpora.finna, passes=2, degrees=DEGREES, bounded_only=True),
    "austen-words": Plan(
        corpora.austen, trials=2, passes=4, margins=(0.0, 0.1), options=("no constraints",), bounded_only=True
    ),
}
QUICK = {
    "reuters-10": Plan(
        lambda: corpora.reuters_10(900), trials=2, passes=2, flat=(("perceptron", 2), ("SVM C=1", 2)), boolean=True
    ),
    "debian-tags": Plan(
        lambda: corpora.debian(900),
        trials=2,
        passes=2,
        tree=(("SVM C=1", False, 2),),
        options=("no constraints", "no leak"),
        bounded_only=True,
        degrees=(1, 25),
        watch_training=True,
    ),
}


def measure(name: str, plan: Plan) -> dict[str, Any]:
    """Run the plan of a data set, and analyse its index."""
    start, spent = time.perf_counter(), processor_seconds()
    corpus = plan.make()
    found = run(corpus, plan)
    found["inside"] = connections.look(corpus, found["systems"]["FF best"]["margin"])
    found["seconds"], found["processor_seconds"] = time.perf_counter() - start, processor_seconds() - spent
    print(f"{name}: {found['seconds']:.0f} s, CPU time {found['processor_seconds']:.0f} s", flush=True)
    return found


def versions() -> dict[str, str]:
    return {
        "abound": version("abound"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run everything, print the results, and write the result file and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="use a small part of two data sets; write only to given paths"
    )
    parser.add_argument("--only", action="append", choices=[*PLANS, "appendix", "vectors"], help="what to rerun")
    parser.add_argument("--draw", action="store_true", help="run nothing, print and draw the result file")
    parser.add_argument("--json", type=Path, help="result file")
    parser.add_argument("--images", type=Path, help="the folder for the pictures")
    options = parser.parse_args(arguments)
    quick = options.quick
    json_path = options.json or (None if quick else RESULT)
    images = options.images or (None if quick else ROOT / "docs" / "images")
    plans = QUICK if quick else PLANS
    result: dict[str, Any] = {"corpora": {}}
    if (options.only or options.draw) and json_path is not None and json_path.exists():
        result = json.loads(json_path.read_text())
    wanted = [] if options.draw else options.only or [*plans, "appendix", "vectors"]

    start = time.perf_counter()
    for name in wanted:
        if name == "appendix":
            trials = 3 if quick else 200
            result["appendix"] = {"deviations": streams.deviations(trials), "distances": streams.distances(trials)}
        elif name == "vectors":
            result["vectors"] = vectors.readings(quick)
        else:
            result["corpora"][name] = measure(name, plans[name])
        result |= {"machine": machine_line(), "versions": versions()}
        if json_path is not None:
            result["corpora"] = {name: result["corpora"][name] for name in plans if name in result["corpora"]}
            json_path.write_text(json.dumps(result, indent=1) + "\n")
    if not options.only and not options.draw:
        result["seconds"] = time.perf_counter() - start
        if json_path is not None:
            json_path.write_text(json.dumps(result, indent=1) + "\n")
    if quick:
        print("a small part of two data sets, to check that it runs; the figures are not the paper's experiment")
    print("\n".join(tables.report(result)))
    if images is not None:
        from benchmarks.papers.feature_focus import pictures

        images.mkdir(parents=True, exist_ok=True)
        pictures.draw(result, images)
    print(f"\n{result['machine']}")
    return result


if __name__ == "__main__":
    main()
