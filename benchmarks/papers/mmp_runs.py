"""Train and rank on the corpora of the category-ranking paper, and evaluate the rankings."""

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from abound import MMP, Perceptron, PivotedWeights, Ranking, Rocchio, RocchioSelector
from abound.metrics import Judgement, judge, metric
from abound.metrics.label_ranking import figures
from benchmarks.papers.mmp_corpora import Corpus, Part

PAPERS_OWN = {"margin": 0.0, "rivals": None, "passes": 1, "averaged": False}
SYSTEMS = {
    "Rocchio": lambda: Rocchio(),
    "Perceptron": lambda: Perceptron(),
    "MMP l.1": lambda: MMP(loss=1, **PAPERS_OWN),
    "MMP l.2": lambda: MMP(loss=2, **PAPERS_OWN),
    "MMP l.3": lambda: MMP(loss=3, **PAPERS_OWN),
    "MMP averaged": lambda: MMP(loss=1, **{**PAPERS_OWN, "passes": 3, "averaged": True}),
    "MMP defaults": lambda: MMP(),
}
OF_THE_PAPER = tuple(SYSTEMS)[:5]
MMPS = OF_THE_PAPER[2:]
ONLINE = OF_THE_PAPER[1:]


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
        rankings, start = [], time.perf_counter()
        for part, represented_part in zip(corpus.parts, rows, strict=True):
            ranker = SYSTEMS[name]().fit(represented_part.X_train, part.Y_train)
            rankings.append(ranker.rank(represented_part.X_test, k=truth.shape[1]))
        seconds[name] = time.perf_counter() - start
        indices, scores = (np.concatenate([getattr(r, field) for r in rankings]) for field in ("indices", "scores"))
        judgements[name] = judge(truth, Ranking(indices, scores, range(truth.shape[1])))
    mean = {field: np.mean([getattr(r, field) for r in rows], axis=0) for field in ("words", "selected", "distinct")}
    distinct = (float(mean["distinct"][0]), float(mean["distinct"][1]))
    return Run(judgements, seconds, float(mean["words"]), float(mean["selected"]), distinct)


def measured(judgement: Judgement, measures: tuple[str, ...]) -> dict[str, float]:
    """Return the figures of a judgement by name."""
    return {name: metric(name)[0].reduce(figures(name, judgement)) for name in measures}


def round_averaged(part: Part) -> dict[str, dict[str, np.ndarray]]:
    """Return, for figure 4, the mean of each loss over the rounds so far, before the round's document is learned."""
    rows, n_labels = represented(part).X_train, part.Y_train.shape[1]
    truth = sp.csr_array(part.Y_train)
    curves: dict[str, dict[str, np.ndarray]] = {}
    for name in ONLINE:
        ranker: Any = SYSTEMS[name]()
        ranker.partial_fit(sp.csr_array((1, rows.shape[1])), [[]], classes=range(n_labels))
        found = []
        for i in range(rows.shape[0]):
            row, labels = rows[[i]], part.Y_train.indices[part.Y_train.indptr[i] : part.Y_train.indptr[i + 1]]
            found.append(ranker.rank(row, k=n_labels))
            ranker.partial_fit(row, [labels.tolist()])
        ranking = Ranking(
            np.concatenate([r.indices for r in found]), np.concatenate([r.scores for r in found]), range(n_labels)
        )
        judgement = judge(truth, ranking)
        rounds = np.arange(1, len(judgement.kept) + 1)
        curves[name] = {loss: np.cumsum(figures(loss, judgement)) / rounds for loss in ("loss1", "loss2", "loss3")}
    return curves


def precision_and_recall(judgement: Judgement) -> tuple[np.ndarray, np.ndarray]:
    """Return mean precision and mean recall at every rank."""
    found = np.cumsum(judgement.hits, axis=1)
    precision = (found / np.arange(1, judgement.width + 1)).mean(axis=0)
    return precision, (found / judgement.n_true[:, None]).mean(axis=0)
