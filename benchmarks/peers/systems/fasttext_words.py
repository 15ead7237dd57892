"""fastText. It reads words, not weights: a row has one word for each of its features.

Pairs of words are therefore included if they are features for the other systems. Its defaults, except for the
hierarchical softmax that its documentation recommends for many labels; and the settings of its tutorial: 25 epochs, a
larger rate and 50 dimensions with hierarchical softmax, or with one loss per label, for rows with several labels.
"""

import fasttext
import harness


class FastText(harness.System):
    name = "fastText"
    settings = {  # noqa: RUF012
        "default": ("loss hs, else defaults", {"loss": "hs"}),
        "hs": ("loss hs, lr 1.0, epoch 25, dim 50", {"loss": "hs", "lr": 1.0, "epoch": 25, "dim": 50}),
        "ova": ("loss ova, lr 0.5, epoch 25, dim 50", {"loss": "ova", "lr": 0.5, "epoch": 25, "dim": 50}),
    }

    def version(self):
        from importlib.metadata import version

        return version("fasttext-numpy2-wheel")

    def prepare(self, X, Y, folder):
        with open(folder / "train.txt", "w") as file:
            for i, words in enumerate(self.rows(X)):
                labels = Y.indices[Y.indptr[i] : Y.indptr[i + 1]]
                print(" ".join(f"__label__{label}" for label in labels), words, file=file)

    def train(self, X, Y, folder):
        return fasttext.train_supervised(str(folder / "train.txt"), thread=self.threads, verbose=0, **self.options)

    def save(self, model, folder):
        model.save_model(str(folder / "model.bin"))

    def rank(self, model, X):
        labels, scores = model.predict(self.rows(X), k=harness.K)
        return harness.padded([self.pairs(*pair) for pair in zip(labels, scores, strict=True)])

    @staticmethod
    def pairs(labels, scores):
        return [(int(label[len("__label__") :]), float(s)) for label, s in zip(labels, scores, strict=True)]

    def rows(self, X):
        return [" ".join(f"f{j}" for j in X.indices[X.indptr[i] : X.indptr[i + 1]]) for i in range(X.shape[0])]

    def rank_one(self, model, row):
        return self.pairs(*model.predict(row, k=harness.K))


if __name__ == "__main__":
    harness.run(FastText)
