"""What the paper has, where it is in this repository, which test covers it, and what came of it."""

from typing import Any, NamedTuple

from benchmarks.papers.feature_focus.claims import FAILS, HOLDS, UNDECIDED, checks

CODE, RUNS = "src/abound", "benchmarks/papers/feature_focus"
KERNEL, REFERENCE = "tests/kernels/test_index.py", "tests/reference/test_feature_focus.py"
PAPER = "tests/benchmarks/test_feature_focus_paper.py"
STUDENT = "tests/docs/test_plain_feature_focus.py"


class Item(NamedTuple):
    """A part of the paper."""

    name: str
    about: str
    place: str
    test: str
    verdict: str = ""  # if it is not a claim
    sections: tuple[str, ...] = ()  # of the claims whose verdicts are shown


ITEMS = (
    Item("figures 1, 2, 6", "drawings of the problem and of two views of the weights", "-", "-", "no content to test"),
    Item(
        "figure 3, equation 1",
        "RankedRetrieval: score and rank by votes",
        f"{CODE}/kernels/index.pyx",
        KERNEL,
        "implemented; the scan lost the pseudocode, restored from the text",
    ),
    Item(
        "figure 4 (a, c)",
        "FF and the feature streaming update (FSU)",
        f"{CODE}/kernels/index.pyx, lists.pxd",
        f"{KERNEL}, {STUDENT}",
        "implemented; the scan lost the pseudocode, restored from the text",
    ),
    Item(
        "figure 4 (d)",
        "a generic update, of which FSU is one form",
        f"{CODE}/kernels/lists.pxd",
        KERNEL,
        "only FSU: the paper gives and tests no other form",
    ),
    Item("figure 5", "IND, with p_ind from the paper's list", f"{CODE}/rankers/independent.py", KERNEL, "implemented"),
    Item(
        "figure 7",
        "top-down classification",
        f"{RUNS}/peers.py",
        PAPER,
        "implemented; p_min 0.05 was added to the paper's list",
    ),
    Item("note 3", "negative values as second features", f"{CODE}/rankers/signs.py", "tests/rankers/test_signs.py",
         "implemented"),
    Item("note 13", "several true labels: one margin for each", f"{CODE}/kernels/index.pyx", KERNEL, "implemented"),
    Item("3.3", "R1, R5, HR, d and the number of edges", f"{RUNS}/runs.py", PAPER, "implemented"),
    Item("lemma 1", "scaling the weights does not change rankings", "-", REFERENCE, "confirmed"),
    Item(
        "theorems 2 and 4, figure 20",
        "learning an index with bounded out-degree is NP-hard, by reduction from set cover",
        "tests/reference",
        REFERENCE,
        "the reduction is confirmed by exhaustive search on small instances",
    ),
    Item("lemma 3", "the most frequent labels, in order, are the best list of a feature", "-", REFERENCE,
         "confirmed by exhaustive search"),
    Item("4.1", "a feature has at most 1 / w_min labels", f"{CODE}/kernels/lists.pxd", REFERENCE, sections=("4.1",)),
    Item("4.3.1", "cases 1 and 2: when to update", f"{RUNS}/cases.py", PAPER, sections=("4.3.1",)),
    Item("4.3.2", "ratings min(1, n / 10)", f"{CODE}/kernels/index.pyx", KERNEL, "implemented"),
    Item(
        "section 5",
        "perceptrons, committees with random starts, SVMs with C of 1, 5, 10, 100, sigmoids",
        f"{RUNS}/peers.py",
        PAPER,
        "implemented; LIBLINEAR instead of Keerthi and DeCoste's solver",
    ),
    Item("figure 8", "data sets", f"{RUNS}/corpora.py", PAPER,
         "three of seven; Industry, RCV1's words, Ads and Web cannot be had"),
    Item("figures 9 and 10", "the index reaches the paper's R1", f"{RUNS}/runs.py", PAPER,
         sections=("figures 9 and 10",)),
    Item("figures 9 and 10, 6.1", "accuracy beside classifiers", f"{RUNS}/runs.py", PAPER, sections=("6.1",)),
    Item("note 18", "sigmoids do not help one-vs-rest ranking", f"{RUNS}/peers.py", PAPER, sections=("note 18",)),
    Item("note 20", "averaged weights do as well as votes", f"{RUNS}/peers.py", PAPER, sections=("note 20",)),
    Item("6.2", "time, work and space", f"{RUNS}/runs.py", PAPER, sections=("6.2",)),
    Item("figure 11", "without limits on edges", f"{RUNS}/runs.py", PAPER, sections=("6.3.1",)),
    Item("figure 12", "limits on edges per feature; the scan has no values of the curves", f"{RUNS}/runs.py", PAPER,
         sections=("6.3.2",)),
    Item("figure 13", "w_min", f"{RUNS}/runs.py", PAPER, sections=("6.3.3",)),
    Item("figure 14", "margins and passes; the scan has no values of the curves", f"{RUNS}/runs.py", PAPER,
         sections=("6.3.4",)),
    Item("figure 15", "without leak", f"{RUNS}/runs.py", PAPER, sections=("6.3.5",)),
    Item("figure 16", "without ratings", f"{RUNS}/runs.py", PAPER, sections=("6.3.6",)),
    Item("figure 17", "IND and Boolean values", f"{RUNS}/runs.py", PAPER, sections=("6.3.7",)),
    Item("figure 18", "the unweighted index, with and without classifiers", f"{RUNS}/unweighted.py", PAPER,
         sections=("6.4.1",)),
    Item("figure 19", "training and test R1; the scan has no values of the curves", f"{RUNS}/runs.py", PAPER,
         sections=("6.4.2",)),
    Item("6.4.3", "maximum F1 when rows are ranked for a label", f"{RUNS}/peers.py", PAPER, sections=("6.4.3",)),
    Item("6.4.4", "in-degrees", f"{RUNS}/connections.py", PAPER, sections=("6.4.4",)),
    Item("6.4.5", "examples of strong and of leaking features", f"{RUNS}/connections.py", PAPER, "shown below"),
    Item("figures 21 and 22", "errors of estimated shares; the scan has no values of the curves",
         f"{RUNS}/streams.py", PAPER, sections=("appendix B",)),
)  # fmt: skip


def verdict(item: Item, found: list[dict[str, Any]]) -> str:
    """Return the words of an item, or how many of its claims hold, do not hold and are undecided."""
    if item.verdict:
        return item.verdict
    verdicts = [row[0] for check in found if check["section"] in item.sections for row in check["sets"].values()]
    if not verdicts:
        return "not run yet: the full run measures it"
    counts = {word: verdicts.count(word) for word in (HOLDS, FAILS, UNDECIDED)}
    return ", ".join(f"{word} {n}×" for word, n in counts.items() if n)


def rows(result: dict[str, Any]) -> list[list[str]]:
    """Return the lines of the table."""
    found = checks(result)
    return [[item.name, item.about, item.place, item.test, verdict(item, found)] for item in ITEMS]
