"""MiniLM embeddings and the votes of the nearest training rows (hnswlib), weighted by exp(-10 distance).

Neighbours: 10, as in the example of hnswlib; and 50, which is better if rows have few labels each. The votes of the
neighbours are stored next to the rows, so that other rankers can use them as features. For training rows, the row
itself is excluded.
"""

import harness
import hnswlib
import minilm
import numpy as np
import scipy.sparse as sp


class Neighbours(minilm.Embedded):
    name = "MiniLM + neighbours"
    settings = {  # noqa: RUF012
        "default": ("10 neighbours", {"neighbours": 10}),
        "fifty": ("50 neighbours", {"neighbours": 50}),
    }

    def train(self, X, Y, folder):
        vectors = self.vectors(X, "train")
        index = hnswlib.Index("cosine", vectors.shape[1])
        index.init_index(len(vectors), ef_construction=200, M=16, random_seed=0)
        index.add_items(vectors, num_threads=1)
        index.set_ef(200)
        return index, Y, vectors

    def save(self, model, folder):
        model[0].save_index(str(folder / "index.bin"))
        sp.save_npz(folder / "labels.npz", model[1])

    def votes(self, model, vectors, without_self=False):
        """Return the votes for labels as a sparse matrix."""
        index, labels, _ = model
        more = int(without_self)
        found, distances = index.knn_query(vectors, self.options["neighbours"] + more, num_threads=self.threads)
        weights = np.exp(-10 * distances)
        if without_self:
            weights[found == np.arange(len(found))[:, None]] = 0.0
        indptr = np.arange(0, found.size + 1, found.shape[1])
        near = sp.csr_matrix((weights.ravel(), found.ravel().astype(np.int64), indptr), (len(found), labels.shape[0]))
        return sp.csr_matrix(near @ labels)

    def rank(self, model, X):
        votes = self.votes(model, self.vectors(X, "test"))
        self.keep(model, votes)
        return self.best(votes)

    def keep(self, model, votes):
        if self.options["neighbours"] == 50 and not (self.folder / "votes-test.npz").exists():
            sp.save_npz(self.folder / "votes-train.npz", self.votes(model, model[2], without_self=True))
            sp.save_npz(self.folder / "votes-test.npz", votes)

    @staticmethod
    def best(votes):
        lists = []
        for i in range(votes.shape[0]):
            span = slice(votes.indptr[i], votes.indptr[i + 1])
            order = np.argsort(-votes.data[span], kind="stable")[: harness.K]
            lists.append(list(zip(votes.indices[span][order], votes.data[span][order], strict=True)))
        return harness.padded(lists)

    def rank_one(self, model, row):
        return self.best(self.votes(model, self.encode([row])))


if __name__ == "__main__":
    harness.run(Neighbours)
