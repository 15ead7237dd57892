"""Reproduce "A new family of online algorithms for category ranking" (Crammer and Singer, SIGIR 2002).

python -m benchmarks.papers.mmp            tables 1 to 4, figures 3 to 6, theorem 1, all claims: ten seeds
python -m benchmarks.papers.mmp --short    the same with six seeds, without the other ways to divide Reuters-21578
python -m benchmarks.papers.mmp --short --protocols    with these as well
python -m benchmarks.papers.mmp --quick    a small part in seconds, to check that it runs
python -m benchmarks.readme                then put the tables into docs/papers/mmp.md

As in the paper, documents are counts of words without stop words, weighted by pivoted normalisation (slope 0.3) and
restricted to the words that Rocchio selects; both use the training documents only. Online algorithms make one pass and
keep their last weights, unless their name says otherwise. A seed chooses folds and order. Each corpus and seed is a
cell; cells are kept in `.cache/mmp-paper`, so that an interrupted run goes on where it stopped, and the full run uses
the cells of the short one.
"""

import argparse
import json
import math
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn

from benchmarks.machine import machine_line
from benchmarks.papers.mmp import cells, claims, corpora, tables
from benchmarks.papers.mmp.claims import Rows
from benchmarks.papers.mmp.paper import PAPER, PAPER_DATA
from benchmarks.papers.mmp.runs import LOSSES, OF_THE_PAPER, ONLINE

ROOT = Path(__file__).resolve().parents[3]
Found = dict[str, cells.Cell]


def contents(found: Found, prefix: str) -> list[Any]:
    """Return what the cells of one kind found, by seed."""
    seeds = sorted(int(name.rpartition(" ")[2]) for name in found if name.rpartition(" ")[0] == prefix)
    return [found[f"{prefix} {seed}"].values["content"] for seed in seeds]


def rows_of(found: Found, name: str) -> Rows:
    """Return the figures of the documents of a corpus, for all seeds."""
    n_seeds = len(contents(found, name))
    systems = tuple(contents(found, name)[0]["systems"])
    return Rows(systems, np.stack([found[f"{name} {seed}"].rows for seed in range(n_seeds)]).astype(float))


def of_seeds(parts: list[dict[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """Return figures by system and measure, with one value per seed."""
    return {name: {key: [part[name][key] for part in parts] for key in parts[0][name]} for name in parts[0]}


def corpus_result(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the part of the result file about a corpus."""
    first = parts[0]
    words = {key: np.mean([part["words"][key] for part in parts], axis=0).tolist() for key in first["words"]}
    means = {
        key: {name: float(np.mean([part[key][name] for part in parts])) for name in first[key]}
        for key in ("training seconds", "ties")
    }
    kept = {key: first[key] for key in ("about", "documents", "labels", "label counts")}
    return {**kept, "words": words, "figures": of_seeds([part["figures"] for part in parts]), **means}


def relevant_counts(corpus: corpora.Corpus) -> np.ndarray:
    """Return the number of relevant labels of each tested document, in the order of the documents."""
    truth = sp.csr_array(sp.vstack([part.Y_test for part in corpus.parts]))
    return np.diff(truth.indptr)[np.argsort(corpus.tested, kind="stable")]


def distance(figures: dict[str, dict[str, list[float]]]) -> float:
    """Return the overall distance of our means from the paper's figures: the mean of |log(ours / theirs)|."""
    paper = PAPER["reuters-21578"]
    pairs = [(np.mean(figures[name][m]), value) for name, row in paper.items() for m, value in row.items()]
    return float(np.mean([abs(math.log(ours / theirs)) for ours, theirs in pairs]))


def protocols_of(found: Found) -> dict[str, Any]:
    """Return the figures of each way to divide and order Reuters-21578."""
    result = {}
    for protocol, meaning in cells.PROTOCOLS.items():
        parts = contents(found, "reuters-21578" if protocol == "chance" else f"protocol {protocol}")
        if parts:
            every = of_seeds([{name: part["figures"][name] for name in OF_THE_PAPER} for part in parts])
            result[protocol] = {"meaning": meaning, "figures": every, "distance": distance(every)}
    return result


def general_claims(result: dict[str, Any]) -> list[dict[str, str]]:
    """Judge the claims about the data and theorem 1."""
    judged = []
    for where, text, first, low, high in (
        ("reuters-21578", "More than 80% of the documents have one label", 1, 0.8, 1.0),
        ("rcv1-subsets", "About 70% of the documents have three labels or more (65 to 75%)", 3, 0.65, 0.75),
    ):
        counts = np.array(result["corpora"][where]["label counts"], float)
        share = (counts[1] if first == 1 else counts[first:].sum()) / counts.sum()
        judged.append(claims.claim(text, where, (claims.HOLDS if low < share < high else claims.FAILS, f"{share:.1%}")))
    ours, theirs = result["corpora"]["reuters-21578"]["words"]["selected"], PAPER_DATA["reuters-21578"]["selected"]
    text = "Rocchio's weights select about the paper's number of words (within 5%)"
    near = claims.HOLDS if abs(ours / theirs - 1) < 0.05 else claims.FAILS
    judged.append(claims.claim(text, "reuters-21578", (near, f"{ours:,.0f} beside {theirs:,}")))
    for stream, variants in result["bounds"].items():
        largest = max(lost / limit for one in variants.values() for lost, limit in zip(*one.values(), strict=True))
        kept = claims.HOLDS if largest <= 1 + 1e-9 else claims.FAILS
        text = "Theorem 1: no variant loses more than its bound"
        where = "reuters-21578" if stream == "reuters-21578" else f"{stream} rows"
        judged.append(
            claims.claim(text, where, (kept, f"at most {largest:.4f} of the bound, of all seeds and variants"))
        )
    return judged


def all_claims(found: Found, plan: cells.Plan, result: dict[str, Any]) -> list[dict[str, str]]:
    """Judge every claim on every corpus."""
    makers = {
        "reuters-21578": lambda: cells.reuters(plan, "chance", 0),
        "rcv1-subsets": lambda: corpora.rcv1(*plan.rcv1),
        "debian-tags": corpora.debian,
    }
    judged = []
    for name in result["corpora"]:
        rows = rows_of(found, name)
        judged += claims.of_corpus(name, rows)
        judged += claims.of_curves(name, [part["curves"] for part in contents(found, name)])
        if rounds := contents(found, f"rounds {name}"):
            judged += claims.of_rounds(name, rounds, rows)
        judged += claims.of_measures(name, rows, relevant_counts(makers[name]()))
    return judged + general_claims(result)


def assembled(found: Found, plan: cells.Plan, short: bool) -> dict[str, Any]:
    """Return the content of the result file."""
    names = [name for name in ("reuters-21578", "rcv1-subsets", "debian-tags") if contents(found, name)]
    rounds = {}
    for name in names[:2]:
        parts = [
            {s: {loss: p[s][loss][-1] for loss in LOSSES} for s in ONLINE} for p in contents(found, f"rounds {name}")
        ]
        rounds[name] = of_seeds(parts)
    streams = contents(found, "bounds")
    result: dict[str, Any] = {
        "machine": machine_line(),
        "versions": {
            "abound": version("abound"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "short": short,
        "seeds": plan.seeds,
        "seconds": sum(cell.values["seconds"] for cell in found.values()),
        "corpora": {name: corpus_result(contents(found, name)) for name in names},
        "rounds": rounds,
        "bounds": {kind: of_seeds([one[kind] for one in streams if kind in one]) for kind in streams[0]},
        "kernels": of_seeds(contents(found, "kernels")),
        "protocols": protocols_of(found),
    }
    result["claims"] = all_claims(found, plan, result)
    return result


def draw(found: Found, result: dict[str, Any], folder: Path) -> None:
    """Draw figures 3 to 6."""
    from benchmarks.papers.mmp import pictures

    folder.mkdir(parents=True, exist_ok=True)
    pictures.label_counts(result["corpora"], folder / "mmp-figure-3.png")
    for figure, name in ((4, "reuters-21578"), (5, "rcv1-subsets")):
        title = f"{name}, training documents: mean, lowest and highest of {result['seeds']} seeds"
        pictures.round_averages(contents(found, f"rounds {name}"), title, folder / f"mmp-figure-{figure}.png")
    curves = {name: [part["curves"] for part in contents(found, name)] for name in ("reuters-21578", "rcv1-subsets")}
    pictures.precision_against_recall(curves, folder / "mmp-figure-6.png")


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run everything, print the results, and write the result file and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--short", action="store_true", help="six seeds, and only one way to divide Reuters-21578")
    size.add_argument("--quick", action="store_true", help="a small part of each corpus; write only to given paths")
    parser.add_argument("--protocols", action="store_true", help="also other ways to divide Reuters-21578, six seeds")
    parser.add_argument("--json", type=Path, help="result file")
    parser.add_argument("--images", type=Path, help="the folder for the pictures")
    parser.add_argument("--cache", type=Path, default=cells.CACHE, help="the folder for the cells")
    options = parser.parse_args(arguments)
    quick = options.quick
    plan = cells.QUICK if quick else cells.SHORT if options.short else cells.FULL
    if options.protocols:
        plan = plan._replace(protocol_seeds=cells.FULL.protocol_seeds)
    json_path = options.json or (None if quick else ROOT / "benchmarks" / "results" / "mmp-paper.json")
    images = options.images or (None if quick else ROOT / "docs" / "images")
    if quick:
        print("a small part of each corpus, to check that it runs; the figures are not the paper's experiment")
    found = cells.compute(plan, options.cache)
    result = assembled(found, plan, short=plan != cells.FULL)
    if images is not None:
        draw(found, result, images)
    if json_path is not None:
        json_path.write_text(json.dumps(result, indent=1) + "\n")
    for name, part in tables.PARTS.items():
        if quick and name.startswith("debian"):
            continue
        print(f"\n== {name}\n" + "\n".join(part(result)))
    return result


if __name__ == "__main__":
    main()
