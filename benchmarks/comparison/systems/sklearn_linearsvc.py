"""scikit-learn's LinearSVC, one classifier for each label."""

import harness
import joblib
import numpy as np
import sklearn
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

ROWS_AT_ONCE = 2000  # rows whose dense scores are in memory


class OneVsRest(harness.System):
    def version(self):
        return sklearn.__version__

    def train(self, X, Y, folder):
        self.columns = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel())
        learner = LinearSVC(random_state=0, **self.options)
        with joblib.parallel_config("threading"):  # the start of processes would be timed; liblinear releases the GIL
            return OneVsRestClassifier(learner, n_jobs=self.threads).fit(X, Y[:, self.columns])

    def save(self, model, folder):
        joblib.dump(model, folder / "model.joblib")

    def rank(self, model, inputs):
        blocks = (inputs[start : start + ROWS_AT_ONCE] for start in range(0, inputs.shape[0], ROWS_AT_ONCE))
        return np.concatenate([harness.best_of_dense(model.decision_function(block)) for block in blocks])

    def labels(self, model, answer):
        return self.columns[answer].astype(np.int32)

    def rank_one(self, model, row):
        return self.rank(model, row)


if __name__ == "__main__":
    harness.run(OneVsRest)
