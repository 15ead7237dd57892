"""What `abound fit` does without options, on the texts themselves: tokenising and probabilities are included."""

import harness
import numpy as np
import ours

from abound import Tagger  # here, because importing it must not count as training


class System(ours.Ours):
    takes_texts = True

    def prepare(self, X, Y, folder):
        self.names = [[str(label) for label in Y.indices[a:b]] for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)]

    def train(self, X, Y, folder):
        return Tagger().fit(X, self.names)

    def rank(self, model, inputs):
        return model.rank_many(inputs, k=harness.K)

    def labels(self, model, answer):
        found = np.full((len(answer), harness.K), -1, np.int32)
        for row, entries in zip(found, answer, strict=True):
            row[: len(entries)] = [int(entry.label) for entry in entries]
        return found

    def rank_one(self, model, row):
        return model.rank(row, k=harness.K)


if __name__ == "__main__":
    harness.run(System)
