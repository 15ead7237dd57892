"""Metrics of document rankings for queries, as in trec_eval.

Relevant documents that are missing from a ranking count in the denominator. Precision at k divides by k, even if there
are fewer documents. nDCG uses the grade as the gain and log2(1 + rank) as the discount. Documents with equal scores are
in reverse alphabetical order of their names.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QueryJudgement:
    """Ranked documents of queries with their grades: the input of all metrics.

    Attributes
    ----------
    names : ndarray of shape (n_queries,)
        The queries, in the order in which they first appear.
    owners, ranks, grades, scores : ndarrays of shape (n_ranked,)
        Query number, rank from 1, grade and score of each ranked document, query by query and best first.
    ideal_owners, ideal_ranks, ideal_grades : ndarrays
        The same for the best possible ranking, including documents that are missing from the ranking.
    n_relevant : ndarray of shape (n_queries,)
    relevant_from : float
        The smallest grade of a relevant document.
    """

    names: NDArray[Any]
    owners: NDArray[np.int64]
    ranks: NDArray[np.int64]
    grades: Floats
    scores: Floats
    ideal_owners: NDArray[np.int64]
    ideal_ranks: NDArray[np.int64]
    ideal_grades: Floats
    n_relevant: NDArray[np.int64]
    relevant_from: float

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Whether each ranked document is relevant."""
        return np.asarray(self.grades >= self.relevant_from)

    def total(self, figures: Floats, owners: NDArray[np.int64] | None = None) -> Floats:
        """Sum the values of the documents of each query."""
        owners = self.owners if owners is None else owners
        return np.bincount(owners, figures, len(self.names)).astype(np.float64)


def _ranks_within(owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 1, 2, ... within each run of equal owners."""
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    lengths = np.diff(np.append(starts, len(owners)))
    return np.arange(len(owners), dtype=np.int64) - np.repeat(starts, lengths) + 1


def judge_queries(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    documents: ArrayLike | None = None,
    relevant_from: float = 1.0,
) -> QueryJudgement:
    """Rank the documents of each query by score and compare them with their grades.

    Parameters
    ----------
    y : array-like of shape (n_documents,)
        Grades.
    scores : array-like of shape (n_documents,)
        NaN means that the document was not retrieved.
    qid : array-like of shape (n_documents,), optional
        The query of each document, in any order. By default, there is one query.
    documents : array-like of shape (n_documents,), optional
        Names, which order equal scores as in trec_eval. By default, the earlier row comes first.
    relevant_from : float
        The smallest grade of a relevant document.
    """
    grades, scored = np.asarray(y, np.float64), np.asarray(scores, np.float64)
    queries = np.zeros(len(grades), np.int64) if qid is None else np.asarray(qid)
    if not grades.shape == scored.shape == queries.shape or grades.ndim != 1:
        raise ValueError(f"y {grades.shape}, scores {scored.shape} and qid {queries.shape} must have the same length")
    names, first, inverse = np.unique(queries, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    number = np.empty(len(names), np.int64)
    number[by_appearance] = np.arange(len(names))
    owners = number[inverse.reshape(-1)]
    ties = np.arange(len(grades))
    if documents is not None:
        ties = -np.unique(np.asarray(documents), return_inverse=True)[1].reshape(-1)
    order = np.lexsort((ties, -scored, owners))  # NaN sorts last
    order = order[~np.isnan(scored[order])]
    ideal = np.lexsort((-grades, owners))
    relevant = grades >= relevant_from
    return QueryJudgement(
        names[by_appearance],
        owners[order],
        _ranks_within(owners[order]),
        grades[order],
        scored[order],
        owners[ideal],
        _ranks_within(owners[ideal]),
        grades[ideal],
        np.bincount(owners, relevant, len(names)).astype(np.int64),
        relevant_from,
    )


class _Line(Protocol):
    @property
    def qid(self) -> str: ...
    @property
    def doc(self) -> str: ...


class Retrieved(_Line, Protocol):
    """A line of a run, such as an `abound.data.RunLine`."""

    @property
    def score(self) -> float: ...  # noqa: D102


class Judged(_Line, Protocol):
    """A line of relevance judgements, such as an `abound.data.Qrel`."""

    @property
    def grade(self) -> int: ...  # noqa: D102


def judge_run(run: Iterable[Retrieved], qrels: Iterable[Judged], *, relevant_from: float = 1.0) -> QueryJudgement:
    """Compare a run with relevance judgements, as trec_eval does.

    Queries that are in only one of the two are left out. Documents without a judgement are not relevant. The ranks in
    the run are ignored. Scores are compared in single precision.
    """
    truth: dict[str, dict[str, float]] = {}
    for judged in qrels:
        truth.setdefault(judged.qid, {})[judged.doc] = float(judged.grade)
    rows: list[tuple[str, str, float, float]] = []
    retrieved: dict[str, set[str]] = {}
    for line in run:
        if line.qid in truth:
            seen = retrieved.setdefault(line.qid, set())
            if line.doc in seen:
                raise ValueError(f"the run has document {line.doc!r} twice for query {line.qid!r}; remove one")
            seen.add(line.doc)
            rows.append((line.qid, line.doc, truth[line.qid].get(line.doc, 0.0), float(np.float32(line.score))))
    if not rows:
        raise ValueError("the run and the judgements have no query in common")
    for qid, seen in retrieved.items():
        rows += [(qid, doc, grade, np.nan) for doc, grade in truth[qid].items() if doc not in seen]
    qids, docs, grades, scores = zip(*rows, strict=True)
    return judge_queries(grades, scores, np.array(qids), documents=np.array(docs), relevant_from=relevant_from)


# -- the measures ------------------------------------------------------------------------------------


def _average_precision(j: QueryJudgement, _: int) -> Floats:
    hits = j.hits
    n_hits = np.cumsum(hits)
    before = np.concatenate([[0], n_hits])[np.arange(len(hits)) - j.ranks + 1]
    return j.total(hits * (n_hits - before) / j.ranks) / np.maximum(j.n_relevant, 1)


def _precision(j: QueryJudgement, k: int) -> Floats:
    return j.total((j.hits & (j.ranks <= k)).astype(np.float64)) / k


def _recall(j: QueryJudgement, k: int) -> Floats:
    return j.total((j.hits & (j.ranks <= k)).astype(np.float64)) / np.maximum(j.n_relevant, 1)


def _reciprocal_rank(j: QueryJudgement, _: int) -> Floats:
    best = np.zeros(len(j.names))
    np.maximum.at(best, j.owners, j.hits / j.ranks)
    return best


def _ndcg(j: QueryJudgement, k: int) -> Floats:
    def gain(owners: NDArray[np.int64], ranks: NDArray[np.int64], grades: Floats) -> Floats:
        return j.total(np.maximum(grades, 0) / np.log2(ranks + 1) * (ranks <= (k or len(ranks) + 1)), owners)

    ideal = gain(j.ideal_owners, j.ideal_ranks, j.ideal_grades)
    return gain(j.owners, j.ranks, j.grades) / np.where(ideal > 0, ideal, 1)


def _roc_area(j: QueryJudgement, _: int) -> Floats:
    # A pair with equal scores counts half: each document gets the mean rank of its ties.
    is_new = (np.diff(j.owners, prepend=-1) != 0) | (np.diff(j.scores, prepend=np.nan) != 0)
    starts = np.flatnonzero(is_new)
    group = np.cumsum(is_new) - 1
    lengths = np.diff(np.append(starts, len(is_new)))
    mean_rank = j.ranks[starts][group] + (lengths[group] - 1) / 2
    hits = j.hits.astype(np.float64)
    n_rel, n_all = j.total(hits), j.total(np.ones(len(hits)))
    pairs = n_rel * (n_all - n_rel)
    above = (
        j.total(hits * mean_rank) - n_rel * (n_rel + 1) / 2
    )  # pairs with an irrelevant document above a relevant one
    return np.where(pairs > 0, 1 - above / np.maximum(pairs, 1), np.nan)


@dataclass(frozen=True)
class QueryMetric:
    """A metric of document rankings: `queries` computes its value per query from a judgement and k."""

    queries: Callable[[QueryJudgement, int], Floats]
    summary: str
    at_k: bool = False


QUERY_METRICS: dict[str, QueryMetric] = {
    "MAP": QueryMetric(_average_precision, "mean over queries of the precision at each relevant document"),
    "nDCG": QueryMetric(_ndcg, "discounted gain, relative to the best possible"),
    "nDCG@": QueryMetric(_ndcg, "discounted gain of the first k, relative to the best possible", at_k=True),
    "MRR": QueryMetric(_reciprocal_rank, "mean of 1 / rank of the first relevant document"),
    "P@": QueryMetric(_precision, "share of the first k that are relevant", at_k=True),
    "R@": QueryMetric(_recall, "share of the relevant documents that are among the first k", at_k=True),
    "ROC": QueryMetric(
        _roc_area, "share of pairs in the right order, ties count half; needs relevant and irrelevant documents"
    ),
}
DEFAULT_QUERY_METRICS = ("MAP", "nDCG@10", "MRR", "P@10")


def query_metric(name: str) -> tuple[QueryMetric, int]:
    """Return a metric by name, such as ``MAP`` or ``nDCG@10``, and its k, or 0.

    Examples
    --------
    >>> query_metric("nDCG@10")[1]
    10
    """
    stem = name if name in QUERY_METRICS else name.rstrip("0123456789")
    known = QUERY_METRICS.get(stem)
    if known is None or known.at_k != (stem != name) or name.endswith("@0"):
        names = ", ".join(key + "k" * value.at_k for key, value in QUERY_METRICS.items())
        raise ValueError(f"unknown metric {name!r} of queries; the metrics are {names}")
    return known, int(name[len(stem) :] or 0)


def query_figures(name: str, judgement: QueryJudgement) -> Floats:
    """Return the value of each query for a metric; for MAP, it is the average precision."""
    definition, k = query_metric(name)
    return definition.queries(judgement, k)


def summarize_queries(
    judgement: QueryJudgement, metrics: Iterable[str] = DEFAULT_QUERY_METRICS, *, keep_empty: bool = True
) -> dict[str, float]:
    """Average metrics over queries.

    Parameters
    ----------
    judgement : QueryJudgement
    metrics : iterable of names
    keep_empty : bool
        Whether queries without a relevant document count as 0, as in trec_eval.
    """
    kept = np.ones(len(judgement.names), bool) if keep_empty else judgement.n_relevant > 0
    means = {}
    for name in metrics:
        figures = query_figures(name, judgement)[kept]
        figures = figures[~np.isnan(figures)]
        means[name] = float(figures.mean()) if len(figures) else float("nan")
    return means


def evaluate_queries(
    y: ArrayLike,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    metrics: Iterable[str] = DEFAULT_QUERY_METRICS,
    *,
    documents: ArrayLike | None = None,
    relevant_from: float = 1.0,
) -> dict[str, float]:
    """Compute metrics of document rankings for queries. Queries without a relevant document are left out.

    Examples
    --------
    >>> evaluate_queries([1, 0, 0, 1], [0.2, 0.1, 0.7, 0.5], ["a", "a", "b", "b"], ["MAP", "P@1"])
    {'MAP': 0.75, 'P@1': 0.5}
    """
    judgement = judge_queries(y, scores, qid, documents=documents, relevant_from=relevant_from)
    return summarize_queries(judgement, metrics, keep_empty=False)


def evaluate_run(
    run: Iterable[Retrieved],
    qrels: Iterable[Judged],
    metrics: Iterable[str] = DEFAULT_QUERY_METRICS,
    *,
    relevant_from: float = 1.0,
) -> dict[str, float]:
    """Compute metrics of a run from relevance judgements, with the same digits as trec_eval."""
    return summarize_queries(judge_run(run, qrels, relevant_from=relevant_from), metrics)
