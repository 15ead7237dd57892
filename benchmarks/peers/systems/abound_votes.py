"""The cascade of abound with the votes of MiniLM's nearest neighbours: as features, or added to its scores.

The votes come from `minilm_neighbours.py` with 50 neighbours, which must have run on the data set. The figures of this
system do not include their cost.
"""

import harness
import numpy as np
import ours
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from abound import Cascade  # here, because importing it must not count as training

CANDIDATES = 50


class System(ours.Ours):
    name = "abound cascade + neighbours' votes"
    settings = {  # noqa: RUF012
        "default": ("votes as features", {"features": 1.0, "scores": 0.0}),
        "scores": ("votes added to the scores", {"features": 0.0, "scores": 2.0}),
        "both": ("votes as features and added to the scores", {"features": 1.0, "scores": 2.0}),
    }

    def make(self):
        return Cascade(calibrate=False)

    def votes(self, part):
        """Return the neighbours' votes for a part of the data set, with a sum of at most 1 per row."""
        return normalize(sp.load_npz(self.folder / f"votes-{part}.npz"), "l1")

    def with_votes(self, X, votes):
        if not self.options["features"]:
            return X
        return sp.csr_matrix(sp.hstack([X, self.options["features"] * normalize(votes)]))

    def train(self, X, Y, folder):
        return self.make().fit(self.with_votes(X, self.votes("train")), Y)

    def rank(self, model, X):
        votes = self.votes("test")
        ranking = model.rank(self.with_votes(X, votes), CANDIDATES)
        if not self.options["scores"]:
            return ranking.indices[:, : harness.K], ranking.scores[:, : harness.K]
        return harness.padded([self.mixed(ranking, votes, i) for i in range(votes.shape[0])])

    def mixed(self, ranking, votes, i):
        """Return the labels of one row, ranked by the sum of the softmax of our scores and the votes."""
        kept = ranking.indices[i] >= 0
        scores = ranking.scores[i][kept]
        shares = np.exp(scores - scores.max()) if len(scores) else scores
        found = dict(zip(ranking.indices[i][kept].tolist(), (shares / max(shares.sum(), 1e-9)).tolist(), strict=True))
        span = slice(votes.indptr[i], votes.indptr[i + 1])
        for label, vote in zip(votes.indices[span].tolist(), votes.data[span].tolist(), strict=True):
            found[label] = found.get(label, 0.0) + self.options["scores"] * vote
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[: harness.K]

    def rows(self, X):
        return []  # a single row would have to be embedded first


if __name__ == "__main__":
    harness.run(System)
