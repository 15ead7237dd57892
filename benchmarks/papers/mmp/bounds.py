"""Theorem 1 of the category-ranking paper: what MMP loses on rows that can be ranked perfectly, and its bound.

If prototypes of total norm 1 rank all rows with margin g or more, and no row is longer than R, then the loss that MMP
learns by, summed over all rounds, is at most C R^2 / g^2. Each step has the size L of the row's loss, divided into
shares of the wrong pairs that sum to 1, so that its squared norm is at most 2 L^2 R^2. Hence C is 2 for losses of at
most 1, and 2 max |y| (k - |y|) for loss 2; with the uniform update it is at most k there.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from abound import MMP
from abound.components.rows import cut
from abound.metrics import judge
from abound.metrics.label_ranking import figures
from abound.rankers.mmp import LOSSES, UPDATE_NAMES
from abound.rankers.ranking import Ranking
from benchmarks.papers.mmp.corpora import Part
from benchmarks.papers.mmp.runs import PAPERS_OWN, represented

MOST_PASSES = 200
REUTERS_ROWS = 100


class Stream(NamedTuple):
    """Rows that can be ranked perfectly with a margin; the prototypes that do so have norm 1."""

    X: Any
    Y: Any
    radius: float
    margin: float


def constant(loss: Any, update: str, Y: Any) -> float:
    """Return C for label sets."""
    n_relevant, k = np.asarray(Y.sum(axis=1)).ravel(), Y.shape[1]
    if loss != 2:
        return 2.0
    return float(k) if update == "uniform" else float(2 * np.max(n_relevant * (k - n_relevant)))


def artificial(seed: int, n_rows: int = 150, k: int = 5, n_features: int = 12) -> Stream:
    """Return rows of any sign whose labels random prototypes set apart by a wide gap."""
    rng = np.random.default_rng(seed)
    best = rng.normal(size=(k, n_features))
    best /= np.linalg.norm(best)
    rows, labels, margin = [], [], math.inf
    while len(rows) < n_rows:
        x = rng.normal(size=n_features) * (rng.random(n_features) < 0.5)
        scores = best @ x
        order, n_relevant = np.argsort(-scores), int(rng.integers(1, k))
        gap = float(scores[order[n_relevant - 1]] - scores[order[n_relevant]])
        if gap > 0.15:
            rows.append(x)
            labels.append(np.isin(np.arange(k), order[:n_relevant]))
            margin = min(margin, gap)
    X = np.array(rows)
    return Stream(
        sp.csr_array(X), sp.csr_array(np.array(labels, float)), float(np.linalg.norm(X, axis=1).max()), margin
    )


def orthonormal(seed: int, k: int = 20, n_rows: int = 40) -> Stream:
    """Return rows of one feature and one label each, on which the bound of loss 2 is exact.

    A row moves nothing that another row sees, so that each is wholly wrong once. The best prototypes give a row
    (k - 1) b for its label and -b for the others. They have norm 1 if b^2 = 1 / (n k (k - 1)); their margin is k b.
    """
    labels = np.random.default_rng(seed).permutation(n_rows) % k
    margin = k / math.sqrt(n_rows * k * (k - 1))
    return Stream(sp.csr_array(np.eye(n_rows)), sp.csr_array(np.eye(k)[labels]), 1.0, margin)


def from_documents(part: Part, n_rows: int = REUTERS_ROWS) -> Stream | None:
    """Return the first documents of a part, if many passes find prototypes that rank them all perfectly.

    Their margin is at most the best one, so that the bound is at least the theorem's.
    """
    X, Y = represented(part).X_train[:n_rows], sp.csr_array(part.Y_train[:n_rows])
    ranker = MMP(**{**PAPERS_OWN, "margin": 1.0, "passes": MOST_PASSES}).fit(X, Y)
    weights = ranker.head.store.arrays()[2].astype(float)
    scores, relevant = ranker.decision_function(X), Y.toarray() > 0
    gaps = np.where(relevant, scores, np.inf).min(axis=1) - np.where(relevant, -np.inf, scores).max(axis=1)
    if gaps.min() <= 0:
        return None
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return Stream(X, Y, float(norms.max()), float(gaps.min() / np.linalg.norm(weights)))


def total_loss(stream: Stream, loss: Any, update: str) -> float:
    """Return what MMP loses by the loss that it learns by, over passes until one has no wrong pair."""
    k, truth = stream.Y.shape[1], sp.csr_array(stream.Y)
    ranker = MMP(loss=loss, update=update, negative_values="linear", **PAPERS_OWN)
    ranker.partial_fit(sp.csr_array((1, stream.X.shape[1])), [[]], classes=range(k))
    batch, total = ranker.encode(stream.X, truth), 0.0
    for _ in range(MOST_PASSES):
        found = []
        for i in range(batch.n_rows):
            one = cut(batch, i, i + 1)
            found.append(ranker.rank_scores(one.rows, k))
            ranker.learn(one)
        judgement = judge(truth, Ranking(*(np.concatenate([pair[f] for pair in found]) for f in (0, 1)), range(k)))
        lost = average_precision_loss(judgement) if loss == "avgp" else figures(f"loss{loss}", judgement)
        total += float(lost.sum())
        if not figures("loss1", judgement).any():
            return total
    return total


def average_precision_loss(judgement: Any) -> np.ndarray:
    """Return 1 - the average precision of each row if the wrong labels of a tie come first."""
    lost = []
    for hits, scores in zip(judgement.hits, judgement.scores, strict=True):
        order = np.lexsort((hits, -scores))
        places = np.flatnonzero(hits[order]) + 1
        lost.append(1 - np.mean(np.arange(1, len(places) + 1) / places))
    return np.array(lost)


def measured_bounds(stream: Stream) -> dict[str, dict[str, float]]:
    """Return the loss of every variant and its bound."""
    result = {}
    for loss in LOSSES:
        for update in UPDATE_NAMES:
            limit = constant(loss, update, stream.Y) * (stream.radius / stream.margin) ** 2
            result[f"{loss} {update}"] = {"lost": total_loss(stream, loss, update), "bound": limit}
    return result
