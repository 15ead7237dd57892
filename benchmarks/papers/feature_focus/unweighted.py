"""The unweighted index of figure 18: an older method, with and without classifiers.

The paper says when this index is updated and what it ranks by, and refers to Madani, Greiner, Kempe and Salavatipour,
"Recall systems" (AISTATS 2007), for the rest, which we do not have. The size of a step, the least weight of an edge and
that values count as 1 are ours. They were chosen on the development rows of the first trial of 20 Newsgroups.
"""

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.feature_focus.cells import Cells
from benchmarks.papers.feature_focus.corpora import Part
from benchmarks.papers.feature_focus.peers import COMMITTEE, best_ranks

RATE = 1.5  # the factor by which a weight rises or falls
LEAST = 0.8  # an edge is in the index from this weight on; a new one has weight 1
PASSES = 10


class UnweightedIndex:
    """An index without weights, and committees of perceptrons that learn the rows for which their label was retrieved.

    A label is retrieved if a feature of the row has an edge to it. If a true label is not retrieved, its weights for
    the row's features rise. If more than `tolerance` wrong labels are retrieved, their weights for them fall.

    Parameters
    ----------
    tolerance : int
        How many wrong labels may be retrieved for a row.
    members : int
        Perceptrons per label, with random starts; 0 trains none.
    """

    def __init__(
        self, n_features: int, n_labels: int, tolerance: int, *, members: int = COMMITTEE, rate: float = RATE,
        least: float = LEAST,
    ) -> None:  # fmt: skip
        self.tolerance, self.members, self.rate, self.least = tolerance, members, rate, least
        self.V = np.zeros((n_features, n_labels), np.float32)
        self.W = np.zeros((n_features, n_labels * members), np.float32)
        self.touched = np.zeros(self.W.shape, bool)
        self.random = np.random.default_rng(0)

    def learn_pass(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> None:
        """Visit the rows once, in order."""
        for row in range(X.shape[0]):
            start, stop = X.indptr[row], X.indptr[row + 1]
            true = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
            self.learn(X.indices[start:stop], X.data[start:stop], true)

    def learn(self, features: np.ndarray, values: np.ndarray, true: np.ndarray) -> None:
        """Retrieve labels for a row, update the index, then the classifiers of retrieved and of true labels."""
        retrieved = np.flatnonzero((self.V[features] >= self.least).any(axis=0))
        missed, wrong = np.setdiff1d(true, retrieved), np.setdiff1d(retrieved, true)
        if len(missed):
            at = np.ix_(features, missed)
            self.V[at] = np.where(self.V[at] > 0, np.minimum(1.0, self.V[at] * self.rate), 1.0)
        if len(wrong) > self.tolerance:
            self.V[np.ix_(features, wrong)] /= self.rate
        if self.members:
            self._learn_classifiers(features, values, np.union1d(retrieved, true), true)

    def _learn_classifiers(
        self, features: np.ndarray, values: np.ndarray, labels: np.ndarray, true: np.ndarray
    ) -> None:
        columns = (labels[:, None] * self.members + np.arange(self.members)).ravel()
        signs = np.repeat(np.where(np.isin(labels, true), 1.0, -1.0), self.members).astype(np.float32)
        weights = self.W[np.ix_(features, columns)]
        erring = np.flatnonzero((values @ weights) * signs <= 0)
        if len(erring):
            at = np.ix_(features, columns[erring])
            found, new = weights[:, erring], ~self.touched[at]
            found[new] = self.random.uniform(-1, 1, int(new.sum()))
            self.touched[at] = True
            self.W[at] = found + values[:, None] * signs[erring]

    def scores(self, X: sp.csr_matrix, *, classifiers: bool) -> np.ndarray:
        """Return the score of each retrieved label, -inf of the others: by weights of edges, or by the committee."""
        in_index = np.greater_equal(self.V, self.least)
        retrieved = (X > 0).astype(np.float32) @ in_index.astype(np.float32) > 0
        if classifiers:
            found = np.asarray(X @ self.W).reshape(X.shape[0], -1, self.members).mean(axis=2)
        else:
            found = np.asarray(X @ np.where(in_index, self.V, 0.0))
        return np.where(retrieved, found, -np.inf)


def one_trial(part: Part, tolerance: int, **params: Any) -> dict[str, Any]:
    """Return R1 after each pass without and with classifiers, the CPU time, and how many labels are retrieved."""
    index = UnweightedIndex(part.X_train.shape[1], part.Y_train.shape[1], tolerance, **params)
    X, X_test = (sp.csr_matrix(x, dtype=np.float32) for x in (part.X_train, part.X_test))
    result: dict[str, Any] = {"no classifiers": [], "with classifiers": [], "seconds": 0.0}
    for _ in range(PASSES):
        start = time.process_time()
        index.learn_pass(X, part.Y_train)
        result["seconds"] += time.process_time() - start
        for name in ("no classifiers", "with classifiers")[: 2 if index.members else 1]:
            scores = index.scores(X_test, classifiers=name.startswith("with "))
            result[name].append(float(np.mean(best_ranks(scores, part.Y_test) <= 1)))
            result["retrieved"] = float(np.mean((scores > -np.inf).sum(axis=1)))
    return result


def system(tolerance: int) -> str:
    return f"unweighted, tolerance {tolerance}"


def summary(cells: Cells, n_trials: int, tolerances: tuple[int, ...]) -> dict[str, Any]:
    """Return R1 of each trial with the best tolerance and passes, without and with classifiers."""
    by = {
        tolerance: cells.trials(system(tolerance), n_trials, lambda part, t=tolerance: one_trial(part, t))
        for tolerance in tolerances
    }
    result: dict[str, Any] = {}
    for name in ("no classifiers", "with classifiers"):
        values = {t: np.array([row[name] for row in rows]) for t, rows in by.items()}
        best = max(values, key=lambda t, v=values: v[t].mean(axis=0).max())
        done = int(values[best].mean(axis=0).argmax())
        result[name] = {
            "R1 of trials": values[best][:, done].tolist(),
            "tolerance": best,
            "passes": done + 1,
            "retrieved": float(np.mean([row["retrieved"] for row in by[best]])),
            "seconds": float(np.mean([row["seconds"] for row in by[best]])),
        }
    return result
