"""Reproduce "A new family of online algorithms for category ranking" (Crammer and Singer, SIGIR 2002).

python -m benchmarks.papers.mmp            tables 1 and 2, figures 3, 4 and 6, in a few minutes
python -m benchmarks.papers.mmp --quick    a small part in seconds, to check that it runs

As in the paper, documents are counts of words without stop words, weighted by pivoted normalisation (slope 0.3) and
restricted to the words that Rocchio selects; both use the training documents only. Online algorithms make one pass and
keep their last weights. Our own rows, below the paper's, average the weights over three passes.
"""

import argparse
import json
import math
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from benchmarks.machine import machine_line
from benchmarks.papers import mmp_corpora as corpora
from benchmarks.papers import mmp_runs as runs
from benchmarks.papers import mmp_tables as tables

ROOT = Path(__file__).resolve().parents[2]
PROTOCOLS = {
    "chance": "random folds, learned in random order",
    "corpus order": "the same folds, learned oldest first",
    "runs": "each fold a run of neighbouring documents, learned in random order",
    "all words": "as by chance, but without selecting words",
}


def report(corpus: corpora.Corpus, found: runs.Run, resamples: int) -> dict[str, Any]:
    """Print the tables of a corpus and whether the paper's orderings hold on it; return the results."""
    figures = tables.figures_of(found)
    beside = tables.BESIDE.get(corpus.name, {})
    print(f"\n== {corpus.name}: {corpus.about}")
    print(
        f"{found.words:,.0f} words in training, {found.selected:,.0f} selected; {found.distinct[0]:.1f} distinct words "
        f"a document, {found.distinct[1]:.1f} after selection"
    )
    if corpus.name == "rcv1-subsets":
        print("In parentheses: the paper's figures on another corpus, all of Reuters-2000, 521,439 training documents.")
    elif beside:
        print("In parentheses: the paper's figures; those marked - are missing from our copy of the paper.")
    for title, measures in tables.TABLES.items():
        print(f"\n{title}")
        print("\n".join(tables.table(measures, figures, beside)))
    checks = tables.orderings(found, figures, resamples)
    if corpus.name == "reuters-21578":
        checks += tables.limits(found, figures)
    print()
    for check in checks:
        print(f"{'holds' if check['holds'] else 'DOES NOT HOLD':14}{check['claim']}{evidence(check)}")
    return {
        "about": corpus.about,
        "figures": figures,
        "paper": beside,
        "words": {"words": found.words, "selected": found.selected, "distinct": found.distinct},
        "seconds": found.seconds,
        "checks": checks,
        "all_against_the_best": tables.against_the_best(found.judgements, figures, tuple(found.judgements), resamples),
    }


def evidence(check: dict[str, Any]) -> str:
    """Return the evidence for a check about the best system."""
    behind = check["evidence"].get("minus_best") if isinstance(check["evidence"], dict) else None
    if not behind:
        return ""
    parts = [f"{name} {value:+.4f} [{low:+.4f}, {high:+.4f}]" for name, (value, low, high) in behind.items()]
    return f"\n{'':14}  best {check['evidence']['best']}; beside it " + ", ".join(parts)


def distance(figures: dict[str, dict[str, float]], paper: dict[str, dict[str, float]]) -> float:
    """Return the overall distance of figures from the paper's: the mean of |log(ours / theirs)|."""
    pairs = [(figures[name][measure], value) for name, row in paper.items() for measure, value in row.items()]
    return float(np.mean([abs(math.log(ours / theirs)) for ours, theirs in pairs]))


def explain_differences(limit: int | None, n_folds: int, seeds: int) -> dict[str, Any]:
    """Print the figures for the protocols that the paper's text leaves open, and which is nearest to its figures.

    Each runs with several random orders, because the last weights of a single pass depend on the order.
    """
    print("\n== why our figures differ: what the paper leaves open about folds and order, on Reuters-21578")
    print(f"Means over {seeds} random orders, the smallest and the largest in parentheses, then the paper's.")
    paper, result = tables.PAPER["reuters-21578"], {}
    for protocol, meaning in PROTOCOLS.items():
        found = []
        for seed in range(seeds):
            corpus = corpora.reuters(protocol, limit, n_folds, seed)
            found.append(tables.figures_of(runs.run(corpus, runs.OF_THE_PAPER, select=protocol != "all words")))
        spread = {
            name: {m: [figures[name][m] for figures in found] for m in tables.MEASURES} for name in runs.OF_THE_PAPER
        }
        means = {name: {m: float(np.mean(values)) for m, values in row.items()} for name, row in spread.items()}
        result[protocol] = {"meaning": meaning, "orders": spread, "distance": distance(means, paper)}
        print(f"\n{protocol}: {meaning}; mean |log(ours / paper)| {result[protocol]['distance']:.3f}")
        print("\n".join(tables.spread_table(spread, paper)))
    nearest = min(result, key=lambda protocol: result[protocol]["distance"])
    print(f"\nnearest to the paper: {nearest} ({PROTOCOLS[nearest]})")
    return {"protocols": result, "nearest": nearest}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run everything, print the results, and write the result file and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="use a small part of each corpus; write only to given paths"
    )
    parser.add_argument("--json", type=Path, help="result file")
    parser.add_argument("--images", type=Path, help="the folder for the pictures")
    options = parser.parse_args(arguments)
    quick = options.quick
    json_path = options.json or (None if quick else ROOT / "benchmarks" / "results" / "mmp-paper.json")
    images = options.images or (None if quick else ROOT / "docs" / "images")
    limit, n_folds, resamples = (1200, 2, 50) if quick else (None, corpora.FOLDS, 1000)

    if quick:
        print("a small part of each corpus, to check that it runs; the figures are not the paper's experiment")
    start = time.perf_counter()
    reuters = corpora.reuters("chance", limit, n_folds)
    sets = [reuters, corpora.rcv1(1, 900) if quick else corpora.rcv1()]
    if not quick:
        sets.append(corpora.debian())
    found = {corpus.name: runs.run(corpus) for corpus in sets}
    result = {
        "machine": machine_line(),
        "versions": {
            "abound": version("abound"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "corpora": {corpus.name: report(corpus, found[corpus.name], resamples) for corpus in sets},
        "differences": explain_differences(limit, n_folds, 1 if quick else 5),
    }
    if images is not None:
        from benchmarks.papers import mmp_pictures as pictures

        images.mkdir(parents=True, exist_ok=True)
        pictures.label_counts(sets, images / "mmp-figure-3.png")
        curves = runs.round_averaged(reuters.parts[0])
        pictures.round_averages(
            curves, "reuters-21578, training documents of the first fold", images / "mmp-figure-4.png"
        )
        result["rounds"] = {name: {loss: float(c[-1]) for loss, c in row.items()} for name, row in curves.items()}
        judged = {corpus.name: found[corpus.name].judgements for corpus in sets[:2]}
        pictures.precision_against_recall(judged, images / "mmp-figure-6.png")
    result["seconds"] = time.perf_counter() - start
    if json_path is not None:
        json_path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{result['machine']}; {result['seconds']:.0f} s")
    return result


if __name__ == "__main__":
    main()
