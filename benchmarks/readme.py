"""Put the measured figures into README.md and the pages of docs, between the marks that name them.

python -m benchmarks.readme            rewrite the pages
python -m benchmarks.readme --check    fail if a page does not say what the result files say
"""

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import defaults, fitting, sizing
from benchmarks.hardening.tables import PARTS as HARDENING_SECTIONS
from benchmarks.page_figures import SECTIONS as PAGE_SECTIONS
from benchmarks.page_figures import read
from benchmarks.papers.feature_focus import tables as feature_focus_tables
from benchmarks.peers import tables

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"(<!-- figures:(?P<name>[a-z0-9-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)


FEW_LABELS = ("debian-tags", "reuters-90", "20news")


def peers() -> list[str]:
    result = read("peers")
    return [*tables.summary(result), "", f"{tables.LEGEND} {result['machine']}, shared with others."]


def few_labels() -> list[str]:
    result = read("peers")
    return [*tables.side_by_side(result, FEW_LABELS), "", f"{result['machine']}, shared with others."]


def finna_100k() -> list[str]:
    result = read("peers")
    found, tried = result["sets"]["finna-100k"], read("text-accurate")["best"]
    setting = result["systems"]["fasttext-hs"]["setting"]
    return [
        *tables.brief(result, "finna-100k"),
        "",
        f"{found['description']}. fasttext-hs is one setting ({setting}) on these rows, and not the best that fastText "
        f"can do: on the titles themselves, the best of five settings (lr {tried['lr']}, epoch {tried['epoch']}) has "
        f"P@1 {tried['P@1']:.3f}. "
        f"{result['machine']}, shared with others.",
    ]


def names() -> list[str]:
    result = read("cascade-names")
    lines = [
        "| titles, form | P@1 | P@3 | P@5 | train s | texts ranked a second | R@10 of labels without example |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, run in result["runs"].items():
        accuracy = " | ".join(f"{run[m][0]:.3f}" for m in ("P@1", "P@3", "P@5"))
        lines.append(
            f"| {name} | {accuracy} | {run['seconds']:.1f} | {run['texts_a_second']:,.0f} "
            f"| {run['R@10_without_example']:.2f} |"
        )
    return [*lines, "", f"{result['machine']}."]


def growth() -> list[str]:
    result, whole = read("cascade-growth"), read("text-whole-fi")
    first, last = result["points"][0], result["points"][-1]
    return [
        f"- From {first['rows']:,} to {last['rows']:,} Finnish titles, P@1 goes from {first['P@1'][0]:.3f} to "
        f"{last['P@1'][0]:.3f}; the time a row grows with the rows to the power of "
        f"{result['exponent_of_time_a_row']:.2f}, the edges a row to the power of "
        f"{result['exponent_of_edges_a_row']:.2f}.",
        f"- All {whole['rows']:,} are learnt from the compressed file in {whole['seconds']:.0f} s with "
        f"{whole['peak_megabytes']:,.0f} MB at the most (`python -m benchmarks.text whole fi`).",
        "",
        f"{result['machine']}.",
    ]


def limits() -> list[str]:
    bare, labels, size, austen = (read(f"index-{name}") for name in ("bare", "labels", "size", "austen"))
    per_row = list(labels["microseconds_a_row"].values())
    return [
        f"- Ranking costs {bare['ratio']:.2f} times a bare C loop that only gathers and adds the same edges "
        f"(best {bare['k']} of {bare['edges_a_row']:.0f} edges a row).",
        f"- From 1,000 to 1,000,000 labels the time a row goes from {per_row[0]:.1f} to {per_row[-1]:.1f} "
        "microseconds.",
        f"- {size['edges'] / 1e6:.0f} million edges take {size['index_megabytes']:.0f} MB while learning, "
        f"{size['bytes_an_edge_compact']:.1f} bytes an edge when compact; they load in {size['load_seconds']:.1f} s, "
        f"verified in {size['load_verified_seconds']:.1f} s.",
        f"- Word prediction on Jane Austen, one pass, margin 0: R1 {austen['R_1']:.3f} and R5 {austen['R_5']:.3f} "
        f"(the paper has {austen['paper']['R_1']:.3f} and {austen['paper']['R_5']:.3f}).",
        "",
        f"{size['machine']}.",
    ]


def texts() -> list[str]:
    speed, corrections = read("text-speed"), read("text-corrections")["true_labels"]
    ours, theirs, tried = speed["abound"], speed["fasttext"], read("text-accurate")
    return [
        f"- 100,000 titles are read, tokenised (words and pairs) and learnt in {ours['train_seconds']:.2f} s on one "
        f"thread; fastText (words and pairs, hs, two threads) trains on them in {theirs['train_seconds']:.2f} s.",
        f"- Held-out P@1 is {ours['P@1'][0]:.3f}. fastText's is {theirs['P@1']:.3f} at these settings, its defaults, "
        f"which do not suit so many labels; the best of the {len(tried['tried'])} settings that we tried (lr "
        f"{tried['best']['lr']}, epoch {tried['best']['epoch']}) has {tried['best']['P@1']:.3f}, and trains in "
        f"{tried['best']['train_seconds']:.0f} s.",
        f"- {ours['texts_a_second']:,.0f} texts are ranked a second; one at a time takes "
        f"{ours['median_microseconds_one']:.0f} microseconds.",
        f"- One `learn` puts a right label first for the same text in {corrections['first_after_one_learn']:.1%} of "
        f"{corrections['corrections']:,} corrections; held-out P@1 goes from {corrections['P@1_before']:.4f} to "
        f"{corrections['P@1_after_corrections']:.4f}.",
        "",
        f"{speed['machine']}.",
    ]


def category_paper() -> list[str]:
    result = read("mmp-paper")
    reuters = result["corpora"]["reuters-21578"]
    measures = {"OneErr": 100, "Coverage": 1, "AvgP": 1, "loss1": 100, "loss2": 1, "loss3": 100}
    lines = [
        "| paper's in brackets | OneErr % | Coverage | AvgP | loss 1 % | loss 2 | loss 3 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, figures in reuters["figures"].items():
        cells = []
        for measure, scale in measures.items():
            paper = reuters["paper"].get(name, {}).get(measure)
            beside = "" if paper is None else f" ({scale * paper:.2f})"
            cells.append(f"{scale * figures[measure]:.2f}{beside}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    held = sum(check["holds"] for check in reuters["checks"])
    orders = {name: protocol["orders"] for name, protocol in result["differences"]["protocols"].items()}
    runs, whole = orders["runs"], orders["all words"]
    others = []
    for name, corpus in result["corpora"].items():
        if name != "reuters-21578":
            coverage = {system: figures["Coverage"] for system, figures in corpus["figures"].items()}
            first = min(coverage, key=coverage.__getitem__)
            others.append(
                f"{sum(check['holds'] for check in corpus['checks'])} of {len(corpus['checks'])} hold on {name}, where "
                f"{first} has the best Coverage ({coverage[first]:.2f}, MMP l.3 {coverage['MMP l.3']:.2f})"
            )
    return [
        *lines,
        "",
        f"{held} of {len(reuters['checks'])} checked orderings and figures of the paper hold on Reuters-21578, which "
        f"the paper has, too. Elsewhere, of the orderings alone, {'; '.join(others)}. Random folds are kinder than "
        f"folds of neighbouring documents: with those Perceptron has OneErr "
        f"{100 * np.mean(runs['Perceptron']['OneErr']):.2f}% and MMP l.3 Coverage "
        f"{np.mean(runs['MMP l.3']['Coverage']):.2f}. Rocchio is behind the paper's unless it keeps all words (OneErr "
        f"{100 * np.mean(whole['Rocchio']['OneErr']):.2f}%).",
    ]


def feature_focus(part: str) -> list[str]:
    return feature_focus_tables.PARTS[part](read("feature-focus-paper"))


def text_defaults(table: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    result = read("defaults")
    return [*table(result), "", f"Development rows. {result['machine']}, shared with others."]


def fitting_table(table: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    result = read("fitting")
    return [*table(result), "", f"{result['machine']}, shared with others."]


def queries() -> list[str]:
    letor, trec, growth = (read(f"svm-map-{name}") for name in ("letor", "trec", "growth"))
    whole = trec["all runs"]
    lines = [
        f"| MAP (wins / losses of SVM-map, p) | letor-agg, {letor['queries']:,} queries "
        f"| trec-web-2012, {trec['trials']} trials |",
        "|---|---|---|",
        f"| SVM-map | {letor['SVM-map']:.3f} | {whole['SVM-map']:.3f} |",
    ]

    def cell(result: dict[str, Any], name: str) -> str:
        row = result["against"][name]
        return f"{row['MAP']:.3f} ({row['wins']} / {row['losses']}, {row['p']:.2g})"

    names = [name for name in letor["against"] if not name.startswith("ranker")]
    lines += [f"| {name} | {cell(letor, name)} | {cell(whole, name)} |" for name in names]
    singles = [
        max((n for n in r["against"] if n not in names), key=lambda n, r=r: r["against"][n]["MAP"])
        for r in (letor, whole)
    ]
    lines.append(f"| best single ranking | {cell(letor, singles[0])} | {cell(whole, singles[1])} |")
    first, last, learner = growth["sizes"][0], growth["sizes"][-1], letor["learners"]["SVM-map"]
    return [
        *lines,
        "",
        " ".join(
            compared(name, result, other)
            for name, result in (("letor-agg", letor), ("trec-web-2012", whole))
            for other in ("SVM-roc", "reciprocal rank fusion")
        ),
        "",
        f"Five folds of letor-agg with {letor['bits']:,} bits and five values of C take {learner['seconds']:.0f} s on "
        f"two threads of a busy machine. One fit of {first['queries']} queries takes {first['seconds']:.2f} s and of "
        f"{last['queries']:,} {last['seconds']:.2f} s on one thread, {last['kernel_share']:.0%} of it in the kernel. "
        f"{growth['machine']}.",
        "",
        *beside_trees(),
    ]


def compared(name: str, result: dict[str, Any], other: str) -> str:
    """Say plainly how SVM-map and another compare: whose mean is higher, who wins more queries, and how surely."""
    row = result["against"][other]
    higher = "SVM-map" if result["SVM-map"] > row["MAP"] else other
    more = "SVM-map" if row["wins"] > row["losses"] else other
    surely = "significantly" if row["p"] < 0.05 else "not significantly"
    difference = abs(result["SVM-map"] - row["MAP"])
    rest = "it is" if more == higher else f"{more} is"
    return (
        f"Against {other} on {name}, the mean of {higher} is higher by {difference:.4f} and {rest} better on more "
        f"queries, {surely} so (p = {row['p']:.2g})."
    )


def beside_trees() -> list[str]:
    lines = ["| MAP / nDCG@10 / seconds / KiB | " + " | ".join(TREE_SETS) + " |", "|---|" + "---|" * len(TREE_SETS)]
    trees = read("svm-map-trees")
    for system in trees[TREE_SETS[0]]:
        cells = []
        for name in TREE_SETS:
            row = trees[name][system]
            cells.append(
                f"{row['MAP']:.3f} / {row['nDCG@10']:.3f} / {row['seconds']:.1f} / {row['model_bytes'] / 1024:.0f}"
            )
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return lines


def page() -> list[str]:
    result = read("page-latency")
    waits, share = result["key_to_labels_ms"], result["server_ms"]
    return [
        f"From a key press to painted labels, {result['rows']:,} titles learnt, {result['presses']} presses: median "
        f"{waits['median']:.0f} ms, 95th percentile {waits['p95']:.0f} ms, of which the server takes "
        f"{share['median']:.0f} and {share['p95']:.0f} ms (`python -m benchmarks.page latency`). {result['browser']}, "
        f"{result['machine']}. Best of {len(result['rounds'])} rounds."
    ]


TREE_SETS = ("letor-agg", "mslr-5k", "ltr-lightgbm")
SECTIONS: dict[str, Callable[[], list[str]]] = {
    **PAGE_SECTIONS,
    **HARDENING_SECTIONS,
    "category-paper": category_paper,
    **{f"feature-focus-{name}": functools.partial(feature_focus, name) for name in feature_focus_tables.PARTS},
    "defaults": functools.partial(text_defaults, defaults.beside_best),
    "defaults-all": functools.partial(text_defaults, defaults.all_tables),
    "few-labels": few_labels,
    **{f"fitting-{name}": functools.partial(fitting_table, table) for name, table in fitting.TABLES.items()},
    "finna-100k": finna_100k,
    "growth": growth,
    "limits": limits,
    "names": names,
    "page": page,
    "peers": peers,
    "queries": queries,
    "sizing": sizing.section,
    "texts": texts,
}


def render(text: str) -> str:
    """Return a page's text with every marked section written anew."""
    return MARK.sub(lambda m: m[1] + "\n" + "\n".join(_section(m["name"])) + "\n\n" + m[3], text)


def _section(name: str) -> list[str]:
    try:
        return SECTIONS[name]()
    except FileNotFoundError:
        return ["Not measured yet."]


def main() -> None:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = path.read_text()
        if render(text) == text:
            continue
        if sys.argv[1:] == ["--check"]:
            sys.exit(f"{path.relative_to(ROOT)} differs from the result files: run python -m benchmarks.readme")
        path.write_text(render(text))


if __name__ == "__main__":
    main()
