"""Render the result file of the category-ranking experiments as the tables of its page."""

from typing import Any

import numpy as np

from benchmarks.papers.mmp.claims import FAILS, HOLDS, UNDECIDED
from benchmarks.papers.mmp.paper import BESIDE, PAPER_DATA, PERCENT, TABLES

Result = dict[str, Any]
HEADS = {
    "loss1": "loss 1 %",
    "loss2": "loss 2",
    "loss3": "loss 3 %",
    "OneErr": "OneErr %",
    "Coverage": "Coverage",
    "AvgP": "AvgP",
    "maxF1/size": "maxF1, at the document's number of labels",
    "maxF1/corpus": "maxF1, of mean precision and recall",
    "maxF1/row": "maxF1, best of each document",
}
LOST = "lost"
OWN_LOSS = {"MMP l.1": "loss1", "MMP l.2": "loss2", "MMP l.3": "loss3"}


def number(measure: str, value: float) -> str:
    """Return a figure as the paper prints it."""
    if measure in PERCENT:
        return f"{100 * value:.2f}"
    return f"{value:.2f}" if measure in ("loss2", "Coverage") else f"{value:.3f}"


def spread(measure: str, values: list[float]) -> str:
    """Return the mean of the seeds, and the lowest and the highest."""
    low, high = number(measure, min(values)), number(measure, max(values))
    mean = number(measure, float(np.mean(values)))
    return mean if low == high else f"{mean} [{low}, {high}]"


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def figures_table(corpus: str, kind: str) -> Any:
    """Return a function that renders tables 1 to 4: our means and spread, and the paper's figures in parentheses."""

    def rendered(result: Result) -> list[str]:
        found, beside, rows = result["corpora"][corpus]["figures"], BESIDE.get(corpus), []
        for name, measures in found.items():
            cells = [name]
            for measure in TABLES[kind]:
                cell = spread(measure, measures[measure])
                if beside is not None and measure not in ("maxF1/corpus", "maxF1/row"):
                    of_paper = name in ("Rocchio", "Perceptron", *OWN_LOSS)
                    theirs = beside.get(name, {}).get(measure)
                    if of_paper:
                        cell += f" ({LOST if theirs is None else number(measure, theirs)})"
                cells.append(cell)
            rows.append(cells)
        return table([f"mean [lowest, highest] of {result['seeds']} seeds", *map(HEADS.get, TABLES[kind])], rows)

    return rendered


def setting(result: Result) -> list[str]:
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    form = "the short form" if result["short"] else "all"
    return [
        f"{result['machine']}, shared with others; {versions}. This page shows {form}: {result['seeds']} seeds, "
        f"computed in {result['seconds'] / 60:.0f} minutes of wall-clock time in one process, while others used "
        "both cores."
    ]


def data(result: Result) -> list[str]:
    rows = []
    for name, corpus in result["corpora"].items():
        theirs, words = PAPER_DATA.get(name), corpus["words"]
        counts = np.array(corpus["label counts"])
        mean = float((counts * np.arange(len(counts))).sum() / counts.sum())
        cells = [
            (f"{corpus['documents']:,}", theirs and f"{theirs['documents']:,}"),
            (str(corpus["labels"]), theirs and str(theirs["labels"])),
            (f"{mean:.2f}", theirs and f"{theirs['labels a document']:.2f}"),
            (f"{counts[1] / counts.sum():.0%}", None),
            (f"{counts[3:].sum() / counts.sum():.0%}", None),
            (f"{words['words']:,.0f}", theirs and f"{theirs['words']:,}"),
            (f"{words['selected']:,.0f}", theirs and f"{theirs['selected']:,}"),
            (
                " to ".join(f"{n:.0f}" for n in words["distinct"]),
                theirs and " to ".join(map(str, theirs["distinct"])),
            ),
        ]
        rows.append([name, *(ours + (f" ({paper})" if paper else "") for ours, paper in cells)])
    heads = [
        "ours (paper)",
        "documents",
        "labels",
        "labels of a document",
        "with one label",
        "with three or more",
        "words in training",
        "selected",
        "distinct words of a document, before and after selection",
    ]
    return table(heads, rows)


def claims(result: Result) -> list[str]:
    by_claim: dict[tuple[str, str], list[str]] = {}
    for one in result["claims"]:
        by_claim.setdefault((one["claim"], one["verdict"]), []).append(f"{one['where']}: {one['evidence']}")
    rows = [
        [text, judged if judged == HOLDS else f"**{judged}**", "<br>".join(places)]
        for (text, judged), places in by_claim.items()
    ]
    return table(["claim", "verdict", "where"], rows)


def counts(result: Result) -> list[str]:
    rows = []
    places = list(dict.fromkeys(one["where"] for one in result["claims"]))
    for where in places:
        verdicts = [one["verdict"] for one in result["claims"] if one["where"] == where]
        rows.append([where, *(str(verdicts.count(one)) for one in (HOLDS, UNDECIDED, FAILS))])
    return table(["where", HOLDS, UNDECIDED, FAILS], rows)


def rounds(result: Result) -> list[str]:
    rows = []
    for corpus, of_systems in result["rounds"].items():
        for name, losses in of_systems.items():
            rows.append([corpus, name, *(spread(loss, values) for loss, values in losses.items())])
    return table(["mean loss of all rounds", "", "loss 1 %", "loss 2", "loss 3 %"], rows)


def bounds(result: Result) -> list[str]:
    rows = []
    for stream, variants in result["bounds"].items():
        for name, found in variants.items():
            loss, update = name.split(" ")
            lost, limit = np.array(found["lost"]), np.array(found["bound"])
            rows.append(
                [stream, loss, update, f"{lost.mean():,.1f}", f"{limit.mean():,.0f}", f"{max(lost / limit):.4f}"]
            )
    return table(["rows", "loss", "update", "lost, mean", "bound, mean", "largest lost / bound"], rows)


def bounds_short(result: Result) -> list[str]:
    kept = {stream: variants for stream, variants in result["bounds"].items() if stream != "reuters-21578"}
    uniform = {
        stream: {name: found for name, found in variants.items() if name.endswith("uniform")}
        for stream, variants in kept.items()
    }
    return bounds({"bounds": uniform})


def kernels(result: Result) -> list[str]:
    measures = ("OneErr", "Coverage", "AvgP", "loss1")
    rows = [
        [
            name,
            *(spread(measure, found[measure]) for measure in measures),
            f"{np.mean(found['support']):,.0f}",
            f"{np.mean(found['seconds']):.1f}",
        ]
        for name, found in result["kernels"].items()
    ]
    return table(["KernelMMP, loss 1", *map(HEADS.__getitem__, measures), "rows kept", "CPU seconds"], rows)


def training(result: Result) -> list[str]:
    spent = {name: corpus["training seconds"] for name, corpus in result["corpora"].items()}
    systems = next(iter(spent.values()))
    rows = [[one, *(f"{row[one]:.2f}" if one in row else "-" for row in spent.values())] for one in systems]
    return table(["CPU seconds of training, all parts", *spent], rows)


def protocols(result: Result) -> list[str]:
    if len(result["protocols"]) < 2:
        return ["Not measured yet: the full run has this section, and `--protocols`."]
    rows = []
    for protocol, found in result["protocols"].items():
        for name in ("Rocchio", "Perceptron", "MMP l.3"):
            cells = []
            for measure in ("OneErr", "Coverage", "AvgP", "loss2"):
                theirs = BESIDE["reuters-21578"][name].get(measure)
                paper = "" if theirs is None else f" ({number(measure, theirs)})"
                cells.append(spread(measure, found["figures"][name][measure]) + paper)
            rows.append([f"{protocol}: {found['meaning']}", name, *cells, f"{found['distance']:.3f}"])
    heads = ["folds and order", "", "OneErr %", "Coverage", "AvgP", "loss 2", "mean \\|log(ours / paper)\\|"]
    return table(heads, rows)


def brief(result: Result) -> list[str]:
    """Return the table of the algorithm's page: Reuters-21578, and what holds where."""
    measures = ("OneErr", "Coverage", "AvgP", "loss1", "loss2", "loss3")
    found, beside, rows = result["corpora"]["reuters-21578"]["figures"], BESIDE["reuters-21578"], []
    for name, figures in found.items():
        cells = []
        for measure in measures:
            theirs = beside.get(name, {}).get(measure)
            cells.append(spread(measure, figures[measure]) + (f" ({number(measure, theirs)})" if theirs else ""))
        rows.append([name, *cells])
    places = []
    for where, corpus in result["corpora"].items():
        verdicts = [one["verdict"] for one in result["claims"] if one["where"] == where]
        coverage = {system: float(np.mean(row["Coverage"])) for system, row in corpus["figures"].items()}
        first = min(list(coverage)[:5], key=coverage.__getitem__)
        places.append(
            f"on {where} {verdicts.count(HOLDS)} hold, {verdicts.count(UNDECIDED)} are undecided and "
            f"{verdicts.count(FAILS)} do not hold; of the paper's algorithms {first} has the best Coverage there "
            f"({coverage[first]:.2f}, MMP l.3 {coverage['MMP l.3']:.2f})"
        )
    return [
        *table([f"mean [lowest, highest] of {result['seeds']} seeds (paper)", *map(HEADS.__getitem__, measures)], rows),
        "",
        f"Of the paper's claims: {'; '.join(places)}. [All claims, tables and figures](../papers/mmp.md).",
    ]


PARTS = {
    "setting": setting,
    "data": data,
    "table-1": figures_table("reuters-21578", "learning"),
    "table-2": figures_table("reuters-21578", "retrieval"),
    "table-3": figures_table("rcv1-subsets", "learning"),
    "table-4": figures_table("rcv1-subsets", "retrieval"),
    "debian-learning": figures_table("debian-tags", "learning"),
    "debian-retrieval": figures_table("debian-tags", "retrieval"),
    "claims": claims,
    "counts": counts,
    "rounds": rounds,
    "bounds": bounds,
    "bounds-short": bounds_short,
    "kernels": kernels,
    "training": training,
    "protocols": protocols,
    "brief": brief,
}
