"""The feature-focus index of abound, with its defaults."""

import harness

from abound import FeatureFocus  # here, because importing it must not count as training


class Index(harness.System):
    name = "abound feature-focus"
    threads = 1

    def version(self):
        from importlib.metadata import version

        return version("abound")

    def train(self, X, Y, folder):
        return FeatureFocus().fit(X, Y)

    def save(self, model, folder):
        model.save(folder)

    def rank(self, model, X):
        ranking = model.rank(X, harness.K)
        return ranking.indices, ranking.scores

    def rows(self, X):
        return [X[i] for i in range(X.shape[0])]

    def rank_one(self, model, row):
        return model.rank(row, harness.K)


if __name__ == "__main__":
    harness.run(Index())
