"""The classifiers of the paper: perceptrons, committees of them and linear SVMs, one-vs-rest and top-down."""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.papers.feature_focus.corpora import Part

COMMITTEE = 10
PATIENCE = 5  # passes without fewer training errors after which a perceptron stops, as in the paper
MOST_PASSES = 50
C_GRID = (1, 5, 10, 100)
SLOPE = 2.0  # of the sigmoid if it is not fitted, as in the paper
LEAST_PROBABILITIES = tuple(round(0.05 + 0.05 * k, 2) for k in range(12))  # the paper's begin at 0.1
SPLIT = 0.2  # the share of the rows on which a sigmoid is fitted


class Outcome(NamedTuple):
    """The result of a system on a part."""

    ranks: np.ndarray  # of the best true label of each test row; infinite if none was ranked
    seconds: float  # of CPU time in training
    touched: float  # classifiers applied to a row, which is the cost per feature
    weights: int
    class_f1: float | None = None  # mean over labels of the best F1 when rows are ranked for a label


class Learner(Protocol):
    """Several binary classifiers of the same rows."""

    n_weights: int

    def fit(self, X: sp.csr_matrix, Y: np.ndarray) -> "Learner": ...

    def scores(self, X: sp.csr_matrix) -> np.ndarray: ...


class Perceptrons:
    """One perceptron, or a committee of them, for each label.

    All learn the rows in the given order. A perceptron stops when the training error after a pass has not improved for
    five passes. It has a bias: a feature of value 1 in every row. A weight is 0 until its feature is first updated.

    Parameters
    ----------
    members : int
        Perceptrons per label; their scores are averaged.
    random_starts : bool
        Whether a weight starts from a random number in [-1, 1] when it is first updated, as in the paper's committees.
        Members differ only by these numbers.
    """

    def __init__(self, members: int = 1, *, random_starts: bool = False, seed: int = 0) -> None:
        self.members, self.random_starts, self.seed = members, random_starts, seed

    def fit(self, X: sp.csr_matrix, Y: np.ndarray) -> "Perceptrons":
        """Learn the rows; column c of Y tells which of them have label c."""
        X = with_bias(X)
        signs = np.repeat(np.where(Y, 1.0, -1.0).astype(np.float32), self.members, axis=1)
        self.n_labels = Y.shape[1]
        self.W = np.zeros((X.shape[1], signs.shape[1]), np.float32)
        random = np.random.default_rng(self.seed)
        at = np.arange(signs.shape[1])  # the columns that still learn
        W, touched = np.zeros_like(self.W), np.zeros(self.W.shape, bool)
        best, waited = np.full(len(at), np.inf), np.zeros(len(at), int)
        self.n_weights = 0
        for _ in range(MOST_PASSES):
            learn_pass(X, signs[:, at], W, touched, random if self.random_starts else None)
            errors = np.count_nonzero((X @ W) * signs[:, at] <= 0, axis=0)
            waited = np.where(errors < best, 0, waited + 1)
            best = np.minimum(best, errors)
            done = (waited >= PATIENCE) | (errors == 0)  # without errors, nothing changes any more
            self.W[:, at[done]] = W[:, done]
            self.n_weights += int(np.count_nonzero(touched[:, done]))
            at, W, touched, best, waited = at[~done], W[:, ~done], touched[:, ~done], best[~done], waited[~done]
            if not len(at):
                break
        self.W[:, at] = W
        self.n_weights += int(np.count_nonzero(touched))
        return self

    def members_scores(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the scores of each member: rows, labels, members."""
        return np.asarray(with_bias(X) @ self.W).reshape(X.shape[0], self.n_labels, self.members)

    def scores(self, X: sp.csr_matrix) -> np.ndarray:
        """Return the mean score of the members, which is the score of their mean weights."""
        return self.members_scores(X).mean(axis=2)

    def votes(self, X: sp.csr_matrix) -> np.ndarray:
        """Return how many members say yes; a small part of the mean score decides between equal numbers."""
        found = self.members_scores(X)
        return (found > 0).sum(axis=2) + 0.5 * expit(found.mean(axis=2))


def with_bias(X: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix(sp.hstack([X, np.ones((X.shape[0], 1))]), dtype=np.float32)


def learn_pass(
    X: sp.csr_matrix, signs: np.ndarray, W: np.ndarray, touched: np.ndarray, random: np.random.Generator | None
) -> None:
    """Visit the rows once, and correct every perceptron that errs on a row, in place."""
    for row in range(X.shape[0]):
        start, stop = X.indptr[row], X.indptr[row + 1]
        features, values = X.indices[start:stop], X.data[start:stop]
        weights = W[features]
        wrong = np.flatnonzero((values @ weights) * signs[row] <= 0)
        if len(wrong):
            at = np.ix_(features, wrong)
            found = weights[:, wrong]
            if random is not None:
                new = ~touched[at]
                found[new] = random.uniform(-1, 1, int(new.sum()))
            touched[at] = True
            W[at] = found + values[:, None] * signs[row, wrong]


class Svms:
    """A linear SVM for each label (LIBLINEAR, squared hinge loss)."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: sp.csr_matrix, Y: np.ndarray) -> "Svms":
        self.coef = np.zeros((X.shape[1], Y.shape[1]), np.float32)
        self.intercept = np.where(Y.any(axis=0), 1.0, -1.0)  # of labels that all rows have, or none
        for label in range(Y.shape[1]):
            if 0 < np.count_nonzero(Y[:, label]) < len(Y):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # C=100: 1,000 iterations are the limit
                    model = LinearSVC(C=self.C, random_state=0).fit(X, Y[:, label].astype(np.int8))
                self.coef[:, label], self.intercept[label] = model.coef_[0], model.intercept_[0]
        self.n_weights = int(np.count_nonzero(self.coef))
        return self

    def scores(self, X: sp.csr_matrix) -> np.ndarray:
        return np.asarray(X @ self.coef + self.intercept)


LEARNERS: dict[str, Callable[[], Any]] = {
    "perceptron": Perceptrons,
    "committee": lambda: Perceptrons(COMMITTEE, random_starts=True),
    **{f"SVM C={C}": lambda C=C: Svms(C) for C in C_GRID},
}


def best_ranks(scores: np.ndarray, Y: sp.csr_matrix) -> np.ndarray:
    """Return the rank of the best true label of each row; ties count against it, -inf means not ranked."""
    ranks = np.full(Y.shape[0], np.inf)
    for row in range(Y.shape[0]):
        true = scores[row, Y.indices[Y.indptr[row] : Y.indptr[row + 1]]]
        if len(true) and true.max() > -np.inf:
            ranks[row] = np.count_nonzero(scores[row] >= true.max())
    return ranks


def class_f1(scores: np.ndarray, Y: sp.csr_matrix) -> float:
    """Rank the rows for each label that has any; return the mean of the best F1 of a cut (section 6.4.3)."""
    truth = np.asarray(Y.todense()) > 0
    best = []
    for label in np.flatnonzero(truth.any(axis=0)):
        order = np.argsort(-scores[:, label], kind="stable")
        ordered, right = scores[order, label], np.cumsum(truth[order, label])
        f1 = 2 * right / (np.arange(1, len(right) + 1) + right[-1])
        best.append(f1[np.append(ordered[1:] != ordered[:-1], True)].max())  # a cut does not separate equal scores
    return float(np.mean(best))


def one_versus_rest(part: Part, learner: str) -> dict[str, Outcome]:
    """Train one classifier per label on all rows, and rank labels by their scores; a committee also by votes."""
    known = np.flatnonzero(np.asarray(part.Y_train.sum(axis=0)).ravel())
    truth = np.asarray(part.Y_train[:, known].todense()) > 0
    start = time.process_time()
    model = LEARNERS[learner]().fit(part.X_train, truth)
    seconds = time.process_time() - start
    ways = {"scores": model.scores} | ({"votes": model.votes} if learner == "committee" else {})
    found = {}
    for way, function in ways.items():
        scores = np.full(part.Y_test.shape, -np.inf)
        scores[:, known] = function(part.X_test)
        ranks = best_ranks(scores, part.Y_test)
        found[way] = Outcome(ranks, seconds, float(len(known)), model.n_weights, class_f1(scores, part.Y_test))
    return found


def sigmoid(scores: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of Platt's sigmoid, by Newton's method on his smoothed targets."""
    n_true = int(truth.sum())
    target = np.where(truth, (n_true + 1) / (n_true + 2), 1 / (len(truth) - n_true + 2))
    slope, offset = 0.0, float(np.log((n_true + 1) / (len(truth) - n_true + 1)))

    def loss(a: float, b: float) -> float:
        at = a * scores + b
        return float(np.sum(np.logaddexp(0, at) - target * at))

    for _ in range(100):
        p = expit(slope * scores + offset)
        off, spread = p - target, p * (1 - p)
        g = np.array([off @ scores, off.sum()])
        cross = spread @ scores
        H = np.array([[spread @ scores**2, cross], [cross, spread.sum()]]) + 1e-10 * np.eye(2)
        step, share, now = np.linalg.solve(H, g), 1.0, loss(slope, offset)
        while share > 1e-8 and loss(slope - share * step[0], offset - share * step[1]) > now:
            share /= 2
        slope, offset = slope - share * step[0], offset - share * step[1]
        if np.abs(g).max() < 1e-6 or share <= 1e-8:
            break
    return float(slope), float(offset)


class TopDown:
    """A classifier for each node of a tree, trained on the rows of the parent node; paths are followed by probability.

    Parameters
    ----------
    parents : ndarray
        The parent of each node, or -1; the first nodes are the labels.
    learner : str
        One of `LEARNERS`.
    sigmoid_trials : int
        The number of random 80-20 splits whose scores are pooled to fit each sigmoid; 0 uses the same for all.
    """

    def __init__(self, parents: np.ndarray, learner: str, sigmoid_trials: int = 0) -> None:
        self.parents, self.learner, self.sigmoid_trials = parents, learner, sigmoid_trials
        self.children: dict[int, list[int]] = {}
        for node, parent in enumerate(parents.tolist()):
            self.children.setdefault(parent, []).append(node)

    def fit(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> "TopDown":
        self.models: dict[int, tuple[list[int], Callable[[sp.csr_matrix], np.ndarray]]] = {}
        self.n_weights = 0
        belongs = self._belonging(Y)
        for parent, children in self.children.items():
            rows = np.arange(X.shape[0]) if parent < 0 else np.flatnonzero(belongs[:, parent])
            seen = [child for child in children if belongs[rows, child].any()]
            if seen:
                self._fit_children(parent, seen, X[rows], belongs[np.ix_(rows, seen)])
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

    def _fit_children(self, parent: int, children: list[int], X: sp.csr_matrix, truth: np.ndarray) -> None:
        always = truth.all(axis=0)  # such a child has no classifier: it is as likely as its parent
        if always.all():
            self.models[parent] = (children, lambda X: np.ones((X.shape[0], len(children))))
            return
        model = LEARNERS[self.learner]().fit(X, truth)
        slopes, offsets = self._sigmoids(X, truth)
        self.n_weights += model.n_weights

        def probabilities(X: sp.csr_matrix) -> np.ndarray:
            return np.where(always, 1.0, expit(slopes * model.scores(X) + offsets))

        self.models[parent] = (children, probabilities)

    def _sigmoids(self, X: sp.csr_matrix, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slope and the offset of each child's sigmoid, fitted where there are scores of both kinds."""
        slopes, offsets = np.full(truth.shape[1], SLOPE), np.zeros(truth.shape[1])
        pooled: list[tuple[np.ndarray, np.ndarray]] = []
        for trial in range(self.sigmoid_trials):
            order = np.random.default_rng(trial).permutation(len(truth))
            n_held = round(SPLIT * len(order))
            held, kept = order[:n_held], order[n_held:]
            if n_held and len(kept):
                pooled.append((LEARNERS[self.learner]().fit(X[kept], truth[kept]).scores(X[held]), truth[held]))
        if pooled:
            scores, found = (np.concatenate(column) for column in zip(*pooled, strict=True))
            for child in np.flatnonzero(found.any(axis=0) & ~found.all(axis=0)):
                slopes[child], offsets[child] = sigmoid(scores[:, child], found[:, child])
        return slopes, offsets

    def candidates(self, X: sp.csr_matrix, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows, nodes and probabilities of the paths that stay likely (figure 7 of the paper)."""
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        waiting = [(-1, np.arange(X.shape[0]), np.ones(X.shape[0]))]
        while waiting:
            parent, rows, likely = waiting.pop()
            if parent not in self.models:
                continue
            children, probabilities = self.models[parent]
            below = likely[:, None] * probabilities(X[rows])
            for column, child in enumerate(children):
                kept = below[:, column] >= least
                if kept.any():
                    p = below[kept, column]
                    found.append((rows[kept], np.full(len(p), child), p))
                    waiting.append((child, rows[kept], p))
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
        below = np.zeros(len(self.parents) + 1)
        for parent, (children, _) in self.models.items():
            below[parent + 1] = len(children)
        return float(below[0] + below[found[1][found[2] >= least] + 1].sum() / n_rows)


def top_down(part: Part, parents: np.ndarray, learner: str, sigmoid_trials: int = 0) -> dict[str, Outcome]:
    """Train a tree of classifiers, and rank with each minimum probability."""
    start = time.process_time()
    tree = TopDown(parents, learner, sigmoid_trials).fit(part.X_train, part.Y_train)
    seconds = time.process_time() - start
    found = tree.candidates(part.X_test, LEAST_PROBABILITIES[0])
    return {
        str(least): Outcome(
            tree.ranks(found, part.Y_test, least),
            seconds,
            tree.touched(found, part.X_test.shape[0], least),
            tree.n_weights,
        )
        for least in LEAST_PROBABILITIES
    }
