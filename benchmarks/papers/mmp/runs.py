"""Train and rank on the corpora of the category-ranking paper, and evaluate the rankings."""

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from abound import MMP, KernelMMP, Perceptron, PivotedWeights, Ranking, Rocchio, RocchioSelector
from abound.components.rows import cut
from abound.metrics import Judgement, judge, metric
from abound.metrics.label_ranking import figures
from benchmarks.papers.mmp.corpora import Corpus, Part

PAPERS_OWN: dict[str, Any] = {"margin": 0.0, "rivals": None, "passes": 1, "averaged": False}
AVERAGED = {**PAPERS_OWN, "averaged": True}
SYSTEMS: dict[str, Any] = {
    "Rocchio": lambda: Rocchio(),
    "Perceptron": lambda: Perceptron(),
    "MMP l.1": lambda: MMP(loss=1, **PAPERS_OWN),
    "MMP l.2": lambda: MMP(loss=2, **PAPERS_OWN),
    "MMP l.3": lambda: MMP(loss=3, **PAPERS_OWN),
    "MMP AvgP": lambda: MMP(loss="avgp", **PAPERS_OWN),
    "MMP l.1 max": lambda: MMP(loss=1, update="max", **PAPERS_OWN),
    "MMP l.1 proportional": lambda: MMP(loss=1, update="proportional", **PAPERS_OWN),
    "MMP l.1 random": lambda: MMP(loss=1, update="random", **PAPERS_OWN),
    "MMP l.1 averaged": lambda: MMP(loss=1, **AVERAGED),
    "MMP l.1 averaged, 3 passes": lambda: MMP(loss=1, **{**AVERAGED, "passes": 3}),
    "MMP defaults": lambda: MMP(),
}
OF_THE_PAPER = tuple(SYSTEMS)[:5]
MMPS = OF_THE_PAPER[2:]
ONLINE = OF_THE_PAPER[1:]
LOSSES = ("loss1", "loss2", "loss3")
POINTS = 60  # of a curve
# Kernels on some documents of Reuters-21578; gamma is one over the mean squared norm of the training documents.
KERNEL_ROWS = (1_000, 300)
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "linear, averaged": {"kernel": "linear", "prediction": "averaged"},
    "linear, voted": {"kernel": "linear", "prediction": "voted"},
    "poly, degree 2": {"kernel": "poly"},
    "poly, degree 2, averaged": {"kernel": "poly", "prediction": "averaged"},
    "rbf": {"kernel": "rbf"},
    "rbf, averaged": {"kernel": "rbf", "prediction": "averaged"},
}


class Rows(NamedTuple):
    """A part with weights instead of counts, over the selected words."""

    X_train: sp.csr_array
    X_test: sp.csr_array
    words: int
    selected: int
    distinct: tuple[float, float]  # distinct words per training document before and after selection


class Run(NamedTuple):
    """The rankings of the test documents of all parts by each system."""

    judgements: dict[str, Judgement]
    seconds: dict[str, float]
    words: float
    selected: float
    distinct: tuple[float, float]


def represented(part: Part, select: bool = True) -> Rows:
    """Weight words by pivoted normalisation and select them with Rocchio's weights, by the training documents only."""
    weights = PivotedWeights().fit(part.X_train)
    train, test = weights.transform(part.X_train), weights.transform(part.X_test)
    selector = RocchioSelector(share=0.025 if select else 1.0).fit(train, part.Y_train)
    n_rows = train.shape[0]
    chosen = [sp.csr_array(selector.transform(X)) for X in (train, test)]
    return Rows(
        *chosen,
        words=len(np.unique(part.X_train.indices)),
        selected=int(selector.support_.sum()),
        distinct=(part.X_train.nnz / n_rows, chosen[0].nnz / n_rows),
    )


def run(corpus: Corpus, systems: tuple[str, ...] = tuple(SYSTEMS), select: bool = True) -> Run:
    """Train each system on each part and rank its test documents; the documents of all parts are evaluated together."""
    rows = [represented(part, select) for part in corpus.parts]
    truth = sp.csr_array(sp.vstack([part.Y_test for part in corpus.parts]))
    judgements, seconds = {}, {}
    for name in systems:
        rankings, spent = [], 0.0
        for part, represented_part in zip(corpus.parts, rows, strict=True):
            start = time.process_time()
            ranker = SYSTEMS[name]().fit(represented_part.X_train, part.Y_train)
            spent += time.process_time() - start
            rankings.append(ranker.rank(represented_part.X_test, k=truth.shape[1]))
        seconds[name] = spent
        judgements[name] = judge(truth, joined(rankings, truth.shape[1]))
    mean = {field: np.mean([getattr(r, field) for r in rows], axis=0) for field in ("words", "selected", "distinct")}
    distinct = (float(mean["distinct"][0]), float(mean["distinct"][1]))
    return Run(judgements, seconds, float(mean["words"]), float(mean["selected"]), distinct)


def joined(rankings: list[Ranking], n_labels: int) -> Ranking:
    """Return several rankings of all labels as one."""
    indices, scores = (np.concatenate([getattr(r, field) for r in rankings]) for field in ("indices", "scores"))
    return Ranking(indices, scores, range(n_labels))


def measured(judgement: Judgement, measures: tuple[str, ...]) -> dict[str, float]:
    """Return the figures of a judgement by name."""
    return {name: metric(name)[0].reduce(figures(name, judgement)) for name in measures}


def round_averaged(part: Part) -> dict[str, dict[str, list[float]]]:
    """Return the mean of each loss over the rounds so far, before the round's document is learned (figures 4 and 5).

    The rounds are evenly spaced on a logarithmic axis, and the same for all curves ("rounds").
    """
    rows, n_labels = represented(part).X_train, part.Y_train.shape[1]
    truth = sp.csr_array(part.Y_train)
    n_rounds = rows.shape[0]
    at = np.unique(np.geomspace(10, n_rounds, POINTS).round().astype(int))
    curves: dict[str, dict[str, list[float]]] = {"rounds": {"all": at.tolist()}}
    for name in ONLINE:
        ranker: Any = SYSTEMS[name]()
        ranker.partial_fit(sp.csr_array((1, rows.shape[1])), [[]], classes=range(n_labels))
        batch = ranker.encode(rows, part.Y_train)
        found = []
        for i in range(n_rounds):
            one = cut(batch, i, i + 1)
            found.append(ranker.rank_scores(one.rows, n_labels))
            ranker.learn(one)
        indices, scores = (np.concatenate([pair[field] for pair in found]) for field in (0, 1))
        judgement = judge(truth, Ranking(indices, scores, range(n_labels)))
        curves[name] = {loss: (np.cumsum(figures(loss, judgement))[at - 1] / at).tolist() for loss in LOSSES}
    return curves


def precision_and_recall(judgement: Judgement) -> tuple[np.ndarray, np.ndarray]:
    """Return mean precision and mean recall at every rank."""
    found = np.cumsum(judgement.hits, axis=1)
    precision = (found / np.arange(1, judgement.width + 1)).mean(axis=0)
    return precision, (found / judgement.n_true[:, None]).mean(axis=0)


def with_kernels(part: Part, n_train: int, n_test: int) -> dict[str, dict[str, float]]:
    """Return the figures of kernel MMP with loss 1 on the first documents of a part, after one pass."""
    rows = represented(part)
    X, Y, X_test = rows.X_train[:n_train], part.Y_train[:n_train], rows.X_test[:n_test]
    truth = sp.csr_array(part.Y_test[:n_test])
    gamma = float(1 / np.mean(X.multiply(X).sum(axis=1)))
    result = {}
    for name, options in KERNELS.items():
        start = time.process_time()
        ranker = KernelMMP(gamma=gamma, **options).fit(X, Y)
        judgement = judge(truth, joined([ranker.rank(X_test, k=truth.shape[1])], truth.shape[1]))
        found = measured(judgement, ("OneErr", "Coverage", "AvgP", *LOSSES))
        result[name] = {**found, "support": ranker.n_support_, "seconds": time.process_time() - start}
    return result
