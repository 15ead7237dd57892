"""scikit-learn's SGDClassifier, one against the rest, one pass as with partial_fit."""

import harness
import joblib
import numpy as np
import sklearn
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier


class Sgd(harness.System):
    name = "SGDClassifier one-vs-rest"
    setting = "one pass in the rows' order, two jobs"

    def version(self):
        return sklearn.__version__

    def train(self, X, Y, folder):
        self.columns = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel())
        one_pass = SGDClassifier(max_iter=1, tol=None, shuffle=False)
        return OneVsRestClassifier(one_pass, n_jobs=self.threads).fit(X, Y[:, self.columns])

    def save(self, model, folder):
        joblib.dump(model, folder / "model.joblib")

    def rank(self, model, X):
        scores = model.decision_function(X)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : harness.K]
        return self.columns[best].astype(np.int32), np.take_along_axis(scores, best, 1)

    def rows(self, X):
        return [X[i] for i in range(X.shape[0])]

    def rank_one(self, model, row):
        return self.rank(model, row)


if __name__ == "__main__":
    harness.run(Sgd())
