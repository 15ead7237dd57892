"""Vowpal Wabbit: probabilistic label trees, or one model for each label. Rows are in a random order, as it advises.

It has no default for many labels: a label tree, learned in one pass with the default learning rate, stands for it. A
row is a line of text when the clock starts. Parsing the lines is timed, as on its command line.
"""

import harness
import numpy as np
from vowpalwabbit import Workspace


class VowpalWabbit(harness.System):
    threads = 1

    def version(self):
        from importlib.metadata import version

        return version("vowpalwabbit")

    def prepare(self, X, Y, folder):
        order = np.random.default_rng(0).permutation(X.shape[0])
        rows = self.inputs(X)
        self.lines = [",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]])) + rows[i] for i in order]
        self.n_labels = Y.shape[1]

    @property
    def is_tree(self):
        return self.options.get("reduction", "plt") == "plt"

    def train(self, X, Y, folder):
        parts = ["--loss_function logistic --quiet -b 26", f"-l {self.options.get('rate', 0.5)}"]
        if self.is_tree:
            parts.append(f"--plt {self.n_labels} --kary_tree {self.options.get('kary_tree', 2)} --top_k {harness.K}")
        else:
            parts.append(f"--multilabel_oaa {self.n_labels} --probabilities")
        model = Workspace(" ".join(parts))
        for _ in range(self.options.get("passes", 1)):
            for line in self.lines:
                model.learn(line)
        return model

    def save(self, model, folder):
        model.save(str(folder / "model.vw"))

    def inputs(self, X):
        spans = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(X.shape[0])]
        return [" | " + " ".join(f"{j}:{v:.6g}" for j, v in zip(X.indices[s], X.data[s], strict=True)) for s in spans]

    def rank(self, model, inputs):
        return [self.rank_one(model, row) for row in inputs]

    def rank_one(self, model, row):
        found = model.predict(row)
        if self.is_tree:
            return found
        scores = np.asarray(found[-self.n_labels :])  # they follow those of the row ranked before
        return np.argsort(-scores, kind="stable")[: harness.K].tolist()


if __name__ == "__main__":
    harness.run(VowpalWabbit)
