"""Build ordinal tasks from real data: rows, ranks, and a split, the same for every system."""

import lzma
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.papers.ratings import jester
from benchmarks.sets import data_folder, json_lines

JOKES = 5  # targets of the jester task
RANKERS = 21  # columns of the LETOR aggregation files
DEEPEST, SHALLOWEST = 11, 4  # greater depths are rare and count as this one


class Part(NamedTuple):
    """The training and test data of one model; ranks are integers."""

    X_train: "sp.csr_array"
    y_train: np.ndarray
    X_test: "sp.csr_array"
    y_test: np.ndarray


def jester_parts() -> Iterator[Part]:
    """Yield five random jokes, each predicted from a person's other ratings; a fifth of the people is held out."""
    ratings, rng = jester(), np.random.default_rng(7)
    for target in rng.choice(ratings.shape[1], JOKES, replace=False):
        X, y = ratings.stream(int(target), rng)
        cut, X = len(y) * 4 // 5, sp.csr_array(X)
        yield Part(X[:cut], y[:cut], X[cut:], y[cut:])


def wordnet_depths() -> dict[str, int]:
    """Return the length of the shortest path of each noun sense to the root."""
    above = {s["id"]: s["hyper"] for s in json_lines("wordnet-hypernym/wordnet31.jsonl.xz") if s["id"][0] == "n"}
    depths: dict[str, int] = {}

    def depth(sense: str) -> int:
        if sense not in depths:
            known = [parent for parent in above[sense] if parent in above]
            depths[sense] = 1 + min(map(depth, known)) if known else 0
        return depths[sense]

    for sense in above:
        depth(sense)
    return depths


def wordnet_parts() -> Iterator[Part]:
    """Yield one task: predict the depth of a noun sense in the hierarchy from the words of its gloss."""
    depths = wordnet_depths()
    senses = [s for s in json_lines("wordnet-hypernym/wordnet31.jsonl.xz") if s["id"] in depths]
    order = np.random.default_rng(0).permutation(len(senses))
    texts = [senses[i]["gloss"] for i in order]
    y = np.array([min(max(depths[senses[i]["id"]], SHALLOWEST), DEEPEST) for i in order])
    cut = len(texts) * 4 // 5
    tfidf = TfidfVectorizer(sublinear_tf=True, min_df=5)
    train = sp.csr_array(tfidf.fit_transform(texts[:cut]))
    yield Part(train, y[:cut], sp.csr_array(tfidf.transform(texts[cut:])), y[cut:])


def letor_rows(number: int) -> Iterator[tuple[int, list[float]]]:
    """Yield grade and features of a partition: the position of a document in each ranking, and whether it is in it."""
    with lzma.open(data_folder() / "letor-agg" / f"A{number}.txt.xz", "rt") as lines:
        for line in lines:
            grade, _, *fields = line.partition("#")[0].split()
            ranks = [field.partition(":")[2] for field in fields]
            heights = [0.0 if rank == "NULL" else 1 / np.log2(2 + float(rank)) for rank in ranks]
            yield int(grade), heights + [float(rank != "NULL") for rank in ranks] + [1.0]


def letor_parts() -> Iterator[Part]:
    """Yield one task: predict the grade of a document for a query; partitions 1 to 4 train, 5 tests."""
    train = [row for number in (1, 2, 3, 4) for row in letor_rows(number)]
    test = list(letor_rows(5))
    order = np.random.default_rng(0).permutation(len(train))
    X, y = np.array([train[i][1] for i in order]), np.array([train[i][0] for i in order])
    assert X.shape[1] == 2 * RANKERS + 1
    yield Part(sp.csr_array(X), y, sp.csr_array(np.array([row[1] for row in test])), np.array([row[0] for row in test]))


TASKS: dict[str, Callable[[], Iterator[Part]]] = {
    "jester": jester_parts,
    "wordnet-depth": wordnet_parts,
    "letor-grades": letor_parts,
}
