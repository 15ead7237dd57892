"""The classifiers of the paper: perceptrons, committees of them and linear SVMs, one-vs-rest and top-down."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import Perceptron
from sklearn.svm import LinearSVC

from benchmarks.papers.feature_focus.corpora import Part

COMMITTEE = 10
SLOPE = 2.0  # of the sigmoid if it is not fitted, as in the paper
LEAST_PROBABILITIES = tuple(round(0.05 * k, 2) for k in range(1, 13))
FOLDS = 3


class Outcome(NamedTuple):
    """The result of a system on a part."""

    ranks: np.ndarray  # of the best true label of each test row; infinite if none was ranked
    seconds: float  # of CPU time in training
    touched: float  # classifiers applied to a row, which is the cost per feature
    weights: int


class Committee:
    """Several perceptrons that learn the rows in different orders; their weights are averaged."""

    def __init__(self, members: int = COMMITTEE) -> None:
        self.members = members

    def fit(self, X: sp.csr_matrix, y: np.ndarray) -> "Committee":
        found = [Perceptron(random_state=seed).fit(X, y) for seed in range(self.members)]
        self.coef_ = np.mean([member.coef_ for member in found], axis=0)
        self.intercept_ = np.mean([member.intercept_ for member in found], axis=0)
        return self

    def decision_function(self, X: sp.csr_matrix) -> np.ndarray:
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])


LEARNERS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: Perceptron(random_state=0),
    "committee": Committee,
    "SVM C=1": lambda: LinearSVC(C=1.0),
}


def best_ranks(scores: np.ndarray, Y: sp.csr_matrix) -> np.ndarray:
    """Return the rank of the best true label of each row; ties count against it, -inf means not ranked."""
    ranks = np.full(Y.shape[0], np.inf)
    for row in range(Y.shape[0]):
        true = scores[row, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]]
        if len(true) and true.max() > -np.inf:
            ranks[row] = np.count_nonzero(scores[row] >= true.max())
    return ranks


def one_versus_rest(part: Part, learner: str) -> Outcome:
    """Train one classifier per label on all rows, and rank labels by their scores."""
    Y = part.Y_train.tocsc()
    scores, seconds, weights = np.full(part.Y_test.shape, -np.inf), 0.0, 0
    for label in np.flatnonzero(np.diff(Y.indptr)):
        target = np.zeros(Y.shape[0], np.int8)
        target[Y.indices[Y.indptr[label] : Y.indptr[label + 1]]] = 1
        start = time.process_time()
        model = LEARNERS[learner]().fit(part.X_train, target)
        seconds += time.process_time() - start
        scores[:, label] = model.decision_function(part.X_test)
        weights += np.count_nonzero(model.coef_)
    return Outcome(best_ranks(scores, part.Y_test), seconds, float(np.count_nonzero(np.diff(Y.indptr))), weights)


class TopDown:
    """A classifier for each node of a tree, trained on the rows of the parent node; paths are followed by probability.

    Parameters
    ----------
    parents : ndarray
        The parent of each node, or -1; the first nodes are the labels.
    learner : str
        One of `LEARNERS`.
    fitted : bool
        Whether each sigmoid is fitted to scores of held-out rows, each third once, or is the same for all.
    """

    def __init__(self, parents: np.ndarray, learner: str, *, fitted: bool) -> None:
        self.parents, self.learner, self.fitted = parents, learner, fitted
        self.children: dict[int, list[int]] = {}
        for node, parent in enumerate(parents.tolist()):
            self.children.setdefault(parent, []).append(node)

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> "TopDown":
        self.models: dict[int, Callable[[sp.csr_matrix], np.ndarray]] = {}
        self.n_weights = 0
        belongs = self._belonging(Y)
        for parent, children in self.children.items():
            rows = np.arange(X.shape[0]) if parent < 0 else np.flatnonzero(belongs[:, parent])
            if len(rows):
                part, inside = X[rows], belongs[rows]
                for child in children:
                    self._fit_one(child, part, inside[:, child])
        return self

    def _belonging(self, Y: sp.csr_matrix) -> np.ndarray:
        """Return which rows belong to which node, directly or through a descendant."""
        belongs = np.zeros((Y.shape[0], len(self.parents)), bool)
        rows, nodes = Y.nonzero()
        while len(nodes):
            belongs[rows, nodes] = True
            nodes = self.parents[nodes]
            rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
        return belongs

    def _fit_one(self, node: int, X: sp.csr_matrix, target: np.ndarray) -> None:
        n_true = int(target.sum())
        if n_true == 0:
            return  # never seen, so not a candidate
        if n_true == len(target):
            self.models[node] = lambda X: np.ones(X.shape[0])
            return
        y = target.astype(np.int8)
        if self.fitted and FOLDS <= n_true <= len(y) - FOLDS:
            model = CalibratedClassifierCV(LEARNERS[self.learner](), cv=FOLDS, ensemble=False).fit(X, y)
            self.models[node] = lambda X: model.predict_proba(X)[:, 1]
            self.n_weights += np.count_nonzero(model.calibrated_classifiers_[0].estimator.coef_)
            return
        plain = LEARNERS[self.learner]().fit(X, y)
        self.models[node] = lambda X: expit(SLOPE * plain.decision_function(X))
        self.n_weights += np.count_nonzero(plain.coef_)

    def candidates(self, X: sp.csr_matrix, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, nodes and probabilities of the paths that stay likely (figure 7 of the paper)."""
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        waiting = [(-1, np.arange(X.shape[0]), np.ones(X.shape[0]))]
        while waiting:
            parent, rows, likely = waiting.pop()
            part = X[rows]
            for child in self.children.get(parent, []):
                if child in self.models:
                    p = likely * self.models[child](part)
                    kept = p >= least
                    if kept.any():
                        found.append((rows[kept], np.full(int(kept.sum()), child), p[kept]))
                        waiting.append((child, rows[kept], p[kept]))
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        rows, nodes, likely = (np.concatenate(column) for column in zip(*found, strict=True))
        return rows, nodes, likely

    def ranks(self, found: tuple[np.ndarray, np.ndarray, np.ndarray], Y: sp.csr_matrix, least: float) -> np.ndarray:
        """Rank the deepest candidates of each row by probability, and return the rank of the best true label."""
        rows, nodes, likely = (column[found[2] >= least] for column in found)
        n_nodes = len(self.parents)
        keys, above = rows * n_nodes + nodes, self.parents[nodes]
        covered = (rows * n_nodes + above)[above >= 0]
        kept = ~np.isin(keys, covered)
        rows, nodes, likely = rows[kept], nodes[kept], likely[kept]
        order = np.lexsort((nodes, -likely, rows))
        rows, nodes = rows[order], nodes[order]
        starts = np.searchsorted(rows, np.arange(Y.shape[0] + 1))
        truth = Y.nonzero()
        true = np.isin(rows * n_nodes + nodes, truth[0].astype(np.int64) * n_nodes + truth[1])
        ranks = np.full(Y.shape[0], np.inf)
        at = np.flatnonzero(true)[::-1]  # in reverse, so that the best one is written last
        ranks[rows[at]] = at - starts[rows[at]] + 1
        return ranks

    def touched(self, found: tuple[np.ndarray, np.ndarray, np.ndarray], n_rows: int, least: float) -> float:
        """Return the number of classifiers applied to a row."""
        below = np.array(
            [sum(c in self.models for c in self.children.get(n, [])) for n in range(-1, len(self.parents))]
        )
        return float(below[0] + below[found[1][found[2] >= least] + 1].sum() / n_rows)


def top_down(part: Part, parents: np.ndarray, learner: str, *, fitted: bool) -> Outcome:
    """Train a tree of classifiers; choose the minimum probability with the highest R1, as in the paper."""
    start = time.process_time()
    tree = TopDown(parents, learner, fitted=fitted).fit(part.X_train, part.Y_train)
    seconds = time.process_time() - start
    found = tree.candidates(part.X_test, LEAST_PROBABILITIES[0])
    ranked = {least: tree.ranks(found, part.Y_test, least) for least in LEAST_PROBABILITIES}
    best = max(ranked, key=lambda least: np.mean(ranked[least] == 1))
    return Outcome(ranked[best], seconds, tree.touched(found, part.X_test.shape[0], best), tree.n_weights)
