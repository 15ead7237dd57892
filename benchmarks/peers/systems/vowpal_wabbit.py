"""Vowpal Wabbit: probabilistic label trees, and one model per label. Rows are in a fixed random order, as it advises.

Its defaults with the logistic loss; the settings of its demonstration of label trees: trees of arity 16, several
passes, a large table of weights; and `--multilabel_oaa` with the same passes.
"""

import harness
import numpy as np
from vowpalwabbit import Workspace

LOGISTIC = "--loss_function logistic --quiet"


class VowpalWabbit(harness.System):
    name = "Vowpal Wabbit"
    settings = {  # noqa: RUF012
        "default": ("--plt, one pass, -l 0.5 -b 24", {"options": "--plt {labels} -b 24", "passes": 1}),
        "rate-2": ("--plt, one pass, -l 2 -b 24", {"options": "--plt {labels} -l 2 -b 24", "passes": 1}),
        "demo": (
            "--plt --kary_tree 16, 5 passes, -l 0.5 -b 27",
            {"options": "--plt {labels} --kary_tree 16 -l 0.5 -b 27", "passes": 5},
        ),
        "oaa": (
            "--multilabel_oaa, 3 passes, -l 0.5 -b 27",
            {"options": "--multilabel_oaa {labels} --probabilities -l 0.5 -b 27", "passes": 3},
        ),
    }
    threads = 1

    def version(self):
        from importlib.metadata import version

        return version("vowpalwabbit")

    def prepare(self, X, Y, folder):
        order = np.random.default_rng(0).permutation(X.shape[0])
        texts = self.rows(X)
        self.lines = [",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]])) + f" | {texts[i]}" for i in order]
        self.n_labels = Y.shape[1]

    def train(self, X, Y, folder):
        options = self.options["options"].format(labels=self.n_labels)
        if "--plt" in options:
            options += f" --top_k {harness.K}"
        model = Workspace(f"{options} {LOGISTIC}")
        for _ in range(self.options["passes"]):
            for line in self.lines:
                model.learn(line)
        return model

    def save(self, model, folder):
        model.save(str(folder / "model.vw"))

    def rank(self, model, X):
        return harness.padded([self.rank_one(model, row) for row in self.rows(X)])

    def rows(self, X):
        spans = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(X.shape[0])]
        return [" ".join(f"{j}:{v:.6g}" for j, v in zip(X.indices[s], X.data[s], strict=True)) for s in spans]

    def rank_one(self, model, row):
        found = model.predict(f" | {row}")
        if "oaa" in self.options["options"]:
            scores = np.asarray(found[-self.n_labels :])  # they follow those of the row ranked before
            best = np.argsort(-scores, kind="stable")[: harness.K]
            return [(int(label), scores[label]) for label in best]
        return [(label, -place) for place, label in enumerate(found)]


if __name__ == "__main__":
    harness.run(VowpalWabbit)
