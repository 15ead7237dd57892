"""The shared part of the scripts of scikit-learn's one-vs-rest learners."""

import harness
import joblib
import numpy as np
import sklearn
from sklearn.multiclass import OneVsRestClassifier

ROWS_AT_ONCE = 2000  # rows whose dense scores are in memory


class OneVsRest(harness.System):
    def learner(self):
        """Return the binary classifier for one label."""
        raise NotImplementedError

    def version(self):
        return sklearn.__version__

    def train(self, X, Y, folder):
        self.columns = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel())
        return OneVsRestClassifier(self.learner(), n_jobs=self.threads).fit(X, Y[:, self.columns])

    def save(self, model, folder):
        joblib.dump(model, folder / "model.joblib")

    def rank(self, model, X):
        labels, scores = [], []
        for start in range(0, X.shape[0], ROWS_AT_ONCE):
            best, found = harness.best_of_dense(model.decision_function(X[start : start + ROWS_AT_ONCE]))
            labels.append(self.columns[best].astype(np.int32))
            scores.append(found)
        return np.concatenate(labels), np.concatenate(scores)

    def rows(self, X):
        return [X[i] for i in range(X.shape[0])]

    def rank_one(self, model, row):
        return self.rank(model, row)
