"""omikuji. It can only train from a file; reading the file counts."""

import harness
import numpy as np
import omikuji


class Omikuji(harness.System):
    def version(self):
        from importlib.metadata import version

        return version("omikuji")

    def prepare(self, X, Y, folder):
        with open(folder / "train.txt", "w") as file:
            filled = np.flatnonzero(np.diff(X.indptr))  # it refuses a file that has a row without features
            print(len(filled), X.shape[1], Y.shape[1], file=file)
            for i in filled:
                labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
                span = slice(X.indptr[i], X.indptr[i + 1])
                features = " ".join(f"{j}:{v:.9g}" for j, v in zip(X.indices[span], X.data[span], strict=True))
                print(labels, features, file=file)

    def train(self, X, Y, folder):
        hyper_param = omikuji.Model.default_hyper_param()
        for name, value in self.options.items():
            setattr(hyper_param, name, value)
        return omikuji.Model.train_on_data(str(folder / "train.txt"), hyper_param, self.threads)

    def save(self, model, folder):
        model.save(str(folder))

    def inputs(self, X):
        spans = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(X.shape[0])]
        return [list(zip(X.indices[s].tolist(), X.data[s].tolist(), strict=True)) for s in spans]

    def rank(self, model, inputs):
        return [self.rank_one(model, row) for row in inputs]

    def rank_one(self, model, row):
        return model.predict(row, top_k=harness.K)


if __name__ == "__main__":
    harness.run(Omikuji)
