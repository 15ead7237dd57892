"""Write the measured figures into README.md and the pages of docs, between the markers that name them.

python -m benchmarks.readme            update the pages
python -m benchmarks.readme --check    fail if a page differs from the result files
"""

import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import calibration, capacity, constants, defaults, fitting, libraries, sizing
from benchmarks.comparison import excerpts
from benchmarks.comparison.results import read_all
from benchmarks.hardening.tables import PARTS as HARDENING_SECTIONS
from benchmarks.page_figures import SECTIONS as PAGE_SECTIONS
from benchmarks.page_figures import read
from benchmarks.papers.feature_focus import tables as feature_focus_tables
from benchmarks.papers.mmp import tables as mmp_tables
from benchmarks.papers.prank import tables as prank_tables
from benchmarks.papers.svm_map import tables as svm_map_tables

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"(<!-- figures:(?P<name>[a-z0-9-]+) -->\n).*?(<!-- /figures -->)", re.DOTALL)


README_SETS = ("reuters-90", "debian-tags", "finna-100k", "debian-depends", "gutenberg-lcsh")  # docs/peers.md has all
FEW_LABELS = ("bibtex", "reuters-90", "20news")


def peers_short() -> list[str]:
    return excerpts.short(read_all(), README_SETS)


def few_labels() -> list[str]:
    return excerpts.side_by_side(read_all(), FEW_LABELS)


def finna_100k() -> list[str]:
    """Return the table of finna-100k, and what fastText reaches on its titles with other settings."""
    tried = read("text-accurate")["best"]
    return [
        *excerpts.brief(read_all(), "finna-100k"),
        "",
        f"In another run, fastText read the whole titles with five settings; the best one (lr {tried['lr']}, epoch "
        f"{tried['epoch']}) had P@1 {tried['P@1']:.3f} (`python -m benchmarks.text accurate`).",
    ]


def names() -> list[str]:
    result = read("cascade-names")
    lines = [
        "| titles, form | P@1 | P@3 | P@5 | train&nbsp;s | texts ranked/s | R@10 of labels without example |",
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
        f"- From {first['rows']:,} to {last['rows']:,} Finnish titles, P@1 rises from {first['P@1'][0]:.3f} to "
        f"{last['P@1'][0]:.3f}. With n rows, the time per row scales as "
        f"n<sup>{result['exponent_of_time_a_row']:.2f}</sup>, and "
        f"the number of edges per row as n<sup>{result['exponent_of_edges_a_row']:.2f}</sup>.",
        f"- Training on all {whole['rows']:,} titles from the compressed file takes {whole['seconds']:.0f} s and at "
        f"most {whole['peak_megabytes']:,.0f} MB (`python -m benchmarks.text whole fi`).",
        "",
        f"{result['machine']}.",
    ]


def limits() -> list[str]:
    bare, labels, size, austen = (read(f"index-{name}") for name in ("bare", "labels", "size", "austen"))
    per_row = list(labels["microseconds_a_row"].values())
    return [
        f"- Ranking takes {bare['ratio']:.2f} times as long as a minimal C loop that only gathers and adds the same "
        f"edges (best {bare['k']} labels, {bare['edges_a_row']:.0f} edges per row).",
        f"- From 1,000 to 1,000,000 labels, the time per row increases from {per_row[0]:.1f} to {per_row[-1]:.1f} "
        "microseconds.",
        f"- {size['edges'] / 1e6:.0f} million edges take {size['index_megabytes']:.0f} MB while learning, and "
        f"{size['bytes_an_edge_compact']:.1f} bytes per edge when compact. They load in {size['load_seconds']:.1f} s, "
        f"or in {size['load_verified_seconds']:.1f} s with verification.",
        f"- Word prediction on Jane Austen, one pass, margin 0: R1 {austen['R_1']:.3f} and R5 {austen['R_5']:.3f} "
        f"(paper: {austen['paper']['R_1']:.3f} and {austen['paper']['R_5']:.3f}).",
        "",
        f"{size['machine']}.",
    ]


def texts() -> list[str]:
    speed, corrections = read("text-speed"), read("text-corrections")["true_labels"]
    ours, theirs, tried = speed["abound"], speed["fasttext"], read("text-accurate")
    return [
        f"- Reading, tokenising (words and pairs) and learning 100,000 titles takes {ours['train_seconds']:.2f} s on "
        f"one thread; fastText (words and pairs, hs, two threads) trains on them in {theirs['train_seconds']:.2f} s.",
        f"- Held-out P@1 is {ours['P@1'][0]:.3f}. fastText has {theirs['P@1']:.3f} with these settings, its defaults, "
        f"which do not suit so many labels. The best of the {len(tried['tried'])} settings that we tried (lr "
        f"{tried['best']['lr']}, epoch {tried['best']['epoch']}) has {tried['best']['P@1']:.3f}, and trains in "
        f"{tried['best']['train_seconds']:.0f} s.",
        f"- Ranking runs at {ours['texts_a_second']:,.0f} texts/s; a single text takes "
        f"{ours['median_microseconds_one']:.0f} microseconds.",
        f"- After one `learn`, a right label ranks first for the same text in "
        f"{corrections['first_after_one_learn']:.1%} of {corrections['corrections']:,} corrections. Held-out P@1 goes "
        f"from {corrections['P@1_before']:.4f} to {corrections['P@1_after_corrections']:.4f}.",
        "",
        f"{speed['machine']}.",
    ]


def category_paper(part: str) -> list[str]:
    return mmp_tables.PARTS[part](read("mmp-paper"))


def feature_focus(part: str) -> list[str]:
    return feature_focus_tables.PARTS[part](read("feature-focus-paper"))


def prank_paper(part: str) -> list[str]:
    return prank_tables.PARTS[part](read("prank-paper"))


def text_defaults(table: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    result = read("defaults")
    return [*table(result), "", f"Development rows. {result['machine']}, shared with others."]


def constants_table(table: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    result = read("constants")
    return [
        *table(result),
        "",
        f"Development rows (`python -m benchmarks.constants`). {result['machine']}, shared with others.",
    ]


def fitting_table(table: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    result = read("fitting")
    return [*table(result), "", f"{result['machine']}, shared with others."]


def calibration_table(table: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    """Return a table of the calibration with the machine below it, or nothing before it was measured."""
    result = calibration.read()
    if not result or table is calibration.diagrams:
        return table(result) if result else []
    return [*table(result), "", f"{result['machine']}, shared with others."]


def capacity_part(part: str) -> list[str]:
    return capacity.TABLES[part](read("capacity"))


def svm_map(part: str) -> list[str]:
    return svm_map_tables.PARTS[part](read("svm-map-paper"))


def queries() -> list[str]:
    growth = read("svm-map-growth")
    first, last = growth["sizes"][0], growth["sizes"][-1]
    return [
        *svm_map("methods"),
        "",
        *svm_map("setting"),
        "",
        f"On one thread, one fit of {first['queries']} queries of letor-agg takes {first['seconds']:.2f} s, and one of "
        f"{last['queries']:,} queries {last['seconds']:.2f} s, {last['kernel_share']:.0%} of it in the kernel. "
        f"{growth['machine']}.",
        "",
        *beside_trees(),
    ]


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
        f"Time from a key press to painted labels, with {result['rows']:,} titles learned and {result['presses']} key "
        f"presses: median {waits['median']:.0f} ms, 95th percentile {waits['p95']:.0f} ms, of which the server takes "
        f"{share['median']:.0f} and {share['p95']:.0f} ms (`python -m benchmarks.page latency`). "
        + "".join(
            f"At the end of a text of {one['words']:,} words: median {one['key_to_labels_ms']['median']:.0f} ms. "
            for one in result.get("long", [])
        )
        + f"{result['browser']}, "
        f"{result['machine']}. Best of {len(result['rounds'])} rounds."
    ]


TREE_SETS = ("letor-agg", "mslr-5k", "ltr-lightgbm")
SECTIONS: dict[str, Callable[[], list[str]]] = {
    **PAGE_SECTIONS,
    **HARDENING_SECTIONS,
    **{f"calibration-{name}": functools.partial(calibration_table, one) for name, one in calibration.TABLES.items()},
    **{f"mmp-{name}": functools.partial(category_paper, name) for name in mmp_tables.PARTS},
    **{f"feature-focus-{name}": functools.partial(feature_focus, name) for name in feature_focus_tables.PARTS},
    **{f"capacity-{name}": functools.partial(capacity_part, name) for name in capacity.TABLES},
    "constants": functools.partial(constants_table, constants.overview),
    "constants-all": functools.partial(constants_table, constants.tables),
    "defaults": functools.partial(text_defaults, defaults.beside_best),
    "defaults-all": functools.partial(text_defaults, defaults.all_tables),
    "few-labels": few_labels,
    **{f"fitting-{name}": functools.partial(fitting_table, table) for name, table in fitting.TABLES.items()},
    "finna-100k": finna_100k,
    "growth": growth,
    "libraries": lambda: libraries.show(read("libraries")),
    "limits": limits,
    "names": names,
    "page": page,
    "peers-short": peers_short,
    **{f"prank-{name}": functools.partial(prank_paper, name) for name in prank_tables.PARTS},
    "queries": queries,
    "sizing": sizing.section,
    **{f"svm-map-{name}": functools.partial(svm_map, name) for name in svm_map_tables.PARTS},
    "texts": texts,
}


def render(text: str) -> str:
    """Return the text of a page with every marked section regenerated."""
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
