"""river, one learner per label, one online pass: logistic regression with its defaults, and passive-aggressive.

river's own one-vs-rest accepts one label per row; like it, this creates a learner when a label is first seen.
"""

import pickle

import harness
import numpy as np
from river import linear_model


class River(harness.System):
    name = "river one-vs-rest"
    settings = {  # noqa: RUF012
        "default": ("LogisticRegression, defaults", {"learner": "LogisticRegression"}),
        "pa": ("PAClassifier(C=0.1), one pass", {"learner": "PAClassifier", "C": 0.1}),
    }
    threads = 1

    def version(self):
        from importlib.metadata import version

        return version("river")

    def make(self):
        options = {name: value for name, value in self.options.items() if name != "learner"}
        return getattr(linear_model, self.options["learner"])(**options)

    def train(self, X, Y, folder):
        model = {}
        rows = self.rows(X)
        for i in np.random.default_rng(0).permutation(X.shape[0]):
            labels = set(Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist())
            for label in labels - model.keys():
                model[label] = self.make()
            for label, learner in model.items():
                learner.learn_one(rows[i], label in labels)
        return model

    def save(self, model, folder):
        (folder / "model.pickle").write_bytes(pickle.dumps(model))

    def rank(self, model, X):
        return harness.padded([self.rank_one(model, row) for row in self.rows(X)])

    def rows(self, X):
        spans = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(X.shape[0])]
        return [dict(zip(X.indices[s].tolist(), X.data[s].tolist(), strict=True)) for s in spans]

    def rank_one(self, model, row):
        scores = [(label, learner.predict_proba_one(row)[True]) for label, learner in model.items()]
        return sorted(scores, key=lambda pair: -pair[1])[: harness.K]


if __name__ == "__main__":
    harness.run(River)
