"""The shared part of the scripts of abound's rankers."""

import harness


class Ours(harness.System):
    threads = 1

    def make(self):
        """Return the ranker to train."""
        raise NotImplementedError

    def version(self):
        from importlib.metadata import version

        return version("abound")

    def train(self, X, Y, folder):
        return self.make().fit(X, Y)

    def save(self, model, folder):
        model.save(folder)

    def rank(self, model, X):
        ranking = model.rank(X, harness.K)
        return ranking.indices, ranking.scores

    def rows(self, X):
        return [X[i] for i in range(X.shape[0])]

    def rank_one(self, model, row):
        return model.rank(row, harness.K)
