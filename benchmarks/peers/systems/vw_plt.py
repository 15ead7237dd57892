"""Vowpal Wabbit's probabilistic label tree, one online pass."""

import harness
from vowpalwabbit import Workspace


class Vw(harness.System):
    name = "Vowpal Wabbit --plt"
    setting = "one pass, -l 2 -b 24"
    threads = 1

    def version(self):
        from importlib.metadata import version

        return version("vowpalwabbit")

    def prepare(self, X, Y, folder):
        self.lines = [
            ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]])) + f" | {text}"
            for i, text in enumerate(self.rows(X))
        ]
        self.n_labels = Y.shape[1]

    def train(self, X, Y, folder):
        options = f"--plt {self.n_labels} --loss_function logistic -l 2 -b 24 --top_k {harness.K} --quiet"
        model = Workspace(options)
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
        return [(label, -place) for place, label in enumerate(model.predict(f" | {row}"))]


if __name__ == "__main__":
    harness.run(Vw())
