"""fastText: its defaults, but with the hierarchical softmax that its documentation recommends for many labels.

It reads words, not weights, and learns the rows in the order of its file, which is random, as it advises. It gets the
lower-cased words of the texts in their order, so that it can form its own n-grams; where a data set has no texts, a row
has one word for each of its features.
"""

import re

import fasttext
import harness
import numpy as np

WORD = re.compile(r"(?u)\b\w\w+\b")  # as for the rows of the other systems
PREFIX = "@"  # no word has it: fastText takes every word with it for a label, and `__label__` is in some texts
MANY_LABELS = 1000


class FastText(harness.System):
    takes_texts = True

    def version(self):
        from importlib.metadata import version

        return version("fasttext-numpy2-wheel")

    def prepare(self, X, Y, folder):
        words = self.inputs(X)
        with open(folder / "train.txt", "w") as file:
            for i in np.random.default_rng(0).permutation(len(words)):
                labels = Y.indices[Y.indptr[i] : Y.indptr[i + 1]]
                print(" ".join(f"{PREFIX}{label}" for label in labels), words[i], file=file)

    def train(self, X, Y, folder):
        loss = "hs" if Y.shape[1] > MANY_LABELS else "softmax"
        options = {"label": PREFIX, "loss": loss, "thread": self.threads, "verbose": 0, "seed": 0, **self.options}
        return fasttext.train_supervised(str(folder / "train.txt"), **options)

    def may_retry(self, error):
        return isinstance(error, RuntimeError) and "NaN" in str(error)  # it reads memory that nobody has set

    def save(self, model, folder):
        model.save_model(str(folder / "model.bin"))

    def inputs(self, X):
        if isinstance(X, list):
            return [" ".join(WORD.findall(text.lower())) for text in X]
        return [" ".join(f"f{j}" for j in X.indices[X.indptr[i] : X.indptr[i + 1]]) for i in range(X.shape[0])]

    def rank(self, model, inputs):
        return model.predict(inputs, k=harness.K)[0]

    def labels(self, model, answer):
        return harness.padded([[int(label[len(PREFIX) :]) for label in labels] for labels in answer])

    def rank_one(self, model, row):
        return model.predict(row, k=harness.K)


if __name__ == "__main__":
    harness.run(FastText)
