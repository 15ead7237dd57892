"""The rows on which the paper's learners are compared: collections, and their training, validation and test queries.

The paper's collections (WT10g, topics of TREC 9 and 10) are not free. The eight Indri runs of trec-web-2012 take the
place of its Indri functions, and the 21 submitted rankings of letor-agg that of its TREC submissions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.papers.collections import Collection, join, trec_web_2012
from benchmarks.papers.rankers import average_precisions, fuse_reciprocal_ranks, mean, ranks_within

FOLDS = 5
GROUPS, GROUP_QUERIES = 6, 50  # groups of letor-agg, each as large as the paper's collections
PLACES = ("best function", "2nd best", "3rd best")
Split = tuple[Collection, Collection, Collection]


@dataclass
class Group:
    """One collection of an experiment: its documents, the queries that can be tested, and the single functions."""

    name: str
    whole: Collection
    queries: Any
    functions: dict[str, dict[str, float]]  # the average precision of each query, by the number of a column
    fused: dict[str, float]

    @property
    def ordered(self) -> list[str]:
        """The functions, best mean average precision first."""
        return sorted(self.functions, key=lambda name: -mean(self.functions[name]))

    def baselines(self) -> dict[str, dict[str, float]]:
        """Return the average precisions of the three best functions, and of reciprocal rank fusion."""
        best = dict(zip(PLACES, self.ordered, strict=False))
        return {place: self.functions[name] for place, name in best.items()} | {"reciprocal rank fusion": self.fused}

    def narrowed(self, without_best: bool) -> Collection:
        """Return the documents with all columns, or without that of the best function."""
        if not without_best:
            return self.whole
        whole = self.whole
        X = np.delete(whole.X, int(self.ordered[0]), axis=1)
        return Collection(X, whole.y, whole.qid, whole.documents, whole.retrieved)


def group_of(name: str, whole: Collection, ranks: Any) -> Group:
    """Measure the single functions of a collection and their fusion."""
    functions = {str(i): average_precisions(whole, whole.X[:, i]) for i in range(whole.X.shape[1])}
    fused = average_precisions(whole, np.where(whole.retrieved, fuse_reciprocal_ranks(ranks), np.nan))
    return Group(name, whole, np.array(sorted(fused)), functions, fused)


def trec_groups() -> list[Group]:
    """Return trec-web-2012 as one group."""
    whole, _ = trec_web_2012()
    return [group_of("trec-web-2012", whole, ranks_within(whole))]


def letor_groups(parts: list[Collection]) -> list[Group]:
    """Draw groups of 50 queries of letor-agg, without overlap, among those that have a relevant document."""
    whole = join(parts)
    known = np.array(sorted(average_precisions(whole, np.nan_to_num(whole.X[:, 0], nan=-1e9))))
    drawn = np.random.default_rng(0).permutation(known)[: GROUPS * GROUP_QUERIES].reshape(GROUPS, GROUP_QUERIES)
    chosen = [whole.of_queries(queries) for queries in drawn]
    return [group_of(f"letor-agg {number}", part, -part.X) for number, part in enumerate(chosen, 1)]


def trials(queries: Any, n_trials: int, seed: int = 0) -> Iterator[tuple[Any, Any, Any]]:
    """Yield training, validation and test queries of each trial; each query is in each part equally often.

    A random circular order of 50 queries gives ten trials: 10 training queries, 5 validation queries and 35 test
    queries. The training queries start five queries later each time.
    """
    rng, given = np.random.default_rng(seed), 0
    while given < n_trials:
        circle = rng.permutation(queries)
        for start in range(0, len(circle), 5):
            if given == n_trials:
                return
            turned = np.roll(circle, -start)
            given += 1
            yield turned[:10], turned[10:15], turned[15:]


def rotated(parts: list[Collection], fold: int) -> Split:
    """Return training, validation and test documents of a fold, as LETOR rotates them."""
    turned = [parts[(fold + step) % len(parts)] for step in range(len(parts))]
    return join(turned[:-2]), turned[-2], turned[-1]
